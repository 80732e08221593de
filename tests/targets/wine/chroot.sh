#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes a root directory with Debian 13 and its Wine (10.0), for tests with more than one Wine:
#
#	chroot.sh DIRECTORY [MIRROR]
#
# Needs root, debootstrap and a mirror of Debian, by default debootstrap's own. Whole or not there: it
# appears by rename.
set -eu

directory=$1
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ -x "$directory/usr/lib/wine/wine64" ] && exit 0
if [ "$(id -u)" != 0 ]; then
	echo "chroot.sh: only root can make a root directory" >&2
	exit 1
fi

# Left over from a run that was cut off; never a path that was not made here.
rm -rf --one-file-system "$directory.partial"
mkdir -p "$directory.partial"
if ! debootstrap --variant=minbase --keyring="$keyring" --include=wine64 trixie \
	"$directory.partial" ${2:+"$2"} >"$directory.log" 2>&1; then
	echo "chroot.sh: debootstrap failed; the end of $directory.log:" >&2
	tail -n 5 "$directory.log" >&2
	exit 1
fi
rm -rf "$directory.partial"/var/cache/apt/archives/*.deb "$directory.partial"/usr/share/doc
mv -T "$directory.partial" "$directory"
