"""Slurm's reasons for waiting, in words."""

from __future__ import annotations

import re

_WORDS = {
    "Priority": "Jobs with a higher priority are first in line.",
    "Resources": "It is next in line and waits for its resources to become free.",
    "None": "Slurm has not looked at it yet.",
    "Dependency": "It waits for another job to end.",
    "DependencyNeverSatisfied": "The job that it depends on did not end as it needs: it will never start.",
    "BeginTime": "Its begin time is not reached yet.",
    "JobHeldUser": "Its owner holds it back: release it with scontrol release.",
    "JobHeldAdmin": "An administrator holds it back.",
    "JobHoldMaxRequeue": "It was requeued too often and is held back.",
    "Reservation": "Its reservation has not begun, or is full.",
    "ReservationDeleted": "Its reservation was deleted: it will not start.",
    "Licenses": "It waits for a license.",
    "JobArrayTaskLimit": "The array's own limit of running tasks is reached.",
    "PartitionDown": "Its partition is down.",
    "PartitionInactive": "Its partition is inactive.",
    "PartitionNodeLimit": "It asks for more nodes than its partition allows: it will not start.",
    "PartitionTimeLimit": "Its time limit is more than its partition allows: it will not start.",
    "PartitionConfig": "It asks for something that its partition does not have: it will not start.",
    "BadConstraints": "No node has what it asks for: it will not start.",
    "NodeDown": "A node that it needs is down.",
    "ReqNodeNotAvail": "Nodes that it could use are down, drained or reserved.",
    "InvalidQOS": "Its QOS is not valid: it will not start.",
    "InvalidAccount": "Its account is not valid: it will not start.",
    "AccountNotAllowed": "Its account may not use this partition: it will not start.",
    "QOSNotAllowed": "Its QOS may not use this partition: it will not start.",
    "AssociationJobLimit": "The account's limit of jobs is reached.",
    "Cleaning": "It was requeued and its last run is still being cleaned up.",
    "Prolog": "Its nodes are being prepared.",
    "BurstBufferResources": "It waits for burst buffer space.",
    "InactiveLimit": "Its inactive limit is reached.",
    "SchedDefer": "The scheduler is set to look at it later.",
    "RaisedSignal": "It was stopped by a signal and waits.",
}
_NEVER = ("it will not start", "it will never start")
_RESOURCES = (
    (r"gres(/?gpu)?", "GPUs"),
    (r"cpu", "CPU cores"),
    (r"mem", "memory"),
    (r"node", "nodes"),
    (r"(jobs|submitjobs)", "jobs"),
    (r"billing", "billing units"),
    (r"wall", "run time"),
)
_LIMIT = re.compile(r"(QOS|Assoc)(Grp|Max)(.*)", re.IGNORECASE)


def reason_words(reason: str | None) -> str:
    """Say in one sentence why a job waits; Slurm's own word where it is not known here."""
    bare = (reason or "").strip().split(",", 1)[0].split("(", 1)[0].strip()
    if not bare:
        return "Slurm gives no reason."
    if bare in _WORDS:
        return _WORDS[bare]
    found = _LIMIT.fullmatch(bare)
    return _limit_words(found) if found else f"Slurm says: {reason}."


def will_never_start(reason: str | None) -> bool:
    """Whether the reason does not pass by itself."""
    return any(words in reason_words(reason) for words in _NEVER)


def _limit_words(found: re.Match[str]) -> str:
    """Words for the hundred limits of QOS and associations: whose, of what, and over what."""
    whose, rest = ("QOS" if found[1].lower() == "qos" else "account"), found[3]
    thing = next((word for pattern, word in _RESOURCES if re.search(pattern, rest, re.IGNORECASE)), "resources")
    if found[2].lower() == "grp":
        span = "used so far" if "minutes" in rest.lower() and "run" not in rest.lower() else "in use by all its jobs"
        return f"The limit of its {whose} on {thing} {span} is reached."
    per = re.search(r"per(user|account|job|node)", rest, re.IGNORECASE)
    of_whom = {"user": "one user", "account": "one account", "node": "one node"}.get(per[1].lower() if per else "")
    if of_whom is None:
        return f"It asks for more {thing} than its {whose} allows for one job: it will not start."
    return f"The limit of its {whose} on {thing} of {of_whom} is reached."
