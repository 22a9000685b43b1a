"""What a source's health says in sentences, each with the line that would fix it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from data.slurm.records_json_fields import member

GPU_TRES_NOTE: Final = (
    "gres/gpu is not in AccountingStorageTRES, so Slurm keeps no GPU counts of finished jobs; "
    "in slurm.conf: AccountingStorageTRES=gres/gpu"
)
NO_ACCOUNTING_NOTE: Final = (
    "no accounting storage, so finished jobs are unknown; in slurm.conf: "
    "AccountingStorageType=accounting_storage/slurmdbd"
)
_CONFIG_LINE: Final = re.compile(r"^(\w+)\s+= (.*)$", re.MULTILINE)


def config_values(text: str) -> dict[str, str]:
    """Names and values of `scontrol show config`."""
    return {name: value.strip() for name, value in _CONFIG_LINE.findall(text)}


def config_notes(config: Mapping[str, str]) -> tuple[str, ...]:
    """What slurm.conf keeps from being seen."""
    notes = []
    if "slurmdbd" not in config.get("AccountingStorageType", "slurmdbd"):
        notes.append(NO_ACCOUNTING_NOTE)
    elif "gres/gpu" not in config.get("AccountingStorageTRES", "").lower().split(","):
        notes.append(GPU_TRES_NOTE)
    private = config.get("PrivateData", "none")
    if private.lower() not in ("none", "(null)", ""):
        notes.append(
            f"PrivateData={private}: an account that is no Operator sees only its own; "
            "sacctmgr modify user where name=NAME set AdminLevel=Operator"
        )
    return tuple(notes)


def has_gpu_tres(payload: Mapping[str, Any]) -> bool | None:
    """Whether slurmdbd knows gres/gpu, from /slurmdb/vX/tres; None where the answer has no list."""
    rows = payload.get("TRES", payload.get("tres"))
    if not isinstance(rows, list):
        return None
    return any(member(row, "type") == "gres" and member(row, "name") == "gpu" for row in rows)


def silent_controllers(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Notes on the slurmctlds that a ping answer says do not respond; a backup that rests is none."""
    pings = payload.get("pings")
    rows = [row for row in pings if isinstance(row, Mapping)] if isinstance(pings, list) else []
    if any(_responds(row) for row in rows):
        return ()
    return tuple(f"slurmctld on {row.get('hostname', '?')} does not respond; see scontrol ping" for row in rows)


def version_from(banner: str) -> str | None:
    """The release in "slurm 22.05.8" or "slurm-wlm 22.05.8"."""
    match = re.search(r"\b\d+\.\d+(?:\.\d+)?(?:[-.]\w+)?", banner)
    return match[0] if match else None


def distinct(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


def _responds(row: Mapping[str, Any]) -> bool:
    responding = row.get("responding")
    if isinstance(responding, bool):
        return responding
    return str(row.get("pinged", row.get("ping", ""))).upper() == "UP"
