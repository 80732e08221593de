#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# HACKING.md and tests/README.md name only files and functions that exist.
set -ufo pipefail
status=0
checked=0
sources=$(git ls-files libwalk symbolizer protocol confine daemon cli packaging tests Makefile)
words=$(git grep -ohwE '[A-Za-z_0-9]+' -- libwalk symbolizer protocol confine daemon cli 'tests/*.[ch]' tests/live | sort -u)

missing() {
	echo "HACKING.md, tests/README.md: there is no $1" >&2
	status=1
}

while read -r name; do
	checked=$((checked + 1))
	grep -qxF -- "$name" <<<"$words" || missing "$name"
done < <(grep -ohE '\bsw_[a-z0-9_]+\b|\bSW_[A-Z_0-9]+\b|\b[a-z_]+\(\)' HACKING.md tests/README.md | tr -d '()' | sort -u)

# From the root, or by their name alone; * stands for any, NAME for what somebody adds.
while read -r name; do
	case $name in *NAME*) continue ;; esac
	checked=$((checked + 1))
	pattern=$(sed 's/[.]/\\./g; s/\*/[^ ]*/g' <<<"$name")
	grep -qE "(^|/)$pattern\$" <<<"$sources" || missing "$name"
done < <(grep -ohE '[A-Za-z_0-9*/.-]+\.(c|h|py|sh|def|json)\b' HACKING.md tests/README.md | sort -u)

[ "$checked" -gt 50 ] || missing "anything to check"
exit "$status"
