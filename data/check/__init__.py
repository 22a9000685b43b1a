"""What works, what is missing, and the exact lines that fix it. Pure, but for `ask`, which looks."""

from data.check.ask import identity_checks as identity_checks
from data.check.ask import look as look
from data.check.result import Check as Check
from data.check.result import Verdict as Verdict
