"""What a viewer may see. Everything that leaves `data.queries` has gone through here."""

from __future__ import annotations

from dataclasses import replace

from data.model import ClusterSnapshot, Gpu, Job, Node, Note, Reservation, SourceState, Viewer


def may_see(viewer: Viewer, job: Job) -> bool:
    """Whether the job may be shown with user, name and id."""
    return viewer.may_see(job.user, job.account)


def may_read_script(viewer: Viewer, job: Job) -> bool:
    """Whether the job's batch script may be shown."""
    return viewer.may_read_script(job.user, job.account)


def scope_job(viewer: Viewer, job: Job) -> Job:
    """The job in full, or only its resources and place: no id, user, account, name, command, comment or dependency.

    Hidden jobs have job_id 0 and an empty display_id. What is kept is listed, so that a new field stays hidden.
    """
    if may_see(viewer, job):
        return job
    return Job(
        cluster=job.cluster,
        job_id=0,
        display_id="",
        state=job.state,
        state_flags=job.state_flags,
        partition=job.partition,
        array_task_count=job.array_task_count,
        start_time=job.start_time,
        time_limit_seconds=job.time_limit_seconds,
        nodes=job.nodes,
        requested=job.requested,
        allocated=job.allocated,
        devices=job.devices,
    )


def scope_snapshot(viewer: Viewer, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot with other people's jobs stripped, in ids on GPUs and notes too; staff see all of it."""
    if viewer.is_staff:
        return snapshot
    visible = frozenset(job.job_id for job in snapshot.jobs if may_see(viewer, job))
    return replace(
        snapshot,
        nodes=tuple(_scope_node(viewer, node) for node in snapshot.nodes),
        gpus=tuple(_scope_gpu(gpu, visible) for gpu in snapshot.gpus),
        jobs=tuple(scope_job(viewer, job) for job in snapshot.jobs),
        reservations=tuple(_scope_reservation(viewer, one) for one in snapshot.reservations),
        sources=tuple(scope_source(viewer, source) for source in snapshot.sources),
        notes=tuple(_scope_note(note, visible) for note in snapshot.notes),
        runaway=tuple(scope_job(viewer, job) for job in snapshot.runaway),
    )


def scope_source(viewer: Viewer, source: SourceState) -> SourceState:
    """Addresses, error texts and rows that could not be read are for staff only."""
    if viewer.is_staff:
        return source
    return replace(source, address=None, error=None, hint=None, broken_examples=(), warnings=())


def _scope_gpu(gpu: Gpu, visible: frozenset[int]) -> Gpu:
    if not gpu.job_ids or visible.issuperset(gpu.job_ids):
        return gpu
    return replace(gpu, job_ids=tuple(job_id for job_id in gpu.job_ids if job_id in visible))


def _scope_node(viewer: Viewer, node: Node) -> Node:
    if node.reason_user is None or node.reason_user == viewer.user:
        return node
    return replace(node, reason_user=None)


def _scope_reservation(viewer: Viewer, one: Reservation) -> Reservation:
    """Reservations are public in Slurm; the people in them are not shown beyond oneself and one's accounts."""
    return replace(
        one,
        users=tuple(user for user in one.users if user == viewer.user),
        accounts=tuple(name for name in one.accounts if name in viewer.accounts | viewer.coordinated_accounts),
    )


def _scope_note(note: Note, visible: frozenset[int]) -> Note:
    if not note.job_ids or visible.issuperset(note.job_ids):
        return note
    return replace(note, job_ids=tuple(job_id for job_id in note.job_ids if job_id in visible))
