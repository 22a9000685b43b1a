"""What can be asked without a model: commands such as /job 123, and plain questions that name a job, node or user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from chat.command_table import BY_NAME, COMMANDS, Command
from chat.model import OnScreen
from data.errors import BadRequest

PERIODS = {"day": "24h", "today": "24h", "week": "7d", "month": "30d", "quarter": "90d", "year": "365d"}
_LENGTH = re.compile(r"\d{1,4}[hdw]", re.ASCII)
_PAIR = re.compile(r"([a-z_]+)=(.*)", re.ASCII)
_MOST_WORDS = 40


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool and its arguments: what a command or a plain question means."""

    tool: str
    arguments: Mapping[str, Any]


def is_command(question: str) -> bool:
    return question.lstrip().startswith("/")


def read_command(question: str, on_screen: OnScreen) -> Wanted | None:
    """What a command means; None for /help. Raises BadRequest for one that is not known or not complete."""
    name, _, rest = question.strip().partition(" ")
    command = _command(name.removeprefix("/").lower())
    if not command.tool:
        return None
    words = rest.split()
    if len(words) > _MOST_WORDS:
        raise BadRequest(f"/{command.name}: too many words", hint=f"Write {command.usage}.")
    return Wanted(command.tool, _arguments(command, words, on_screen))


def help_lines() -> tuple[str, ...]:
    """All commands with what they show, for /help."""
    return tuple(f"- `{one.usage}`: {one.shows}" for one in COMMANDS)


def _command(name: str) -> Command:
    found = BY_NAME.get(name)
    if found is None:
        near = get_close_matches(name, BY_NAME, 3, cutoff=0.5) or ["help"]
        said = ", ".join(f"/{one}" for one in dict.fromkeys(BY_NAME[one].name for one in near))
        raise BadRequest(f"There is no command /{name[:40]}", hint=f"Did you mean {said}? /help lists all.")
    return found


def _arguments(command: Command, words: list[str], on_screen: OnScreen) -> dict[str, Any]:
    """Words in order, name=value pairs anywhere, a period such as week or 14d, and `by` before what a row is."""
    found: dict[str, Any] = dict(command.fixed)
    left = _take_pairs(command, words, found)
    left = _take_by(command, left, found)
    if command.has_period:
        left = _take_period(left, found)
    _fill(command, left, found)
    _from_screen(command, found, on_screen)
    missing = [name for name in command.needed if name not in found]
    if missing:
        raise BadRequest(f"/{command.name} needs {' and '.join(missing)}", hint=f"Write {command.usage}.")
    return {name: found[name] for name in (*command.words, *found) if name in found}


def _take_pairs(command: Command, words: list[str], found: dict[str, Any]) -> list[str]:
    left = []
    for word in words:
        pair = None if command.takes_rest else _PAIR.fullmatch(word)
        if pair is None:
            left.append(word)
        else:
            found[pair[1]] = PERIODS.get(pair[2], pair[2]) if pair[1] == "since" else pair[2]
    return left


def _take_by(command: Command, words: list[str], found: dict[str, Any]) -> list[str]:
    if not command.has_by or "by" not in words[:-1]:
        return words
    at = words.index("by")
    found["by"] = words[at + 1]
    return words[:at] + words[at + 2 :]


def _take_period(words: list[str], found: dict[str, Any]) -> list[str]:
    for at, word in enumerate(words):
        if word.lower() in PERIODS or _LENGTH.fullmatch(word.lower()):
            found["since"] = PERIODS.get(word.lower(), word.lower())
            return words[:at] + words[at + 1 :]
    return words


def _fill(command: Command, words: list[str], found: dict[str, Any]) -> None:
    names = [name for name in command.words if name not in found]
    if command.takes_rest and words:
        found[names[0]] = " ".join(words)
        return
    if len(words) > len(names):
        raise BadRequest(
            f"/{command.name}: {words[len(names)][:60]} is one word too many", hint=f"Write {command.usage}."
        )
    found.update(zip(names, words, strict=False))


def _from_screen(command: Command, found: dict[str, Any], on_screen: OnScreen) -> None:
    """What is not said is what the page shows."""
    shown = {"job_id": on_screen.job, "name": on_screen.node, "user": on_screen.user}
    for name in command.needed:
        if name not in found and shown.get(name):
            found[name] = shown[name]
