#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes a root directory with a Debian and its Wine, for tests with more than one Wine:
#
#	chroot.sh DIRECTORY [SUITE [ARCHITECTURE [MIRROR]]]	trixie (Wine 10.0), amd64
#
# With i386 it is the Wine for 32-bit programs, and the system's own packages stay as they are. Needs root,
# debootstrap and a mirror of Debian, by default debootstrap's own. Whole or not there: it appears by rename.
set -eu

directory=$1
suite=${2:-trixie}
architecture=${3:-amd64}
mirror=${4:-}
case $architecture in
amd64) package=wine64 loader=wine64 ;;
*) package=wine32 loader=wine ;;
esac
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ -x "$directory/usr/lib/wine/$loader" ] && exit 0
if [ "$(id -u)" != 0 ]; then
	echo "chroot.sh: only root can make a root directory" >&2
	exit 1
fi

# Left over from a run that was cut off; never a path that was not made here.
rm -rf --one-file-system "$directory.partial"
mkdir -p "$directory.partial"
if ! debootstrap --variant=minbase --arch="$architecture" --keyring="$keyring" --include="$package" \
	"$suite" "$directory.partial" ${mirror:+"$mirror"} >"$directory.log" 2>&1; then
	echo "chroot.sh: debootstrap failed; the end of $directory.log:" >&2
	tail -n 5 "$directory.log" >&2
	exit 1
fi
rm -rf "$directory.partial"/var/cache/apt/archives/*.deb "$directory.partial"/usr/share/doc
mv -T "$directory.partial" "$directory"
