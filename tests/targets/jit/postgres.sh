#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A PostgreSQL of its own in directory $1, with the programs in $2; one backend evaluates an expression
# that was compiled and sleeps in it. It knows nothing of other clusters, and uses no network.
set -eu
dir=$1 bin=$2
"$bin/initdb" -D "$dir/data" -U postgres -A trust -N >/dev/null
"$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c jit=on -c jit_above_cost=0 \
	-c jit_inline_above_cost=-1 -c jit_debugging_support=on -c fsync=off >/dev/null 2>&1 &
until "$bin/pg_isready" -q -h "$dir" -U postgres; do :; done
exec "$bin/psql" -h "$dir" -U postgres -qc "SELECT count(*) FROM generate_series(1, 100) AS g
	WHERE g % 7 = 1 AND pg_sleep(g * 1000000) IS NOT NULL" postgres
