#!/bin/bash
# cluster.sh - a real, throw-away Slurm cluster on loopback, all under one directory.
#
#   cluster.sh start  DIR   build what is missing and start munged, mariadbd, slurmdbd, slurmctld,
#                           one slurmd per node and two slurmrestd; safe to call again
#   cluster.sh stop   DIR   end exactly the processes it started (pid files in DIR/run)
#   cluster.sh status DIR
#   cluster.sh reset  DIR   stop, remove the directory, and with FULLWARP_SLURM_KEEP_USERS unset the users it created
#
# Needs root (slurmd switches user). Debian 12 (Slurm 22.05) or 13 (24.11), packages in ../packages.txt.
# It neither reads nor writes /etc/slurm, /etc/munge or /var/lib/mysql and takes no default port.
#
# Settings (environment): FULLWARP_SLURM_PORT (first of 20 ports), FULLWARP_SLURM_CLUSTER (mini),
#   FULLWARP_SLURM_CGROUP=1 (real memory limits: OUT_OF_MEMORY; needs writable cgroups)
set -euo pipefail

CMD=${1:-status}
D=$(readlink -m "${2:?the directory of the cluster}")
P=${FULLWARP_SLURM_PORT:-16800}
CLUSTER=${FULLWARP_SLURM_CLUSTER:-mini}
USERS="alice:6001 bob:6002 carol:6003 dave:6004 erin:6005"
RESTUSER=slurmrest:6999
NODES="gpu01 gpu02 gpu03 gpu04 mig01 cpu01"
HOST=$(hostname -s)
P_DB=$P P_DBD=$((P+1)) P_CTLD=$((P+2)) P_REST=$((P+3)) P_SLURMD=$((P+10))
export SLURM_CONF=$D/etc/slurm.conf
export PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
die() { echo "cluster.sh: $*" >&2; exit 1; }
alive() { # NAME: running, of this cluster (a pid may have been given away), and not a zombie yet to be collected
  local pid st; pid=$(cat "$D/run/$1.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  { tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" || return 1
  st=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) || return 1
  [ -n "$st" ] && [ "${st%% *}" != Z ]
}
daemon() { # NAME USER command...: own session, log in log/NAME.log, pid in run/NAME.pid
  local name=$1 user=$2; shift 2
  if [ "$user" != root ]; then set -- setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; fi
  setsid "$@" >>"$D/log/$name.log" 2>&1 </dev/null &
  echo $! >"$D/run/$name.pid"
}
stop_one() { # NAME
  local pid; alive "$1" || { rm -f "$D/run/$1.pid"; return 0; }
  pid=$(cat "$D/run/$1.pid"); kill "$pid" 2>/dev/null || true
  for _ in $(seq 150); do alive "$1" || break; sleep 0.1; done
  if alive "$1"; then kill -9 "$pid" 2>/dev/null || true; fi
  rm -f "$D/run/$1.pid"; say "stopped $1 ($pid)"
}
kill_steps() { # what outlives its slurmd: slurmstepd and job processes of this cluster (by SLURM_CONF), nothing else
  local p e
  for p in /proc/[0-9]*; do
    e=$({ tr '\0' '\n' <"$p/environ"; } 2>/dev/null) || continue
    grep -qxF "SLURM_CONF=$SLURM_CONF" <<<"$e" || continue
    if grep -q '^slurmstepd' "$p/cmdline" 2>/dev/null || grep -qE '^SLURM_JOB_ID=' <<<"$e"; then kill -9 "${p#/proc/}" 2>/dev/null || true; fi
  done
}
wait_for() { # SECONDS WHAT command...
  local n=$(( $1 * 10 )) what=$2; shift 2
  for ((i=0; i<n; i++)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
  die "timed out waiting for $what (see $D/log)"
}
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

write_config() {
  local ver; ver=$(slurmctld -V | grep -oE '[0-9]+\.[0-9]+' | head -1)
  umask 022
  mkdir -p "$D"/{etc,run,log,dev,db,out,munge,spool,state/ctld,run/db,run/restd}
  chmod 755 "$D" "$D"/{etc,run,log,dev,munge,run/restd}; chmod 1777 "$D/out"
  [ -s "$D/munge/munge.key" ] || { dd if=/dev/urandom of="$D/munge/munge.key" bs=1024 count=1 status=none; chmod 400 "$D/munge/munge.key"; }
  [ -s "$D/state/jwt.key" ] || dd if=/dev/urandom of="$D/state/jwt.key" bs=32 count=1 status=none
  chown -R slurm:slurm "$D/state"; chmod 755 "$D/state"; chmod 600 "$D/state/jwt.key"
  chown slurm:slurm "$D/log"; chown "${RESTUSER%%:*}" "$D/run/restd"; chown -R mysql:mysql "$D/db" "$D/run/db"
  for n in $NODES; do mkdir -p "$D/spool/$n"; done
  # Stand-ins for /dev/nvidiaN, which nobody opens. Character devices, or slurmd sets no CUDA_VISIBLE_DEVICES;
  # where mknod is not permitted, plain files still give the right counts and indices.
  for i in 0 1 2 3 4 5 6 7; do
    [ -e "$D/dev/nvidia$i" ] || mknod "$D/dev/nvidia$i" c 195 "$i" 2>/dev/null || : >"$D/dev/nvidia$i"
    [ -e "$D/dev/mig$i" ] || mknod "$D/dev/mig$i" c 236 "$i" 2>/dev/null || : >"$D/dev/mig$i"
  done

  cat >"$D/etc/slurmdbd.conf" <<E
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$P_DBD
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=$D/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$D/state/jwt.key
DebugLevel=info
PidFile=$D/run/slurmdbd.own.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$P_DB
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
E
  chown slurm:slurm "$D/etc/slurmdbd.conf"; chmod 600 "$D/etc/slurmdbd.conf"   # slurmdbd insists

  # No cgroups and no binding by default: works in containers and micro VMs.
  local track=proctrack/linuxproc task=task/none gparams=JobAcctGatherParams=OverMemoryKill
  if [ "${FULLWARP_SLURM_CGROUP:-0}" = 1 ]; then
    track=proctrack/cgroup task=task/cgroup gparams=
    printf 'ConstrainRAMSpace=yes\nConstrainSwapSpace=no\nConstrainCores=no\nConstrainDevices=no\n' >"$D/etc/cgroup.conf"
  elif [ "${ver%%.*}" -ge 23 ]; then echo 'CgroupPlugin=disabled' >"$D/etc/cgroup.conf"
  else echo 'CgroupAutomount=no' >"$D/etc/cgroup.conf"; fi

  cat >"$D/etc/slurm.conf" <<E
ClusterName=$CLUSTER
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$P_CTLD
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$D/state/jwt.key
CredType=cred/munge
StateSaveLocation=$D/state/ctld
SlurmctldPidFile=$D/run/slurmctld.own.pid
SlurmdSpoolDir=$D/spool/%n
SlurmdPidFile=$D/run/slurmd.%n.own.pid
SlurmctldDebug=info
SlurmdDebug=info
MailProg=/bin/true
ReturnToService=2
ProctrackType=$track
TaskPlugin=$task
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
$gparams
# believe this file about cores and memory, not the real host
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=2
MinJobAge=86400
InactiveLimit=0
SlurmdTimeout=20
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=500
PriorityWeightPartition=1000
PriorityWeightQOS=5000
PriorityWeightTRES=cpu=100,gres/gpu=400
PriorityCalcPeriod=1
JobRequeue=1
PreemptType=preempt/qos
PreemptMode=REQUEUE
Licenses=matlab:1
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$P_DBD
# the munge socket used towards slurmdbd (AuthInfo does not reach that connection)
AccountingStoragePass=$D/run/munge.socket
AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:h100,gres/gpu:1g.10gb
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment,job_env,job_script
NodeName=DEFAULT State=UNKNOWN
NodeName=gpu[01-02] NodeHostname=$HOST NodeAddr=127.0.0.1 Port=[$P_SLURMD-$((P_SLURMD+1))] Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=512000 Gres=gpu:a100:4 Feature=a100,80gb Weight=10
NodeName=gpu[03-04] NodeHostname=$HOST NodeAddr=127.0.0.1 Port=[$((P_SLURMD+2))-$((P_SLURMD+3))] Sockets=2 CoresPerSocket=48 ThreadsPerCore=1 RealMemory=1024000 Gres=gpu:h100:8 Feature=h100 Weight=20
NodeName=mig01 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((P_SLURMD+4)) Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=256000 Gres=gpu:1g.10gb:7 Feature=mig Weight=5
NodeName=cpu01 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((P_SLURMD+5)) Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 RealMemory=384000 Feature=cpu Weight=1
PartitionName=DEFAULT State=UP DefMemPerCPU=2000 OverSubscribe=NO
PartitionName=gpu   Nodes=gpu[01-04] Default=YES MaxTime=2-00:00:00 DefaultTime=00:30:00 DefMemPerGPU=60000
PartitionName=mig   Nodes=mig01 MaxTime=1-00:00:00 DefaultTime=00:30:00
PartitionName=debug Nodes=gpu01 MaxTime=00:30:00 DefaultTime=00:05:00 PriorityJobFactor=100
PartitionName=cpu   Nodes=cpu01 MaxTime=7-00:00:00 DefaultTime=01:00:00
E
  cat >"$D/etc/gres.conf" <<E
AutoDetect=off
NodeName=gpu[01-02] Name=gpu Type=a100 Flags=nvidia_gpu_env File=$D/dev/nvidia[0-3]
NodeName=gpu[03-04] Name=gpu Type=h100 Flags=nvidia_gpu_env File=$D/dev/nvidia[0-7]
NodeName=mig01 Name=gpu Type=1g.10gb Flags=nvidia_gpu_env File=$D/dev/mig[0-6]
E
  cat >"$D/env.sh" <<E
export SLURM_CONF=$D/etc/slurm.conf
export SLURMRESTD_SOCKET=$D/run/restd/slurmrestd.socket
export SLURMRESTD_URL=http://127.0.0.1:$P_REST
E
}

make_users() {
  mkdir -p "$D"
  for u in $USERS $RESTUSER; do
    if ! id "${u%%:*}" >/dev/null 2>&1; then
      useradd -M -U -u "${u##*:}" -s /bin/bash -d /tmp "${u%%:*}" && echo "${u%%:*}" >>"$D/created_users"
    fi
  done
}

start_munge() {
  alive munged && return
  rm -f "$D"/run/munge.socket*
  daemon munged root munged --foreground --force --num-threads=4 --socket="$D/run/munge.socket" --key-file="$D/munge/munge.key" \
    --pid-file="$D/run/munged.own.pid" --log-file="$D/log/munged.own.log" --seed-file="$D/munge/munged.seed"
  wait_for 10 munged munge -n -S "$D/run/munge.socket"
}

sql() { mariadb --no-defaults -S "$D/run/db/mysqld.sock" -u root "$@"; }
start_db() {
  alive mariadbd && return
  local fresh=0
  if [ ! -d "$D/db/mysql" ]; then
    fresh=1
    mariadb-install-db --no-defaults --user=mysql --datadir="$D/db" --skip-test-db --auth-root-authentication-method=normal \
      >"$D/log/mariadb-install.log" 2>&1
  fi
  daemon mariadbd root mariadbd --no-defaults --user=mysql --datadir="$D/db" --socket="$D/run/db/mysqld.sock" \
    --port="$P_DB" --bind-address=127.0.0.1 --pid-file="$D/run/db/mariadbd.pid" --innodb-buffer-pool-size=512M \
    --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=64M \
    --max-allowed-packet=64M --skip-log-bin --performance-schema=0
  wait_for 30 mariadbd mariadb-admin --no-defaults -S "$D/run/db/mysqld.sock" -u root ping
  [ $fresh = 0 ] || sql -e "CREATE DATABASE slurm_acct;
    CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm'; CREATE USER slurm@localhost IDENTIFIED BY 'slurm';
    GRANT ALL ON slurm_acct.* TO slurm@'127.0.0.1'; GRANT ALL ON slurm_acct.* TO slurm@localhost;"
}

start_dbd() {
  alive slurmdbd && return
  daemon slurmdbd slurm slurmdbd -D                  # finds slurmdbd.conf beside SLURM_CONF
  wait_for 60 "slurmdbd port" port_open "$P_DBD"
  [ -e "$D/state/cluster_added" ] && return
  wait_for 30 sacctmgr sacctmgr -n show cluster
  sacctmgr -i add cluster "$CLUSTER" >"$D/log/seed.log" 2>&1
  : >"$D/state/cluster_added"
}

start_ctld() {
  alive slurmctld && return
  daemon slurmctld slurm slurmctld -D
  wait_for 30 slurmctld bash -c "scontrol ping | grep -q UP"
}

# After slurmctld is up, since the gres/gpu TRES exist only once it has registered them; all in one
# sacctmgr session (each call or statement costs 0.3 s: 40 ms per message for lack of TCP_NODELAY).
seed_accounting() {
  [ -e "$D/state/seeded" ] && return
  wait_for 30 "TRES gres/gpu" bash -c "sacctmgr -nP show tres format=type,name | grep -q '^gres|gpu:1g.10gb'"
  local q="QOS=normal,high,long,preempt,oneonly,gpu4 DefaultQOS=normal"
  sacctmgr -i >>"$D/log/seed.log" 2>&1 <<E
add qos high Priority=100
add qos long Priority=5
add qos preempt Priority=1 PreemptMode=cancel
add qos oneonly Priority=10 MaxJobsPerUser=1
add qos gpu4 Priority=10 MaxTRESPerUser=gres/gpu=4
modify qos normal set Priority=10
modify qos high set Preempt=preempt
add account physics Description=Physics Organization=uni Fairshare=10
add account chem Description=Chemistry Organization=uni Fairshare=20
add account bio Description=Biology Organization=uni Fairshare=5
add account ml Parent=physics Description=ML Organization=uni Fairshare=3
add user alice Account=physics DefaultAccount=physics $q
add user alice Account=ml $q
add user bob Account=chem DefaultAccount=chem $q
add user carol Account=bio DefaultAccount=bio $q
add user dave Account=ml DefaultAccount=ml $q
add user erin Account=chem DefaultAccount=chem $q AdminLevel=Operator
modify user root set $q
E
  : >"$D/state/seeded"
}

start_slurmds() {
  for n in $NODES; do alive "slurmd.$n" || daemon "slurmd.$n" root slurmd -D -N "$n"; done
  local want; want=$(wc -w <<<"$NODES")
  wait_for 30 "all nodes to register" bash -c "[ \$(sinfo -h -N -o '%N %T' | sort -u | grep -vcE '(\*|unknown)\$') -ge $want ]"
}

# Two, since one cannot do both: with SLURM_JWT set it acts with the caller's token (TCP), without it with
# munge as its own user (unix socket, rest_auth/local).
start_restd() {
  local u=${RESTUSER%%:*}
  alive slurmrestd.sock || { rm -f "$D/run/restd/slurmrestd.socket"; daemon slurmrestd.sock "$u" slurmrestd -a rest_auth/local unix:"$D/run/restd/slurmrestd.socket"; }
  alive slurmrestd.tcp || SLURM_JWT=daemon daemon slurmrestd.tcp "$u" slurmrestd -a rest_auth/jwt 127.0.0.1:$P_REST
  wait_for 15 "slurmrestd socket" test -S "$D/run/restd/slurmrestd.socket"
  wait_for 15 "slurmrestd port" port_open "$P_REST"
}

case $CMD in
start)
  [ "$(id -u)" = 0 ] || die "needs root"
  for b in munged mariadbd slurmdbd slurmctld slurmd slurmrestd setpriv; do command -v $b >/dev/null || die "no $b: see ../packages.txt"; done
  T0=$(date +%s.%N); t() { say "$1 up (+$(awk -v a="$T0" -v b="$(date +%s.%N)" 'BEGIN{printf "%.1f", b-a}') s)"; }
  make_users; write_config
  start_munge; t munged
  start_db; t mariadbd
  start_dbd; t slurmdbd
  start_ctld; t slurmctld
  start_slurmds; t "slurmd x $(wc -w <<<"$NODES")"
  start_restd; t slurmrestd
  seed_accounting; t accounting
  echo "source $D/env.sh" ;;
stop)
  if alive slurmctld && [ -z "${QUICK:-}" ]; then
    timeout 20 bash -c 'squeue -h -o %A | sort -u | xargs -r scancel; while [ -n "$(squeue -h -t R,CG)" ]; do sleep 0.2; done' 2>/dev/null || true
  fi
  stop_one slurmrestd.sock; stop_one slurmrestd.tcp
  for n in $NODES; do stop_one "slurmd.$n"; done
  kill_steps
  stop_one slurmctld; stop_one slurmdbd; stop_one mariadbd; stop_one munged
  for n in $NODES; do for c in memory freezer cpuset; do rmdir "/sys/fs/cgroup/$c/slurm_$n" 2>/dev/null || true; done; done ;;
reset)
  QUICK=1 "$0" stop "$D"
  case $D in /|/tmp|/usr*|/etc*|/var|/home|/root) die "refusing to delete $D";; esac
  [ -n "${FULLWARP_SLURM_KEEP_USERS:-}" ] || [ ! -s "$D/created_users" ] || while read -r u; do userdel "$u" 2>/dev/null || true; done <"$D/created_users"
  rm -rf "$D" ;;
status)
  rc=0
  for n in munged mariadbd slurmdbd slurmctld slurmrestd.sock slurmrestd.tcp $(printf 'slurmd.%s ' $NODES); do
    if alive "$n"; then echo "$n up $(cat "$D/run/$n.pid")"; else echo "$n down"; rc=1; fi
  done
  if alive slurmctld; then sinfo; fi
  exit $rc ;;
*) die "usage: $0 start|stop|status|reset DIR" ;;
esac
