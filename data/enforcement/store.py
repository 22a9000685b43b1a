"""Which of the stores the enforcement store is."""

from __future__ import annotations

from pathlib import Path

from data.state.store import StoreKind

ENFORCEMENT = StoreKind(
    "enforcement store",
    "enforcement",
    "enforcement.sqlite",
    Path(__file__).resolve().parent / "migrations",
    "Stop the enforcer and run, as its account: fullwarp state upgrade --enforcement",
    "enforcement_version",
    has_readers=True,
)
