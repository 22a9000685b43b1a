#!/bin/bash
# Pending reasons, drained and down nodes, reservations, a suspended job. usage: jobs_3_pending.sh DIR
# What runs here runs on for the whole of a long test run.
D=${1:?the directory of the cluster}; . "$D/env.sh"; O=$D/out
as() { local u=$1; shift; ( cd "$O" && exec runuser -u "$u" -- "$@" ); }
sb() { local u=$1; shift; as "$u" sbatch --parsable -o "$O/%j.out" -e "$O/%j.err" "$@"; }
log() { echo "$1=$2" | tee -a "$D/jobs.env"; }
run_wait() { for _ in $(seq 300); do [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = RUNNING ] && return; sleep 0.1; done; echo "job $1 never ran"; }
scontrol update nodename=gpu02 state=drain reason="GPU 3 fell off the bus (Xid 79)"
scontrol create reservation reservationname=workshop users=erin starttime=now duration=2:00:00 nodes=gpu04 flags=ignore_jobs
scontrol create reservation reservationname=maint users=root starttime=now+1days duration=8:00:00 nodes=ALL flags=maint,ignore_jobs
log FILL      $(sb alice -J fill_h100 -p gpu -w gpu03 --gres=gpu:h100:8 -c 96 --exclusive -t 180 --wrap 'srun sleep 9000')
log FILL2     $(sb bob -J fill_a100 -p gpu -w gpu01 --gres=gpu:a100:3 -c 24 -t 180 --wrap 'sleep 9000')
run_wait "$(. "$D/jobs.env"; echo $FILL)"; run_wait "$(. "$D/jobs.env"; echo $FILL2)"
log RESOURCES $(sb carol -J p_resources --qos=high --gres=gpu:h100:8 -t 180 --wrap 'sleep 9000')
log PRIORITY  $(sb carol -J p_priority --gres=gpu:h100:8 -t 180 --wrap 'sleep 9000')
log DEPEND    $(sb carol -J p_dependency -d afterok:$(. "$D/jobs.env"; echo $FILL) --gpus=1 -t 180 --wrap 'sleep 9000')
log DEPNEVER  $(sb carol -J p_depnever -d afterok:$(. "$D/jobs.env"; echo $FAILED1) --gpus=1 -t 180 --wrap 'sleep 9000')
log QOSJOBS1  $(sb dave -J q_one --qos=oneonly -p cpu -t 180 --wrap 'sleep 9000')
log QOSJOBS2  $(sb dave -J q_two --qos=oneonly -p cpu -t 180 --wrap 'sleep 9000')
log QOSGRES   $(sb dave -J q_gres --qos=gpu4 --gres=gpu:h100:5 -t 180 --wrap 'sleep 9000')
log BEGIN     $(sb dave -J p_begin --begin=now+2hour --gpus=1 -t 180 --wrap 'sleep 9000')
log HELDU     $(sb dave -J p_heldu --gpus=1 -H -t 180 --wrap 'sleep 9000')
log HELDA     $(sb dave -J p_helda --begin=now+3hour --gpus=1 -t 180 --wrap 'sleep 9000'); scontrol hold $(tail -1 "$D/jobs.env" | cut -d= -f2)
log NODEUNAV  $(sb erin -J p_unavail -w gpu02 --gpus=1 -t 180 --wrap 'sleep 9000')
log MIGDOWN   $(sb erin -J p_migdown -p mig --gres=gpu:1g.10gb:1 -t 180 --wrap 'sleep 9000')
log LIC1      $(sb bob -J lic1 -p cpu -L matlab:1 -t 180 --wrap 'sleep 9000')
log LIC2      $(sb bob -J lic2 -p cpu -L matlab:1 -t 180 --wrap 'sleep 9000')
log INRESV    $(sb erin -J in_resv --reservation=workshop --gres=gpu:h100:2 -c 8 -t 180 --wrap 'sleep 9000')
log LONGMAINT $(sb alice -J p_maint -t 1-20:00:00 -p cpu --wrap 'sleep 9000')
log SUSP      $(sb alice -J suspended -p cpu -t 180 --wrap 'sleep 9000')
log BIGARRAY  $(sb bob -J big_array --array=0-99%3 -p cpu -t 180 --wrap 'sleep 9000')
run_wait "$(. "$D/jobs.env"; echo $SUSP)"
scontrol suspend $(. "$D/jobs.env"; echo $SUSP)
log DEADLINE  $(sb carol -J deadline -w gpu02 --gpus=1 -t 1 --deadline=$(date -d '+75 sec' +%FT%T) --wrap 'sleep 1')
echo "--- refused at submit:"
sb carol -J bad1 -p gpu --gres=gpu:a100:9 -t 5 --wrap true
sb carol -J bad2 -A physics --gpus=1 -t 5 --wrap true
sb carol -J bad3 --qos=nosuch --gpus=1 -t 5 --wrap true
sb carol -J bad4 -p debug --gpus=1 -t 5:00:00 --wrap true
sb carol -J bad5 --gres=gpu:v100:1 -t 5 --wrap true
sb carol -J bad6 -p gpu -n 1 --mem=9T -t 5 --wrap true
sb nobody -J bad7 --gpus=1 -t 5 --wrap true
sb erin -J ops_top -p cpu --priority=4294901000 --wrap 'sleep 2' -t 5 || sb erin -J ops_nice --nice=-50 -p cpu --wrap 'sleep 2' -t 5
