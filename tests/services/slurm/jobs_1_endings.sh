#!/bin/bash
# Submit jobs that end in every way. usage: jobs_1_endings.sh DIR
D=${1:?the directory of the cluster}; . "$D/env.sh"; O=$D/out
as() { local u=$1; shift; ( cd "$O" && exec runuser -u "$u" -- "$@" ); }
sb() { local u=$1; shift; as "$u" sbatch --parsable -o "$O/%j.out" -e "$O/%j.err" "$@"; }
log() { echo "$1=$2" | tee -a "$D/jobs.env"; }
: > "$D/jobs.env"
# --- endings; the time limit is noticed after 60 to 90 s, so that one comes first,
# away from the node that the exclusive job waits for
log TIMEOUT     $(sb alice -J too_long -A ml -w gpu02 --gpus=1 -t 1 --wrap 'sleep 600')
log COMPLETED   $(sb alice -J train_resnet -A physics --gpus=1 -c 8 --mem=32G -t 10 --comment='wandb=abc' --wrap 'for i in 1 2 3 4; do srun -n1 sleep 1; done')
log FAILED1     $(sb bob -J fail1 --gpus=2 -c 4 -t 10 --wrap 'sleep 2; exit 1')
log FAILED137   $(sb carol -J fail137 --gres=gpu:a100:1 -t 10 --wrap 'sleep 2; exit 137')
log SEGV        $(sb dave -J segv --gres=gpu:1 -t 10 --wrap 'kill -SEGV $$')
log STEPSEGV    $(sb dave -J stepsegv --gpus=1 -t 10 --wrap 'srun python3 -c "import ctypes; ctypes.string_at(0)"; srun bash -c "exit 3"; true')
log OOM         $(sb bob -J eats_mem --gpus=1 --mem=100M -t 10 --wrap 'srun python3 -c "
import time
x=[]
for i in range(40):
    x.append(bytearray(50_000_000)); time.sleep(0.3)
time.sleep(20)"')
log CANCEL_RUN  $(sb carol -J cancel_running --gpus=1 -t 10 --wrap 'sleep 600')
log CANCEL_ADM  $(sb carol -J cancel_by_admin --gpus=1 -t 10 --wrap 'sleep 600')
log CANCEL_PEND $(sb carol -J cancel_pending --begin=now+1hour --gpus=1 -t 10 --wrap 'sleep 600')
log NOGPU_CPU   $(sb alice -J cpu_only -p cpu -n 16 -t 10 --wrap 'sleep 3')
log NOGPU_GPU   $(sb alice -J cpu_on_gpu_part -p gpu -n 16 -t 10 --wrap 'sleep 3')
log MIG         $(sb erin -J mig_job -p mig --gres=gpu:1g.10gb:2 -c 4 -t 10 --wrap 'echo $CUDA_VISIBLE_DEVICES; sleep 3')
log ARRAY       $(sb bob -J sweep --array=0-5%2 --gpus=1 -c 2 -t 10 --wrap 'sleep 2; [ $SLURM_ARRAY_TASK_ID -ne 3 ]')
log HET         $(sb dave -J het -n1 -c4 --gpus=1 -t 10 -p gpu : -n4 -p cpu -t 10 --wrap 'srun --het-group=0,1 sleep 3')
log MULTINODE   $(sb alice -J llm_2x8 -A ml -N2 --ntasks-per-node=8 --gres=gpu:h100:8 -c 12 --mem=800G -t 1:00:00 --wrap 'env | grep -E "SLURM_JOB_GPUS|CUDA|GPU_DEVICE"; srun sleep 8')
log MULTINODE2  $(sb bob -J multi_small -N2 --gpus-per-node=1 -c 4 -t 5 --wrap 'srun -l bash -c "echo \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES"; sleep 3')
log PERTASK     $(sb bob -J per_task -n4 --gpus-per-task=1 -c 2 -t 5 --wrap 'srun -l bash -c "echo \$CUDA_VISIBLE_DEVICES"; sleep 2')
log EXCL        $(sb erin -J exclusive -p debug --exclusive --gpus=1 -t 5 --wrap 'sleep 3')
log UGLY        $(sb erin -J 'a|b "q" ü,=; 名' --comment='pipe | "quote" ü' -p cpu -t 5 --wrap 'sleep 1')
log STEPS       $(sb alice -J steps -A physics --gpus=4 -n4 -c2 -t 5 --wrap 'srun -n1 --gpus=1 --exact sleep 2 & srun -n1 --gpus=1 --exact sleep 3 & srun -n2 --gpus=2 --exact sleep 1 & wait')
log NOREQ_FAIL  $(sb bob -J node_fail -p mig --gres=gpu:1g.10gb:1 --no-requeue -t 10 --wrap 'sleep 600')
log REQUEUED    $(sb bob -J requeued --gpus=1 -t 10 --requeue --wrap 'echo restart=$SLURM_RESTART_COUNT; [ "${SLURM_RESTART_COUNT:-0}" -ge 1 ] && exit 0; sleep 300')
