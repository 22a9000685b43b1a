"""What fails is left alone, and one caller at a time tries whether it answers again."""

from __future__ import annotations

from data.breaker import Breaker


def leaves(breaker: Breaker) -> list[bool]:
    return [breaker.may_try() for _ in range(5)]


def test_what_answers_is_asked_by_all() -> None:
    breaker = Breaker(3600)
    assert leaves(breaker) == [True] * 5 and breaker.failures == 0


def test_what_failed_is_asked_by_nobody_until_it_has_rested() -> None:
    breaker = Breaker(3600)
    breaker.failed()
    assert breaker.is_resting and breaker.failures == 1
    assert leaves(breaker) == [False] * 5


def test_after_the_rest_one_asks_for_all(monkeypatch) -> None:
    breaker, now = Breaker(10), [100.0]
    monkeypatch.setattr("data.breaker.time.monotonic", lambda: now[0])
    breaker.failed()
    now[0] += 10
    assert leaves(breaker) == [True, False, False, False, False]
    now[0] += 10  # the one who asked never came back
    assert leaves(breaker) == [True, False, False, False, False]


def test_an_answer_opens_it_for_all() -> None:
    breaker = Breaker(3600)
    breaker.failed()
    breaker.answered()
    assert leaves(breaker) == [True] * 5 and not breaker.is_resting
