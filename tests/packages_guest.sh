#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/packages.sh runs this in a freshly booted Debian, as root, with packages of the version before in /root/before,
# which are installed, and those to test in /root/after. TAP on standard output.
set -uo pipefail
cd /root || exit 1
number=0

# check NAME COMMAND...: it must succeed; what it says is in the log, and beside a failure.
check() {
	local name=$1
	shift
	number=$((number + 1))
	echo "## $number $name: $*" >&2
	if "$@" >said 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		tail -n 15 said | sed 's/^/# /'
	fi
	cat said >&2
}

refuses() {
	! "$@"
}

says() {
	local wanted=$1 said
	shift
	said=$("$@" 2>&1)
	echo "$said" >&2
	[[ $said == *"$wanted"* ]]
}

main_pid() {
	systemctl show -P MainPID snapwalkd.service
}

# The daemon of a busy machine may need several.
dumps() {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "try $i"
		says '"complete":true' snapwalk dump --via daemon --json "$target" && return
		sleep 1
	done
	return 1
}

# A daemon that was asked to restart: another process, which answers.
is_another() {
	[ "$(main_pid)" != "$1" ] && snapwalk list
}

purge() {
	local packages
	mapfile -t packages < <(dpkg-query -W -f '${Package}\n' '*snapwalk*' 'libwalk*')
	dpkg -P "${packages[@]}"
}

# List everything that is still there of the daemon, but its users.
left() {
	find /etc /run /usr /var -path /var/lib/dpkg -prune -o -path /var/cache/apt -prune -o -path /var/log -prune -o \
		-path /var/lib/apt -prune -o \( -name '*snapwalk*' -o -name '*libwalk*' \) -print
}

export DEBIAN_FRONTEND=noninteractive
sleep infinity &
target=$!

check "the socket listens after the boot" systemctl is-active snapwalkd.socket
check "the daemon does not run yet" refuses systemctl is-active snapwalkd.service
check "the gate, which needs a token, is not enabled" refuses systemctl is-enabled snapwalk-gate.service
check "the shipper, which needs a configuration, is not enabled" refuses systemctl is-enabled snapwalk-ship.service
check "users were made" getent passwd snapwalk snapwalk-gate snapwalk-ship
check "the state directory is theirs" test "$(stat -c %U:%a /var/lib/snapwalk)" = snapwalk:750
check "a dump of the command" says "1 thread  sleep" snapwalk "$target"
check "a dump of the daemon" dumps
check "which it keeps" says sleep snapwalk list
# It answers before systemd has read that it is ready.
check "the daemon runs" timeout 60 sh -c 'until systemctl is-active snapwalkd.service; do sleep 0.2; done'
check "libraries are found" says libwalk.so.0 ldconfig -p
check "completion for each shell" ls /usr/share/bash-completion/completions/snapwalk \
	/usr/share/zsh/vendor-completions/_snapwalk /usr/share/fish/vendor_completions.d/snapwalk.fish

# ---- upgrade ----
sed -i 's/^#MaxStopMs=.*/MaxStopMs=55/' /etc/snapwalk/snapwalk.conf
echo '[snapwalkd]' >/etc/snapwalk/snapwalk.conf.d/own.conf
before=$(main_pid)
check "upgrade, without a question" sh -c 'dpkg -i /root/after/*.deb </dev/null'
check "it is the new version" refuses says before dpkg-query -W snapwalk snapwalk-daemon libwalk0 libwalk-dev
check "the daemon was restarted" is_another "$before"
check "it keeps the configuration" grep '^MaxStopMs=55' /etc/snapwalk/snapwalk.conf
check "and the one beside it" test -e /etc/snapwalk/snapwalk.conf.d/own.conf
check "and the dumps" says sleep snapwalk list
check "and dumps again" dumps
check "nothing has failed" refuses says snapwalk systemctl --failed --no-legend

# ---- remove, purge ----
check "remove" dpkg -r snapwalk-daemon libwalk-dev libwalk0
check "no daemon runs" refuses grep -x snapwalkd /proc/[0-9]*/comm
check "nor listens" refuses test -e /run/snapwalk/io.snapwalk -o -L /run/varlink/registry/io.snapwalk
check "libraries are not found any more" refuses says libwalk ldconfig -p
check "dumps are kept" says .json.zst ls /var/lib/snapwalk
check "configuration is kept" grep '^MaxStopMs=55' /etc/snapwalk/snapwalk.conf
check "the command goes on without it" says "1 thread  sleep" snapwalk "$target"
check "what is removed can be installed again" sh -c 'dpkg -i /root/after/*.deb </dev/null'
check "and has its dumps" says sleep snapwalk list
check "purge" purge
check "nothing is left of it" test -z "$(left)"
left >&2
check "systemd has no unit of it" refuses says snapwalk systemctl list-units --all --no-legend
kill "$target"
echo "1..$number"
