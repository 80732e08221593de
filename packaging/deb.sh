#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/deb.sh DIRECTORY VERSION: builds the packages of Debian there and has lintian look at them.
set -euo pipefail
directory=$1 version=$2
tree=$directory/snapwalk-$version

rm -rf "$directory"
packaging/sources.sh "$tree"
cp -R packaging/debian "$tree/debian"
cat >"$tree/debian/changelog" <<END
snapwalk ($version) unstable; urgency=medium

  * Version $version: NEWS says what changed.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -u -R -d "@$(packaging/date.sh)")
END
(cd "$tree" && dpkg-buildpackage -us -uc -b) >"$directory/log" 2>&1 || {
	tail -n 30 "$directory/log" >&2
	exit 1
}
lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
	"$directory"/*.changes
ls -l "$directory"/*.deb
