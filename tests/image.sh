#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/image.sh DIRECTORY: builds the image of the Containerfile on a Debian of its own, and tries it with podman, with the
# capabilities that the Containerfile names: the version without root, a process of another container by its pid and by the
# container's id, a process of the host, a container whose pids it shares (as kubectl debug --target does), and that
# SYS_PTRACE is needed. IMAGE=NAME, and IMAGE-static, are tried instead of being built. RUNTIME=runc chooses another
# runtime of containers: crun refuses a machine with both versions of control groups.
set -euo pipefail
directory=$1
image=${IMAGE:-localhost/snapwalk}
base=localhost/snapwalk-base
podman=(podman)
[ -z "${RUNTIME:-}" ] || podman+=(--runtime "$RUNTIME")
# A root user without SYS_RESOURCE may not raise limits, as podman does by default.
limits=(--ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
capabilities=sys_ptrace,bpf,perfmon,dac_read_search
target='' host=''
failed=0

finish() {
	[ -z "$host" ] || kill "$host" 2>/dev/null || true
	[ -z "$target" ] || "${podman[@]}" rm -f -t 0 "$target" >/dev/null
}
trap finish EXIT

build() {
	mkdir -p "$directory"
	mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$directory/base.tar"
	podman import -q "$directory/base.tar" "$base" >/dev/null
	rm "$directory/base.tar"
	buildah bud -q --network host --isolation chroot --build-arg BASE="$base" -t "$image" . >/dev/null
	buildah bud -q --network host --isolation chroot --build-arg BASE="$base" --target static -t "$image-static" . >/dev/null
}

# run CAPABILITIES ARGUMENT...: a container as the Containerfile says, with these.
run() {
	local given=$1
	shift
	"${podman[@]}" run --rm "${limits[@]}" --network none --cap-drop all --cap-add "$given" \
		--security-opt seccomp=unconfined --read-only "$@"
}

# expect STATUS PATTERN WHAT COMMAND...: the command ends so, and says so.
expect() {
	local wanted=$1 pattern=$2 what=$3 status=0 said
	shift 3
	said=$("$@" 2>&1) || status=$?
	if [ "$status" = "$wanted" ] && grep -qE "$pattern" <<<"$said"; then
		echo "ok   $what"
	else
		printf 'FAIL %s: status %s, not %s, or nothing like "%s":\n%s\n' "$what" "$status" "$wanted" "$pattern" "$said"
		failed=1
	fi
}

[ -n "${IMAGE:-}" ] || build
version=$(sed -n 's/^VERSION *:= //p' Makefile)
target=$("${podman[@]}" run -d "${limits[@]}" --network none "$base" sleep 600)
pid=$(podman inspect --format '{{.State.Pid}}' "$target")
sleep 600 &
host=$!

expect 0 "^snapwalk $version$" 'the version, as nobody' run sys_ptrace --user 65534:65534 "$image" snapwalk --version
expect 0 "^snapwalk $version$" 'the version, in an image with nothing else' run sys_ptrace "$image-static" --version
expect 0 'nothing was stopped' 'a process of another container' run "$capabilities" --pid host "$image" snapwalk "$pid"
expect 0 'clock_nanosleep' 'its function' run "$capabilities" --pid host "$image" snapwalk "$pid"
expect 0 "sleep, pid $pid: 1 thread" 'the same by the id of its container' \
	run "$capabilities" --pid host "$image" snapwalk --container "${target:0:12}"
expect 0 'nothing was stopped' 'a process of the host' run "$capabilities" --pid host "$image" snapwalk "$host"
expect 0 'sleep, pid 1: 1 thread' 'a container whose pids are shared' \
	run "$capabilities" --pid "container:$target" "$image" snapwalk 1
expect 0 'stopped for' 'the same with SYS_PTRACE alone, by a stop' \
	run sys_ptrace --pid "container:$target" "$image" snapwalk 1
expect 77 'not_permitted' 'without SYS_PTRACE: refused' run bpf,perfmon --pid host "$image" snapwalk "$host"
[ "$failed" = 0 ]
