#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/rpm.sh DIRECTORY VERSION: builds the packages of rpm there and has rpmlint look at them. Libraries are asked for
# by pkg-config: the names of packages that the spec file has are those of Fedora. They are built in a temporary folder, as
# rpmbuild takes no path with a space.
set -euo pipefail
made=$1 version=$2
directory=$(mktemp -d)
finish() {
	rm -rf "$directory"
}
trap finish EXIT
date=$(packaging/date.sh)
umask 022

rm -rf "$made"
mkdir -p "$made" "$directory/SOURCES" "$directory/SPECS"
packaging/sources.sh "$directory/snapwalk-$version"
tar -C "$directory" --sort=name --mtime="@$date" --owner=0 --group=0 -czf "$directory/SOURCES/snapwalk-$version.tar.gz" \
	"snapwalk-$version"
rm -rf "${directory:?}/snapwalk-$version"
{
	cat packaging/rpm/snapwalk.spec
	printf '\n%%changelog\n* %s snapwalk maintainers <maintainers@snapwalk.example> - %s-1\n- NEWS says what changed.\n' \
		"$(LC_ALL=C date -u -d "@$date" '+%a %b %d %Y')" "$version"
} >"$directory/SPECS/snapwalk.spec"
nodeps=()
[ -e /etc/redhat-release ] || nodeps=(--nodeps)
rpmbuild -bb "${nodeps[@]}" --define "_topdir $directory" --define "version_of_make $version" \
	"$directory/SPECS/snapwalk.spec" >"$made/log" 2>&1 || {
	tail -n 30 "$made/log" >&2
	exit 1
}
rpmlint --config packaging/rpm/rpmlint.toml "$directory"/RPMS/*/*.rpm
# Into a root directory of its own, without scripts: what is in it is what the packages say, and the command runs.
root=$directory/root
mkdir "$root"
rpm --root "$root" --initdb
rpm --root "$root" -i --nodeps --noscripts "$directory"/RPMS/*/*.rpm
rpm --root "$root" -V --nodeps --noscripts snapwalk snapwalk-daemon snapwalk-libs snapwalk-devel
"$root/usr/bin/snapwalk" --version
mv "$directory/RPMS" "$made/RPMS"
ls -l "$made"/RPMS/*/*.rpm
