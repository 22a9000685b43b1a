"""Component trees: what stands where, and in which words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from components.attention import MOST, WARNING, AttentionRow, attention_panel
from components.gpu_map import legend, nothing_to_draw
from components.overview_attention import attention_rows
from components.overview_kpis import overview_kpis
from components.shell import NavEntry, as_of, shell, source_count
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.attention import Attention, Severity, attention
from data.model import Device, GpuState, NodeState, Role, SourceCondition, Viewer
from data.totals import totals
from tests.components.snapshots import NOON, gpu, job, node, snapshot, source, values


def words(component: Any) -> str:
    """All text of a tree, in order."""
    if component is None or isinstance(component, str | int):
        return "" if component is None else str(component)
    if isinstance(component, list | tuple):
        return "".join(words(part) for part in component)
    return words(getattr(component, "children", None))


def of_class(component: Any, name: str) -> list[Any]:
    """Every component of a tree with this class."""
    if isinstance(component, list | tuple):
        return [found for part in component for found in of_class(part, name)]
    if not hasattr(component, "to_plotly_json"):
        return []
    own = [component] if name in str(getattr(component, "className", "")).split() else []
    return own + of_class(getattr(component, "children", None), name)


def kpis(**changes: object) -> dict[str, tuple[str, str, str]]:
    shown = snapshot(**changes)
    cells = overview_kpis(totals(shown), is_known=bool(shown.nodes))
    return {cell.label: (cell.value, cell.unit, words(cell.context)) for cell in cells}


def test_the_strip_counts_every_state_once() -> None:
    found = kpis()
    assert {label: cell[0] for label, cell in found.items()} == {
        "GPUs allocated": "11",
        "Busy": "9",
        "Held, idle": "1",
        "Free": "2",
        "Down or drained": "2",
        "Wasted, 24 h": "–",
        "Power": "5.3",
    }
    assert found["GPUs allocated"][1] == "of 16"
    assert found["Held, idle"][2] == "9.1 % of allocated"


def test_where_nothing_is_measured_busy_and_idle_are_a_dash_and_never_zero() -> None:
    dark = tuple(gpu("h001", index, GpuState.UNMEASURED, None) for index in range(8))
    found = kpis(gpus=dark)
    assert [found[label][0] for label in ("Busy", "Held, idle", "Power")] == ["–", "–", "–"]


def test_without_any_node_every_number_is_unknown() -> None:
    assert {cell[0] for cell in kpis(nodes=(), gpus=(), jobs=()).values()} == {"–"}


def test_a_mean_of_few_gpus_carries_the_pie_and_its_share() -> None:
    gpus = [gpu("h001", index, GpuState.UNMEASURED, None) for index in range(6)]
    gpus += [gpu("h001", index) for index in (6, 7)]
    assert kpis(gpus=tuple(gpus))["Busy"][2] == "mean UTIL 90 %, 2 of 8"


def test_slices_are_named_beside_the_gpus_and_not_among_them() -> None:
    sliced = gpu("h001", 0, device=Device("h001", index=0, slice_id="7", slice_profile="1g.10gb"), values=values(0.5))
    found = kpis(gpus=(gpu("h001", 1), sliced))
    assert found["GPUs allocated"] == ("1", "of 1", "and 1 of 1 slice")


def test_a_mark_stands_only_where_somebody_should_act() -> None:
    fine = overview_kpis(totals(snapshot(gpus=(gpu("h001", 0),))))
    assert [cell.label for cell in fine if cell.mark] == []
    bad = overview_kpis(totals(snapshot()))
    assert [cell.label for cell in bad if cell.mark] == ["Held, idle", "Down or drained"]


def test_the_legend_names_every_state_and_is_a_filter() -> None:
    buttons = legend(totals(snapshot()).use, chosen="idle").children
    said = {button.__getattribute__("data-state"): words(button) for button in buttons}
    assert said == {
        "busy": "Busy 9",
        "idle": "Held, idle 1",
        "free": "Free 2",
        "drained": "Drained 1",
        "down": "Down 1",
        "unmeasured": "Not measured 1",
        "unknown": "Not known 1",
    }
    pressed = [getattr(button, "data-state") for button in buttons if getattr(button, "aria-pressed") == "true"]
    assert pressed == ["idle"]


def test_attention_lists_the_most_gpus_first_and_counts_all() -> None:
    rows = [Attention("idle_job", Severity.WARN, str(at), "idle now", "job", str(at), gpus=at) for at in range(1, 13)]
    panel = attention_panel(attention_rows(rows))
    titles = [words(title) for title in of_class(panel, "fw-title")]
    assert titles[0] == "Job 12: idle GPUs" and len(titles) == 12
    assert "12 open" in words(panel) and "3 more" in words(panel)


def test_idle_slices_are_named_as_slices() -> None:
    one = Attention("idle_job", Severity.WARN, "5", "1 of 1 slice idle now", "job", "5", gpus=1, are_slices=True)
    (row,) = attention_rows([one])
    assert (row.title, row.what) == ("Job 5: idle slices", "slice idle")


def test_nothing_open_is_said() -> None:
    assert "nothing open" in words(attention_panel([]))


def test_of_a_flood_of_warnings_the_largest_are_shown_and_nothing_bad_is_left_out() -> None:
    warnings = [AttentionRow(WARNING, f"w{place}", (), 999 - place, "GPUs") for place in range(150)]
    bad = AttentionRow(("bad", "bad"), "broken", (), None, "")
    panel = attention_panel([*warnings, bad])
    said = words(panel)
    assert len(of_class(panel, "fw-line")) == MOST + 1 and "broken" in said
    assert "142 more" in said and "And 50 warnings with fewer GPUs each" in said
    assert "warnings with" not in words(attention_panel([*warnings[:20], bad]))


def test_with_the_picture_nothing_is_said_twice() -> None:
    shown = snapshot(
        nodes=(
            node("h001"),
            node("h009", state=NodeState("DOWN", (), "DOWN*", "down", False), reason="Not responding"),
        ),
        gpus=tuple(
            gpu("h001", place, GpuState.IDLE if place else GpuState.BUSY, 0.0, job_ids=(7,)) for place in range(3)
        ),
        jobs=(job(7, user="eve"),),
    )
    rows = attention_rows(attention(shown), picture=shown)
    told = [(row.title, words(row.context), row.amount, row.what) for row in rows]
    assert ("Job 7: idle", "eve", 2, "of 3 GPUs idle") in told
    assert ("h009: down*", "Not responding") in [row[:2] for row in told]


def test_every_kind_of_attention_of_a_snapshot_has_words() -> None:
    failing = (source("slurm"), source("metrics", SourceCondition.DOWN))
    panel = attention_panel(attention_rows(attention(snapshot(sources=failing))))
    assert "GPU metrics: does not answer" in words(panel)
    assert "Job 48211" not in words(panel)


@pytest.mark.parametrize(
    ("conditions", "text", "tone"),
    [
        ((SourceCondition.OK, SourceCondition.OK), "As of ", ""),
        ((SourceCondition.OK, SourceCondition.STALE), "GPU metrics ", "fw-is-stale"),
        ((SourceCondition.DOWN, SourceCondition.STALE), "Slurm down", "fw-is-bad"),
    ],
)
def test_the_head_names_what_is_old_or_gone(
    conditions: tuple[SourceCondition, SourceCondition], text: str, tone: str
) -> None:
    names = ("slurm", "metrics")
    said = as_of(snapshot(sources=tuple(map(source, names, conditions))))
    assert words(said).startswith(text) and tone in said.className


def test_users_read_what_is_old_and_staff_also_where_and_why() -> None:
    failing = source(
        "metrics",
        SourceCondition.STALE,
        failing_since=NOON - timedelta(minutes=7),
        address="http://prom:9090",
        error="connection refused",
        hint="Is it running?",
    )
    shown = snapshot(sources=(source("slurm"), failing))
    user, staff = words(sources_banner(shown, is_staff=False)), words(sources_banner(shown, is_staff=True))
    assert "GPU metrics:  old." in user and "Slurm answers." in user and "prom" not in user
    assert "http://prom:9090 · connection refused · Is it running?" in staff


def test_a_source_that_never_answered_is_down_and_not_old() -> None:
    shown = snapshot(sources=(source("slurm", SourceCondition.STALE, last_success=None),))
    assert "Slurm: not available." in words(sources_banner(shown, is_staff=False))
    assert sources_banner(snapshot(), is_staff=True) is None


def test_the_past_is_marked_and_says_what_it_cannot_know() -> None:
    past = past_banner(snapshot(is_past=True, unknown=("Drain reasons are not known.",)), "/")
    assert "Not known for that moment: Drain reasons are not known." in words(past)
    assert past_banner(snapshot(), "/") is None


def test_ignored_parts_are_named_as_text() -> None:
    assert "<script>" in words(ignored_banner(["state = <script>"]))
    assert ignored_banner([]) is None


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"nodes": (), "gpus": ()}, "No nodes"),
        ({"nodes": (node("c1"),), "gpus": ()}, "No GPUs in this cluster"),
        ({"nodes": (), "gpus": (), "sources": (source("slurm", SourceCondition.DOWN),)}, "Slurm is not available"),
    ],
)
def test_an_empty_map_says_why(changes: dict[str, Any], title: str) -> None:
    assert title in words(nothing_to_draw(snapshot(**changes)))


def test_a_map_with_gpus_has_nothing_in_its_place() -> None:
    assert nothing_to_draw(snapshot()) == []


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([], "not asked yet"),
        ([SourceCondition.OK] * 3, "3 of 3 sources"),
        ([SourceCondition.OK, SourceCondition.STALE], "1 of 2 sources"),
    ],
)
def test_the_foot_counts_the_sources(conditions: list[SourceCondition], text: str) -> None:
    assert words(source_count([source("slurm", one) for one in conditions])) == text


def test_the_frame_names_pages_viewer_and_version() -> None:
    frame = shell([NavEntry("Overview", "/warp/", "grid")], Viewer("sam", Role.STAFF), "larch", "1.2", "the page")
    text = words(frame)
    assert all(part in text for part in ("Overview", "sam staff", "Fullwarp 1.2", "the page"))
    places = of_class(frame, "fw-nav-link")
    assert [getattr(place, "href", "") or place.id for place in places] == ["/warp/", "nav-ask"]
