"""What a pass of the collector, an import and a forgotten user look like in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from data.history.csv_import import Imported
    from data.history.privacy import ForgottenUser
    from data.history.state import PassNumbers


def pass_lines(numbers: PassNumbers, width: int) -> Iterable[RenderableType]:
    yield (
        f"{numbers.ended:,} jobs had ended, {numbers.written:,} of them were new, changed or not measured yet; "
        f"{numbers.running:,} are running."
    )
    yield from _where(numbers.unmeasured, "had GPUs of which no use is known")
    yield from _where(numbers.apportioned, "have a mean only: their hours are spread evenly")
    yield from _where(numbers.moved, "left the file of another day")
    yield from _where(numbers.runaway, "run only as far as slurmdbd knows, and count nowhere")
    if numbers.broken:
        yield f"{numbers.broken:,} records could not be read, such as {', '.join(numbers.broken_examples)}."
    yield from _reasons("Left out of the samples", numbers.dropped)
    yield from _reasons("Flagged", numbers.flagged)
    if numbers.missing:
        yield f"No exporter gives: {', '.join(numbers.missing)}."
    yield from numbers.warnings
    if numbers.error:
        yield f"The metrics did not answer: {numbers.error}. These jobs are looked at again."


def csv_lines(found: Imported, width: int) -> Iterable[RenderableType]:
    yield f"{found.jobs:,} jobs of {found.users:,} users were imported, {found.left_out:,} rows left out by the filter."
    if found.broken:
        yield f"{found.broken:,} rows could not be read, such as {'; '.join(found.broken_examples)}."
    share = f" ({found.gpu_hours_used / found.gpu_hours_measured:.1%})" if found.gpu_hours_measured else ""
    yield f"{found.gpu_hours_allocated:,.2f} GPU-hours allocated, {found.gpu_hours_used:,.2f} used{share}."


def forgotten_lines(found: ForgottenUser, width: int) -> Iterable[RenderableType]:
    yield f"{found.files:,} files were changed. Jobs of before now stay without the name when they are collected again."
    if found.conversations is not None:
        yield f"{found.conversations:,} conversations with the assistant were deleted."
    for path in found.unreadable:
        yield f"{path} is damaged and may still hold it: remove the file."


def _where(number: int, what: str) -> Iterator[str]:
    if number:
        yield f"{number:,} {what}."


def _reasons(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield f"{title}: " + ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items())) + "."
