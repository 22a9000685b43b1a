"""The assistant in a real browser: a conversation, stop, retry, edit, reload, two tabs, keys, phone and themes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from configuration.chat import Delivery
from data.sources import Sources
from pages._chat_log import MemoryLog
from pages._request import backing
from tests.browser.test_browser_frame import nothing_serious
from tests.live.builders import FakeScheduler, make_job
from tests.pages.chat_app import open_chat, settings_with
from tests.queries.cluster import nodes, open_fakes
from tests.services.asking import ENDED, ask
from tests.services.scripted_llm import End, Received, Reply, calls, delta, fault, says, scripted_model
from tests.services.web import USER, NoDay, NoVerdicts, Web

Look = Callable[..., Any]
ASK = "#react-entry-point :is(#ask, #nav-ask):visible"  # in the top bar, on a phone in the bar below
TEXT = ".fw-chat-turn:last-child [data-part=text]"
ENDLESS = Reply([delta("", role="assistant"), delta("So far so good. And ")], end=End.HANG)
NASTY = "<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1))"


def answering(received: Received) -> Reply:
    """Looks at the cluster first, then says what it found: one figure that is there and one that is not."""
    if not received.results:
        return calls(("cluster_status", {"partition": "", "at": ""}))
    text = f"You asked: {received.question}. The cluster has 6 nodes. It could save 98765.4 GPU-hours."
    return says(f"{text}\n\n- See [node](/nodes/gpu01).", pause_seconds=0.01)


def begin(
    web: Web, base_url: str = "", state: Path | None = None, *, sources: Sources | None = None, **chat: Any
) -> None:
    open_chat(web.app, settings_with(base_url, state, retries=0, **chat), sources)
    own = backing(web.app.server)
    own.day, own.verdicts = NoDay(), NoVerdicts()


@pytest.fixture
def talking(web: Web, tmp_path: Path) -> Iterator[Web]:
    with scripted_model(answering) as model:
        begin(web, model.base_url, tmp_path / "state")
        yield web


def opened(seen: Any, web: Web, path: str = "") -> Page:
    page: Page = seen.open(web.url + path, "#react-entry-point h1")
    page.locator("#first-view").wait_for(state="detached")
    page.locator(ASK).click()
    page.wait_for_selector(".fw-chat-field")
    return page


def set_off(page: Page, question: str) -> None:
    """Ask what is never answered to its end, and see its beginning."""
    page.fill(".fw-chat-field", question)
    page.keyboard.press("Enter")
    expect(page.locator(TEXT)).to_contain_text("So far so good.")


def test_a_whole_conversation_with_calls_marks_thumbs_and_what_is_kept(talking: Web, look: Look) -> None:
    seen = look()
    page = opened(seen, talking)
    expect(page.locator(".fw-chat-head")).to_contain_text("sees what sam may see")
    expect(page.locator("#chat-note")).to_contain_text("go to 127.0.0.1. Kept for 90 days.")
    ask(page, "How is it?")
    expect(page.locator(".fw-chat-field")).to_have_value("")
    expect(page.locator(TEXT)).to_contain_text("The cluster has 6 nodes.")
    expect(page.locator(f"{TEXT} .fw-not-traced")).to_have_count(1)
    expect(page.locator(f"{TEXT} a")).to_have_attribute("href", "/warp/nodes/gpu01")
    card = page.locator("details.fw-tool")
    expect(card.locator("a:has-text('Open the page')")).to_be_visible()
    card.locator("summary:has-text('Arguments and result')").click()
    expect(card.locator("pre").nth(1)).to_contain_text("as_of_at")
    nothing_serious(page)
    page.click("[data-thumb='-1']")
    page.fill(".fw-chat-turn .fw-chat-comment-field", "not my cluster")
    page.click(".fw-chat-turn [data-chat-act=comment]")
    expect(page.locator(".fw-chat-turn .fw-chat-comment")).to_contain_text("Noted")
    page.click("[data-part=end] .fw-chat-suggestion >> nth=0")
    expect(page.locator(".fw-chat-turn")).to_have_count(2)
    page.wait_for_selector(ENDED)
    page.reload()
    expect(page.locator(".fw-chat-turn")).to_have_count(2)
    expect(page.locator("[data-thumb='-1']").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".fw-not-traced").first).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    page.click("[data-chat-act=new]")
    expect(page.locator(".fw-chat-turn")).to_have_count(0)
    expect(page.locator(".fw-chat-empty")).to_be_visible()
    assert seen.complaints == []


def test_traced_figures_show_their_source_to_mouse_and_keyboard(web: Web, look: Look, tmp_path: Path) -> None:
    from chat.model import CallEnded, Ended, Figure, TextDelta, ToolResult
    from pages._chat_routes import KEY

    def answer(*_: Any) -> Iterator[Any]:
        text = "Job 7 wastes 40.2 GPU-hours."
        yield CallEnded(ToolResult("c1", "find_jobs", {}, 0.04, {"idle_gpu_hours": 40.2}, link="/jobs/7"))
        yield TextDelta(text)
        yield Ended(text, figures=(Figure(13, 17, "c1", "idle_gpu_hours"),))

    begin(web)
    web.app.server.config[KEY].answer = answer
    page = opened(look(), web)
    ask(page, "Who?")
    source = page.locator(".fw-traced .fw-source").first
    assert source.is_hidden()
    page.locator(f"{TEXT} .fw-traced").focus()
    assert source.is_visible() and source.inner_text() == "from find_jobs: idle_gpu_hours"
    expect(page.locator(".fw-chat-end")).to_contain_text("dotted = from a tool result")


def test_nothing_of_the_assistant_loads_before_it_is_opened(talking: Web, look: Look) -> None:
    seen = look()
    page = seen.open(talking.url, "#react-entry-point h1")
    assert [one for one in seen.asked if "fullwarp-chat" in one or "_chat/" in one] == []
    page.click("#ask")
    page.wait_for_selector(".fw-chat-field")
    assert len([one for one in seen.asked if "fullwarp-chat" in one]) == 1


def test_a_script_that_cannot_come_is_said_and_asked_for_again(talking: Web, look: Look) -> None:
    seen = look()
    seen.page.route("**/fullwarp-chat-*", lambda route: route.abort())
    page = seen.open(talking.url, "#react-entry-point h1")
    page.locator("#first-view").wait_for(state="detached")
    page.click("#ask")
    expect(page.locator("#react-entry-point #chat")).to_contain_text("cannot be loaded now")
    assert len([one for one in seen.asked if "fullwarp-chat" in one]) == 1
    page.unroute("**/fullwarp-chat-*")
    page.click("#ask")
    page.click("#ask")
    expect(page.locator(".fw-chat-field")).to_be_focused()


def test_stop_keeps_what_was_said_and_the_question_can_be_asked_again(web: Web, look: Look, tmp_path: Path) -> None:
    replies = iter([ENDLESS, says("Now it is whole.")])
    with scripted_model(lambda _: next(replies)) as model:
        begin(web, model.base_url, tmp_path)
        seen = look()
        page = opened(seen, web)
        set_off(page, "Go on for ever")
        expect(page.locator("[data-part=busy]")).to_contain_text("Answering")
        page.click("[data-chat-act=stop]")
        expect(page.locator(".fw-chat-end")).to_contain_text("stopped before its end")
        assert model.wait_for(lambda one: one.left == 1)
        expect(page.locator(TEXT)).to_contain_text("So far so good.")
        page.click("[data-chat-act=retry]")
        expect(page.locator(TEXT)).to_have_text("Now it is whole.")
        expect(page.locator(".fw-chat-turn")).to_have_count(1)
        assert seen.complaints == []


def test_a_new_conversation_leaves_the_answer_under_way(web: Web, look: Look, tmp_path: Path) -> None:
    replies = iter([ENDLESS, says("Something else.")])
    with scripted_model(lambda _: next(replies)) as model:
        begin(web, model.base_url, tmp_path)
        seen = look()
        page = opened(seen, web)
        set_off(page, "Go on for ever")
        page.click("[data-chat-act=new]")
        expect(page.locator("[data-part=busy-row]")).to_be_hidden()
        assert model.wait_for(lambda one: one.left == 1)
        ask(page, "What else?")
        expect(page.locator("[data-part=turns]")).not_to_contain_text("So far")
        assert "Go on for ever" not in str(model.received[-1].messages)
        assert seen.complaints == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fault(401, "bad key", code="invalid_api_key"), "key"),
        (fault(500, "boom"), "."),
        (Reply([delta("", role="assistant"), delta("Half a ")], end=End.CUT), "."),
        (fault(400, "maximum context length", code="context_length_exceeded"), "long"),
    ],
)
def test_a_fault_is_one_line_and_the_question_stays(
    web: Web, look: Look, tmp_path: Path, reply: Reply, words: str
) -> None:
    replies = iter([reply, says("It works again.")])
    with scripted_model(lambda _: next(replies)) as model:
        begin(web, model.base_url, tmp_path)
        page = opened(look(), web)
        ask(page, "Is it idle?")
        expect(page.locator(".fw-chat-failed")).to_contain_text(words)
        expect(page.locator("[data-question]")).to_have_text("Is it idle?")
        page.click("[data-chat-act=retry]")
        expect(page.locator(TEXT)).to_have_text("It works again.")
        expect(page.locator(".fw-chat-turn")).to_have_count(1)


def test_what_is_asked_at_the_end_of_an_answer_is_asked(
    talking: Web, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    closes, may_close = MemoryLog.end, threading.Event()

    def closes_late(log: MemoryLog) -> None:
        may_close.wait(60.0)
        closes(log)

    monkeypatch.setattr(MemoryLog, "end", closes_late)
    page = opened(look(), talking)
    ask(page, "Is it idle?")
    page.click("[data-part=end] .fw-chat-suggestion >> nth=0")
    try:
        expect(page.locator(".fw-chat-turn")).to_have_count(2)
        page.wait_for_selector(ENDED)
    finally:
        may_close.set()


def test_an_edited_question_takes_the_place_of_the_old_one(talking: Web, look: Look) -> None:
    page = opened(look(), talking)
    ask(page, "first")
    ask(page, "second")
    page.locator(".fw-chat-asked").first.hover()
    page.click("[data-chat-act=edit] >> nth=0")
    expect(page.locator(".fw-chat-field")).to_have_value("first")
    page.keyboard.press("Escape")
    expect(page.locator("[data-part=editing]")).to_be_hidden()
    page.locator(".fw-chat-asked").first.hover()
    page.click("[data-chat-act=edit] >> nth=0")
    page.fill(".fw-chat-field", "changed")
    page.keyboard.press("Enter")
    expect(page.locator("[data-question]")).to_have_text(["changed"])
    page.wait_for_selector(ENDED)
    page.reload()
    expect(page.locator("[data-question]")).to_have_text(["changed"])


def test_a_question_asked_while_earlier_ones_come_back_is_the_next_one(talking: Web, look: Look) -> None:
    page = opened(look(), talking)
    ask(page, "first")
    held: list[Any] = []
    page.route("**/_chat/conversation?*", lambda route: held.append(route))
    page.reload()
    page.fill(".fw-chat-field", "second")
    page.keyboard.press("Enter")
    expect(page.locator("[data-question]")).to_have_text(["second"])
    page.wait_for_selector(ENDED)
    held[0].continue_()
    expect(page.locator("[data-question]")).to_have_text(["first", "second"])
    page.unroute("**/_chat/conversation?*")
    page.reload()
    expect(page.locator("[data-question]")).to_have_text(["first", "second"])


def test_the_page_of_the_assistant_lists_opens_and_deletes(talking: Web, look: Look) -> None:
    seen = look()
    page = opened(seen, talking)
    ask(page, "the older one")
    page.click("[data-chat-act=new]")
    ask(page, "the newer one")
    page.click(".fw-chat-whole")
    page.wait_for_url("**/chat")
    expect(page.locator(".fw-chat-open")).to_have_count(2)
    nothing_serious(page)
    page.click(".fw-chat-open:has-text('the older one')")
    expect(page.locator("[data-question]")).to_have_text(["the older one"])
    expect(page.locator(".fw-chat-open[aria-current=true]")).to_contain_text("the older one")
    for _ in range(2):
        page.click("li:has-text('the older one') [data-chat-act=delete]")
    expect(page.locator(".fw-chat-open")).to_have_count(1)
    expect(page.locator(".fw-chat-turn")).to_have_count(0)
    for _ in range(2):
        page.click("[data-chat-act=delete-all]")
    expect(page.locator("#chat-list")).to_contain_text("No conversation yet")
    assert seen.complaints == []


def test_two_tabs_have_conversations_of_their_own(talking: Web, look: Look) -> None:
    left, right = opened(look(), talking), opened(look(), talking)
    for page, words in ((left, "left"), (right, "right")):
        page.fill(".fw-chat-field", words)
    left.keyboard.press("Enter")
    right.keyboard.press("Enter")
    for page, words, other in ((left, "left", "right"), (right, "right", "left")):
        page.wait_for_selector(ENDED)
        expect(page.locator(TEXT)).to_contain_text(f"You asked: {words}.")
        assert other not in page.locator("[data-part=turns]").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_panel_is_for_everybody_in_both_themes_and_on_a_phone(
    talking: Web, look: Look, theme: str, width: int
) -> None:
    seen = look(theme=theme, width=width, reduced_motion="reduce")
    page = opened(seen, talking, "jobs/7")
    expect(page.locator(".fw-chat-suggestion").first).to_contain_text("job 7")
    nothing_serious(page)
    ask(page, "/job 7")
    expect(page.locator(".fw-tool .fw-meter")).to_have_count(5)
    nothing_serious(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    box = page.locator("#chat").bounding_box()
    assert box is not None and box["width"] == (390 if width == 390 else 384)
    assert page.evaluate("document.querySelector('#react-entry-point .fw-page').inert") is (width == 390)
    page.click("#chat [data-chat-act=close]")
    expect(page.locator(ASK)).to_be_focused()
    assert seen.complaints == []


def test_keys_open_send_break_lines_and_close(talking: Web, look: Look) -> None:
    page = look().open(talking.url, "#react-entry-point h1")
    page.locator("#first-view").wait_for(state="detached")
    page.keyboard.press("a")
    expect(page.locator(".fw-chat-field")).to_be_focused()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    assert page.input_value(".fw-chat-field") == "one\ntwo"
    page.keyboard.press("Enter")
    expect(page.locator("[data-question]")).to_have_text("one\ntwo")
    page.wait_for_selector(ENDED)
    expect(page.locator("[data-part=said]")).to_contain_text("not traced")
    page.keyboard.press("Escape")
    expect(page.locator("#chat")).to_be_hidden()
    expect(page.locator("#ask")).to_be_focused()
    page.click("a.fw-nav-link[title=Nodes]")
    page.keyboard.press("a")
    expect(page.locator("[data-question]")).to_have_text("one\ntwo")


def test_a_name_that_looks_like_a_page_stays_text(web: Web, look: Look) -> None:
    named = FakeScheduler(nodes(), [make_job(7, "gpu01", 2, (0, 1), name=NASTY)])
    words = f"It is called {NASTY} <script>alert(2)</script> ![p](http://127.0.0.1:9/x.png)"
    replies = iter([calls(("job_report", {"job_id": "7", "at": ""})), says(words)])
    with scripted_model(lambda _: next(replies)) as model:
        begin(web, model.base_url, sources=open_fakes(named))
        seen = look()
        page = opened(seen, web)
        page.on("dialog", lambda dialog: seen.complaints.append("dialog"))
        ask(page, f"What is {NASTY}?")
        text = page.locator(TEXT)
        expect(text).to_contain_text("<img src=x onerror=alert(1)>")
        expect(text).to_contain_text("<script>alert(2)</script>")
        assert text.locator("img, script, a").count() == 0 and text.locator("strong").inner_text() == "bold"
        expect(page.locator("[data-question] *")).to_have_count(0)
        page.click("summary:has-text('Arguments and result')")
        expect(page.locator(".fw-tool pre").last).to_contain_text("<img src=x onerror=alert(1)>")
        assert [one for one in seen.asked if "x.png" in one] == [] and seen.complaints == []


def test_short_requests_do_what_a_stream_does(web: Web, look: Look, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    replies = iter([says("In short requests."), ENDLESS])
    with scripted_model(lambda _: next(replies)) as model:
        begin(web, model.base_url, tmp_path / "state", delivery=Delivery.POLL)
        seen = look()
        page = opened(seen, web)
        ask(page, "How?")
        expect(page.locator(TEXT)).to_have_text("In short requests.")
        set_off(page, "Go on")
        page.click("[data-chat-act=stop]")
        expect(page.locator(".fw-chat-turn:last-child .fw-chat-end")).to_contain_text("stopped before its end")
        assert seen.complaints == []


def test_what_is_refused_is_said_and_stays_in_the_field(web: Web, look: Look, tmp_path: Path) -> None:
    with scripted_model(lambda _: says("Yes.")) as model:
        begin(web, model.base_url, tmp_path, questions_per_day=1)
        page = opened(look(), web)
        page.fill(".fw-chat-field", "x" * 200_000)
        page.keyboard.press("Enter")
        expect(page.locator(".fw-chat-refused")).to_contain_text("200,000 bytes; at most 20,000 are taken")
        assert len(page.input_value(".fw-chat-field")) == 200_000
        ask(page, "one")
        page.fill(".fw-chat-field", "two")
        page.keyboard.press("Enter")
        expect(page.locator(".fw-chat-refused")).to_contain_text("1 a day are allowed")
        expect(page.locator(".fw-chat-field")).to_have_value("two")


def test_without_a_model_commands_show_the_same_cards(web: Web, look: Look) -> None:
    begin(web)
    page = opened(look(USER), web)
    expect(page.locator("#chat-note")).to_have_text("No model: commands only. Not kept.")
    ask(page, "/job 7")
    expect(page.locator(".fw-tool-name")).to_have_text("job_report")
    page.click(".fw-tool a:has-text('Open the page')")
    page.wait_for_url("**/jobs/7")
    expect(page.locator(".fw-chat-turn")).to_have_count(1)
