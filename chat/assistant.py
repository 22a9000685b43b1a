"""The model loop: a question goes to the model server, its tool calls are run as the one who asks, until it answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from chat.assistant_faults import Fault, Stopped, failed
from chat.assistant_turn import AskedTurn, Toolbox
from chat.model import Asker, Event, Failed, OnScreen, Turn
from chat.model_server import ModelServer
from chat.tools import call, schemas
from settings import ChatSettings

log = logging.getLogger(__name__)


def all_tools() -> Toolbox:
    return Toolbox(schemas(), call)


def refused_question(question: str, settings: ChatSettings) -> Failed | None:
    """What is wrong with a question before anything is asked: nothing in it, or more than the limit."""
    size, most = len(question.encode("utf-8", "surrogatepass")), settings.question_bytes
    if size > most:
        text = f"The question has {size:,} bytes; at most {most:,} are taken (chat.question_bytes)."
        hint = "Ask with fewer words: name a job instead of pasting its output."
        return Failed("question_too_long", text, hint, is_retryable=False)
    if not question.strip():
        return Failed("no_question", "There is no question.", "Type one, or /help.", is_retryable=False)
    return None


def answer(
    asker: Asker,
    question: str,
    on_screen: OnScreen,
    history: Sequence[Turn],
    server: ModelServer,
    stop: Callable[[], bool],
    tools: Toolbox | None = None,
) -> Iterator[Event]:
    """Answer a question with the model. Raises nothing: the last event is Ended or Failed.

    The texts of all TextDelta together are the text of Ended. `stop` is asked every 50 ms, from this thread; then the
    answer ends as it is, and the server is left. Closing the generator leaves it, too. `server` is one per process.
    """
    refused = refused_question(question, server.settings)
    if refused is not None:
        yield refused
        return
    turn = AskedTurn(asker, question, on_screen, history, server, stop, tools or all_tools())
    try:
        yield from turn.run()
    except Stopped:
        yield turn.ended(is_cut=True)
    except Fault as fault:
        log.warning("model server: %s: %s", fault.code, fault.detail or fault.message)
        yield failed(fault, asker.viewer)
    except Exception:
        log.exception("the assistant failed")
        yield Failed(
            "unexpected", "The assistant failed unexpectedly.", "This is a fault of Fullwarp; its log says more."
        )
