/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The advice for each error, warning and end of a stack. Advice is chosen by its cause: nothing of
 * a file is copied again, and no option goes beyond its largest value. A test goes through all of
 * it.
 */
#include "cleanup.h"
#include "common/complain.h"

#include <string.h>

enum {
	FILED = SW_SAID_OF_FILE,
	ROOT = SW_SAID_TO_ROOT,
	UNREAD = SW_SAID_OF_UNREAD,
	MOST = SW_SAID_AT_MOST,
	DEEPEST = SW_SAID_AT_DEEPEST,
	SCANNED = SW_SAID_OF_SCAN,
	FOLLOWED = SW_SAID_OF_FOLLOWED,
	RESOURCE = SW_SAID_OF_RESOURCE,
	FILTER = SW_SAID_OF_FILTER,
};

/* The first row of a word counts whose causes are all there; the last one has none. */
static const struct {
	const char *wire;
	unsigned causes; /* SW_SAID_* */
	const char *remedy;
} remedies[] = {
	/* errors */
	{"no_memory", FILED, "free some memory"},
	{"no_memory", 0, "free some memory, or copy less with --stack-bytes"},
	{"invalid_argument", 0, "see snapwalk --help"},
	{"no_such_process", 0, "check the process id: it may have ended"},
	{"no_such_thread", 0, "see its threads in /proc/PID/task"},
	{"not_permitted", FILED | ROOT, "see who may use it with 'ls -l'"},
	{"not_permitted", FILED, "run as root, or see who may use it with 'ls -l'"},
	{"not_permitted", ROOT, "see why with 'snapwalk doctor PID'"},
	{"not_permitted", 0, "run as root, or see why with 'snapwalk doctor PID'"},
	{"already_traced", FILED, "the file was made so, and has no more"},
	{"already_traced", 0, "end the debugger or tracer, 'snapwalk doctor PID' says which"},
	{"zombie", 0, "its parent has to collect it, no stack is left"},
	{"kernel_thread", 0, "read /proc/PID/stack as root"},
	{"io_worker", 0, "look at the other threads of its process"},
	{"self", 0, "give another process"},
	{"unsupported_architecture", 0, "eu-stack or gdb can show it"},
	{"exited", 0, "choose a process that still runs"},
	{"process_changed", 0, "try again: it began another program during the capture"},
	{"stop_timeout", FILED, "the file was made so, and has no more"},
	{"stop_timeout", 0, "allow more with --max-stop, or see why with 'snapwalk doctor PID'"},
	{"timeout", 0, "allow more with --timeout"},
	{"io", 0, "check the path, its permissions and the free space"},
	{"bad_format", 0, "check that the file is complete and of the kind that is asked for"},
	{"limit", 0, "it is larger than snapwalk takes, give less"},
	{"memory_unreadable", FILED, "the file does not have that memory"},
	{"memory_unreadable", 0,
	 "that memory is secret, or does not come from where it is: no option changes that"},
	{"not_found", 0, "see what there is with 'ps -e -o pid,comm,cgroup'"},
	{"unsupported", 0, "see CAVEATS in snapwalk(1) for what is supported"},
	{"internal", FILTER,
	 "please report it with the command, its output and the line of 'journalctl -k' with "
	 "type=1326"},
	{"internal", 0, "please report it with the command and its output"},
	{"running", FILED, "the file was made so, and has no more"},
	{"running", 0, "stop it with --stop auto, or look longer with --max-stop"},
	{"not_requested", FILED, "the file was made so, and has no more"},
	{"not_requested", 0, "leave --threads away"},
	/* ends of stacks; those with the name of an error are above */
	{"frame_limit", DEEPEST, "no more frames than these are shown of a stack"},
	{"frame_limit", 0, "show more with --depth"},
	{"stack_limit", FILED, "the file has no more of that stack"},
	{"stack_limit", UNREAD, "what is missing of that stack could not be read at all"},
	{"stack_limit", MOST, "no more than 1 GiB of a stack is copied"},
	{"stack_limit", 0, "copy more with --stack-bytes"},
	{"memory", FILED, "the file does not have that memory"},
	{"memory", 0, "compare with 'snapwalk verify PID'"},
	{"no_unwind_info", FILED, "compare with what gdb or eu-stack say of it"},
	{"no_unwind_info", 0, "see what is known with 'snapwalk explain PID ADDRESS'"},
	{"bad_unwind_info", FILED, "compare with what gdb or eu-stack say of it"},
	{"bad_unwind_info", 0, "compare with 'snapwalk verify PID'"},
	{"no_progress", FILED, "compare with what gdb or eu-stack say of it"},
	{"no_progress", 0, "compare with 'snapwalk verify PID'"},
	{"scan_limit", SCANNED, "nothing else is known of where that stack goes on"},
	{"scan_limit", 0, "see what there may be with --walk scan"},
	{"native_only", 0, "sample that process alone"},
	{"runtime_data", FOLLOWED, "no option changes that limit"},
	{"runtime_data", FILED, "the file does not have that memory"},
	{"runtime_data", 0, "try again: the process may have changed it meanwhile"},
	/* warnings */
	{"thread_missing", FILED, "the file was made so, and has no more"},
	{"thread_missing", 0, "'snapwalk doctor PID' says why"},
	{"interrupted_call", FILED, "it was so when the file was made"},
	{"interrupted_call", 0, "hide it with --restart all, or see --restart in snapwalk-dump(1)"},
	{"module_unusable", 0,
	 "without that file, frames in it are found by frame pointer or scan"},
	{"partial_input", 0, "the rest of the input is missing, make it again"},
	{"runtime", FILED | RESOURCE, "frames are not concerned, and the file does not have it"},
	{"runtime", RESOURCE, "frames are not concerned: try again to have it"},
	{"runtime", FILED,
	 "its frames may be guessed, unnamed or missing: see CAVEATS in snapwalk(1)"},
	{"runtime", 0,
	 "its frames may be guessed, unnamed or missing: try again, or see CAVEATS in "
	 "snapwalk(1)"},
	{"limit_reached", 0, "no option changes that limit"},
	{"other_program", 0, "leave that option away, or give another process"},
	{"capture_incomplete", FILED, "the file was made so, and has no more"},
	{"capture_incomplete", 0, "try again, or allow more with --max-stop"},
};

const char *sw_remedy(const char *wire, unsigned causes)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies); i++)
		if (strcmp(remedies[i].wire, wire) == 0 && (remedies[i].causes & ~causes) == 0)
			return remedies[i].remedy;
	return "";
}
