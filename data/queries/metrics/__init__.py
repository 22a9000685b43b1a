"""The detailed table of metrics: how the GPUs were used, not only whether."""

from data.queries.metrics.answer import detailed_metrics as detailed_metrics
from data.queries.metrics.answer import is_live as is_live
from data.queries.metrics.columns import COLUMNS as COLUMNS
from data.queries.metrics.model import Group as Group
from data.queries.metrics.model import MetricsRow as MetricsRow
from data.queries.metrics.model import MetricsTable as MetricsTable
from data.queries.metrics.model import Question as Question
