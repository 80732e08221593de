#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The copier (libwalk/copier) knows no format and no runtime. Its objects, what they call, and what that calls in its
# turn lie in the folders that are allowed; the calls are followed by symbols, as the linker follows them.
#
#	tests/copier.sh DIRECTORY_OF_OBJECTS
set -uo pipefail
export LC_ALL=C
objects=$1
allowed='^(arch|base|copier|iterate|process|stop)/'

reached=$(cd "$objects" && find . -name '*.o' -printf '%P\0' | xargs -0 nm -A -g | awk '
	{
		file = $1
		sub(/:.*/, "", file)
		if ($(NF - 1) ~ /^[Uwv]$/)
			needs[file] = needs[file] " " $NF
		else
			defined[$NF] = file
		if (file ~ /^copier\//)
			reached[file] = file
	}
	END {
		do {
			more = 0
			for (file in reached) {
				n = split(needs[file], names, " ")
				for (i = 1; i <= n; i++) {
					other = defined[names[i]]
					if (other == "" || other in reached)
						continue
					reached[other] = reached[file] " -> " other
					more = 1
				}
			}
		} while (more)
		for (file in reached)
			print file, reached[file]
	}')
n=$(wc -l <<<"$reached")
[ "$(grep -c '^copier/' <<<"$reached")" -ge 3 ] || { echo 'copier: its objects were not found' >&2; exit 1; }
if grep -vE "$allowed" <<<"$reached" | cut -d ' ' -f 2- | sed 's/^/copier: calls what it must not know: /' >&2; then
	exit 1
fi
echo "copier: ok ($n objects)"
