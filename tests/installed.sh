#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The way of a user on a fresh machine, under a real systemd: a Debian made by debootstrap is booted
# by systemd-nspawn, and tests/installed_guest.sh runs in it as a service. Needs root.
#	tests/installed.sh DIRECTORY PACKAGES...
# DIRECTORY keeps the Debian as an archive, so that the next run need not make it again.
set -euo pipefail
directory=$1
shift
packages=("$@")
suite=bookworm
seconds=1800
archive=$directory/$suite.tar.zst

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP only root can boot a container: sudo make check-installed"
	exit 77
fi
work=$(mktemp -d /var/tmp/snapwalk-installed-XXXXXX)
finish() {
	rm -rf --one-file-system "$work"
}
trap finish EXIT
root=$work/root

make_archive() {
	local include
	mkdir -p "$directory"
	include=$(IFS=, && echo "systemd,systemd-sysv,dbus,sudo,curl,${packages[*]}")
	debootstrap --variant=minbase --include="$include" "$suite" "$root" >"$work/log" 2>&1 || {
		tail -n 5 "$work/log" >&2
		return 1
	}
	rm -rf "$root"/var/cache/apt/archives/*.deb
	echo "${packages[*]}" >"$root/packages"
	tar -C "$root" --zstd -cf "$archive.partial" .
	mv "$archive.partial" "$archive"
}

unpack() {
	mkdir -p "$root"
	tar -C "$root" --zstd -xf "$archive" 2>/dev/null &&
		[ "$(cat "$root/packages")" = "${packages[*]}" ] && return
	rm -rf --one-file-system "$root"
	make_archive
}
unpack

# A user with sudo, whose home nobody else may enter, and what git has of us in it.
chroot "$root" useradd --create-home --shell /bin/bash tester
chmod 700 "$root/home/tester"
echo "127.0.0.1 localhost $(uname -n)" >>"$root/etc/hosts"
echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/tester"
mkdir "$root/home/tester/snapwalk"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -C "$root/home/tester/snapwalk" -x
chroot "$root" chown -R tester:tester /home/tester/snapwalk
cat >"$root/etc/systemd/system/installed.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /home/tester/snapwalk/tests/installed_guest.sh
ExecStopPost=/bin/systemctl poweroff
StandardOutput=file:/tap
StandardError=file:/log
[Install]
WantedBy=multi-user.target
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../installed.service "$root/etc/systemd/system/multi-user.target.wants/installed.service"

# Not registered: it does not need a systemd outside, only the kernel.
status=0
timeout --kill-after=30 "$seconds" systemd-nspawn --quiet --register=no --keep-unit --boot --console=pipe \
	--machine="snapwalk-$$" --directory="$root" </dev/null >"$work/console" 2>&1 || status=$?
if [ -e "$root/tap" ]; then
	cat "$root/tap"
fi
if ! grep -q '^1\.\.' "$root/tap"; then
	echo "installed.sh: the guest did not come to its end (status $status); the ends of its logs:" >&2
	tail -n 20 "$work/console" "$root/log" >&2 || true
	exit 1
fi
if grep -q '^not ok' "$root/tap"; then
	tail -n 100 "$root/log" >&2
	exit 1
fi
