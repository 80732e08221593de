#!/bin/busybox sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=dash
# The first process of the machine that tests/kernel.sh starts with nfs: programs, a library and a working directory on
# NFS, hard mounted, whose server stops answering. Each command has to answer nevertheless.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /mnt
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'root:x:0:' >/etc/group
LIMIT_S=60 # of each answer: the machine is emulated. Without a server that answers there is none for ever.

n=0
# check NAME COMMAND...: ok when the command succeeds; else what there is in /tmp/out and /tmp/err.
check() {
	n=$((n + 1))
	name=$1
	shift
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		head -n 40 /tmp/out /tmp/err | sed 's/^/# /'
	fi
}
has() {
	grep -q -e "$1" /tmp/out /tmp/err
}
# run ARGUMENT...: the command, its output and status, which is 143 where it had to be ended.
run() {
	timeout -s TERM $LIMIT_S snapwalk "$@" >/tmp/out 2>/tmp/err
	status=$?
}
# start NAME PROGRAM ARGUMENT...: a target, whose number is then in $pid.
start() {
	name=$1
	shift
	"$@" </tmp/in >"/tmp/started.$name" &
	pid=$!
	for _ in $(seq 300); do
		grep -q . "/tmp/started.$name" && break
		sleep 0.1
	done
}
answers() {
	[ "$status" = 0 ] || [ "$status" = 3 ]
}
# Events may be refused by this kernel: that is an answer, too.
ends() {
	[ "$status" != 143 ]
}

echo "# $(uname -r)"
ip link set lo up
ip addr add 127.0.0.1/8 dev lo 2>/dev/null
depmod
modprobe nfsv4
ganesha.nfsd -F -L /tmp/server -f /etc/ganesha.conf &
server=$!
for _ in $(seq 600); do
	grep -q 'NFS SERVER INITIALIZED' /tmp/server 2>/dev/null && break
	sleep 0.1
done
mount -t nfs4 -o vers=4.0,proto=tcp,port=2049,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ /mnt >/tmp/out 2>/tmp/err
check "an NFS file system is mounted" grep -q ' /mnt nfs4 .*hard' /proc/mounts
cp /bin/threads /mnt/threads
mkdir /mnt/lib /mnt/work
cp /lib/x86_64-linux-gnu/libc.so.6 /mnt/lib/

mkfifo /tmp/in
sleep 100000 >/tmp/in &
start program /mnt/threads 5 2
program=$pid
start library env LD_LIBRARY_PATH=/mnt/lib /bin/threads 5 2
library=$pid
cd /mnt/work && start directory /bin/threads 5 2
directory=$pid
cd /

run "$program" --timeout 60000
check "the server answers: a dump" answers
check "the server answers: all threads are in it" has "6 threads, 5 distinct stacks, /mnt/threads"

# In the middle of a command: what it has asked by then was answered.
for after in 0.2 0.5 1 2; do
	{ sleep $after && kill -STOP $server; } &
	run "$program" --timeout 20000
	check "the server stops after $after s: an answer" answers
	wait $!
	kill -CONT $server
	ls /mnt >/tmp/out 2>&1 # it answers again
done

kill -STOP $server
check "the server does not answer" sh -c 'timeout -s KILL 5 ls /mnt/lib >/tmp/out 2>&1; [ $? != 0 ]'
for target in "program $program" "library $library" "directory $directory"; do
	place=${target% *} pid=${target#* }
	run "$pid" --timeout 20000
	check "$place: a dump" answers
	check "$place: all threads are in it" has "6 threads, "
	run "$pid" --timeout 1000 --symbols none
	check "$place: without names" answers
done
# Nothing of the file is in memory any more but what the process has mapped and used.
echo 3 >/proc/sys/vm/drop_caches
run "$program" --timeout 20000
check "caches are dropped: a dump" answers
run "$program" --stop always --timeout 20000
check "--stop always: a dump" answers
run sample "$program" --duration 3 --timeout 20000
check "sample" answers
run top "$program" --count 2 --interval 500
check "top: two looks" answers
run doctor "$program"
check "doctor" answers
run on syscall:read "$program" --duration 2
check "on: it ends" ends
run leaks "$program" --of fds --duration 2
check "leaks: it ends" ends
run record "$program" -o /tmp/recorded
check "record" answers
run --comm threads --timeout 20000
check "all three at once" answers

# A network that is gone: no packet comes back, not even a refusal.
ip link set lo down
run "$program" --timeout 20000
check "no network: a dump" answers
ip link set lo up
kill -CONT $server
check "the target was not harmed" grep -q '^State:.S' "/proc/$program/status"

echo "1..$n"
poweroff -f
