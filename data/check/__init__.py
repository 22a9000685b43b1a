"""What works, what is missing, and the exact lines that fix it. Pure, but for `ask` and `place`, which look."""

from data.check.ask import look as look
from data.check.result import Check as Check
from data.check.result import Verdict as Verdict
