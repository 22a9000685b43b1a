"""Who asks. Made once per request by `identity`, first argument of every query."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    STAFF = "staff"
    USER = "user"


class Visibility(StrEnum):
    """What a user sees of other people's jobs."""

    OWN = "own"
    ACCOUNT = "account"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Viewer:
    """`accounts` are those of the viewer in Slurm; `coordinated_accounts` those whose jobs the viewer may see in full.

    `matched` says in words why the role was given (shown by `fullwarp check`).
    """

    user: str
    role: Role
    accounts: frozenset[str] = frozenset()
    coordinated_accounts: frozenset[str] = frozenset()
    visibility: Visibility = Visibility.OWN
    matched: str = ""

    @property
    def is_staff(self) -> bool:
        return self.role is Role.STAFF

    def may_see(self, user: str | None, account: str | None) -> bool:
        """Whether a job of this user and account may be shown in full."""
        if self.is_staff or self.visibility is Visibility.ALL or (user is not None and user == self.user):
            return True
        if account is None:
            return False
        seen = self.coordinated_accounts
        if self.visibility is Visibility.ACCOUNT:
            seen = seen | self.accounts
        return account in seen

    def may_read_script(self, user: str | None, account: str | None) -> bool:
        """Whether a job's script may be shown: to its owner, coordinators and staff, whatever `visibility` says,
        for scripts hold keys and passwords."""
        own = user is not None and user == self.user
        return self.is_staff or own or (account is not None and account in self.coordinated_accounts)
