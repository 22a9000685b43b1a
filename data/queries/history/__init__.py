"""Reports over history: who used how many GPU-hours, how well, and why not better.

    report(viewer, sources, query: ReportQuery) -> Report
    report_named(viewer, sources, query, text) -> Report        only rows whose name holds the text
    cluster_report(viewer, sources, query) -> Report            of everybody, without anybody's name
    ranking(viewer, sources, query, of="gpu_hours_wasted", most=10) -> tuple[ReportRow, ...]
    trend(viewer, sources, query, step="day" | "week") -> Trend
    heat_map(viewer, sources, query) -> HeatMap
    hours_by_utilization(viewer, sources, query) -> HoursByUtilization
    week_hours(viewer, sources, query) -> WeekHours
    findings(viewer, sources, query) -> tuple[FindingRow, ...]
    common_findings(viewer, sources, query, among) -> Mapping[GroupKey, CommonFinding]
    user_history(viewer, sources, user, query) -> UserHistory   NotFound as `user_now`
    standing(viewer, sources, user, query) -> Standing
    detailed(viewer, sources, query) -> Detailed

All raise CannotKnow where no history is kept, BadRequest for a question that nothing can answer. An empty history is
an answer: `state.is_empty`. A ReportQuery comes from `report_query(parameters, now, zone)`.
"""

from data.queries.history.asking import parameters_of as parameters_of
from data.queries.history.asking import report_query as report_query
from data.queries.history.charts import heat_map as heat_map
from data.queries.history.charts import hours_by_utilization as hours_by_utilization
from data.queries.history.charts import trend as trend
from data.queries.history.charts import week_hours as week_hours
from data.queries.history.commonest import CommonFinding as CommonFinding
from data.queries.history.commonest import GroupKey as GroupKey
from data.queries.history.commonest import common_findings as common_findings
from data.queries.history.details import Detailed as Detailed
from data.queries.history.details import DetailedRow as DetailedRow
from data.queries.history.details import detailed as detailed
from data.queries.history.groups import COLUMNS as COLUMNS
from data.queries.history.groups import DEFAULT_COLUMNS as DEFAULT_COLUMNS
from data.queries.history.groups import GROUP_LABELS as GROUP_LABELS
from data.queries.history.groups import Group as Group
from data.queries.history.groups import ReportColumn as ReportColumn
from data.queries.history.model import Between as Between
from data.queries.history.model import FindingRow as FindingRow
from data.queries.history.model import HeatCell as HeatCell
from data.queries.history.model import HeatMap as HeatMap
from data.queries.history.model import HistoryFilter as HistoryFilter
from data.queries.history.model import HistoryState as HistoryState
from data.queries.history.model import HoursByUtilization as HoursByUtilization
from data.queries.history.model import Report as Report
from data.queries.history.model import ReportQuery as ReportQuery
from data.queries.history.model import ReportRow as ReportRow
from data.queries.history.model import Standing as Standing
from data.queries.history.model import Trend as Trend
from data.queries.history.model import UserHistory as UserHistory
from data.queries.history.model import UtilizationBin as UtilizationBin
from data.queries.history.model import WaitRow as WaitRow
from data.queries.history.model import WeekHours as WeekHours
from data.queries.history.named import report_named as report_named
from data.queries.history.people import findings as findings
from data.queries.history.people import standing as standing
from data.queries.history.people import user_history as user_history
from data.queries.history.reports import cluster_report as cluster_report
from data.queries.history.reports import ranking as ranking
from data.queries.history.reports import report as report
