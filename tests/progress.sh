#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/progress.sh WHAT MAKE ARGUMENT...: runs that make, and says how far it is: how many files it has to build,
# at once, and how many are there, every PROGRESS_S seconds and in the end. Says nothing when all are there.
# Ends with make's status.
set -uo pipefail
what=$1
shift

# The files that a compiler or a linker is to write, as a make says that only shows its commands.
mapfile -t files < <("$@" -n 2>/dev/null | sed -nE 's/.* -o "?([^" ]+)"?.*/\1/p' | sort -u)
begin=$(mktemp)
loop=''

# shellcheck disable=SC2317  # called by the trap
finish() {
	[ -z "$loop" ] || kill "$loop" 2>/dev/null
	rm -f "$begin"
}
trap finish EXIT

say() {
	local file there=0
	for file in "${files[@]}"; do
		[ ! "$file" -nt "$begin" ] || there=$((there + 1))
	done
	echo "building $what: $there of ${#files[@]} files"
}

repeat() {
	# A sleep that outlives us must not keep the output open.
	while sleep "${PROGRESS_S:-10}" >/dev/null 2>&1; do
		say
	done
}

if [ "${#files[@]}" -gt 0 ]; then
	say
	repeat &
	loop=$!
fi
"$@"
status=$?
[ "${#files[@]}" = 0 ] || [ $status != 0 ] || say
exit $status
