"""What is wrong with a job and what to change: one pure function per finding, in a registry."""

from data.findings import cpu as cpu
from data.findings import gpu_use as gpu_use
from data.findings import kernels as kernels
from data.findings import memory as memory
from data.findings import placement as placement
from data.findings import right_size as right_size
from data.findings import time_limit as time_limit
from data.findings.diagnosis import MetricRow as MetricRow
from data.findings.diagnosis import diagnose as diagnose
from data.findings.facts import GpuOffer as GpuOffer
from data.findings.facts import JobFacts as JobFacts
from data.findings.facts import PartitionFacts as PartitionFacts
from data.findings.facts import partition_facts as partition_facts
from data.findings.registry import FINDINGS as FINDINGS
from data.findings.registry import Finding as Finding
from data.findings.registry import Severity as Severity
from data.findings.registry import find as find
