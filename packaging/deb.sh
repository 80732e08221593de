#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/deb.sh DIRECTORY VERSION: builds the packages of Debian there and has lintian look at them. They are compiled in a
# temporary folder: dpkg takes the path out of what it compiles only where the path has no space.
set -euo pipefail
directory=$1 version=$2
work=$(mktemp -d)
tree=$work/snapwalk-$version
finish() {
	rm -rf "$work"
}
trap finish EXIT
# Permissions and times of files are those of the packages, not what this machine made of them.
umask 022
date=$(packaging/date.sh)

rm -rf "$directory"
mkdir -p "$directory"
packaging/sources.sh "$tree"
chmod -R u=rwX,go=rX "$tree"
find "$tree" -type f -exec touch -d "@$date" {} +
cp -R packaging/debian "$tree/debian"
cat >"$tree/debian/changelog" <<END
snapwalk ($version) unstable; urgency=medium

  * Version $version: NEWS says what changed.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -u -R -d "@$date")
END
(cd "$tree" && dpkg-buildpackage -us -uc -b) >"$directory/log" 2>&1 || {
	tail -n 30 "$directory/log" >&2
	exit 1
}
find "$work" -maxdepth 1 -type f -exec mv -t "$directory" {} +
lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
	"$directory"/*.changes
ls -l "$directory"/*.deb
