#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A call that takes the name of a file may wait for ever, where that name, or a link or mount on its way, leads to a
# server that does not answer (FUSE, NFS). Names that a target chose are opened by two files only, which ask no such
# server, or have a process ask it that nobody waits for: libwalk/process/guarded.c and local.c. All others have their
# descriptors from there, or take names that no target has a say in. Each object that calls such a function is listed
# here with its calls; one that is not listed is a finding, and whether it may be listed is for a person to judge.
#
#	tests/hangs.sh DIRECTORY_OF_OBJECTS
set -uo pipefail
export LC_ALL=C
objects=$1
status=0
calls='open|openat|fopen|freopen|stat|lstat|fstatat|statx|readlink|readlinkat|access|faccessat|euidaccess'
calls+='|statfs|statvfs|opendir|realpath|canonicalize_file_name|scandir|chdir|truncate|getxattr|nftw|ftw|glob|dlopen|sw_own_fd_open|sw_own_fd_open_to_read'

# sw_own_fd_open() and its sibling open the file that its caller has a descriptor of: the caller is listed for it.
# proc	files and directories of /proc and /sys, and their links, which are read or looked at without
#	being followed: the kernel alone answers
# own	what the administrator, the user or the daemon itself named, or an installed program
# known	it is opened step by step, and each step is known to answer before it is asked (process/local.c),
#	or is relative to a descriptor that was opened so
# apart	an expendable process does it, or one whose end nobody waits for
list='
cli/cache/unpacker.c		own	access
cli/commands/doctor.c		proc	open openat
cli/daemon/first.c		proc	stat
cli/commands/dumper.c		own	access
cli/commands/explain.c		proc	fopen
cli/commands/hook.c		own	stat
cli/common/pair_file.c		own	opendir
cli/common/word_kind.c		own	open stat
cli/daemon/call.c		own	access
cli/daemon/read_dump.c		own	stat
cli/doctor/general.c		own	access
cli/doctor/target.c		proc	fstatat openat readlink readlinkat
cli/events/descriptors.c	proc	openat
cli/events/mappings.c		proc	openat
cli/events/memory/allocators.c	proc	openat
cli/events/memory/calibrate.c	proc	open
cli/events/objects/epolls.c	proc	openat readlinkat
cli/events/objects/shm.c	proc	open openat readlink readlinkat
cli/events/objects/timers.c	proc	openat
cli/events/threads.c		proc	openat
cli/main.c			own	open
cli/mcp/run.c			own	open
cli/run/apart.c			proc	fopen opendir readlinkat
cli/run/fetcher.c		own	access
cli/run/keep.c			own	lstat
cli/run/naming.c		own	stat
cli/run/obtain.c		own	open
cli/run/owner_files.c		apart	open sw_own_fd_open_to_read
cli/run/output.c		own	open openat stat sw_own_fd_open
cli/run/packager.c		own	open
cli/run/rights.c		proc	fstatat open readlinkat
cli/top/terminal.c		own	open
confine/descriptors.c		own	open
confine/landlock.c		own	open statx
daemon/config/path.c		own	open
daemon/config/settings.c	own	fopen lstat scandir stat
daemon/launcher/launcher.c	own	chdir
daemon/main.c			own	faccessat open openat
daemon/policy/authorize.c	proc	fstatat open readlinkat
daemon/policy/namespace.c	proc	fstatat
daemon/policy/program.c		proc	open openat readlinkat statx
daemon/prepare.c		own	open stat
daemon/rpc/server.c		own	lstat readlink
daemon/rules/load.c		own	scandir
daemon/sandbox/roles.c		proc	fopen
daemon/ship/config.c		own	open
daemon/ship/spool.c		own	fstatat open openat
daemon/ship/status.c		own	open
daemon/store/directory.c	own	openat
daemon/store/dumps.c		own	openat
daemon/store/pins.c		own	fstatat openat
daemon/worker/dumps.c		proc	open
daemon/worker/events.c		proc	openat
daemon/worker/ids.c		proc	open
daemon/worker/target.c		proc	fopen
libwalk/base/in_root.c	known	openat readlinkat statx
libwalk/base/own_fd.c		proc	open readlink
libwalk/base/own_way.c	own	open openat
libwalk/base/text.c		own	openat
libwalk/capture/after.c		proc	openat
libwalk/capture/before.c	proc	openat readlinkat statx
libwalk/compare/load.c		own	dlopen
libwalk/events/memory_locks.c	proc	open
libwalk/events/uprobes.c	proc	open sw_own_fd_open_to_read
libwalk/copies/copies.c		proc	stat
libwalk/iterate/pins.c		proc	fstatat open
libwalk/iterate/refusal.c	proc	access open
libwalk/process/credentials.c	known	getxattr
libwalk/process/expendable.c	known	open
libwalk/process/files.c		known	open openat readlinkat statx
libwalk/process/filesystems.c	known	fstatat open openat stat statx
libwalk/process/guarded.c	apart	open openat sw_own_fd_open_to_read
libwalk/process/limits.c	proc	fstatat open openat
libwalk/process/listing.c	apart	openat
libwalk/process/local.c		known	open
libwalk/process/pages.c		proc	open
libwalk/process/proc.c		proc	openat
libwalk/process/target.c	known	access open openat
libwalk/process/thread_ends.c	proc	openat
libwalk/sample/sampler.c	proc	faccessat
libwalk/saved/minidump_images.c	own	opendir stat
libwalk/saved/core_open.c	own	open sw_own_fd_open_to_read
libwalk/saved/fixture_files.c	own	openat
libwalk/saved/fixture_records.c	own	openat
libwalk/saved/load.c		own	open openat
libwalk/saved/save.c		own	fstatat openat
libwalk/stop/threads.c		proc	faccessat openat
libwalk/waits/fifo.c		proc	open opendir readlinkat statx
libwalk/waits/holders.c		proc	lstat opendir readlinkat
libwalk/waits/peers.c		proc	open readlinkat stat
libwalk/waits/sockets.c		proc	openat
libwalk/waits/unowned.c		proc	fopen readlinkat
libwalk/waits/visible.c		proc	faccessat readlinkat
protocol/select.c		proc	opendir
symbolizer/archives/library.c	own	dlopen
symbolizer/archives/packages.c	own	open openat
symbolizer/debugfile.c		known	open sw_own_fd_open_to_read
symbolizer/finder/plain.c	own	lstat open opendir sw_own_fd_open_to_read
symbolizer/packages/find.c	own	open openat
symbolizer/unpacked/file.c	own	fstatat lstat open openat
'

finding() {
	echo "hangs: $*" >&2
	status=1
}

# "SOURCE CALL" of each. __open_2() and __readlink_chk() are open() and readlink() with -D_FORTIFY_SOURCE, open64() is
# open(). An object whose source is gone does not count.
found=$(find "$objects/libwalk" "$objects/symbolizer" "$objects/protocol" "$objects/confine" "$objects/cli" \
	"$objects/daemon" -name '*.o' -print0 | sort -z | xargs -0 nm -A -u | sed "s|^$objects/||; s/\.o: *[Uwv] / /" |
	awk -v calls="^($calls)\$" '{
		name = $2
		sub(/^__isoc[0-9x]*_/, "", name)
		if (name ~ /^__.*_(chk|2)$/) { sub(/^__/, "", name); sub(/_(chk|2)$/, "", name) }
		sub(/64$/, "", name)
		if (name ~ calls) print $1 ".c", name
	}' | sort -u | while read -r source name; do [ ! -f "$source" ] || echo "$source $name"; done)
[ -n "$found" ] || finding "no object was looked at"

listed=$(awk 'NF > 2 {for (i = 3; i <= NF; i++) print $1, $i}' <<<"$list" | sort -u)
while read -r source name; do
	finding "$source: calls $name(), see the head of tests/hangs.sh"
done < <(comm -23 <(echo "$found") <(echo "$listed"))
# A listed call that is not made would permit the next one.
while read -r source name; do
	finding "$source: $name() is listed, and not called"
done < <(comm -13 <(echo "$found") <(echo "$listed"))
while read -r source kind _; do
	case $kind in
	'' | proc | own | known | apart) ;;
	*) finding "$source: '$kind' is no kind" ;;
	esac
done <<<"$list"

# By number: no symbol says it.
while read -r place; do
	finding "$place: a call by number that takes a name"
done < <(grep -rnE 'syscall\((SYS|__NR)_(open|openat|openat2|stat|lstat|newfstatat|statx|statfs|readlink|readlinkat|access|faccessat2?|name_to_handle_at|open_by_handle_at)\b' \
	libwalk symbolizer protocol confine cli daemon --include='*.[ch]' | cut -d: -f1,2 |
	grep -vE '^libwalk/process/guarded\.c:')

[ $status = 0 ] && echo "hangs: ok ($(wc -l <<<"$found") calls that take a name)"
exit $status
