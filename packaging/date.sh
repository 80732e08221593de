#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/date.sh: when the sources were changed, in seconds since 1970, the same wherever they are built:
# SOURCE_DATE_EPOCH, else the last commit, else the file NEWS.
set -euo pipefail
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
	echo "$SOURCE_DATE_EPOCH"
else
	git log -1 --format=%ct 2>/dev/null || stat -c %Y NEWS
fi
