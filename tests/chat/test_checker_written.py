"""How often the check of figures is right about answers as models write them: lists, tables, comparisons, shares."""

from __future__ import annotations

import pytest

from chat.checker import Checked, check, grounds
from chat.model import ToolResult
from tests.chat.written import WrittenAnswer, written_answers

MOST_FALSE, LEAST_CAUGHT = 0.05, 0.97
TWO = {
    "from_at": "2026-11-27T09:30:00Z",
    "until_at": "2026-11-30T09:30:00Z",
    "total": {"jobs": 1934, "wasted_gpu_hours": 4691.18},
    "groups": {
        "rows": [
            {"user": "hnguyen", "jobs": 180, "wasted_gpu_hours": 781.721, "used_gpu_hours": 2181.26},
            {"user": "uweber", "jobs": 21, "wasted_gpu_hours": 345.51, "used_gpu_hours": 1524.31},
        ]
    },
}
DAYS = {
    "groups": {
        "rows": [
            {"day": "Fri 2026-11-27", "utilization_ratio": 0.749596},
            {"day": "Sat 2026-11-28", "utilization_ratio": 0.775486},
        ]
    }
}
RESULTS = [
    ToolResult("c1", "waste_ranking", {}, 0.0, TWO),
    ToolResult("c2", "efficiency_report", {"by": "day"}, 0.0, DAYS),
    ToolResult(
        "c3", "cluster_status", {}, 0.0, {"nodes": 72, "nodes_by_state": {"idle": 3}, "gpus": {"drained": 8, "down": 9}}
    ),
]
# What is derived from figures beside it, and the same with one of them wrong.
DERIVED = [
    ("3 of 72 nodes are idle (4.2 %).", "3 of 72 nodes are idle (7.2 %)."),
    ("3 of 72 nodes are idle (4.2 %).", "3 of 92 nodes are idle (3.3 %)."),
    ("17 GPUs are out (8 drained, 9 down).", "18 GPUs are out (8 drained, 10 down)."),
    ("17 GPUs are out (8 drained, 9 down).", "19 GPUs are out (8 drained, 9 down)."),
    (
        "hnguyen's 781.7 wasted GPU-hours are 16.7% of the 4,691 that were wasted in all.",
        "hnguyen's 781.7 wasted GPU-hours are 18.7% of the 4,691 that were wasted in all.",
    ),
    (
        "hnguyen wasted 781.7 GPU-hours and uweber 345.5 GPU-hours, 436.2 GPU-hours more.",
        "hnguyen wasted 781.7 GPU-hours and uweber 345.5 GPU-hours, 446.2 GPU-hours more.",
    ),
    (
        "hnguyen wasted 781.7 GPU-hours and uweber 345.5 GPU-hours, 436.2 GPU-hours more.",
        "hnguyen wasted 881.7 GPU-hours and uweber 345.5 GPU-hours, 536.2 GPU-hours more.",
    ),
    (
        "From 75.0 % on Friday to 77.5 % on Saturday (+2.5 points).",
        "From 75.0 % on Friday to 77.5 % on Saturday (+3.5 points).",
    ),
]
# Wordings that the checker learned to read, and the same with one thing wrong.
READ = [
    (
        "Utilization was 75.0 % on Friday and 77.5 % the day after.",
        "Utilization was 77.5 % on Friday and 75.0 % the day after.",
    ),
    (
        "uweber wasted 346 GPU-hours. hnguyen comes first with 782.",
        "uweber wasted 346 GPU-hours. hnguyen comes first with 872.",
    ),
    ("hnguyen used 2,181 GPU-hours.", "hnguyen wasted 2,181 GPU-hours."),
    (
        "Wasted GPU-hours fell from 782 (hnguyen) to 346 (uweber).",
        "Wasted GPU-hours fell from 346 (hnguyen) to 782 (uweber).",
    ),
]
PENDING = {
    "job": "48265619",
    "user": "lrossi",
    "partition": "a100",
    "wait_seconds": 3152.0,
    "priority_parts": {"fairshare": 1911.0, "partition": 200.0},
}
LOW = {"job": "48256752", "user": "rjohnson", "window_seconds": 14400.0, "idle_for_at_least_seconds": 5400.0}
CHECKED = {"checks": {"rows": [{"about": "Join", "says": "2 of 52 GPU nodes have no series: h019, h025"}]}}
GROUPS = {"rows": [{"partition": "a100", "node": "n1", "gpus": 17}, {"partition": "gpu", "node": "n2", "gpus": 36}]}
FOUND = {
    "find_nodes": ({"groups": GROUPS}, {}),
    "why_pending": (PENDING, {"job_id": "48265619"}),
    "policy_verdicts": ({"verdicts": {"rows": [LOW]}}, {}),
    "source_health": (CHECKED, {}),
    "sbatch_advice": ({"advice": {"partition": "a100"}}, {"gpus": 2, "gpu_memory_gib": 40, "hours": 10}),
}
# A tool, and what is said of its result: right, and with one thing wrong.
OF_TOOLS = [
    ("why_pending", "Its parts: fairshare 1,911, partition 200.", "Its parts: fairshare 1,911, partition 300."),
    ("find_nodes", "Partition `a100` has 17 GPUs, `gpu` 36.", "Partition `a100` has 36 GPUs, `gpu` 17."),
    ("policy_verdicts", "rjohnson's job is idle for 90 min.", "rjohnson's job is idle for 4 h."),
    ("policy_verdicts", "rjohnson's job is idle for 90 min.", "hnguyen's job is idle for 90 min."),
    ("source_health", "2 of 52 GPU nodes have no series.", "2 of 62 GPU nodes have no series."),
    ("sbatch_advice", "For 40 GiB and 10 hours, take a100.", "For 80 GiB and 10 hours, take a100."),
]
# A number that claims nothing of the data, and the same words with one that does: the question, the answers.
CLAIMS = [
    ("Who wasted more than 700?", "Only hnguyen wasted more than 700.", "Only hnguyen wasted more than 790."),
    ("Did uweber waste over 300?", "Yes, uweber wasted more than 300.", "No, uweber did not waste more than 300."),
    ("Did uweber waste 500 GPU-hours?", "No, uweber did not waste 500 GPU-hours.", "Yes, uweber wasted 500 GPU-hours."),
    ("Is Friday under 80 %?", "Yes, Friday is below 80 %.", "No, Friday is above 80 %."),
    ("Is Friday over 80 %?", "No, Friday is below your 80 %.", "Yes, Friday is above your 80 %."),
    ("What to do?", "Use 64 GPUs.", "Use the other 64 GPUs."),
    ("What to do?", "Ask for 16 cores, e.g. `-c 16`.", "Use the 16 idle cores."),
    ("What to do?", "Raise the batch size to 64.", "Raise the utilization from 64 %."),
    ("What to do?", "Set --cpus-per-task=24 and OMP_NUM_THREADS=24.", "There are 24 CPUs."),
    ("What is 100 %?", "100 % would mean that it never rests.", "Utilization was 100 % on Friday."),
    ("What is 100 %?", "100 % means that it never rests.", "Friday ran at 100 %, which means that it was busy."),
    ("How is uweber?", "uweber has tasks 12-16 left.", "uweber has 16 tasks."),
]
# More that is derived, from figures beside it or fields beside theirs.
FOLLOWS = [
    ("hnguyen wasted 781.7 GPU-hours, 16.7 % of all waste.", "hnguyen wasted 781.7 GPU-hours, 19.7 % of all waste."),
    (
        "hnguyen: 180 jobs, uweber: 21. That is 8.6 times as many.",
        "hnguyen: 180 jobs, uweber: 21. That is 9.9 times as many.",
    ),
    ("Of the 72 nodes 3 are idle (4.2 %).", "Of the 72 nodes 3 are idle (6.2 %)."),
    (
        "hnguyen wasted 781.7 GPU-hours, uweber 345.5. The gap is 436.2 GPU-hours.",
        "hnguyen wasted 781.7 GPU-hours, uweber 345.5. The gap is 463.2 GPU-hours.",
    ),
]
SUMS = [
    "hnguyen and uweber wasted 1,127.2 GPU-hours.",
    "hnguyen wasted 781.7 GPU-hours, uweber 345.5, which makes 1,127.2 GPU-hours.",
    "On average they wasted 563.6 GPU-hours.",
]


def _checked(one: WrittenAnswer, text: str) -> Checked:
    return grounds(one.results).check(text, one.question)


def _is_caught(one: WrittenAnswer) -> bool:
    start, end = one.changed
    return any(begin < end and start < stop for begin, stop in _checked(one, one.wrong).untraced)


def test_answers_as_models_write_them_pass_and_their_wrong_twins_are_marked() -> None:
    answers = list(written_answers())
    false = [one.right for one in answers if _checked(one, one.right).untraced]
    missed = [one.wrong for one in answers if not _is_caught(one)]
    assert len(answers) >= 60
    assert len(false) / len(answers) < MOST_FALSE, false
    assert 1 - len(missed) / len(answers) >= LEAST_CAUGHT, missed


@pytest.mark.parametrize(("right", "wrong"), [*DERIVED, *FOLLOWS, *READ])
def test_a_share_a_difference_and_a_count_of_parts_follow_from_figures_beside_it(right: str, wrong: str) -> None:
    assert check(right, RESULTS).untraced == ()
    assert check(wrong, RESULTS).untraced


@pytest.mark.parametrize(("question", "right", "wrong"), CLAIMS)
def test_what_was_asked_and_what_is_advised_is_no_claim_and_a_claim_in_its_words_is(
    question: str, right: str, wrong: str
) -> None:
    assert check(right, RESULTS, question).untraced == ()
    assert check(wrong, RESULTS, question).untraced


@pytest.mark.parametrize(("tool", "right", "wrong"), OF_TOOLS)
def test_what_a_tool_found_may_be_said_in_its_words(tool: str, right: str, wrong: str) -> None:
    value, arguments = FOUND[tool]
    results = [ToolResult("c", tool, arguments, 0.0, value)]
    more = {"user": frozenset({"hnguyen", "rjohnson"})}
    assert check(right, results, more=more).untraced == ()
    assert check(wrong, results, more=more).untraced


@pytest.mark.parametrize("text", SUMS)
def test_sums_and_means_of_the_model_stay_marked(text: str) -> None:
    assert check(text, RESULTS).untraced


@pytest.mark.parametrize(("words", "seconds"), [("3h18m", 11880), ("3h 18m", 11880), ("2d3h", 183600), ("5m30s", 330)])
def test_a_length_of_time_may_be_written_without_spaces(words: str, seconds: int) -> None:
    row = {"job": "48252064", "wait_seconds": seconds}
    result = ToolResult("c", "find_jobs", {}, 0.0, {"jobs": {"rows": [row]}})
    assert check(f"Job 48252064 waits {words}.", [result]).untraced == ()
    other = ToolResult("c", "find_jobs", {}, 0.0, {"jobs": {"rows": [row | {"wait_seconds": seconds * 1.5}]}})
    assert check(f"Job 48252064 waits {words}.", [other]).untraced
