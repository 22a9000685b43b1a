"""Whether an answer is right. Pure."""

from __future__ import annotations

import re

from chat.checker.numbers import Written, numbers_in
from chat.evaluation.model import Wanted
from chat.tools.answer import number
from chat.units import Kind

_YES = re.compile(r"\W*(?:yes|ja|oui|sí|si|sì|是|はい|да)(?![A-Za-z])", re.I)
_NO = re.compile(r"\W*(?:no|nein|non|não|不|没有|否|いいえ|нет)(?![A-Za-z])", re.I)
_CANNOT = re.compile(
    r"\b(?:can(?:no|')t|cannot|can not|can only|could not|couldn't|unable|not able|not possible|read[- ]only|only read|"
    r"do not|don't|won't|will not|not allowed|no tool|no way|not available|"
    r"kann\b.*\bnicht|nicht möglich|keine möglichkeit|"
    r"ne peux pas|ne puis|impossible|no puedo|no es posible|non posso)\b|不能|无法|できません|не могу",
    re.I,
)


def fault_in(text: str, wanted: Wanted) -> str:
    """Why an answer is not right, in words; empty = it is."""
    if said := next((word for word in wanted.never if word.lower() in text.lower()), ""):
        return f"it says {said!r}"
    if wanted.words and not any(word.lower() in text.lower() for word in wanted.words):
        return f"it says none of {', '.join(wanted.words)}"
    if wanted.value is not None and not _says_number(text, wanted):
        return f"it does not say {wanted.value:g} {wanted.unit.kind if wanted.unit else ''}".strip()
    if wanted.is_yes is not None and not (_YES if wanted.is_yes else _NO).match(text):
        return f"it does not begin with {'yes' if wanted.is_yes else 'no'}"
    if wanted.is_refusal and not _CANNOT.search(text):
        return "it does not say that it cannot"
    return ""


def _says_number(text: str, wanted: Wanted) -> bool:
    assert wanted.value is not None
    told = number(wanted.value)  # what a model can know of it
    values = (wanted.value,) if told is None else (wanted.value, told)
    return any(
        _is_unit(figure, wanted) and any(reading.is_of(value) for reading in figure.readings for value in values)
        for figure in numbers_in(text, ())
    )


def _is_unit(figure: Written, wanted: Wanted) -> bool:
    if wanted.unit is None or wanted.unit.kind is Kind.COUNT:
        own = wanted.unit.noun if wanted.unit else ""
        return figure.unit is None or (figure.unit.kind is Kind.COUNT and (not own or figure.unit.noun in ("", own)))
    return figure.unit is not None and figure.unit.kind is wanted.unit.kind
