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

# Events. A target answers each line, with "done" in the end.
target_begin() {
	mkfifo "/tmp/$1.in"
	touch "/tmp/$1.out"
	"$1" <"/tmp/$1.in" >>"/tmp/$1.out" &
	target=$! said=/tmp/$1.out
	exec 3>"/tmp/$1.in"
	while ! grep -q ready "$said"; do sleep 0.1; done
}
turn() {
	before=$(grep -c 'done' "$said")
	echo "$1" >&3
	while [ "$(grep -c 'done' "$said")" = "$before" ]; do sleep 0.1; done
}
# watch LINE ARGUMENT...: the command, until the target has answered that line.
watch() {
	line=$1
	shift
	snapwalk "$@" -d 0 --json "$target" >/tmp/out 2>/tmp/err &
	command=$!
	while [ -d /proc/$command ] && ! grep -q -e '^Seccomp:.2' -e '^State:.Z' /proc/$command/status; do sleep 0.1; done
	turn "$line"
	kill -TERM $command
	wait $command
	status=$?
}
# whole "KEY":NUMBER...: the command has succeeded, and the answer has each of them.
whole() {
	[ $status = 0 ] || return 1
	for figure in "$@"; do
		grep -q -e "${figure}[,}]" /tmp/out || return 1
	done
}
# watched NAME LINE "ARGUMENTS" "KEY":NUMBER...: one check.
watched() {
	name=$1 line=$2 arguments=$3
	shift 3
	# shellcheck disable=SC2086 # several arguments
	watch "$line" $arguments
	check "$name" whole "$@"
}
if [ $touchless = yes ]; then
	target_begin pairs
	watched "on syscall: each call" "many 7" "on syscall:write" '"events":2' '"lost":0'
	watched "on func: each call" "many 7" "on func:pairs:number_add" '"events":7' '"lost":0'
	watched "on func --slower: none of these calls" "many 7" "on func:pairs:number_add --slower 60s" '"events":0'
	watched "leaks --of LIB:ACQUIRE/RELEASE: what is outstanding" "many 7" \
		"leaks --of pairs:number_add@arg0/number_drop" '"acquired":7' '"outstanding":7' '"open":7' '"lost":0'
	for what in threads maps; do
		watched "leaks --of $what" "many 7" "leaks --of $what" '"lost":0'
	done
	watched "on blocked" "many 7" "on blocked --slower 60s" '"lost":0'
	for event in thread process; do
		watched "on $event" "many 7" "on $event" '"lost":0'
	done
	watched "on death: it lives" "many 7" "on death" '"cause":"lives"'
	exec 3>&-
	for target_of in descriptors:fds timers:timers; do
		target_begin "${target_of%:*}"
		watch go leaks --of "${target_of#*:}"
		acquired=$(awk 'NF == 3 { n += $2 } END { print n }' "$said")
		check "leaks --of ${target_of#*:}: all that it got, each accounted for" whole "\"acquired\":$acquired" \
			'"unknown_origin":0' '"closed_unseen":0' '"checked":true' '"lost":0'
		exec 3>&-
	done
fi

echo "1..$n"
poweroff -f
