#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/try.sh SNAPWALK [PID]: shows what snapwalk does, on a process of its own or on yours.
set -euo pipefail
snapwalk=$1
pid=${2:-}
demo=''
directory=''

finish() {
	if [ -n "$demo" ]; then
		kill "$demo" 2>/dev/null || true
		wait "$demo" 2>/dev/null || true
	fi
	if [ -n "$directory" ]; then
		rm -rf "$directory"
	fi
}
trap finish EXIT

start_demo() {
	directory=$(mktemp -d)
	"${CC:-cc}" -O2 -g -pthread -D_GNU_SOURCE -o "$directory/demo" tests/targets/demo.c
	mkfifo "$directory/said"
	"$directory/demo" >"$directory/said" &
	demo=$!
	read -r _ <"$directory/said"
	pid=$demo
	# All threads but the one that computes are where they belong then.
	until [ "$(cat "/proc/$pid/task/"*/status | grep -c '^State:.S')" = 6 ]; do
		sleep 0.01
	done
}

# Which package adds lines to the frames of libc, when it is missing. Not of a process that has
# other files than we have.
say_package() {
	local libc
	[ /proc/self/ns/mnt -ef "/proc/$pid/ns/mnt" ] || return 0
	libc=$("$snapwalk" "$pid" --json 2>/dev/null | grep -oE '"path":"[^"]*/libc\.so\.6"[^}]*') || return 0
	case $libc in
	*'"symbols":"dwarf"'*) ;;
	*) echo "Frames of libc lack names and lines: sudo apt-get install libc6-dbg adds them." ;;
	esac
}

if [ -z "$pid" ]; then
	start_demo
	echo "A small program with 7 threads was started as process $pid. It seems to hang: why?"
fi
echo
echo "\$ snapwalk $pid"
status=0
"$snapwalk" "$pid" || status=$?

case $status in
0) ;;
3) echo "(exit status 3: something is missing, said above)" ;;
*)
	echo
	echo "That did not work. snapwalk doctor says why:"
	"$snapwalk" doctor "$pid" || true
	exit "$status"
	;;
esac

echo
if [ -n "$demo" ]; then
	echo "Three workers wait for a lock; the fourth holds it, inside query_database()."
fi
say_package
echo
echo "Try next:"
while IFS='|' read -r command what; do
	printf '  %-36s %s\n' "$command" "$what"
done <<END
sudo make try PID=n|another process
sudo $snapwalk PID --json|for programs
sudo $snapwalk PID -v|addresses, how each frame is known
sudo $snapwalk sample PID|where it spends its time
$snapwalk doctor PID|what stands in the way, when refused
$snapwalk --help|the rest; also: man man/snapwalk.1
END
