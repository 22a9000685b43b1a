"""The search field's answers, and finished answers kept for the right viewer."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from data.model import Role, Viewer
from pages._answers import MOST, Answers, scope_of
from pages._search import suggestions
from tests.components.snapshots import job, node, snapshot
from tests.services.web import PREFIX, STAFF, USER, open_still, sources_of

SAM, ALICE, EVE = Viewer("sam", Role.STAFF), Viewer("alice", Role.USER), Viewer("eve", Role.USER)
PAGES = {"": "Overview", "nodes": "Nodes", "jobs": "Jobs"}


def found(viewer: Viewer, text: str, **changes: Any) -> list[tuple[str, str]]:
    return [(line.kind, line.href) for line in suggestions(viewer, sources_of(snapshot(**changes)), text, PAGES)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("48211", ("job", "jobs/48211")),
        ("48211_3", ("job", "jobs/48211_3")),
        ("48211+1", ("job", "jobs/48211%2B1")),
        ("#48211", ("job", "jobs/48211")),
        ("H002", ("node", "nodes/h002")),
        ("alice", ("user", "users/alice")),
        ("nlp", ("account", "efficiency?account=nlp")),
        ("train", ("job", "jobs/48211")),
        ("over", ("page", "")),
        ("", ("page", "")),
    ],
)
def test_each_kind_of_name_leads_to_its_page(text: str, first: tuple[str, str]) -> None:
    assert found(SAM, text)[0] == first


def test_hidden_and_nonexistent_jobs_are_answered_alike() -> None:
    hidden = suggestions(EVE, sources_of(snapshot()), "48211", PAGES)
    unknown = suggestions(EVE, sources_of(snapshot(jobs=())), "48211", PAGES)
    assert hidden == unknown and hidden[0].text == "open this job"


@pytest.mark.parametrize("text", ["alice", "nlp", "train"])
def test_nothing_of_other_people_is_suggested(text: str) -> None:
    assert found(EVE, text) == [] and found(ALICE, text)[0][0] in ("user", "account", "job")


@pytest.mark.parametrize("text", ["-1", "12_", "9" * 40, "<script>", "٣٤", "x" * 5000, "../..", "\u202e"])
def test_odd_text_finds_nothing_and_breaks_nothing(text: str) -> None:
    assert found(SAM, text) == []


def test_names_are_quoted_in_addresses() -> None:
    assert found(SAM, "a/b", nodes=(node("a/b?c"),))[0] == ("node", "nodes/a%2Fb%3Fc")


def test_the_route_answers_below_the_prefix_and_only_to_somebody(web_app: Any) -> None:
    open_still(web_app, sources_of(snapshot()))
    client = web_app.server.test_client()
    assert client.get(f"{PREFIX}_search?q=h001").status_code == 401
    rows = client.get(f"{PREFIX}_search?q=h001", headers={"X-Remote-User": USER}).json
    assert rows[0] == {"kind": "node", "name": "h001", "text": "idle", "href": f"{PREFIX}nodes/h001"}


def test_one_viewers_answer_never_reaches_another(web_app: Any) -> None:
    shown = snapshot(jobs=(job(48211, nodes=("h001",)), job(5, user="eve", account="bio", nodes=("h001",))))
    open_still(web_app, sources_of(shown))
    client = web_app.server.test_client()
    for _ in range(2):
        pages = {
            name: client.get(PREFIX, headers={"X-Remote-User": name}).text for name in (STAFF, "alice", "eve", "bob")
        }
        assert [f"Signed in as {name}," in text for name, text in pages.items()] == [True] * 4
        assert "alice" not in pages["eve"] + pages["bob"] and "eve" not in pages["alice"] + pages["bob"]


def test_scopes_differ_wherever_what_may_be_seen_differs() -> None:
    viewers = [
        SAM,
        Viewer("eve", Role.USER),
        Viewer("bob", Role.USER),
        Viewer("eve", Role.USER, coordinated_accounts=frozenset({"nlp"})),
        Viewer("eve", Role.USER, accounts=frozenset({"nlp"})),
    ]
    assert len({scope_of(viewer) for viewer in viewers}) == 5
    assert scope_of(Viewer("zoe", Role.STAFF)) == scope_of(SAM)


def test_an_answer_is_made_once_however_many_ask_and_an_error_is_not_kept(web_app: Any) -> None:
    answers, made = Answers.of(web_app.server), []
    gate = threading.Barrier(8)

    def make() -> tuple[bytes, ...]:
        made.append(1)
        return (b"x",)

    def ask() -> None:
        gate.wait()
        answers.get(("a",), make)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    with pytest.raises(ZeroDivisionError):
        answers.get(("b",), lambda: (bytes(1 // 0),))
    assert answers.get(("b",), make) == (b"x",)


def test_large_answers_fill_so_many_bytes_and_no_more(web_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers.of(web_app.server)
    kept: Any = answers.cache.cache
    monkeypatch.setattr(kept, "_most_bytes", 10_000)
    for number in range(100):
        assert answers.get((str(number),), lambda: (bytes(3_000),)) == (bytes(3_000),)
        assert kept.bytes_kept <= 10_000 + 3_100
    assert answers.get(("99",), lambda: (b"made anew",)) == (bytes(3_000),)


def test_small_answers_are_so_many_and_no_more(web_app: Any) -> None:
    answers = Answers.of(web_app.server)
    for number in range(MOST + 100):
        answers.get((str(number),), lambda: (b"x",))
    assert len(cast(Any, answers.cache.cache)._cache) <= MOST + 1
