#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The way of a user of Debian with the packages: a Debian made by debootstrap, in which packages of the version before are
# installed, is booted by systemd-nspawn, and tests/packages_guest.sh runs in it as a service. Needs root.
#	tests/packages.sh DIRECTORY PACKAGES SUITE
# DIRECTORY keeps the Debian as an archive, so that the next run need not make it again; PACKAGES has the .deb files.
set -euo pipefail
directory=$1 packages=$2 suite=$3
seconds=900
archive=$directory/$suite.tar.zst

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP only root can boot a container: sudo make check-deb"
	exit 77
fi
work=$(mktemp -d /var/tmp/snapwalk-packages-XXXXXX)
finish() {
	rm -rf --one-file-system "$work"
}
trap finish EXIT
root=$work/root

fail() {
	echo "packages.sh: $1; the end of its log:" >&2
	tail -n 20 "$work/log" >&2
	exit 1
}

# The machine's own mirror of Debian.
mirror() {
	# shellcheck disable=SC2016  # fields of apt-get, not of the shell
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian \([^ ]*debian\/\{0,1\}\)$/\1/p' | head -n 1
}

make_archive() {
	mkdir -p "$directory"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus "$suite" "$root" "$(mirror)" >"$work/log" 2>&1 ||
		fail "debootstrap of $suite failed"
	tar -C "$root" --zstd -cf "$archive.partial" .
	mv "$archive.partial" "$archive"
}

# The same packages, by an older number.
make_before() {
	local deb name tree
	mkdir "$root/root/before" "$root/root/after"
	for deb in "$packages"/*.deb; do
		name=$(basename "$deb")
		case $name in *-dbgsym_*) continue ;; esac
		cp "$deb" "$root/root/after/"
		tree=$work/${name%.deb}
		dpkg-deb -R "$deb" "$tree"
		sed -i -E -e 's/^(Version: .*)$/\1~before/' -e 's/(libwalk0 \(= [^)]*)\)/\1~before)/' "$tree/DEBIAN/control"
		dpkg-deb --root-owner-group -b "$tree" "$root/root/before/${name/_amd64/~before_amd64}" >>"$work/log"
		rm -rf "$tree"
	done
}

if [ -e "$archive" ]; then
	mkdir "$root"
	tar -C "$root" --zstd -xf "$archive"
else
	make_archive
fi
make_before
apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' >"$root/etc/apt/apt.conf.d/00machine" || true
cp -L /etc/resolv.conf "$root/etc/"
{
	chroot "$root" apt-get update -q
	chroot "$root" sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends /root/before/*.deb'
} >>"$work/log" 2>&1 || fail "the packages cannot be installed in $suite"

cp tests/packages_guest.sh "$root/root/"
cat >"$root/etc/systemd/system/packages.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /root/packages_guest.sh
ExecStopPost=/bin/systemctl poweroff
StandardOutput=file:/tap
StandardError=file:/log
[Install]
WantedBy=multi-user.target
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../packages.service "$root/etc/systemd/system/multi-user.target.wants/packages.service"

status=0
timeout --kill-after=30 "$seconds" systemd-nspawn --quiet --register=no --keep-unit --boot --console=pipe \
	--machine="snapwalk-$$" --directory="$root" </dev/null >"$work/console" 2>&1 || status=$?
if [ -e "$root/tap" ]; then
	cat "$root/tap"
fi
if ! grep -q '^1\.\.' "$root/tap"; then
	echo "packages.sh: the guest did not come to its end (status $status); the ends of its logs:" >&2
	tail -n 20 "$work/console" "$root/log" >&2 || true
	exit 1
fi
if grep -q '^not ok' "$root/tap"; then
	exit 1
fi
