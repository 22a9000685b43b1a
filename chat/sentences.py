"""A sentence or two about each result, made of its own numbers: what is said without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chat.model import ToolResult
from data.words import count, duration, gpu_hours, percent

Value = Mapping[str, Any]
_MOST_QUOTED = 2


def sentence(result: ToolResult) -> str:
    """What the result says in short; of a failed one why, and what to do."""
    if result.value is None:
        return " ".join(part for part in (_begun(_ended(result.error)), _ended(result.hint)) if part)
    made = _SENTENCES.get(result.tool)
    return made(result.value) if made is not None else ""


def _time(text: str | None) -> str:
    """A time of a result as people read it."""
    return "an unknown time" if text is None else f"{text[:10]} {text[11:16]} UTC"


def _begun(words: str) -> str:
    """With a capital, unless it begins with the name of a tool."""
    first = words.split(" ", 1)[0]
    return words[:1].upper() + words[1:] if first.isalpha() else words


def _ended(words: str) -> str:
    return words if not words or words[-1] in ".?!" else f"{words}."


def _status(value: Value) -> str:
    gpus = value["gpus"]
    where = f"Partition {value['partition']}" if value["partition"] else f"Cluster {value['cluster']}"
    held = f"{gpus['allocated']} of {count(gpus['total'], 'GPU')} are allocated"
    parts = f"{gpus['busy']} busy, {gpus['held_and_idle']} held and idle, {gpus['free']} free, {gpus['down']} down"
    mean = f"Mean utilization of what is held is {percent(value['utilization_ratio'])}"
    jobs = f"{count(value['jobs_running'], 'job')} run and {value['jobs_pending']} wait"
    when = f" at {_time(value['as_of_at'])}" if value["is_past"] else ""
    return f"{where}{when}: {held} ({parts}). {mean}; {jobs}."


def _job(value: Value) -> str:
    name = f"Job {value['job']}"
    if value["started_at"] is None:
        return f"{name} waits since {_time(value['submitted_at'])}. `/why-pending {value['job']}` says why."
    owner = f" of {value['user']}" if value["user"] else ""
    ran = f"{name}{owner} is {value['state']} and ran {duration(value['elapsed_seconds'])}"
    if not value["gpus"]:
        return f"{ran}, without GPUs. CPU utilization is {percent(value['cpu_ratio'])}."
    used = f"GPU utilization is {percent(value['gpu_utilization_ratio'])}"
    wasted = f"{gpu_hours(value['wasted_gpu_hours'])} of {gpu_hours(value['allocated_gpu_hours'])} were wasted"
    found = [_ended(str(one["title"])) for one in value["findings"]["rows"][:2]]
    return " ".join((f"{ran} on {count(value['gpus'], 'GPU')}. {used}; {wasted}.", *found))


def _series(value: Value) -> str:
    rows = value["devices"]["rows"]
    if not any(row["points"] for row in rows):
        return f"Job {value['job']}: {value['metric']} was not measured."
    trends = [row["trend"] for row in rows if row["trend"]]
    counted = ", ".join(f"{word} on {trends.count(word)}" for word in ("rising", "steady", "falling") if word in trends)
    worst = max(rows, key=lambda row: row.get("idle_in_all_seconds") or 0.0)
    idle = worst.get("idle_in_all_seconds") or 0.0
    longest = f" {worst['device']} was idle longest: {duration(idle)} in all." if idle else " None was idle."
    return f"Job {value['job']}: {value['metric']} is {counted} of {count(len(rows), 'device')} shown.{longest}"


def _waiting(value: Value) -> str:
    began = f"Job {value['job']} waits for {duration(value['wait_seconds'])}"
    start = f" Slurm expects its start at {_time(value['expected_start_at'])}." if value["expected_start_at"] else ""
    if value["never_starts_by_itself"]:
        start = " It will not start by itself."
    nodes = value["fitting_nodes"]["rows_total"]
    free = f"{count(value['gpus_free_on_fitting_nodes'], 'free GPU')} on {count(nodes, 'node')} would fit it now"
    room = f" {free}." if nodes else " No node has room for it now." if value["gpus_requested"] else ""
    return f"{began}. {_ended(value['why'])}{start}{room}"


def _verdict(value: Value) -> str:
    why = _ended(str(value["why"] or ""))
    next_step = f" Next step: {value['next_step']} at {_time(value['next_step_at'])}." if value["next_step_at"] else ""
    wasted = value["wasted_since_start_gpu_hours"]
    since = f" It wasted {gpu_hours(wasted)} since its start." if wasted is not None else ""
    return f"Job {value['job']} is {value['status']} by rule {value['rule']}. {why}{since}{next_step}"


def _verdicts(value: Value) -> str:
    low, running = value["jobs_by_status"].get("low", 0), value["running_gpu_jobs"]
    said = f"{low} of {count(running, 'running GPU job')} are low."
    if not value["verdicts"]["rows"]:
        return f"{said} None that you may see fits the question."
    first = value["verdicts"]["rows"][0]
    owner = f" of {first['user']}" if first["user"] else ""
    return f"{said} First of {value['verdicts']['rows_total']}: job {first['job']}{owner}. {_ended(first['why'] or '')}"


def _jobs(value: Value) -> str:
    total, more = value["jobs"]["rows_total"], value["jobs"]["rows_left_out"]
    what = {"running": "running", "pending": "waiting", "finished": "finished"}[value["shown"]]
    if not total:
        return f"No {what} job that you may see fits."
    order = value["sorted_by"]
    by = order.removeprefix("-").replace("_", " ") + (", largest first" if order.startswith("-") else "")
    return f"{count(total, f'{what} job')}, by {by}" + (f"; {more} more than shown." if more else ".")


def _nodes(value: Value) -> str:
    total, every = value["nodes"]["rows_total"], value["nodes_in_cluster"]
    return f"{total} of {count(every, 'node')} fit."


def _node(value: Value) -> str:
    gpus, reason = value["gpus"], f": {value['reason']}" if value["reason"] else ""
    held = f"{gpus['allocated']} of {count(gpus['total'], 'GPU')} allocated, {gpus['held_and_idle']} held and idle"
    run = count(value["jobs"]["rows_total"] + value["jobs_of_others"], "job")
    return f"Node {value['node']} is {value['state']}{reason}. {held}; {run} on it."


def _user(value: Value) -> str:
    if value["history_is_empty"] or not value.get("allocated_gpu_hours"):
        return (
            f"No GPU-hours of {value['user']} are known from {_time(value['from_at'])} to {_time(value['until_at'])}."
        )
    used = f"{value['user']} held {gpu_hours(value['allocated_gpu_hours'])} in {count(value['jobs'], 'attempt')}"
    mean = f"utilization is {percent(value['utilization_ratio'])}, {gpu_hours(value['wasted_gpu_hours'])} were wasted"
    place = value["place_among_users"]
    rank = f" Place {place['rank']} of {place['of_users']} by utilization." if place["rank"] else ""
    return f"{used}; {mean}.{rank}"


def _report(value: Value) -> str:
    total = value["total"]
    if value["history_is_empty"] or not value["groups"]["rows"]:
        return f"No GPU-hours are known from {_time(value['from_at'])} to {_time(value['until_at'])}."
    held = f"{gpu_hours(total['allocated_gpu_hours'])} in all, {gpu_hours(total['wasted_gpu_hours'])} wasted"
    mean = f"utilization is {percent(total['utilization_ratio'])}"
    return f"{held}; {mean}. {_first(value)}"


def _first(value: Value) -> str:
    by, first = value["by"], value["groups"]["rows"][0]
    name = first.get(by) or "without a name"
    key = {"gpu_hours_wasted": "wasted_gpu_hours", "gpu_hours_idle": "idle_gpu_hours"}.get(value.get("ranked_by", ""))
    if key is None:
        return f"First is {by} {name} with {gpu_hours(first['allocated_gpu_hours'])}."
    share = f", {percent(first['utilization_ratio'])} utilization"
    return f"Most by {by} {name}: {gpu_hours(first[key])} {key.split('_')[0]}{share}."


def _metrics(value: Value) -> str:
    total = value["total"]
    metrics = total["metrics"]
    if not value["groups"]["rows"]:
        return f"Nothing ran on GPUs from {_time(value['from_at'])} to {_time(value['until_at'])}."
    parts = [("UTIL", "utilization_ratio"), ("SM", "sm_activity_ratio"), ("TENSOR", "tensor_activity_ratio")]
    means = ", ".join(f"{label} {percent(metrics[key])}" for label, key in parts if key in metrics)
    found = value["diagnoses"]["rows"][:2]
    worst = ", ".join(f"{one['finding']} ({gpu_hours(one['measured_gpu_hours'])})" for one in found)
    return f"Mean of all: {means or 'nothing was measured'}." + (f" Most frequent: {worst}." if worst else "")


def _waits(value: Value) -> str:
    rows: Sequence[Value] = [one for one in value["waits"]["rows"] if one["jobs"] and one["gpus_of_job"] != "all"]
    if not rows:
        return "No job that began in the range has a known wait."
    said = "; ".join(f"{duration(one['wait_p50_seconds'])} {_of_size(str(one['gpus_of_job']))}" for one in rows)
    return f"Median wait of {value['of']}: {said}."


def _of_size(size: str) -> str:
    return f"with {size} GPU{'' if size == '1' else 's'}" if size != "CPU only" else "without GPUs"


def _compared(value: Value) -> str:
    return " ".join(_half(value[key]) for key in ("first", "second"))


def _half(one: Value) -> str:
    used = f"GPU utilization {percent(one['gpu_utilization_ratio'])}, {gpu_hours(one['wasted_gpu_hours'])} wasted"
    return f"Job {one['job']} ({one['state']}): {used if one['gpus'] else 'no GPUs'}."


def _sbatch(value: Value) -> str:
    advice = value["advice"]
    if advice is None:
        rows = value["partitions"]["rows"]
        why = "; ".join(f"{one['partition']}: {', '.join(one['against'])}" for one in rows[:4])
        return f"No partition can run it. {why}."
    lines = "\n".join(advice["lines"])
    return f"Partition {advice['partition']} can run it.\n\n```\n{lines}\n```"


def _explained(value: Value) -> str:
    said = [f"{one.get('label', one['name'])}: {one['means']}" for one in value["meanings"]]
    advice = [str(one["advice"]) for one in value["meanings"] if one.get("advice")]
    return " ".join((*said, *advice))


def _documents(value: Value) -> str:
    rows = value["sections"]["rows"]
    if not rows:
        return f"None of {count(value['files'], 'document')} holds these words."
    quoted = [f"{_place(one)}: “{one['excerpt']}”" for one in rows[:_MOST_QUOTED]]
    more = f"Also in {', '.join(_place(one) for one in rows[_MOST_QUOTED:])}." if len(rows) > _MOST_QUOTED else ""
    return "\n\n".join(part for part in (*quoted, more) if part)


def _place(one: Value) -> str:
    return f"{one['file']} ({one['heading']})" if one["heading"] else str(one["file"])


def _health(value: Value) -> str:
    rows = value["sources"]["rows"]
    said = ", ".join(f"{one['source']} {one['condition']}" for one in rows)
    missing = value["metrics_missing"]
    return f"Sources: {said}." + (f" Not exported here: {', '.join(missing)}." if missing else "")


_SENTENCES: Mapping[str, Callable[[Value], str]] = {
    "cluster_status": _status,
    "find_nodes": _nodes,
    "node": _node,
    "find_jobs": _jobs,
    "job_report": _job,
    "job_series": _series,
    "why_pending": _waiting,
    "compare_jobs": _compared,
    "policy_verdict": _verdict,
    "policy_verdicts": _verdicts,
    "user_efficiency": _user,
    "efficiency_report": _report,
    "waste_ranking": _report,
    "detailed_metrics": _metrics,
    "wait_by_gpu_count": _waits,
    "sbatch_advice": _sbatch,
    "explain": _explained,
    "site_documents": _documents,
    "source_health": _health,
}
