"""What the enforcer can do outwardly. `commands` puts the real acts in; tests put others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from email.message import EmailMessage
from typing import Protocol

from data.model import Job
from policy.decide import Act, ActKey
from policy.notices import Following


class Outward(Protocol):
    """Every method raises Refused for what was surely not done; `send` and `cancel` also Unsettled."""

    def notice(
        self, acts: Sequence[Act], reference: str, now: datetime, after: Mapping[ActKey, tuple[Following, ...]]
    ) -> EmailMessage:
        """The mail to the acts' user; refused where no address is known."""

    def address(self, user: str) -> str:
        """The user's mail address; refused where none is known."""

    def check_mail(self) -> None:
        """Whether the mail server would take a mail now."""

    def send(self, message: EmailMessage) -> None: ...

    def cancel(self, job: Job, cancel_id: str) -> None: ...

    def comment(self, act: Act, now: datetime) -> None:
        """Write the step into the job's comment, where the site wants that."""

    def tell_staff(self, lines: Sequence[str], reference: str, now: datetime) -> None:
        """Tell staff what went wrong."""

    def announce(self, acts: Sequence[Act], now: datetime) -> None:
        """Tell the site's chat what was done."""
