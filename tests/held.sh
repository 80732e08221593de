#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code that runs while a target is held calls only what is listed here: system calls that neither wait without an end
# nor need memory, and functions of ours that were read with that in mind. A call that is not listed is a finding;
# whether it may be listed is for a person to judge. So is a hook, or a function of ours that is called, in a file that
# is not looked at: code that runs in the window has files of its own.
#
# nm shows what a file calls by name. By pointers, which it does not show:
# - hooks, from capture/stacks.c: those of the tables, each of which is looked for here;
# - the operations behind unwind/capture.h, from hooks: its functions are inline and call the table of
#   capture/space.c, whose functions for the window must be in files that are looked at, like hooks;
# - struct sw_memory, from those that follow pointers: in the window it is that of jit/common/stop.c,
#   and those of runtimes/beam/window.c, runtimes/beam/processes_window.c and
#   runtimes/hotspot/virtual/window.c.
#
# The objects are those of the build where its flags leave the same calls as -O2 does; else each file is compiled for this.
#
#	tests/held.sh CC CFLAGS [DIRECTORY_OF_OBJECTS]
set -uo pipefail
cc=$1 cflags=$2 objects=${3-}
status=0
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT

# The linker's, the compiler's, and what copies, compares or searches bytes.
any='_GLOBAL_OFFSET_TABLE_ __errno_location __stack_chk_fail memcpy memmove memset memcmp memchr strcmp bsearch __popcountdi2'

# Before the first INTERRUPT, or after the last DETACH: alarm_prepare(), sw_stop_run().
running='sigaction sigaddset sigemptyset sigprocmask getpid sw_helper_run'

# Ours, in files that are for other times, too. They were read: sw_utf8_encode() needs nothing,
# sw_proc_tids() is lseek() and getdents64() into the caller's memory, sw_snapshot_map() searches an array;
# sw_beam_is_code() that and looks at the module;
# sw_expendable_run() waits by futex() and poll() until its deadline; the pages' read pagemap, at most.
read_alone='sw_helper_run sw_proc_tids sw_snapshot_map sw_utf8_encode sw_expendable_run sw_expendable_has_died sw_beam_is_code'
read_alone+=' sw_pages_may_stall sw_pages_present sw_pages_space_is_gone'

files=' ' defined=' ' called=' '

finding() {
	echo "held: $*" >&2
	status=1
}

# looked_at FILE CALLS...: all that the file needs of others.
looked_at() {
	local file=$1 name letter kind own read=$object
	shift
	if [ -n "$objects" ]; then
		read=$objects/${file%.c}.o
	else
		# shellcheck disable=SC2086
		$cc $cflags -O2 -g0 -c -o "$object" "$file" || { status=1; return; }
	fi
	[ -e "$read" ] || { finding "$file: $read is not there"; return; }
	# "U NAME" of what it needs, "ADDRESS T NAME" of what others may call.
	while read -r letter kind own; do
		if [ -n "$own" ]; then
			[[ $kind == [a-z] ]] || defined+="$own "
			continue
		fi
		# __pread_chk() is pread() with -D_FORTIFY_SOURCE.
		name=$kind
		[[ ! $letter$name =~ ^U__(.*)_chk$ ]] || name=${BASH_REMATCH[1]}
		case " $any $* " in
		*" $name "*) called+="$name " ;;
		*) finding "$file: calls $name() while the target is held" ;;
		esac
	done < <(nm "$read")
	files+="$file "
}

# shellcheck disable=SC2086
looked_at libwalk/stop/run.c $running ptrace prctl getppid pread clock_gettime process_vm_readv waitid \
	sw_arch_call_get sw_arch_result_offset sw_restart_decide \
	sw_pages_space_is_gone sw_priority_raise sw_alarm_prepare sw_alarm_set sw_stop_all_known sw_stop_is_permitted sw_stop_is_foreign \
	sw_pace_after_ns sw_pace_note sw_pace_release_ns sw_pace_more sw_stop_list_new sw_stop_look sw_stop_wait
# shellcheck disable=SC2086
looked_at libwalk/stop/wait.c $running waitid setitimer clock_gettime sw_pace_after_ns
looked_at libwalk/stop/pace.c
# openat, close: of a directory in /proc, for sw_stop.permit.
looked_at libwalk/stop/threads.c fstat faccessat openat close sw_proc_tids sw_stop_holds_any
looked_at libwalk/arch/restart.c
looked_at libwalk/arch/user_regs_x86_64.c
looked_at libwalk/arch/syscall_x86_64.c
looked_at libwalk/capture/stacks.c clock_gettime sw_arch_thread_fill sw_capture_parts_copy sw_capture_parts_trim sw_capture_same_begin \
	sw_capture_reads_make sw_capture_touch sw_capture_touch_foreseen sw_futex_range sw_snapshot_map
# The only waits are those of sw_copier_run() for the reader, and they end at the deadline.
looked_at libwalk/capture/touch_window.c clock_gettime sw_capture_all_held sw_capture_reads_make sw_copier_begin sw_copier_run
looked_at libwalk/copier/serve.c clock_gettime
looked_at libwalk/waits/range.c sw_arch_syscall_register
looked_at libwalk/unwind/copied.c
looked_at libwalk/base/memory_blocks.c
looked_at libwalk/base/priority.c sched_getparam sched_getscheduler sched_setscheduler
looked_at libwalk/capture/reader.c clock_gettime sw_capture_space_fill sw_priority_raise \
	sw_expendable_has_died sw_expendable_run sw_iterate_read_returns
looked_at libwalk/capture/window.c sw_capture_reader_fill sw_capture_same sw_capture_space_hooks_matter sw_iterate_comm \
	sw_iterate_is_quiescent sw_iterate_is_unchanged sw_iterate_is_worker sw_iterate_read \
	sw_iterate_registers sw_iterate_state sw_iterate_waits_ns sw_take_how
looked_at libwalk/sample/held.c sw_capture_reader_fill
looked_at libwalk/capture/decide.c sw_iterate_has_registers sw_iterate_is_32bit sw_iterate_is_worker
looked_at libwalk/iterate/thread.c
looked_at libwalk/capture/copy.c process_vm_readv pread clock_gettime sw_pages_may_stall sw_pages_present sw_capture_same_note
looked_at libwalk/capture/same.c sw_capture_is_over sw_capture_reads_make
# Hooks: stacks of Wine, blobs of HotSpot's code cache, Go's stacks, processes of Erlang, then what the unwinder of generated
# code copies for each of its sources.
looked_at libwalk/runtimes/wine/stacks.c sw_snapshot_map sw_wine_signal_sp sw_wine_teb_parse
looked_at libwalk/runtimes/wine/teb.c
looked_at libwalk/runtimes/wine/frames_x86_64.c sw_wine_i386_callback_load sw_wine_i386_context_regs sw_wine_i386_signal_sp \
	sw_wine_i386_start_regs sw_wine_i386_syscall_regs
looked_at libwalk/runtimes/wine/frames_i386.c
looked_at libwalk/runtimes/hotspot/window.c sw_snapshot_map sw_hotspot_locks_copy sw_hotspot_virtual_copy
looked_at libwalk/runtimes/hotspot/locks_window.c
looked_at libwalk/runtimes/hotspot/virtual/window.c sw_hotspot_collector_read sw_hotspot_heap_is sw_hotspot_virtual_count sw_copied_blocks_begin sw_copied_blocks_memory
looked_at libwalk/runtimes/hotspot/virtual/containers.c sw_hotspot_class_of sw_hotspot_pointer_current
looked_at libwalk/runtimes/hotspot/structures/objects.c
looked_at libwalk/runtimes/clr/locks_window.c sw_clr_tasks_copy clock_gettime
looked_at libwalk/runtimes/clr/objects/tasks_window.c sw_clr_class_cache_reset sw_clr_field_find sw_clr_graph_close sw_copied_blocks_begin sw_copied_blocks_has_space sw_copied_blocks_memory \
	sw_clr_graph_reset sw_clr_graph_roots sw_clr_machine_find sw_clr_awaits_copy sw_clr_waited_copy
looked_at libwalk/runtimes/clr/objects/awaits_window.c clock_gettime sw_clr_tasks_go_on sw_clr_tasks_stacks sw_clr_box_pending sw_clr_chain_next sw_clr_class_get sw_memory_by_blocks \
	sw_clr_class_of sw_clr_graph_stacks sw_clr_machine_find sw_clr_may_be_object sw_clr_table_module sw_snapshot_map sw_clr_pal_mutex sw_clr_pal_thread strcmp
looked_at libwalk/runtimes/clr/objects/pal.c
looked_at libwalk/runtimes/clr/objects/graph.c sw_clr_class_of sw_snapshot_map strncmp
looked_at libwalk/runtimes/clr/objects/chain.c sw_clr_argument sw_clr_box_table sw_clr_pooled_source sw_clr_class_of sw_clr_field_find
looked_at libwalk/runtimes/clr/objects/classes.c
looked_at libwalk/runtimes/go/window.c sw_go_g_parse sw_go_list_copy sw_go_m_parse sw_go_thread_check
looked_at libwalk/runtimes/go/list.c sw_go_g_parse
looked_at libwalk/runtimes/go/stacks.c
looked_at libwalk/runtimes/beam/window.c sw_beam_is_code sw_beam_line_find sw_beam_text_read sw_beam_process_parse sw_beam_scheduler_parse \
	sw_beam_processes_copy
looked_at libwalk/runtimes/beam/processes_window.c sw_beam_full_parse sw_beam_is_parked sw_beam_table_read sw_copied_memory \
	sw_beam_window_function sw_beam_window_module
looked_at libwalk/runtimes/beam/processes.c
looked_at libwalk/runtimes/beam/lines.c sw_utf8_encode
looked_at libwalk/runtimes/beam/schedulers.c
looked_at libwalk/jit/capture.c sw_jit_hook_table sw_n_jit_hooks
looked_at libwalk/jit/common/stop.c
looked_at libwalk/jit/gdb/capture.c sw_jit_gdb_walk sw_jit_stop_memory
looked_at libwalk/jit/gdb/list.c
looked_at libwalk/jit/libgcc/capture.c sw_jit_libgcc_known_find sw_jit_libgcc_known_node \
	sw_jit_libgcc_walk sw_jit_stop_memory
looked_at libwalk/jit/libgcc/known.c
looked_at libwalk/jit/libgcc/list.c
looked_at libwalk/jit/ftable/capture.c sw_ftable_chunk_parse sw_ftable_data_bytes sw_ftable_head_parse \
	sw_ftable_record_parse
looked_at libwalk/jit/ftable/record.c
# The passes of the task iterator around the copy, and what they prove.
looked_at libwalk/iterate/read.c read
looked_at libwalk/iterate/proof.c sw_iterate_is_worker

# Nothing of ours that these call is where nobody looks; the tables of sources are data.
for name in $called; do
	case "$defined $read_alone sw_jit_hook_table sw_n_jit_hooks " in
	*" $name "*) ;;
	*) [ "${name#sw_}" = "$name" ] || finding "$name() is called, and is in no file that is looked at" ;;
	esac
done

# in_window FILE TABLE FUNCTION: each entry of a table that is called in the window.
# shellcheck disable=SC2016 # $ is awk's where there is one
entries=$(grep -rlE 'struct sw_(runtime|unwinder|jit_hook|capture)_ops' libwalk --include='*.c' |
	xargs awk '
		/const struct sw_(runtime|unwinder|jit_hook|capture)_ops [a-z_0-9]+ = \{/ {
			inside = 1
			hooks = /sw_capture_ops/ ? "stack|stack_known|copy|copy_many|wanted|in_stack|read_many|is_whole" \
						 : "stacks|in_window|capture"
		}
		inside {
			line = $0
			while (match(line, "\\.(" hooks ") = [A-Za-z_0-9]+")) {
				split(substr(line, RSTART, RLENGTH), word, " ")
				print FILENAME, word[1], word[3]
				line = substr(line, RSTART + RLENGTH)
			}
		}
		inside && /\};/ { inside = 0 }')
n=0
while read -r file entry name; do
	n=$((n + 1))
	case "$defined" in
	*" $name "*) continue ;;
	esac
	# A static function is where its table is.
	case "$files" in
	*" $file "*) [ "${name#sw_}" = "$name" ] && continue ;;
	esac
	finding "$file: $entry is $name(), which is in no file that is looked at"
done <<<"$entries"
# Wine's stacks, HotSpot's blobs, two of Go, the unwinder of generated code, three of its sources, six operations.
[ $n -ge 14 ] || finding "only $n entries of tables were found: the search is wrong"

others=$(grep -lE '\bptrace\(PTRACE_' -r libwalk symbolizer protocol daemon cli --include='*.[ch]' |
	grep -vx libwalk/stop/run.c)
[ -z "$others" ] || finding "ptrace() outside of libwalk/stop/run.c: $others"

[ $status = 0 ] && echo "held: ok ($n entries of tables)"
exit $status
