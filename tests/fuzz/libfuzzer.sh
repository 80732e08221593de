#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Coverage-guided fuzzing of each target: libfuzzer.sh SECONDS INCLUDES LIBS [NAME...]
# Finds go to build/fuzz/NAME/; a find that matters belongs into corpus/ with its fix.
set -euo pipefail
seconds=$1 includes=$2 libs=$3
shift 3
cd "$(dirname "$0")/../.."
names=("$@")
if [ ${#names[@]} = 0 ]; then
	for file in tests/fuzz/fuzz_*.c; do
		name=${file##*/}
		names+=("${name%.c}")
	done
fi

out=build/fuzz
mkdir -p "$out/obj"
flags=(-std=gnu17 -D_GNU_SOURCE '-DSW_VERSION="fuzz"' '-DSW_SYSCONFDIR="/etc"'
	"-DSW_TESTS_DIR=\"$PWD/tests\"" -g -O1 -fno-omit-frame-pointer
	'-fsanitize=address,undefined' -fno-sanitize-recover=undefined)
objects=()
while read -r file; do
	case $file in */main.c | *.bpf.c | */iterate/programs.c) continue ;; esac
	object=$out/obj/${file//\//_}.o
	objects+=("$object")
	if [ ! -e "$object" ] || [ "$file" -nt "$object" ]; then
		# shellcheck disable=SC2086
		clang "${flags[@]}" -fsanitize=fuzzer-no-link $includes -c -o "$object" "$file"
	fi
done < <(find libwalk symbolizer protocol confine daemon cli -name '*.c' | sort)
# The files that tests share: each fuzzer takes what it needs of them, too.
for file in tests/unit/*.c; do
	object=$out/obj/${file//\//_}.o
	objects+=("$object")
	# shellcheck disable=SC2086
	clang "${flags[@]}" -fsanitize=fuzzer-no-link $includes -c -o "$object" "$file"
done
# An archive: a fuzzer may have its own in place of some of it.
rm -f "$out/all.a"
ar rcs "$out/all.a" "${objects[@]}"

for name in "${names[@]}"; do
	# shellcheck disable=SC2086
	clang "${flags[@]}" -fsanitize=fuzzer $includes -o "$out/$name" "tests/fuzz/$name.c" \
		"$out/all.a" $libs -lcmocka
	mkdir -p "$out/$name.found"
	echo "fuzz: $name for $seconds s"
	"$out/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$out/$name.found/" "$out/$name.found" "tests/fuzz/corpus/$name"
done
