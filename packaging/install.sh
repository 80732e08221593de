#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/install.sh PACKAGE...: installs packages of Debian that are missing; without root it says which ones. A new
# machine updates itself for its first minutes: while another program has apt's locks, this one waits for at most ten.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

apt() {
	apt-get -qq -o DPkg::Lock::Timeout=600 "$@"
}

# The lock of the lists is one for which apt-get itself does not wait.
update() {
	echo "updating the lists of packages"
	tries=0
	until said=$(apt update 2>&1); do
		case $said in *"Could not get lock"*) ;; *) tries=200 ;; esac
		if [ "$tries" -ge 200 ]; then
			echo "$said" >&2
			exit 1
		fi
		[ "$tries" -gt 0 ] || echo "waiting for another program that updates them"
		tries=$((tries + 1))
		sleep 3
	done
}

if ! command -v dpkg-query >/dev/null; then
	echo "snapwalk: this system has no packages of Debian: 'make needed' says which libraries a build needs" >&2
	exit 1
fi
missing=
for package in "$@"; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "snapwalk: packages are missing:$missing" >&2
	echo "snapwalk: run: sudo apt-get install$missing" >&2
	exit 1
fi
# shellcheck disable=SC2086 # a list of words
set -- install -y --no-install-recommends $missing
apt --print-uris "$@" >/dev/null 2>&1 || update
# A package that was downloaded before has no URI.
apt --print-uris "$@" |
	awk '{ n++; size += $3 } END { if (n > 0) printf "downloading %d package%s (%.1f MB)\n", n, n == 1 ? "" : "s", size / 1e6 }'
echo "installing:$missing"
apt "$@" >/dev/null || {
	update
	apt "$@" >/dev/null
}
