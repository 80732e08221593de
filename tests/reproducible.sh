#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/reproducible.sh DIRECTORY: builds the files of a release and the packages of Debian twice, in folders of other names
# (one has a space), with another umask, time zone, language, times of files and number of jobs, and compares their bytes.
# ONLY="dist" or "deb" builds that alone.
set -euo pipefail
mkdir -p "$1"
directory=$(realpath "$1")
read -ra goals <<<"${ONLY:-dist deb}"
SOURCE_DATE_EPOCH=$(packaging/date.sh)
export SOURCE_DATE_EPOCH
# Without what a make around this one has set.
unset MAKEFLAGS MAKEOVERRIDES MAKELEVEL

# build FOLDER UMASK JOBS NAME=VALUE...: the goals, from a copy of the sources in that folder, with these variables.
build() {
	local folder=$directory/$1 mask=$2 jobs=$3
	shift 3
	rm -rf "$folder"
	packaging/sources.sh "$folder"
	(
		cd "$folder"
		umask "$mask"
		[ "$mask" != 077 ] || chmod -R go= .
		find . -type f -exec touch -d "@$((SOURCE_DATE_EPOCH - jobs * 86400))" {} +
		env "$@" make -s -j"$jobs" "${goals[@]}"
	) >"$folder.log" 2>&1 || {
		tail -n 20 "$folder.log" >&2
		echo "snapwalk: '${goals[*]}' failed in $folder" >&2
		exit 1
	}
}

# made FOLDER: checksum and name of each file that was made there, but for records of the build itself.
made() {
	(cd "$directory/$1/build" && find dist deb -maxdepth 1 -type f \( -path 'dist/*' -o -name '*.deb' \) \
		-exec sha256sum {} + 2>/dev/null | sort -k 2)
}

build first 022 2 TZ=UTC LANG=C
build 'second and other' 077 3 TZ=Asia/Tokyo LANG=C.UTF-8 LC_ALL=C.UTF-8
[ -n "$(made first)" ] || { echo "snapwalk: nothing was made in $directory/first" >&2; exit 1; }
if ! diff <(made first) <(made 'second and other'); then
	echo "snapwalk: two builds differ, see $directory" >&2
	exit 1
fi
echo "the same bytes: $(made first | wc -l) files"
made first
rm -rf "$directory"
