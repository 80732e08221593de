/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What to do about each error and warning. A test checks that none is forgotten. */
#include "cleanup.h"
#include "common/complain.h"

#include <string.h>

static const struct {
	const char *wire;
	const char *remedy;
} remedies[] = {
	/* errors */
	{"no_memory", "free some memory, or copy less with --stack-bytes"},
	{"invalid_argument", "see snapwalk --help"},
	{"no_such_process", "check the process id: it may have ended"},
	{"no_such_thread", "see its threads in /proc/PID/task"},
	{"not_permitted", "run as root, or see why with 'snapwalk doctor PID'"},
	{"already_traced", "end the debugger or tracer, 'snapwalk doctor PID' says which"},
	{"zombie", "its parent has to collect it, no stack is left"},
	{"kernel_thread", "read /proc/PID/stack as root"},
	{"io_worker", "look at the other threads of its process"},
	{"self", "give another process"},
	{"unsupported_architecture", "eu-stack or gdb can show it"},
	{"exited", "choose a process that still runs"},
	{"process_changed", "try again: it began another program during the capture"},
	{"stop_timeout", "allow more with --max-stop, or see why with 'snapwalk doctor PID'"},
	{"timeout", "allow more with --timeout"},
	{"io", "check the path, its permissions and the free space"},
	{"bad_format", "check that the file is complete and of the kind that is asked for"},
	{"limit", "it is larger than snapwalk takes, give less"},
	{"memory_unreadable", "try again"},
	{"not_found", "see what there is with 'ps -e -o pid,comm,cgroup'"},
	{"unsupported", "see snapwalk(1) for what is supported"},
	{"internal", "please report it with the command and its output"},
	{"running", "stop it with --stop auto, or look longer with --max-stop"},
	{"not_requested", "leave --threads away"},
	/* ends of stacks; those with the name of an error are above */
	{"frame_limit", "show more with --depth"},
	{"stack_limit", "copy more with --stack-bytes"},
	{"memory", "copy more with --stack-bytes"},
	{"no_unwind_info", "see what is known with 'snapwalk explain PID ADDRESS'"},
	{"bad_unwind_info", "compare with 'snapwalk verify PID'"},
	{"no_progress", "compare with 'snapwalk verify PID'"},
	{"scan_limit", "see what there may be with --walk scan"},
	/* warnings */
	{"thread_missing", "'snapwalk doctor PID' says why"},
	{"interrupted_call", "hide it with --restart all, or see --restart in snapwalk(1)"},
	{"module_unusable", "without that file, frames in it are found by frame pointer or scan"},
	{"partial_input", "the rest of the input is missing, make it again"},
	{"runtime", "its frames may be guessed, unnamed or missing: try again, or see CAVEATS in "
		    "snapwalk(1)"},
	{"other_program", "leave that option away, or give another process"},
	{"capture_incomplete", "try again, or allow more with --max-stop"},
};

const char *sw_remedy(const char *wire)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies); i++)
		if (strcmp(remedies[i].wire, wire) == 0)
			return remedies[i].remedy;
	return "";
}
