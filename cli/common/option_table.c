/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every option: its name, for which commands, what it does. How its value is taken is in the file
 * of its subject. */
#include "common/option_table.h"
#include "cleanup.h"
#include "common/option_capture.h"
#include "common/option_command.h"
#include "common/option_output.h"
#include "common/option_target.h"

#include <assert.h>

enum {
	KEPT = SW_FOR_LIST | SW_FOR_SHOW | SW_FOR_WATCH, /* what the daemon has */
	STOPS = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_EXPLAIN | SW_FOR_VERIFY | SW_FOR_RECORD,
	LOOKS = STOPS | SW_FOR_TOP,
	EVENTS = SW_FOR_ON | SW_FOR_LEAKS, /* stacks at events; nothing is stopped */
	SELECTS = LOOKS | SW_FOR_DOCTOR | SW_FOR_HOOK | EVENTS,
	PRINTS = SW_FOR_SHOW | SW_FOR_SYMBOLIZE, /* dumps and profiles that were made */
	/* the daemon, and nobody else */
	ASKS = KEPT | SW_FOR_DELETE | SW_FOR_PIN | SW_FOR_DIFF | SW_FOR_SYMBOLIZE | SW_FOR_MERGE,
	ALL = SELECTS | ASKS | SW_FOR_HELP | SW_FOR_VERSION | SW_FOR_MCP,
	OFFLINE = SW_FOR_DUMP | SW_FOR_EXPLAIN | SW_FOR_VERIFY, /* also cores and fixtures */
	HOOKED = SW_FOR_DUMP | SW_FOR_HOOK,                     /* the daemon may do it */
	WALKS = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_VERIFY,
	NAMES = WALKS | SW_FOR_EXPLAIN,
	REPORTS = SW_FOR_DUMP | SW_FOR_SAMPLE,
	NAMED = PRINTS | SW_FOR_DIFF | SW_FOR_MERGE, /* take dumps that have no names yet */
	READS = SW_FOR_DUMP | PRINTS,                /* writes text for people */
};

const struct sw_option sw_option_table[] = {
	{"pid", 'p', "PID", SELECTS | SW_FOR_LIST,
	 "this process; hook: this process, instead of the one that is said", sw_set_pid, true},
	{"comm", 0, "NAME", SELECTS | SW_FOR_LIST, "processes of this name", sw_set_comm, true},
	{"unit", 0, "U", SELECTS, "processes of this systemd unit", sw_set_unit, true},
	{"cgroup", 0, "PATH", SELECTS, "processes in this cgroup or below", sw_set_cgroup, true},
	{"container", 0, "ID", SELECTS, "processes of this container", sw_set_container, true},
	{"core", 0, "FILE", OFFLINE, "an ELF core file, or a minidump", sw_set_core, true},
	{"exe", 0, "FILE", OFFLINE, "the program of --core, when it moved", sw_set_exe, true},
	{"images", 0, "DIR", OFFLINE, "images of --core, where it is a minidump without them",
	 sw_set_images, true},
	{"fixture", 0, "DIR", OFFLINE, "a snapshot made by record or dump --keep", sw_set_fixture,
	 true},

	{"json", 0, NULL,
	 HOOKED | KEPT | SW_FOR_SYMBOLIZE | SW_FOR_MERGE | SW_FOR_DELETE | SW_FOR_PIN |
		 SW_FOR_DIFF | SW_FOR_SAMPLE | SW_FOR_DOCTOR | SW_FOR_VERIFY | SW_FOR_TOP |
		 SW_FOR_EXPLAIN | EVENTS,
	 "print JSON; top: print JSON, an object for each look; on: print JSON, with --each an "
	 "object for each event",
	 sw_set_json, false},
	{"format", 'f', "text|json|folded|html", SW_FOR_DUMP | SW_FOR_HOOK | SW_FOR_MERGE,
	 "how to print (default as -o is named, else text); hook: how to print (default json)",
	 sw_set_format, false},
	{"format", 'f', SW_PROFILE_FORMATS, SW_FOR_SAMPLE,
	 "how to print (default as -o is named, else text on a terminal, folded elsewhere)",
	 sw_set_profile_format, false},
	{"format", 'f', SW_PROFILE_FORMATS, PRINTS,
	 "how to print (default as -o is named, else text); dumps: text, folded, json or html",
	 sw_set_show_format, false},
	{"format", 'f', SW_PROFILE_FORMATS, EVENTS,
	 "how to print (default as -o is named, else text); formats of profiles: what each stack "
	 "has added up",
	 sw_set_show_format, false},
	{"diff", 0, "FILE", SW_FOR_SAMPLE,
	 "compare with a profile of --format json; in text and html", sw_set_diff, false},
	{"output", 'o', "FILE",
	 REPORTS | EVENTS | SW_FOR_RECORD | PRINTS | SW_FOR_DIFF | SW_FOR_HOOK | SW_FOR_MERGE,
	 "write there; record: the directory to make; hook: write there, to a file or into a "
	 "directory",
	 sw_set_output, false},
	{"keep", 0, "DIR", SW_FOR_DUMP, "keep the snapshot, too: --fixture DIR walks it again",
	 sw_set_keep, false},
	{"modules-store", 0, "DIR", SW_FOR_DUMP | SW_FOR_RECORD,
	 "where snapshots that are kept share the files of modules", sw_set_modules_store, false},
	{"color", 0, "auto|always|never", READS | SW_FOR_SAMPLE | SW_FOR_DIFF | SW_FOR_MERGE,
	 "colours in text (default auto)", sw_set_color, false},
	{"no-group", 0, NULL, READS, "one stack for each thread, by thread id", sw_set_no_group,
	 false},
	{"all", 0, NULL, READS | EVENTS | SW_FOR_SAMPLE | SW_FOR_DIFF | SW_FOR_MERGE | SW_FOR_HELP,
	 "in text also idle threads, and all stacks; sample: also what is small; without a target, "
	 "all processes; on: whole stacks, and all of them; leaks: whole stacks, also those of "
	 "which nothing stays; diff: the whole of each list; merge: all findings, kinds of "
	 "threads, "
	 "places and calls; help: the options of all commands",
	 sw_set_all, false},
	{"merge", 0, NULL, SW_FOR_DUMP, "all targets as one tree, as merge does with dumps",
	 sw_set_merge, false},
	{"label", 0, SW_LABEL_RULES "|NOUN=RULE", SW_FOR_DUMP | SW_FOR_MERGE,
	 "what processes are called in a tree of many, as rank=file (default pid)", sw_set_label,
	 false},
	{"time", 0, "local|utc|start", READS,
	 "times in text: here, UTC, or since the process began (default utc)", sw_set_time, false},
	{"follow", 0, NULL, SW_FOR_DUMP, "also the processes that its threads wait for",
	 sw_set_follow, false},
	{"state", 0, "LETTERS", READS, "only threads in these states, as in RD", sw_set_state,
	 false},
	{"function", 0, "REGEX", READS, "only threads with such a function", sw_set_function,
	 false},
	{"thread", 0, "NAME", READS, "only threads of this name; 'worker-*' is allowed",
	 sw_set_thread, false},
	{"verbose", 'v', NULL, SELECTS | KEPT | SW_FOR_SYMBOLIZE,
	 "also addresses, trust, modules, times, all warnings", sw_set_verbose, false},
	{"reason", 0, "TEXT", HOOKED, "kept in the dump", sw_set_reason, false},

	{"threads", 0, "all|running|TID,...", STOPS, "which threads to capture (default all)",
	 sw_set_threads, false},
	{"stop", 0, "auto|never|always", LOOKS & ~SW_FOR_SAMPLE,
	 "threads to stop: those on a CPU, none, or all (default auto)", sw_set_stop, false},
	{"stop", 0, "auto|never|always", SW_FOR_SAMPLE,
	 "threads to stop: those on a CPU, none, or all (default none)", sw_set_stop, false},
	{"kernel", 0, NULL, SW_FOR_DUMP, "also what blocked threads call in the kernel; as root",
	 sw_set_kernel, false},
	{"max-stop", 0, "MS", LOOKS | SW_FOR_HOOK, "longest time to stop them (default 100)",
	 sw_set_max_stop, false},
	{"stack-bytes", 0, "N", EVENTS,
	 "bytes to copy of each stack, at most 32K; K allowed (default 8K)", sw_set_stack_bytes,
	 false},
	{"stack-bytes", 0, "N", LOOKS | SW_FOR_HOOK,
	 "bytes to copy of each stack; K, M and G allowed (default 256K)", sw_set_stack_bytes,
	 false},
	{"restart", 0, "none|infinite|all", LOOKS,
	 "blocked calls to hide the stop from (default infinite)", sw_set_restart, false},
	{"goroutines", 0, NULL, SW_FOR_DUMP,
	 "all goroutines of Go programs, grouped as threads are", sw_set_goroutines, false},
	{"tasks", 0, NULL, SW_FOR_DUMP | SW_FOR_RECORD,
	 "tasks of asyncio, .NET, fibers of Ruby, Erlang's processes", sw_set_tasks, false},
	{"args", 0, NULL, SW_FOR_DUMP,
	 "also the request that each thread of PHP serves, which is private", sw_set_args, false},
	{"args", 0, NULL, SW_FOR_ON,
	 "for functions, with --each: the registers that hold the first six arguments",
	 sw_set_event_args, false},
	{"burst", 0, "N,MS", SW_FOR_DUMP,
	 "N captures with MS between: what is busy, and what never ran", sw_set_burst, false},
	{"via", 0, "auto|direct|daemon", STOPS | SW_FOR_HOOK,
	 "who does the capture: this command or the daemon (default auto)", sw_set_via, false},
	{"priority", 0, "normal|high", SW_FOR_DUMP,
	 "high (default): with real-time priority where permitted, for 100 ms of CPU time",
	 sw_set_priority, false},
	{"socket", 0, "PATH", HOOKED | ASKS | SW_FOR_EXPLAIN | SW_FOR_SAMPLE,
	 "the daemon's socket (default /run/snapwalk/io.snapwalk)", sw_set_socket, false},

	{"depth", 0, "N", WALKS | EVENTS | SW_FOR_HOOK, "frames in one stack (default 1024)",
	 sw_set_depth, false},
	{"walk", 0, "tables|hybrid|scan|libunwind", REPORTS, "how to unwind (default hybrid)",
	 sw_set_walk, false},
	{"walks", 0, "remember|each|both", SW_FOR_SAMPLE,
	 "whether stacks that were walked before are walked again (default remember)", sw_set_walks,
	 false},
	{"scan-below", 0, "N", REPORTS, "scan also stacks that end before N frames",
	 sw_set_scan_below, false},
	{"scan-range", 0, "BYTES", REPORTS,
	 "a CALL counts if it leads at most so far before its callee's address", sw_set_scan_range,
	 false},
	{"scan-all", 0, NULL, REPORTS, "every word of a stack that may be a return address",
	 sw_set_scan_all, false},
	{"trim-unknown", 0, NULL, REPORTS, "leave out innermost frames of no module, counted",
	 sw_set_trim_unknown, false},
	{"symbols", 0, "none|names|lines", NAMES | EVENTS | SW_FOR_HOOK | SW_FOR_SYMBOLIZE,
	 "how much to name (default lines)", sw_set_symbols, false},
	{"symbols", 0, "names|lines", SW_FOR_MERGE,
	 "compare functions, or also lines (default lines)", sw_set_symbols, false},
	{"from", 0, "DIR", NAMED | SW_FOR_DUMP,
	 "files are also looked for there, by their build-ids; may be given several times",
	 sw_set_from, false},
	{"debuginfod", 0, "[=URL]", NAMED | SW_FOR_DUMP,
	 "ask these servers for debug files, default those of DEBUGINFOD_URLS", sw_set_debuginfod,
	 false},
	{"no-inlines", 0, NULL, NAMES | EVENTS | SW_FOR_HOOK | SW_FOR_SYMBOLIZE,
	 "do not show inlined calls", sw_set_no_inlines, false},
	{"no-sandbox", 0, NULL,
	 NAMES | EVENTS | SW_FOR_TOP | SW_FOR_DIFF | SW_FOR_SYMBOLIZE | SW_FOR_MERGE |
		 SW_FOR_RECORD | SW_FOR_HOOK,
	 "keep all privileges while files are read that the target chose", sw_set_no_sandbox,
	 false},
	{"cache", 0, "DIR|none", NAMES | EVENTS | SW_FOR_TOP | SW_FOR_SYMBOLIZE,
	 "where unpacked debug sections are kept, for lines (default: /var/cache/snapwalk as root, "
	 "else ~/.cache/snapwalk)",
	 sw_set_cache, false},
	{"timeout", 0, "MS", NAMED, "time for naming, 0: no limit (default 60000)", sw_set_timeout,
	 false},
	{"timeout", 0, "MS", NAMES | EVENTS | SW_FOR_TOP | SW_FOR_HOOK,
	 "time for walking and naming, 0: no limit (default 2000); on: time for naming, 0: no "
	 "limit "
	 "(default 30000); leaks: time for naming, 0: no limit (default 30000); hook: time for all "
	 "(default 10000)",
	 sw_set_timeout, false},

	{"mode", 0, "wall|cpu|off", SW_FOR_SAMPLE,
	 "by the clock, by CPU time, or the time that threads are blocked (default wall)",
	 sw_set_mode, false},
	{"rate", 'r', "HZ", SW_FOR_SAMPLE, "samples a second (default 20; of CPU time: 99)",
	 sw_set_rate, false},
	{"duration", 'd', "TIME", SW_FOR_SAMPLE,
	 "how long to sample: 10, 10s, 2m, 1h; 0: until Control-C (default 5)", sw_set_duration,
	 false},
	{"duration", 'd', "TIME", SW_FOR_ON,
	 "how long: 10, 10s, 2m, 1h; 0: until Control-C (default 0)", sw_set_duration, false},
	{"duration", 'd', "TIME", SW_FOR_LEAKS,
	 "how long: 10, 10s, 2m, 1h; 0: until Control-C (default 60)", sw_set_duration, false},
	{"of", 0, "fds|threads|maps|memory|timers|shm|epoll|LIB:F/G|NAME", SW_FOR_LEAKS,
	 "what is followed; memory: what grows, and the blocks of malloc and others if they are "
	 "few; LIB:F/G: what function F hands out and G takes back; NAME, as openssl "
	 "or "
	 "sqlite3: a list of such functions. For functions the kernel changes the code of the "
	 "process "
	 "meanwhile: it has breakpoints there",
	 sw_set_of, false},
	{"errno", 0, "NAME|any", SW_FOR_ON, "only calls that fail with this error, as EMFILE",
	 sw_set_errno, false},
	{"larger", 0, "BYTES", SW_FOR_ON,
	 "for mmap: only calls for at least so much memory; K, M and G allowed", sw_set_larger,
	 false},
	{"every", 0, "N", SW_FOR_ON,
	 "for fault: each N-th page fault is an event; 1: each one (default 16)", sw_set_every,
	 false},
	{"return", 0, NULL, SW_FOR_ON,
	 "for functions: the event is the return, with result and duration", sw_set_return, false},
	{"slower", 0, "TIME", SW_FOR_ON,
	 "for functions (it implies --return) and blocked: only what lasts at least so long: "
	 "500us, "
	 "50ms, 2s",
	 sw_set_slower, false},
	{"each", 0, NULL, SW_FOR_ON, "a line for each event when it happens", sw_set_each, false},
	{"then", 0, "dump", SW_FOR_ON,
	 "dump all threads at the first event, or with --count at each", sw_set_then, false},
	{"max-load", 0, "PERCENT", SW_FOR_SAMPLE,
	 "largest share of time the target is stopped (default 1)", sw_set_max_load, false},
	{"by-process", 0, NULL, SW_FOR_SAMPLE, "the outermost frame of each stack is its process",
	 sw_set_by_process, false},

	{"interval", 0, "MS", SW_FOR_TOP, "time between two looks (default 1000)", sw_set_interval,
	 false},
	{"count", 0, "N", SW_FOR_TOP, "looks, then it ends; 0: no end (default 0)", sw_set_count,
	 false},
	{"count", 0, "N", SW_FOR_ON, "events, then it ends", sw_set_events, false},
	{"sort", 0, "cpu|state|since|name", SW_FOR_TOP, "the order at first (default cpu)",
	 sw_set_sort, false},
	{"filter", 0, "TEXT", SW_FOR_TOP, "only threads with this in their name, state or stack",
	 sw_set_filter, false},

	{"since", 0, "TIME", SW_FOR_LIST, "dumps since then: 30m, 2h, 1d or 2026-11-20T10:00:00Z",
	 sw_set_since, false},
	{"limit", 0, "N", SW_FOR_TOP,
	 "where there is no terminal: so many threads at most (default all)", sw_set_limit, false},
	{"limit", 0, "N", SW_FOR_LIST, "so many dumps at most (default 100)", sw_set_limit, false},
	{"limit", 0, "N", SW_FOR_LEAKS,
	 "for functions and memory: follow at most so many things at once (default 65536)",
	 sw_set_limit, false},
	{"max-overhead", 0, "PERCENT", SW_FOR_LEAKS,
	 "for memory: follow malloc and others only if that adds at most so much to the CPU time "
	 "of "
	 "the process (default 5); for functions: end when it adds more",
	 sw_set_max_overhead, false},
	{"max-overhead", 0, "PERCENT", SW_FOR_ON,
	 "for functions: end when they add more than so much to the CPU time of the process",
	 sw_set_max_overhead, false},
	{"lock", 0, "ADDRESS", SW_FOR_EXPLAIN,
	 "say who holds this lock and who waits for it; also in a dump", sw_set_lock, false},
	{"unpin", 0, NULL, SW_FOR_PIN, "the limits of the store hold for it again", sw_set_unpin,
	 false},
	{"states", 0, "WORD,...", SW_FOR_HOOK,
	 "what to act on (default nagios: CRITICAL; collectd: FAILURE)", sw_set_states, false},
	{"soft", 0, NULL, SW_FOR_HOOK, "nagios: act on SOFT states, too", sw_set_soft, false},

	{"help", 'h', NULL, ALL, "this help", sw_set_help, false},
	{"version", 'V', NULL, ALL, "the version", sw_set_version, false},
};
const size_t sw_n_options = SW_ARRAY_SIZE(sw_option_table);
static_assert(SW_ARRAY_SIZE(sw_option_table) <= SW_OPTIONS_MAX, "space in the parser");
