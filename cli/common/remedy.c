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
	DAEMON = SW_SAID_OF_DAEMON,
	TERMINAL = SW_SAID_OF_TERMINAL,
	PROFILE = SW_SAID_OF_PROFILE,
	SEVERAL = SW_SAID_OF_SEVERAL,
	FORMAT = SW_SAID_OF_FORMAT,
	NAME = SW_SAID_OF_NAME,
	SELECTION = SW_SAID_OF_SELECTION,
	KEPT = SW_SAID_OF_KEPT,
	NEWEST = SW_SAID_OF_NEWEST,
	SERVER = SW_SAID_OF_SERVER,
	CACHE = SW_SAID_OF_CACHE,
	CLIENT = SW_SAID_OF_CLIENT,
	OVERHEAD = SW_SAID_OF_OVERHEAD,
	ENDLESS = SW_SAID_OF_ENDLESS,
	BLOCKS = SW_SAID_OF_BLOCKS,
	PAIRS = SW_SAID_OF_PAIRS,
	OTHERS = SW_SAID_OF_OTHERS,
	TOLD = SW_SAID_IN_RESULT,
	SPACE = SW_SAID_OF_SPACE,
	CONDITIONS = SW_SAID_OF_CONDITIONS,
	DIRECTORY = SW_SAID_OF_DIRECTORY,
	CODE = SW_SAID_OF_CODE,
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
	{"invalid_argument", CODE, "'snapwalk sample' looks at such a process, too"},
	{"invalid_argument", 0, "see snapwalk --help"},
	{"no_such_process", 0, "check the process id: it may have ended"},
	{"no_such_thread", 0, "see its threads in /proc/PID/task"},
	{"not_permitted", DAEMON, "see the permissions of the daemon's socket"},
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
	{"exited", DAEMON, "see the daemon's journal, and try again"},
	{"exited", 0, "choose a process that still runs"},
	{"process_changed", 0, "try again: it began another program during the capture"},
	{"stop_timeout", FILED, "the file was made so, and has no more"},
	{"stop_timeout", 0, "allow more with --max-stop, or see why with 'snapwalk doctor PID'"},
	{"timeout", DAEMON, "see what the daemon does: 'systemctl status snapwalkd'"},
	{"timeout", 0, "allow more with --timeout"},
	{"io", SERVER, "check the address: --debuginfod=URL or DEBUGINFOD_URLS"},
	{"io", 0, "check the path, its permissions and the free space"},
	{"bad_format", DAEMON, "see that command and daemon are of the same version"},
	{"bad_format", 0, "check that the file is complete and of the kind that is asked for"},
	{"limit", BLOCKS | OVERHEAD,
	 "growth is shown alone; a larger --max-overhead permits it, with a short --duration"},
	{"limit", OVERHEAD, "a larger --max-overhead permits it, and slows the process"},
	{"limit", ENDLESS, "with --duration or --count the command goes on, and slows the process"},
	{"limit", 0, "it is larger than snapwalk takes, give less"},
	{"memory_unreadable", FILED, "the file does not have that memory"},
	{"memory_unreadable", 0,
	 "that memory is secret, or does not come from where it is: no option changes that"},
	{"not_found", DAEMON, "start snapwalkd, or say where it listens with --socket"},
	{"not_found", KEPT | NEWEST,
	 "see 'snapwalk list', or make one with 'snapwalk PID --via daemon'"},
	{"not_found", KEPT, "see 'snapwalk list'"},
	{"not_found", PAIRS, "see in /proc/PID/maps which libraries it has loaded"},
	{"not_found", SELECTION, "see what there is without the filter"},
	{"not_found", 0, "see what there is with 'ps -e -o pid,comm,cgroup'"},
	{"unsupported", CODE, "see FUNCTIONS in snapwalk-on(1)"},
	{"unsupported", BLOCKS, "growth is shown alone"},
	{"unsupported", PAIRS | OTHERS, "the output has the other pairs"},
	{"unsupported", PAIRS | TOLD,
	 "see 'not followed' in the text, or not_followed in JSON, for the reason of each"},
	{"unsupported", PAIRS, "the lines above say which pairs are not, and why"},
	{"unsupported", PROFILE, "samples, a time and the labels of 'snapwalk sample' are read"},
	{"unsupported", 0, "see CAVEATS in snapwalk(1) for what is supported"},
	{"internal", FILTER,
	 "please report it with the command, its output and the line of 'journalctl -k' with "
	 "type=1326"},
	{"internal", 0, "please report it with the command and its output"},
	{"running", FILED, "the file was made so, and has no more"},
	{"running", 0, "stop it with --stop auto, or look longer with --max-stop"},
	{"not_requested", FILED, "the file was made so, and has no more"},
	{"not_requested", 0, "leave --threads away"},
	/* the command line; most have words of their own */
	{"usage", PROFILE | SEVERAL, "show them one by one"},
	{"usage", SEVERAL | FORMAT, "give one target, or --format text, json or folded"},
	{"usage", SEVERAL, "each is a line: give a file of one"},
	{"usage", PROFILE, "'snapwalk show' prints it"},
	{"usage", TERMINAL, "give -o FILE"},
	{"usage", NAME, "give a name with .txt, .folded, .json or .html"},
	{"usage", FORMAT, "give --format text, folded, json or html"},
	{"usage", SELECTION, "leave them away"},
	{"usage", KEPT, "give more of the id"},
	{"usage", DIRECTORY, "give --from a directory"},
	{"usage", CACHE, "set DEBUGINFOD_CACHE_PATH"},
	{"usage", CLIENT, "install debuginfod-find: 'apt install debuginfod' on Debian"},
	{"usage", SERVER, "give --debuginfod=URL, or set DEBUGINFOD_URLS"},
	/* what only commands say */
	{"invalid", 0, "give one of them"},
	{"lost", SPACE, "a larger --limit has space for more"},
	{"lost", CONDITIONS,
	 "the result has the others; conditions of the event leave more of them out"},
	{"lost", 0, "the result has the others"},
	{"no_stacks", 0, "events after that are counted without a stack"},
	{"thread_ended", 0, "begin again: another thread is taken"},
	{"warnings", 0, "see them all with -v or --json"},
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
