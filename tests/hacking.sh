#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# HACKING.md and tests/README.md name only files and functions that exist.
set -ufo pipefail
export LC_ALL=C # comm(1) wants the order of sort(1), and bytes are searched faster than letters
status=0
sources=$(git ls-files libwalk symbolizer protocol confine daemon cli packaging tests Makefile)
words=$(git grep -ohwE '[A-Za-z_0-9]+' -- libwalk symbolizer protocol confine daemon cli 'tests/*.[ch]' tests/live | sort -u)
# Every path from the root, from each of its folders, and alone.
paths=$(awk -F/ '{ path = $NF; print path; for (i = NF - 1; i > 0; i--) { path = $i "/" path; print path } }' <<<"$sources" | sort -u)

missing() {
	echo "HACKING.md, tests/README.md: there is no $1" >&2
	status=1
}

functions=$(grep -ohE '\bsw_[a-z0-9_]+\b|\bSW_[A-Z_0-9]+\b|\b[a-z_]+\(\)' HACKING.md tests/README.md | tr -d '()' | sort -u)
while read -r name; do
	missing "$name"
done < <(comm -23 <(printf '%s\n' "$functions") <(printf '%s\n' "$words"))

# From the root, or by their name alone; * stands for any, NAME for what somebody adds.
files=$(grep -ohE '[A-Za-z_0-9*/.-]+\.(c|h|py|sh|def|json)\b' HACKING.md tests/README.md | grep -v NAME | sort -u)
while read -r name; do
	case $name in
	*\**)
		pattern=$(sed 's/[.]/\\./g; s/\*/[^ ]*/g' <<<"$name")
		grep -qxE -- "$pattern" <<<"$paths" || missing "$name"
		;;
	*) missing "$name" ;;
	esac
done < <(comm -23 <(printf '%s\n' "$files") <(printf '%s\n' "$paths"))

[ "$(wc -l <<<"$functions$files")" -gt 50 ] || missing "anything to check"
exit "$status"
