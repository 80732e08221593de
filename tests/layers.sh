#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Layering: no '../' in an include, and each component really cannot see the others' internal headers
# (proved by compiling a probe that must fail, once for each foreign header).
set -uo pipefail
cc=$1 cflags=$2
shift 2
status=0
probes=0

if grep -nE '^\s*#\s*include\s*["<][^">]*\.\./' -r libwalk symbolizer protocol confine daemon cli; then
	echo "layers: an include leaves its component with '../'" >&2
	status=1
fi

# A register is named in arch/ and in the sources of its machine; another machine needs those again, and nothing else.
if grep -rnE --include='*.[ch]' 'SW_X86_64_' libwalk symbolizer protocol confine daemon cli |
	grep -vE '^(libwalk/arch/[^:]*|[^:]*_(x86_64|i386)\.[ch]):'; then
	echo "layers: a register of one machine is named outside of its sources (NAME_x86_64.c, registers_x86_64.h)" >&2
	status=1
fi

declare -A includes
components=()
while [ $# -gt 1 ]; do
	components+=("$1")
	includes[$1]=$2
	shift 2
done

# visible COMPONENT HEADERS: those that the component's list of folders leads to, in one run of the compiler.
visible() {
	# shellcheck disable=SC2086,SC2001
	{ sed 's/.*/#if __has_include("&")\nvisible &\n#endif/' <<<"$2"; echo 'visible all'; } |
		$cc $cflags ${includes[$1]} -E -P -x c - | sed -n 's/^visible //p'
}

for component in "${components[@]}"; do
	for other in "${components[@]}"; do
		[ "$component" = "$other" ] && continue
		# base is everybody's; everything else is internal to its component
		[ "$other" = libwalk/base ] && continue
		[ "$component-$other" = symbolizer-libwalk/formats ] && continue
		headers=$(cd "$other" && find . -name '*.h' -not -path '*/include/*' -printf '%P\n')
		[ "$other" = libwalk ] && headers=$(grep -v '^base/' <<<"$headers")
		[ -n "$headers" ] || continue
		probes=$((probes + $(wc -l <<<"$headers")))
		found=$(visible "$component" "$headers")
		if [[ ! $found =~ (^|$'\n')all$ ]]; then
			echo "layers: the compiler says nothing of what $component can include" >&2
			status=1
		fi
		while read -r header; do
			[ "$header" != all ] || continue
			# the system may have a header of that name (memory.h): look which one it was
			# shellcheck disable=SC2086
			where=$(echo "#include \"$header\"" | $cc $cflags ${includes[$component]} -M -x c - 2>/dev/null)
			if [[ $where == *" $other/$header"* ]]; then
				echo "layers: $component can include $other/$header" >&2
				status=1
			fi
		done <<<"$found"
	done
done

[ $probes -gt 0 ] || { echo "layers: nothing was probed" >&2; status=1; }
[ $status = 0 ] && echo "layers: ok ($probes forbidden includes are refused)"
exit $status
