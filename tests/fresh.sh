#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The two commands of the README as a newcomer gives them: in a clean Debian root, by a user with
# sudo whose clone of the last commit is in a home of mode 0700, with a login's limit of 1024 open files.
#
#	SUITE=trixie	another Debian than 12
#	RUNS=3		sudo make check so many times
#	BUSY=4		so many busy loops beside the last of them
#
# The root is a temporary directory. All that runs in it is in a pid namespace, all that is mounted
# in a mount namespace, so that both are gone when this ends, however it does. The last line adds up
# the tests of all runs.
set -euo pipefail

SUITE=${SUITE:-bookworm} RUNS=${RUNS:-1} BUSY=${BUSY:-0}
USER_NAME=newcomer

fail() {
	echo "check-fresh: $1" >&2
	exit 1
}

# The machine's own sources of Debian, one "URI SUITE COMPONENT" a line, for the suite wanted.
sources() {
	# shellcheck disable=SC2016  # fields of apt-get, not of the shell
	apt-get indextargets --format '$(ORIGIN)|$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sed -n 's/^Debian|//p' | sort -u |
		sed -E "s/ [a-z]+((-[a-z]+)? [a-z-]+)\$/ $SUITE\\1/"
}

make_root() {
	local root=$1 mirror packages=make,sudo
	mirror=$(sources | awk -v suite="$SUITE" '$2 == suite && $3 == "main" { print $1; exit }')
	[ -n "$mirror" ] || fail "apt knows no source of Debian (apt-get update first)"
	case $(sources) in *https:*) packages+=,ca-certificates ;; esac

	debootstrap --variant=minbase --include="$packages" "$SUITE" "$root" "$mirror" >"$root.log" 2>&1 ||
		{ tail -n 20 "$root.log" >&2; fail "debootstrap of $SUITE failed"; }
	sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
	apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' >"$root/etc/apt/apt.conf.d/00machine" || true
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

add_user() {
	local root=$1 home=/home/$USER_NAME
	chroot "$root" useradd --create-home --shell /bin/bash --key HOME_MODE=0700 "$USER_NAME"
	echo "$USER_NAME ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$USER_NAME"
	mkdir "$root$home/snapwalk"
	tar -x -f "$root.tar" -C "$root$home/snapwalk"
	chroot "$root" chown -R "$USER_NAME:" "$home"
}

# Makes the root this process's own, as in a container.
enter_root() {
	local root=$1
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/dev/shm"
	cd "$root"
	pivot_root . mnt
	cd /
	hash -r
	umount --lazy /mnt
}

as_user() {
	su --login "$USER_NAME" --command "ulimit -Sn 1024 && cd snapwalk && $1"
}

# checks: each run's closing line, then their sum; false when anything failed.
checks() {
	local run busy line status=0 passed=0 failed=0 skipped=0 begin loops=()
	for run in $(seq "$RUNS"); do
		busy=0
		[ "$run" -lt "$RUNS" ] || busy=$BUSY
		for _ in $(seq "$busy"); do
			while :; do :; done &
			loops+=($!)
		done
		echo "== $SUITE: sudo make check, run $run of $RUNS, $busy busy loops beside it"
		begin=$SECONDS
		as_user "sudo make check" 2>&1 | tee /tmp/check.log || status=1
		[ "$busy" = 0 ] || kill "${loops[@]}"
		line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' /tmp/check.log | tail -n 1) || true
		echo "== $SUITE: run $run: ${line:-no closing line} in $(((SECONDS - begin) / 60)) minutes"
		if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
			passed=$((passed + BASH_REMATCH[1]))
			failed=$((failed + BASH_REMATCH[2]))
			skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
		else
			status=1
		fi
	done
	[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
	echo "$passed passed, $failed failed, $skipped skipped"
	return $status
}

inside() {
	local root=$1
	git -c safe.directory='*' archive -o "$root.tar" HEAD
	echo "== $SUITE: debootstrap, commit $(git -c safe.directory='*' log -1 --format='%h %s')"
	make_root "$root"
	add_user "$root"
	enter_root "$root"
	echo "== $SUITE: sudo make try"
	as_user "sudo make try" || fail "sudo make try failed"
	checks
}

if [ "${1:-}" = --inside ]; then
	inside "$2"
	exit
fi

[ "$(id -u)" = 0 ] || fail "needs root: sudo make check-fresh"
for program in debootstrap git unshare setpriv; do
	command -v "$program" >/dev/null || fail "$program is not installed"
done

directory=$(mktemp -d "${TMPDIR:-/var/tmp}/snapwalk-fresh.XXXXXX")
mkdir -m 755 "$directory/root"
child=
# shellcheck disable=SC2317  # called by traps
clean_up() {
	[ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
	wait
	rm -rf --one-file-system "$directory"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

export SUITE RUNS BUSY
# Killing what waits for the namespace ends all that is in it (unshare(1), --kill-child).
setpriv --pdeathsig KILL unshare --mount --propagation private --ipc --uts --pid --fork --kill-child \
	"$0" --inside "$directory/root" &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
