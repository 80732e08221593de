#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the tree and runs its unit tests with other compilers and flags than the usual ones, in a
# folder whose name has a space. Any warning is a failure.
#	tests/flags.sh [NAME...]
set -uo pipefail
declare -A variants=(
	[clang]='CC=clang'
	[O0]='CFLAGS=-O0 -g'
	[O3]='CFLAGS=-O3 -g'
	[lto]='CFLAGS=-O2 -g -flto=auto'
	[fortify2]='CPPFLAGS=-D_FORTIFY_SOURCE=2'
)
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(clang O0 O3 lto fortify2)
folder=$(mktemp -d)/'a clone'
finish() {
	rm -rf "${folder%/*}"
}
trap finish EXIT
number=0

result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		tail -n 20 "$folder/log" | sed 's/^/# /'
	fi
}

# Without what a make around this one has set.
unset MAKEFLAGS MAKEOVERRIDES
mkdir "$folder"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -C "$folder" -x
cd "$folder" || exit 1
for name in "${names[@]}"; do
	make -s -j"$(nproc)" "BUILD=build-$name" "${variants[$name]}" WERROR=-Werror all unit-tests >log 2>&1
	result $? "$name: builds without a warning"
	! grep -q 'warning:' <(grep -v '^lto-wrapper' log)
	result $? "$name: no warning of the linker either"
	find "build-$name/tests/unit" -name 'test_*' -type f -perm -u+x | sort >programs
	while read -r -u 3 test; do
		timeout 600 "$test" >log 2>&1
		result $? "$name: ${test##*/}"
	done 3<programs
done
echo "1..$number"
