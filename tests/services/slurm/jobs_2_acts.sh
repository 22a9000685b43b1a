#!/bin/bash
# Act on the jobs of jobs_1_endings.sh: cancel, requeue, fail a node, preempt. usage: jobs_2_acts.sh DIR
D=${1:?the directory of the cluster}; . "$D/env.sh"; . "$D/jobs.env"; O=$D/out
as() { local u=$1; shift; ( cd "$O" && exec runuser -u "$u" -- "$@" ); }
sb() { local u=$1; shift; as "$u" sbatch --parsable -o "$O/%j.out" -e "$O/%j.err" "$@"; }
log() { echo "$1=$2" | tee -a "$D/jobs.env"; }
run_wait() { for _ in $(seq 300); do [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = RUNNING ] && return; sleep 0.1; done; echo "job $1 never ran"; }
as carol scancel "$CANCEL_PEND"
run_wait $CANCEL_RUN; as carol scancel "$CANCEL_RUN"
run_wait $CANCEL_ADM; scancel "$CANCEL_ADM"
echo "scancel of somebody else's job:"; as bob scancel "$TIMEOUT"
run_wait $REQUEUED; sleep 1; scontrol requeue $REQUEUED
run_wait $NOREQ_FAIL
# node failure: end the slurmd of mig01, then mark it down
kill -9 "$(cat "$D/run/slurmd.mig01.pid")"; scontrol update nodename=mig01 state=down reason="power supply"
# interactive
log SRUN "$(as alice srun -J inter_srun --gpus=1 -t 2 bash -c 'echo $SLURM_JOB_ID; sleep 2')"
log SALLOC "$(as bob salloc -J inter_salloc --gpus=2 -c 2 -t 2 bash -c 'echo $SLURM_JOB_ID; srun sleep 1; srun false' 2>/dev/null | head -1)"
as carol script -qc 'srun -Q -J pty --gpus=1 -t 2 --pty bash -c "sleep 1"' /dev/null >/dev/null </dev/null
log PTY "$(squeue -h -t all -n pty -o %A | tail -1)"
# preemption: QOS preempt job on all of debug node, then QOS high
log PREEMPTED $(sb dave -J victim --qos=preempt -p cpu -n 128 -t 10 --wrap 'sleep 600')
run_wait ${PREEMPTED:-$(tail -1 "$D/jobs.env" | cut -d= -f2)}
log PREEMPTOR $(sb carol -J vip --qos=high -p cpu -n 128 -t 5 --wrap 'sleep 3')
# admin comment, updates
sleep 3
sacctmgr -i modify job jobid=$COMPLETED set AdminComment='{"gpudash":{"gpu_util":12.5}}'
sacctmgr -i modify job jobid=$COMPLETED set Comment='new comment' DerivedExitCode=3
as alice sacctmgr -i modify job jobid=$COMPLETED set Comment='by the user'
as bob sacctmgr -i modify job jobid=$COMPLETED set Comment='by another user'
scontrol update jobid=$TIMEOUT AdminComment='while running' Comment='changed by root'
as alice scontrol update jobid=$TIMEOUT Comment='changed by owner'
