"""Tell from what a command printed which error it is, and what to do about it. Pure."""

from __future__ import annotations

import re
from typing import Final

from data.errors import CannotKnow, SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.slurm.process import Finished

MESSAGE_CHARACTERS: Final = 300
STDOUT_CHARACTERS: Final = 2000

_CONF_HINT = "set slurm.conf to the path of this cluster's slurm.conf"
_DATABASE_HINT = "see whether slurmdbd runs and answers: sacctmgr show cluster"
_CREDENTIAL_HINT = "see whether munge runs here with the cluster's key: munge -n | unmunge"
_DENIED_HINT = "PrivateData in slurm.conf hides this from the account; make it an Operator: sacctmgr modify user"

# The first row that fits decides: (what the command printed, error, hint).
_COMPLAINTS: Final[tuple[tuple[re.Pattern[str], type[SourceError], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), error, hint)
    for pattern, error, hint in (
        (
            r"cannot stat file|process configuration file|establish a configuration source|ClusterName needs|"
            r"resolve_ctls_from_dns|fetch_config",
            SourceUnreachable,
            _CONF_HINT,
        ),
        (
            r"accounting storage is disabled|slurm_acct.* disabled",
            CannotKnow,
            "set AccountingStorageType in slurm.conf",
        ),
        (
            r"unable to contact slurm controller|slurmctld.* not respond|connect failure|zero bytes were|"
            r"in standby mode",
            SourceUnreachable,
            "see whether slurmctld runs: scontrol ping",
        ),
        (r"incompatible versions of client", SourceUnreachable, "install Slurm's commands in slurmctld's own release"),
        (r"authentication|credential|munge", SourceDenied, _CREDENTIAL_HINT),
        (r"permission denied|access denied|not have privilege|not permitted", SourceDenied, _DENIED_HINT),
        (
            r"talking to the database|persistent connection|persist.?conn|slurmdbd|PersistInit",
            SourceUnreachable,
            _DATABASE_HINT,
        ),
        (r"connection refused|timed out|no route to host|unreachable", SourceUnreachable, "see whether Slurm runs"),
    )
)
_NO_SUCH_JOB: Final = re.compile(r"invalid job id|no job found|invalid job array|^job \S+ not found", re.I | re.M)


def failure(finished: Finished) -> SourceError | None:
    """The error that a command ended with; None when it did what was asked."""
    if finished.code == 0:
        return None
    for pattern, error, hint in _COMPLAINTS:
        if pattern.search(_words(finished)):
            return error(f"{finished.name}: {_last_words(finished)}", hint=hint)
    if finished.timed_out:
        return SourceTimeout(
            f"{finished.name} did not end within {finished.seconds:.0f} s", hint="raise slurm.timeout_seconds"
        )
    return SourceGarbled(
        f"{finished.name} ended with {finished.code}: {_last_words(finished)}",
        hint="run the command by hand: " + " ".join(finished.argv[:4]),
    )


def names_no_job(finished: Finished) -> bool:
    """Whether the command failed only because no such job exists."""
    return finished.code not in (0, None) and _NO_SUCH_JOB.search(_words(finished)) is not None


def _words(finished: Finished) -> str:
    """What a failed command said: some of Slurm's complaints go to stdout."""
    return f"{finished.stdout[:STDOUT_CHARACTERS]}\n{finished.stderr}"


def _last_words(finished: Finished) -> str:
    lines = [line.strip() for line in _words(finished).splitlines() if line.strip()]
    return lines[-1][:MESSAGE_CHARACTERS] if lines else "it said nothing"
