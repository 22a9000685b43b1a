"""Read the delimited tables of sacctmgr and sprio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from data.errors import SourceGarbled
from data.model import Association, PendingDetail, Rows
from data.slurm.accounts import of_cluster
from data.slurm.broken_rows import read_rows
from data.slurm.job_ids import job_id
from data.slurm.scalars import count, memory_bytes, number, text
from data.slurm.tres import tres_items

ASSOCIATION_FIELDS: Final = ("Cluster", "Account", "ParentName", "User")
USER_FIELDS: Final = ("User", "DefaultAccount", "AdminLevel", "Coordinators")
SPRIO_FORMAT: Final = "%i|%u|%Y|%A|%F|%J|%P|%Q|%T|%N"
_PRIORITY_PARTS: Final = ("age", "fairshare", "job_size", "partition", "qos")
_PIPE: Final = "|"


def associations(output: str, cluster: str) -> Rows[Association]:
    """Accounts and users of `sacctmgr show assoc -P`, with a header row; columns are found by their names.

    An account's parent is its `Par Name`, or in a tree (`show assoc tree`) the account above it by indentation.
    """
    header, lines = _table(output, "Account")
    above: list[tuple[int, str]] = []
    read = read_rows(lines, lambda line: _association(_columns(line, header), above, cluster), _first_words)
    return of_cluster(read, cluster)


def users(output: str, cluster: str) -> Rows[Association]:
    """Admin levels and coordinators of `sacctmgr show user -P withcoord`: see `accounts.with_users`."""
    header, lines = _table(output, "User")
    read = read_rows(lines, lambda line: _user(_columns(line, header), cluster), _first_words)
    return Rows(tuple(row for rows in read.rows for row in rows), read.broken, read.broken_examples)


def priorities(output: str) -> Rows[PendingDetail]:
    """Priority parts of `sprio -h -o SPRIO_FORMAT`; TRES parts by their names (tres:gres/gpu)."""
    lines = [line for line in output.split("\n") if line.strip()]
    return read_rows(lines, _priority, _first_words)


def _table(output: str, needed: str) -> tuple[list[str], list[str]]:
    """The header's names and the other lines. SourceGarbled without the needed column."""
    lines = [line for line in output.split("\n") if line.strip()]
    header = lines[0].split(_PIPE) if lines else []
    if needed not in header:
        raise SourceGarbled(
            f"sacctmgr's table has no column {needed}: {output.strip()[:80]!r}",
            hint="run sacctmgr by hand as the user that the product runs as",
        )
    return header, lines[1:]


def _columns(line: str, header: Sequence[str]) -> dict[str, str]:
    values = line.split(_PIPE)
    if len(values) == len(header) + 1 and not values[-1]:
        values.pop()
    if len(values) != len(header):
        raise SourceGarbled(f"it has {len(values)} columns, not {len(header)}")
    return dict(zip(header, values, strict=True))


def _association(row: dict[str, str], above: list[tuple[int, str]], cluster: str) -> Association:
    account, user = text(row["Account"]), text(row.get("User"))
    if account is None:
        raise SourceGarbled("it has no account")
    parent = text(row.get("Par Name") or row.get("ParentName"))
    if user is None:
        parent = parent or _parent_in_tree(row["Account"], account, above)
    return Association(text(row.get("Cluster")) or cluster, account, parent if user is None else None, user)


def _parent_in_tree(shown: str, account: str, above: list[tuple[int, str]]) -> str | None:
    """The nearest account above with less indentation; `above` holds the path to the current row."""
    depth = len(shown) - len(shown.lstrip(" "))
    while above and above[-1][0] >= depth:
        above.pop()
    parent = above[-1][1] if above else None
    above.append((depth, account))
    return parent


def _user(row: dict[str, str], cluster: str) -> tuple[Association, ...]:
    name, level = text(row["User"]), text(row.get("Admin") or row.get("AdminLevel"))
    if name is None:
        raise SourceGarbled("it has no user")
    level = None if level in ("None", "Not Set") else level
    account = text(row.get("Def Acct") or row.get("DefaultAccount")) or ""
    coordinated = (row.get("Coord Accounts") or row.get("Coordinators") or "").split(",")
    return (
        Association(cluster, account, None, name, admin_level=level),
        *(Association(cluster, of.strip(), None, name, True, level) for of in coordinated if of.strip()),
    )


def _priority(line: str) -> PendingDetail:
    values = [value.strip() for value in line.split(_PIPE)]
    width = SPRIO_FORMAT.count(_PIPE) + 1
    if len(values) != width:
        raise SourceGarbled(f"it has {len(values)} columns, not {width}")
    raw_id, _, priority, *parts, tres, nice = values
    named = [(name, _amount(value)) for name, value in zip(_PRIORITY_PARTS, parts, strict=True)]
    named += [(f"tres:{name}", float(memory_bytes(value, 1) or 0)) for name, value in tres_items(text(tres) or "")]
    # Nice lowers the priority, so that Slurm's positive number is a negative part.
    return PendingDetail(_raw_id(raw_id), raw_id, None, _amount(priority), (*named, ("nice", -_amount(nice))))


def _amount(value: str) -> float:
    found = number(value)
    return 0.0 if found is None else float(found)


def _raw_id(value: str) -> int:
    found = count(value)
    if not found:
        raise SourceGarbled(f"{value[:40]!r} is not a job id")
    return job_id(value).job


def _first_words(line: str) -> str:
    return f"row {line[:30]!r}"
