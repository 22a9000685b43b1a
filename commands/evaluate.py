"""How well the configured model answers: questions with known answers, on the simulated cluster."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson
from commands.chat import quiet_log
from data.errors import BadRequest, SettingsError

if TYPE_CHECKING:
    from chat.evaluation import Question
    from data.sources import Sources
    from settings import ChatSettings

_DAYS = 9


def register(commands: typer.Typer) -> None:
    commands.command("eval-chat")(evaluate_chat)


def evaluate_chat(
    context: typer.Context,
    seed: Annotated[int, typer.Option(help="Seed of the simulated cluster; -1 = draw one, and say which.")] = -1,
    only: Annotated[
        str, typer.Option(help='Questions of one kind ("scope") or by id ("N03"), separated by commas.')
    ] = "",
    least: Annotated[float, typer.Option(min=0, max=1, help="Exit code 1 below this share of right answers.")] = 0.8,
    as_json: AsJson = False,
) -> None:
    """Ask the configured model questions with known answers about the simulated cluster, and print a score per kind."""
    from chat.evaluation import Score, evaluate, questions
    from chat.evaluation.running import Hopeless
    from chat.evaluation.truth import truth
    from chat.model_server import ModelServer
    from terminal.evaluation import score_lines
    from terminal.session import load

    settings = load(context.obj.config, is_demo=context.obj.is_demo).settings
    if not settings.chat.has_model:
        raise SettingsError("chat.kind is off: there is no model to ask", hint="Set chat.kind, base_url and model.")
    quiet_log()
    drawn = SystemRandom().randrange(1_000_000) if seed < 0 else seed
    context.obj.screen.tell(f"seed {drawn}: the simulated cluster is made")
    now = datetime.now(UTC)
    sources = _standing_still(settings.chat, drawn, now)
    wanted = only.split(",") if only else []
    chosen = [one for one in questions(truth(sources, now, Random(drawn))) if not wanted or _is_one_of(one, wanted)]
    if not chosen:
        raise BadRequest(f"there are no questions of {only[:60]!r}", hint="Kinds are in docs/reference/commands.md.")
    try:
        with context.obj.screen.progress("asking") as told:
            score = Score(settings.chat.model, drawn, list(evaluate(chosen, sources, ModelServer(settings.chat), told)))
    except Hopeless as err:
        raise SettingsError(f"the model cannot be asked: {err}", hint=err.failed.hint) from err
    context.obj.screen.show(score, score_lines, as_json)
    raise typer.Exit(0 if score.share >= least else 1)


def _is_one_of(question: Question, wanted: list[str]) -> bool:
    return question.id in wanted or question.kind.value in wanted


def _standing_still(chat: ChatSettings, seed: int, now: datetime) -> Sources:
    """The simulated cluster at one moment, with a history of some days in the cache folder."""
    from data.history.demo.keeper import demo_folder
    from data.private import default_folder
    from data.settings_file import demo_settings
    from data.sources import open_sources

    found = demo_settings()
    folder = demo_folder(found.cache.directory or default_folder(os.environ), seed)
    sources = open_sources(
        found.model_copy(
            update={
                "chat": chat,
                "demo": found.demo.model_copy(update={"seed": seed, "history_days": _DAYS}),
                "history": found.history.model_copy(update={"directory": folder}),
            }
        ),
        clock=lambda: now,
    )
    if sources.demo_history is not None:
        sources.demo_history.is_patient = True
    return sources
