"""Compares every number of an answer with the results of tools, after the answer has come. Pure.

A figure is traced when a field of a named result has its value (as rounded), its kind of unit and its subject: the
job, node, user or group, and the period, that the sentence speaks of. Integers up to 10 without a unit are neither
traced nor marked; names, dates, times, versions and options are no figures. A share, a difference, a quotient and a
count of parts may follow from traced figures beside it; other sums that the model made itself are not traced. What the
question asks for as a bound, and what is advised, is neither traced nor marked.
"""

from chat.checker.compare import Checked as Checked
from chat.checker.compare import Grounds as Grounds
from chat.checker.compare import check as check
from chat.checker.compare import grounds as grounds
