"""Cut scontrol's output into records and fields by the keys that Slurm prints.

Values hold spaces and "=" (names, reasons, commands), so that only known keys begin a field. In the usual form of
several lines, a free-text key takes the rest of its line; only a line break in a user's text can then look like a
field. Where that leaves two readings, the record is broken, and is counted: better than a job under a wrong name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from data.errors import SourceDenied, SourceGarbled
from data.slurm.answers import error_of

_KEY: Final = re.compile(r"(?<!\S)([A-Z][A-Za-z_:/]*)=")


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


NODE_KEYS: Final = _keys("""NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUErr CPUTot CPULoad AvailableFeatures
    ActiveFeatures Gres GresDrain GresUsed NodeAddr NodeHostName Port Version OS RealMemory AllocMem FreeMem Sockets
    Boards CoreSpecCount CPUSpecList MemSpecLimit State ThreadsPerCore TmpDisk Weight Owner MCS_label Partitions
    BootTime SlurmdStartTime LastBusyTime ResumeAfterTime SuspendTime CfgTRES AllocTRES CapWatts CurrentWatts AveWatts
    LowestJoules ConsumedJoules ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp Reason Comment Extra ReservationName
    InstanceId InstanceType NextState Topology BcastAddr CpuBind RestrictedCoresPerGPU TLSCertTokenSet
    TLSCertLastRenewal Parameters""")
PARTITION_KEYS: Final = _keys("""PartitionName AllowGroups AllowAccounts DenyAccounts AllowQos DenyQos AllocNodes
    Alternate Default QoS DefaultTime DisableRootJobs ExclusiveUser ExclusiveTopo GraceTime Hidden MaxNodes MaxTime
    MinNodes LLN MaxCPUsPerNode MaxCPUsPerSocket Nodes NodeSets PriorityJobFactor PriorityTier RootOnly ReqResv
    OverSubscribe OverTimeLimit PreemptMode State TotalCPUs TotalNodes SelectTypeParameters JobDefaults DefMemPerCPU
    DefMemPerNode MaxMemPerCPU MaxMemPerNode TRES TRESBillingWeights ResumeTimeout SuspendTimeout SuspendTime
    CpuBind Exclusive PowerDownOnIdle Topology""")
RESERVATION_KEYS: Final = _keys("""ReservationName StartTime EndTime Duration Nodes NodeCnt CoreCnt Features
    PartitionName Flags TRES Users Groups Accounts Licenses State BurstBuffer Watts MaxStartDelay AllowedPartitions
    QOS Comment""")
JOB_KEYS: Final = _keys("""JobId ArrayJobId ArrayTaskId ArrayTaskThrottle HetJobId HetJobOffset HetJobIdSet JobName
    UserId GroupId MCS_label Priority Nice Account QOS WCKey JobState Reason FailedNode Dependency Requeue Restarts
    BatchFlag Reboot ExitCode DerivedExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime
    EndTime Deadline PreemptEligibleTime PreemptTime SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition
    AllocNode:Sid ReqNodeList ExcNodeList NodeList SchedNodeList BatchHost NumNodes NumCPUs NumTasks CPUs/Task
    ReqB:S:C:T TRES ReqTRES AllocTRES Socks/Node NtasksPerN:B:S:C CoreSpec ThreadSpec JOB_GRES Nodes CPU_IDs Mem GRES
    MinCPUsNode MinMemoryCPU MinMemoryNode MinMemoryTRES MinTmpDiskNode Features ClusterFeatures Prefer Reservation
    DelayBoot OverSubscribe Contiguous Licenses Network Command WorkDir Comment AdminComment SystemComment StdErr
    StdIn StdOut Power MemPerTres TresPerJob TresPerNode TresPerSocket TresPerTask TresBind TresFreq CpusPerTres
    NtasksPerTRES Container ContainerID BurstBuffer BurstBufferState Switches MailUser MailType SubmitLine Extra
    KillOInInvalidDependent KillOnInvalidDependent BatchFeatures CompletingTime ConsolidateSegments ContainerType
    CronJob CrontabSpec Exclusive ExpeditedRequeue FedActiveSiblings FedOrigin FedViableSiblings GresAllowTaskSharing
    GresEnforceBind GresOneTaskPerSharing LicensesAlloc MemUpdate OOMKillStep ResizeTime ResvPorts SegmentSize
    SELinuxContext SLUID SpreadJob SpreadSegments StepMgrEnabled""")
# Their values run to the end of the line, whatever is in them.
_JOB_TEXTS: Final = frozenset(
    {
        "AdminComment",
        "Command",
        "Comment",
        "Container",
        "Extra",
        "JobName",
        "StdErr",
        "StdIn",
        "StdOut",
        "SubmitLine",
        "SystemComment",
        "WorkDir",
    }
)
_NODE_TEXTS: Final = frozenset({"Comment", "Extra", "OS", "Reason"})
_DETAIL_KEYS: Final = frozenset({"Nodes", "CPU_IDs", "Mem", "GRES"})
_NOTHING: Final = re.compile(r"\s*(?:No [a-z ]+ in the system\.?)?\s*")


def records(text: str, first_key: str) -> list[str]:
    """The records of scontrol's output, each beginning with `first_key` at the start of a line.

    Raises SourceGarbled (or what an error message stands for) when there is text but no record in it.
    """
    starts = [match.start() for match in re.finditer(rf"^{first_key}=", text, re.MULTILINE)]
    if not starts and _NOTHING.fullmatch(text):
        return []
    if not starts:
        error = error_of(text.strip()[:200])
        raise (
            error
            if isinstance(error, SourceDenied)
            else SourceGarbled(
                f"no {first_key}= in what scontrol printed: {text.strip()[:80]!r}",
                hint="run `scontrol show` by hand as the user that the product runs as",
            )
        )
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def fields(record: str, keys: frozenset[str]) -> dict[str, str]:
    """The fields of a record; of a key that occurs twice the first one counts."""
    found: dict[str, str] = {}
    for key, value in _pairs(record, keys, _NODE_TEXTS):
        found.setdefault(key, value)
    return found


def job_fields(record: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The fields of a job and, for each `Nodes=... GRES=...` line of `-d`, the fields of that line.

    Raises SourceGarbled when a second user or state stands in the record, put there by a user's text.
    """
    found: dict[str, str] = {}
    details: list[dict[str, str]] = []
    for key, value in _pairs(record, JOB_KEYS, _JOB_TEXTS):
        if key in _DETAIL_KEYS:
            _add_detail(details, key, value)
        elif key in found and key in ("UserId", "JobState"):
            raise SourceGarbled(f"{key} stands in it twice; a name or a comment may hold a line break")
        else:
            found.setdefault(key, value)
    return found, details


def _add_detail(details: list[dict[str, str]], key: str, value: str) -> None:
    if key == "Nodes" or not details:
        details.append({})
    details[-1].setdefault(key, value)


def _pairs(record: str, keys: frozenset[str], texts: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Fields in order. A value ends with its line, so that keys of newer versions do not grow into those before them; a
    key of free text takes the rest of its line, whatever is in it (in -o form all up to the next known key)."""
    has_lines = "\n   " in record
    matches = [match for match in _KEY.finditer(record) if match[1] in keys]
    free_until = 0
    for match, following in zip(matches, [*matches, None][1:], strict=True):
        if match.start() < free_until:
            continue
        newline = record.find("\n", match.end()) if has_lines else -1
        line_end = len(record) if newline < 0 else newline
        end = line_end if following is None else min(line_end, following.start())
        if has_lines and match[1] in texts:
            end = free_until = line_end
        yield match[1], record[match.end() : end].strip()
