#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What runs while a target is held calls only what is listed here: system calls that neither wait
# without an end nor need memory, and functions of ours that were read with that in mind. A call that
# is not listed is a finding; whether it may be listed is for a person to judge.
#	tests/held.sh CC CFLAGS
set -uo pipefail
cc=$1 cflags=$2
status=0
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT

# The linker's, the compiler's, and what copies or compares bytes.
any='_GLOBAL_OFFSET_TABLE_ __errno_location __stack_chk_fail memcpy memmove memset memcmp'

# Before the first INTERRUPT, or after the last DETACH: alarm_prepare(), realtime_on(), sw_stop_run().
running='sigaction sigaddset sigemptyset sigprocmask getpid sched_setscheduler sw_helper_run'

# looked_at FILE CALLS...: all that the file needs of others.
looked_at() {
	local file=$1 name
	shift
	# shellcheck disable=SC2086
	$cc $cflags -O2 -c -o "$object" "$file" || { status=1; return; }
	# __pread_chk() is pread() with -D_FORTIFY_SOURCE.
	for name in $(nm -u "$object" | awk '{print $2}' | sed 's/^__\(.*\)_chk$/\1/'); do
		case " $any $* " in
		*" $name "*) ;;
		*)
			echo "held: $file: calls $name() while the target is held" >&2
			status=1
			;;
		esac
	done
}

# shellcheck disable=SC2086
looked_at libwalk/stop/run.c $running ptrace pread clock_gettime process_vm_readv waitid \
	sw_arch_call_get sw_arch_result_offset sw_restart_decide \
	sw_pages_space_is_gone sw_alarm_prepare sw_alarm_set sw_stop_all_known sw_stop_is_permitted sw_stop_is_stranger \
	sw_stop_list_new sw_stop_look sw_stop_wait
# shellcheck disable=SC2086
looked_at libwalk/stop/wait.c $running waitid setitimer clock_gettime
# openat, close: of a directory in /proc, for sw_stop.permit.
looked_at libwalk/stop/threads.c fstat faccessat openat close sw_proc_tids sw_stop_holds_any
looked_at libwalk/arch/restart.c
looked_at libwalk/arch/user_regs_x86_64.c
looked_at libwalk/capture/stacks.c sw_arch_thread_fill sw_capture_pieces_copy sw_capture_pieces_trim \
	sw_snapshot_map
looked_at libwalk/capture/reader.c clock_gettime sched_setscheduler sw_capture_room_fill \
	sw_expendable_has_died sw_expendable_run
# sw_window_create(), sw_window_settle(): before and after the helper.
looked_at libwalk/capture/window.c sw_arena_alloc sw_arena_calloc sw_fail_nomem sw_capture_reader_fill \
	sw_capture_room_hooks_used sw_iterate_comm sw_iterate_is_quiescent sw_iterate_is_unchanged \
	sw_iterate_is_worker sw_iterate_read sw_iterate_registers sw_iterate_state \
	sw_iterate_waits_ns sw_take_how
looked_at libwalk/capture/decide.c sw_iterate_has_registers sw_iterate_is_32bit sw_iterate_is_worker
looked_at libwalk/iterate/thread.c
looked_at libwalk/capture/copy.c process_vm_readv pread clock_gettime sw_pages_may_stall sw_pages_present
# A stacks hook that has its file to itself. Those of most capture hooks have what runs before in theirs.
looked_at libwalk/runtimes/wine/stacks.c sw_capture_read sw_capture_read_many sw_capture_stack \
	sw_capture_stack_known sw_snapshot_map sw_wine_signal_sp sw_wine_teb_parse
# Capture hooks that have theirs; the walk reads what it is given, and bounds what it follows.
looked_at libwalk/jit/libgcc/capture.c sw_capture_copy sw_capture_read_many sw_capture_wanted \
	sw_jit_libgcc_known_find sw_jit_libgcc_known_node sw_jit_libgcc_walk sw_jit_stop_memory
looked_at libwalk/jit/libgcc/list.c
# The passes of the task iterator around the copy, and what they prove.
looked_at libwalk/iterate/read.c read
looked_at libwalk/iterate/proof.c sw_iterate_is_worker

others=$(grep -lE '\bptrace\(PTRACE_' -r libwalk symbolizer protocol daemon cli --include='*.[ch]' |
	grep -vx libwalk/stop/run.c)
[ -z "$others" ] || { echo "held: ptrace() outside of libwalk/stop/run.c: $others" >&2; status=1; }

[ $status = 0 ] && echo "held: ok"
exit $status
