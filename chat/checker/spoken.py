"""What the words of a whole sentence say of all its figures. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_IN_ALL = re.compile(
    r"(?<![A-Za-z])(?:in total|altogether|overall|insgesamt|au total|en total|in totale|in tutto)"
    r"(?![A-Za-z])|总共|一共|合計",
    re.I,
)
_EACH = re.compile(
    r"(?<![A-Za-z])(?:each|apiece|both|je|jeweils|chacune?|cada un[oa]|ciascun[oa]?|"
    r"\d{1,4}[- ]GPU[- ](?:jobs?|runs?)|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|deux|trois|quatre|cinq|dos|tres|cuatro|"
    r"cinco|[2-9])\s+(?:\w+\s+)?(?:with|on|using|mit|auf|avec|con)\s+\d+)(?![A-Za-z])|各|每",
    re.I,
)
_SUPERLATIVE = re.compile(
    r"(?<![A-Za-zà-ÿ])(?:worst|most|biggest|largest|highest|top|first|leads?|[a-zäöüß]{0,20}(?:größte|schlimmste|"
    r"meiste|höchste)[nrs]?|"
    r"an der spitze|pire|le plus|la plus|peor|mayor|el que más|più)(?![A-Za-zà-ÿ])|最",
    re.I,
)
_JOB = re.compile(r"(?<![A-Za-z])(?:jobs?|auftrag\w*|tâche|travail|trabajo|run)(?![A-Za-z])|作业", re.I)


@dataclass(frozen=True, slots=True)
class Spoken:
    """`in_all_at` is the place of "in total" and the like, past the end where it is not said."""

    in_all_at: int
    is_each: bool
    is_first: bool  # the worst or the most of something
    is_job: bool


@lru_cache(maxsize=16)
def spoken_in(sentence: str) -> Spoken:
    in_all = _IN_ALL.search(sentence)
    return Spoken(
        len(sentence) + 1 if in_all is None else in_all.start(),
        *(form.search(sentence) is not None for form in (_EACH, _SUPERLATIVE, _JOB)),
    )
