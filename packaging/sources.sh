#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/sources.sh DIRECTORY: copies the sources there: what git knows or would know of them, without git all but
# what is built.
set -euo pipefail
mkdir -p "$1"
if [ -e .git ]; then
	git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
		[ ! -e "$file" ] || printf '%s\0' "$file"
	done
else
	find . -mindepth 1 \( -path ./build -o -path './build-*' -o -name __pycache__ \) -prune -o ! -type d -print0
fi | LC_ALL=C sort -z | tar -c --null --no-recursion -T - | tar -C "$1" -x
