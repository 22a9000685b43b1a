"""Numbers that claim nothing of the data: what somebody is advised to ask for, and the ends of a scale. Pure."""

from __future__ import annotations

import re

from chat.checker.numbers import Written
from chat.checker.words import measures_of_text
from chat.units import Kind

_ADVISED = re.compile(
    r"(?:^|[,;:.(]|\b(?:and|then|or|please|to|could|should|can|would|might|try|und|bitte|dann|et|y)\b)[\s*_>-]*"
    r"(?:try|use|set|request|ask for|raise|increase|reduce|lower|decrease|start with|choose|pick|keep|limit|give|"
    r"nimm|verwenden?|nutzen? sie|setzen?|fordere?n?|erhöhen?|senken?|essayez|utilisez|"
    r"demandez|réduisez|augmentez|prueba|usa|utiliza|pide|solicita|reduce|aumenta)\b(?P<what>[^\d.,;:]*)$|"
    r"(?:建议|尝试|设置|改为|请用)(?P<what_zh>[^\d。]*)$",
    re.I,
)
_OF_DATA = re.compile(
    r"\b(?:the|its|their|these|those|all|die|der|den|les?|la|los|las|el)\s+(?:[a-zà-ÿ]+\s+)?[*`]*$|"
    r"\b(?:of|from|that|which|von|de)\b",
    re.I,
)
_EXAMPLE = re.compile(r"\b(?:e\.g\.|for example|such as|say|z\. ?B\.|zum Beispiel|par exemple|por ejemplo)\s*$", re.I)
_REACH = 200  # characters in front of a number, in which its advice stands
_ASKABLE = (Kind.COUNT, Kind.BYTES, Kind.SECONDS)
_OF_STATES = frozenset(
    {"idle", "free", "busy", "wasted", "pending", "used", "down", "drained", "allocated", "failed", "wait"}
)
_MEANS = re.compile(
    r"(?!\s*(?:which|and|was|ce qui|lo que)\b)[^\d.,;:]{0,24}?(?:\bwould mean|\bmeans?\b|\bbedeute\w*|\bhieße|\bheißt|"
    r"\bsignifi\w+|\bsería\b|\bserait\b)|"
    r"[^\d。\uff0c]{0,12}?(?:表示|意味)",
    re.I,
)


def is_unclaimed(text: str, begin: int, end: int, figure: Written) -> bool:
    """Whether a number in a sentence that begins there, in a clause that ends there, says nothing of the data."""
    return _is_advised(text, begin, end, figure) or _is_end_of_scale(text, figure)


def _is_advised(text: str, begin: int, end: int, figure: Written) -> bool:
    if figure.unit is not None and figure.unit.kind not in _ASKABLE:
        return False
    first, reach = max(0, begin - 1), figure.start - _REACH
    before = text[first : figure.start] if reach <= first else f"\u2026{text[reach : figure.start]}"
    found = _ADVISED.search(_EXAMPLE.sub("", before.replace("(", " ")))
    what = "" if found is None else (found["what"] or found["what_zh"] or "")
    is_state = measures_of_text(f"{what} {text[figure.end : end]}") & _OF_STATES
    return found is not None and not _OF_DATA.search(what) and not is_state


def _is_end_of_scale(text: str, figure: Written) -> bool:
    """100 % would mean that it is always busy."""
    is_share = figure.unit is not None and figure.unit.kind is Kind.RATIO
    return is_share and figure.readings[0].value in (0.0, 1.0) and _MEANS.match(text, figure.end) is not None
