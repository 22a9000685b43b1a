"""One job's efficiency report: the numbers overall, per node and per GPU, with where they came from."""

from data.report.build import build_report as build_report
from data.report.combine import combine as combine
from data.report.model import GpuUse as GpuUse
from data.report.model import JobReport as JobReport
from data.report.model import MetricUse as MetricUse
from data.report.model import NodeUse as NodeUse
from data.report.model import Swing as Swing
from data.report.model import UseSource as UseSource
