#!/bin/busybox sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=dash
# The first process of the machine that tests/kernel.sh starts.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd

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
	grep -q -e "$1" /tmp/out
}
# run ARGUMENT...: the command, its output and status are kept. The machine is slow, as it is emulated.
run() {
	snapwalk "$@" >/tmp/out 2>/tmp/err
	status=$?
}
status_is() {
	[ "$status" = "$1" ]
}
# The folded stacks of a process that waits, sorted.
folded() {
	run "$@" --format folded --timeout 60000 --max-stop 10000
	sort /tmp/out >/tmp/folded
	cat /tmp/folded
}

echo "# $(uname -r)"
# Before Linux 6.1 all threads are stopped, and it is said why.
touchless=yes refusal="the task iterator needs Linux 6.1, this is "
case $(uname -r) in
[0-5].* | 6.0.*) touchless=no ;;
esac
run doctor
check "doctor: every process can be captured" status_is 0
if [ $touchless = yes ]; then
	check "doctor: the task iterator is there" has "^ok *iterator"
else
	check "doctor: why the task iterator is not there" has "$refusal"
fi

# Targets read commands until their end of file.
mkfifo /tmp/in
sleep 100000 >/tmp/in &
touch /tmp/started
threads 20 5 </tmp/in >/tmp/started &
blocked=$!
while ! grep -q . /tmp/started; do sleep 0.1; done
sleep 1

run "$blocked" --timeout 60000
check "blocked threads: complete" status_is 0
if [ $touchless = yes ]; then
	check "blocked threads: nothing was stopped" has "nothing was stopped"
else
	check "blocked threads: they were stopped" has "stopped for "
	run "$blocked" -v --timeout 60000
	check "-v: why they were stopped" grep -q "$refusal" /tmp/out /tmp/err
	run "$blocked" --timeout 60000
	check "after two stops: who goes on sleeping is asleep" has "asleep 5"
fi
check "blocked threads: all are there" has "^threads, pid $blocked: 21 threads, 5 distinct stacks"
# The search has 40 ms of CPU time, which the emulator may take for a part of it.
names_writer() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		run "$blocked" --timeout 60000
		if has "for sleep ([0-9]*) (fifo), /tmp/in"; then return 0; fi
	done
	return 1
}
check "blocked threads: who is at the other end of the pipe" names_writer
folded "$blocked" >/tmp/auto
folded "$blocked" --stop always >/tmp/always
check "--stop always: the same stacks" cmp -s /tmp/auto /tmp/always
folded "$blocked" --stop never >/tmp/never
if [ $touchless = yes ]; then
	check "--stop never: the same stacks" cmp -s /tmp/auto /tmp/never
else
	check "--stop never: why it cannot be" grep -q "$refusal" /tmp/err
fi
run "$blocked" --kernel --timeout 60000
if [ $touchless = yes ]; then
	check "--kernel: what they call in the kernel" has "futex_wait_queue"
else
	check "--kernel: why there are none" grep -q "no kernel stacks" /tmp/out /tmp/err
fi
run record "$blocked" -o /tmp/recorded
check "record" status_is 0
folded --fixture /tmp/recorded >/tmp/replayed
check "the record has the same stacks" cmp -s /tmp/auto /tmp/replayed

# 20 blocked, one that waits for a moment and again, three that compute.
shares 20 2 </tmp/in >/tmp/started2 &
busy=$!
sleep 2
run "$busy" --timeout 60000 --max-stop 10000
check "busy threads: those on a CPU were stopped, or none" has "stopped"
check "busy threads: all stacks are there" status_is 0
for mode in wall cpu off; do
	run sample "$busy" --duration 5 --mode "$mode" --max-load 50 --timeout 60000
	check "sample --mode $mode: ends by itself" [ "$status" = 0 -o "$status" = 3 ]
	case $mode in
	wall) check "sample --mode wall: blocked threads" has ";block " ;;
	cpu) check "sample --mode cpu: where it computes" has ";working" ;;
	off) check "sample --mode off: where it waits" has ";waiting" ;;
	esac
done
run "$busy" --burst 3,200 --timeout 60000 --max-stop 10000
if [ $touchless = yes ]; then
	check "--burst: those that never ran" has "never ran"
else
	check "--burst: why it is not known who never ran" grep -q "$refusal" /tmp/err
fi
run top "$blocked" --count 2 --interval 500
check "top: two looks" status_is 0

echo "1..$n"
poweroff -f
