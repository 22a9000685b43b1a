"""Days and hours on which steps are taken, in the site's time zone. Pure."""

from __future__ import annotations

from datetime import datetime, time, timedelta, tzinfo

from configuration.policy import DAYS
from settings import PolicySettings

_QUARTER = timedelta(minutes=15)
_MOST_QUARTERS = 4 * 24 * 8


def may_step(policy: PolicySettings, zone: tzinfo, now: datetime) -> bool:
    """Whether mails may go out at this moment."""
    here = now.astimezone(zone)
    if DAYS[here.weekday()] not in policy.mail_days:
        return False
    if not policy.quiet_from:
        return True
    begin, end, clock = time.fromisoformat(policy.quiet_from), time.fromisoformat(policy.quiet_until), here.time()
    is_quiet = begin <= clock < end if begin < end else clock >= begin or clock < end
    return not is_quiet


def next_opening(policy: PolicySettings, zone: tzinfo, moment: datetime) -> datetime:
    """The first moment from this one on at which steps are taken, to a quarter of an hour."""
    if may_step(policy, zone, moment):
        return moment
    quarter = moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)
    for number in range(1, _MOST_QUARTERS):
        if may_step(policy, zone, quarter + number * _QUARTER):
            return quarter + number * _QUARTER
    return moment
