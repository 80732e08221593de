#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/installed.sh runs this in a freshly booted Debian, as root: builds and installs as the user
# "tester" with sudo, and does with systemd what docs/monitoring.md says. TAP on standard output.
set -uo pipefail
cd /home/tester/snapwalk || exit 1
number=0

# check NAME COMMAND...: it must succeed; what it says is in the log.
check() {
	local name=$1
	shift
	number=$((number + 1))
	echo "## $number $name: $*" >&2
	if "$@" >&2; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
	fi
}

refuses() {
	! "$@"
}

# As a user who types it.
as_user() {
	su - tester -c "cd snapwalk && $1"
}

all_of_tester() {
	if [ ! -d build ] || find build ! -user tester -o ! -group tester | grep .; then
		return 1
	fi
}

# The command prints what is wanted, whatever its status.
says() {
	local wanted=$1 said
	shift
	said=$("$@" 2>&1)
	echo "$said" >&2
	[[ $said == *"$wanted"* ]]
}

# A daemon answers before systemd has read that it is ready.
becomes_active() {
	for _ in $(seq 100); do
		systemctl is-active "$1" && return
		sleep 0.1
	done
	return 1
}

runs_as() {
	local pid
	pid=$(systemctl show -P MainPID "$1")
	# Not the owner of /proc/PID: that is root, because it is not dumpable.
	[ "$(awk '$1 == "Uid:" {print $2, $3, $4}' "/proc/$pid/status")" = "$(id -u "$2") $(id -u "$2") $(id -u "$2")" ]
}

capture() {
	as_user "snapwalk dump --via daemon --json $1" >/tmp/dump.json &&
		grep -q '"function": *"main"' /tmp/dump.json && grep -q '"complete": *true' /tmp/dump.json
}

# ---- sudo make ----
mv cli/main.c /tmp/main.c
printf '#error half-way\n' >cli/main.c
check "sudo make fails half-way" refuses as_user "sudo make -s -k -j$(nproc) all"
check "what it has built belongs to the user" all_of_tester
mv /tmp/main.c cli/main.c
chown tester:tester cli/main.c
check "the user can go on" as_user "make -s -j$(nproc) all"
check "sudo make" as_user "touch cli/main.c && sudo make -s all"
check "what it has built belongs to the user, again" all_of_tester

# ---- what README and docs/monitoring.md say, in their order ----
check "sudo make install" as_user "sudo make -s install"
check "what it has built belongs to the user, still" all_of_tester
check "users were made" getent passwd snapwalk snapwalk-gate snapwalk-ship
check "the state directory is theirs" test "$(stat -c %U:%a /var/lib/snapwalk)" = snapwalk:750
check "the socket's directory, too" test "$(stat -c %U:%a /run/snapwalk)" = snapwalk:755
mapfile -t lines < <(grep -E "^sudo systemctl " docs/monitoring.md | sed 's/ *#.*//' | awk '!seen[$0]++')
check "docs/monitoring.md says how to start it" test ${#lines[@]} -ge 2
for line in "${lines[@]}"; do
	check "$line" as_user "$line"
done

# ---- the service ----
check "the socket listens" systemctl is-active snapwalkd.socket
check "the daemon does not run yet" refuses systemctl is-active snapwalkd.service
check "snapwalk list, as a user" as_user "snapwalk list"
check "that has started the daemon" becomes_active snapwalkd.service
check "it runs as its own user" runs_as snapwalkd.service snapwalk
cat >/tmp/target.c <<'C'
#include <unistd.h>
int main(void) { for (;;) pause(); }
C
check "a program to look at" gcc -g -o /tmp/target /tmp/target.c
own=$(su tester -c '/tmp/target </dev/null >/dev/null 2>&1 & echo $!')
/tmp/target &
others=$!
check "a capture of the user's own process" capture "$own"
check "root's process is not for the user" says not_permitted as_user "snapwalk dump --via daemon $others"
check "but for a member of the group" usermod -a -G snapwalk tester
check "which it is from the next login on" capture "$others"
check "the dumps are kept" says target as_user "snapwalk list"
check "and belong to the daemon" test "$(stat -c %U "$(find /var/lib/snapwalk -name '*.json.zst' | head -n 1)")" = snapwalk
check "reload" systemctl reload snapwalkd.service
check "after a restart" systemctl restart snapwalkd.service
check "the dumps are still there" says target snapwalk list
check "varlink's registry has the socket" test -S /run/varlink/registry/io.snapwalk

# ---- the gate ----
install -m 600 /dev/null /etc/snapwalk/gate.token
echo 0123456789abcdef0123456789abcdef >/etc/snapwalk/gate.token
check "the gate" systemctl enable --now snapwalk-gate.service
healthy() {
	for _ in $(seq 100); do
		curl -fs http://127.0.0.1:9911/healthz && return
		sleep 0.1
	done
	return 1
}
check "answers" healthy
check "as its own user" runs_as snapwalk-gate.service snapwalk-gate
check "nothing has failed" refuses says snapwalk systemctl --failed --no-legend

# ---- elsewhere, with a space, without the user ----
check "disable" systemctl disable --now snapwalkd.socket snapwalkd.service snapwalk-gate.service
check "sudo make uninstall" as_user "sudo make -s uninstall"
check "the commands are gone" refuses test -e /usr/bin/snapwalk -o -e /usr/sbin/snapwalkd -o -e /usr/lib/systemd/system/snapwalkd.service
elsewhere='PREFIX="/opt/snap walk" UNITDIR=/etc/systemd/system'
check "sudo make install, elsewhere" as_user "sudo make -s install $elsewhere"
check "daemon-reload" systemctl daemon-reload
check "its socket" systemctl enable --now snapwalkd.socket
check "its command" says target "/opt/snap walk/bin/snapwalk" list
check "its daemon" says "/opt/snap walk/sbin/snapwalkd" systemctl show -P ExecStart snapwalkd.service
check "and the other one is stopped" systemctl disable --now snapwalkd.socket snapwalkd.service
check "without its user" userdel snapwalk
check "systemd does not start it" refuses systemctl start snapwalkd.service
check "nor does it start as root" refuses "/opt/snap walk/sbin/snapwalkd"
check "and says why" says "there is no user snapwalk to run as" "/opt/snap walk/sbin/snapwalkd"
check "sudo make uninstall, elsewhere" as_user "sudo make -s uninstall $elsewhere"
check "nothing is left of it" test -z "$(find '/opt/snap walk' -type f -o -type l)"
check "make clean, without sudo" as_user "make -s clean"
check "which leaves nothing" refuses test -e build
kill "$own" "$others"
echo "1..$number"
