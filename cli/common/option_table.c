/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every option: its name, who takes it, what it does. */
#include "common/option_table.h"
#include "cleanup.h"
#include "common/options.h"
#include "common/option_values.h"

#include <assert.h>
#include <limits.h>
#include <regex.h>
#include <string.h>
#include <time.h>

enum {
	MAX_STOP_MS = 60 * 1000,
	MAX_TIMEOUT_MS = 24 * 3600 * 1000,
	MIN_STACK_BYTES = 4096,
	MAX_STACK_BYTES = 1 << 30,
	MAX_RATE_HZ = 1000,
	MAX_BURST = 1000,
	MIN_INTERVAL_MS = 100,
	MAX_DURATION_S = 24 * 3600,
	MAX_LIMIT = 1000000,
	MAX_SCAN_RANGE = 1 << 30,
	MAX_TIDS = 32768, /* as many as sw_snapshot_options.max_threads allows by default */
};

#define PROFILE_FORMATS "text|folded|json|pprof|speedscope|firefox|html|otlp"

/* Index of value in names ("text|json|folded"), or -1 with usage filled. */
static int choose(const char *value, const char *names, struct sw_usage *usage)
{
	size_t length = strlen(value);
	int index = 0;
	for (const char *n = names;; n++, index++) {
		const char *end = strchrnul(n, '|');
		if ((size_t) (end - n) == length && memcmp(n, value, length) == 0)
			return index;
		if (*end == '\0')
			break;
		n = end;
	}
	char remedy[sizeof(usage->remedy)];
	(void) snprintf(remedy, sizeof(remedy), "give %s", names);
	(void) sw_usage_fail(usage, remedy, "'%s' is unknown", value);
	return -1;
}

static bool set_u32(uint32_t *to, const char *value, uint32_t low, uint32_t high,
		    struct sw_usage *usage)
{
	uint64_t n;
	if (!sw_number_parse(value, low, high, &n, usage))
		return false;
	*to = (uint32_t) n;
	return true;
}

/* ---- targets ------------------------------------------------------------------------------ */

static bool add_want(struct sw_options *o, enum sw_want_kind kind, const char *value,
		     struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give what to look for", "the value is empty");
	/* sw_options_parse() made space for one per word of the command line. */
	o->wants[o->n_wants++] = (struct sw_want){.kind = kind, .text = value};
	return true;
}

static bool set_comm(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_COMM, value, usage);
}

static bool set_unit(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_UNIT, value, usage);
}

static bool set_cgroup(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_CGROUP, value, usage);
}

static bool set_container(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	/* Shorter ones match by accident; 12 digits are what the tools show, 64 the whole. */
	size_t length = strspn(value, "0123456789abcdef");
	if (value[length] != '\0' || length < 6 || length > 64)
		return sw_usage_fail(usage, "give 6 to 64 lower-case hexadecimal digits of its id",
				     "'%s' is not a container id", value);
	return add_want(o, SW_WANT_CONTAINER, value, usage);
}

static bool set_core(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_CORE, value, usage);
}

static bool set_fixture(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_FIXTURE, value, usage);
}

static bool set_pid(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t pid;
	if (!sw_number_parse(value, 1, INT_MAX, &pid, usage))
		return false;
	o->wants[o->n_wants++] =
		(struct sw_want){.kind = SW_WANT_PID, .pid = (pid_t) pid, .text = value};
	return true;
}

static bool set_exe(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) usage;
	o->exe = value;
	return true;
}

/* ---- output ------------------------------------------------------------------------------- */

static bool set_json(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->format = SW_FORMAT_JSON;
	o->format_given = true;
	return true;
}

static bool set_format(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = choose(value, "text|json|folded", usage);
	if (n < 0)
		return false;
	o->format = (enum sw_format) n;
	o->format_given = true;
	return true;
}

static bool set_profile_format(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_profile_format values[] = {SW_PROFILE_TEXT,       SW_PROFILE_FOLDED,
							SW_PROFILE_JSON,       SW_PROFILE_PPROF,
							SW_PROFILE_SPEEDSCOPE, SW_PROFILE_FIREFOX,
							SW_PROFILE_HTML,       SW_PROFILE_OTLP};
	int n = choose(value, PROFILE_FORMATS, usage);
	if (n < 0)
		return false;
	o->profile_format = values[n];
	o->format_given = true;
	return true;
}

static bool set_diff(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a profile that --format json made",
				     "the value is empty");
	o->diff = value;
	return true;
}

static bool set_output(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a file name, or - for standard output",
				     "the value is empty");
	o->output = value;
	return true;
}

static bool set_color(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = choose(value, "auto|always|never", usage);
	o->color = (enum sw_color) n;
	return n >= 0;
}

static bool set_no_group(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->no_group = true;
	return true;
}

static bool set_follow(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->follow = true;
	return true;
}

static bool set_kernel(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.kernel_stacks = true;
	return true;
}

static bool set_verbose(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->verbose = true;
	return true;
}

static bool set_all(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->all = true;
	return true;
}

static bool set_time(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_text_time values[] = {SW_TEXT_TIME_LOCAL, SW_TEXT_TIME_UTC,
						   SW_TEXT_TIME_START};
	int n = choose(value, "local|utc|start", usage);
	if (n < 0)
		return false;
	o->time = values[n];
	tzset(); /* reads a file, which the command may not do later */
	return true;
}

static bool set_state(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0' || value[strspn(value, "RSDTtZXI?")] != '\0')
		return sw_usage_fail(usage, "give letters as ps shows them: R, S, D, T, t, Z",
				     "'%s' is not a state", value);
	o->filter.states = value;
	return true;
}

static bool set_function(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	regex_t compiled;
	if (value[0] == '\0' || regcomp(&compiled, value, REG_EXTENDED | REG_NOSUB) != 0)
		return sw_usage_fail(usage, "give one as grep -E takes it",
				     "'%s' is not a regular expression", value);
	regfree(&compiled);
	o->filter.function = value;
	return true;
}

static bool set_thread(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a name, or a pattern as 'worker-*'",
				     "the value is empty");
	o->filter.name = value;
	return true;
}

static bool set_reason(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) usage;
	o->reason = value;
	return true;
}

/* ---- capture ------------------------------------------------------------------------------ */

static bool set_tids(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	size_t n = 1;
	for (const char *c = value; *c != '\0'; c++)
		n += *c == ',';
	if (n > MAX_TIDS)
		return sw_usage_fail(usage, "give fewer, or all", "too many thread ids");
	sw_cleanup(sw_free_p) char *copy = strdup(value);
	free(o->tids);
	o->tids = calloc(n, sizeof(*o->tids));
	if (copy == NULL || o->tids == NULL)
		return sw_usage_fail(usage, "free some memory", "not enough memory");
	size_t i = 0;
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ",")) != NULL; i++) {
		uint64_t tid;
		if (!sw_number_parse(word, 1, INT_MAX, &tid, usage))
			return sw_usage_fail(usage, "give all, running or thread ids with commas",
					     "'%s' is not a thread id", word);
		o->tids[i] = (pid_t) tid;
	}
	o->snapshot.tids = o->tids;
	o->snapshot.n_tids = n;
	return true;
}

static bool set_threads(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->snapshot.tids = NULL;
	o->snapshot.n_tids = 0;
	o->snapshot.running_only = strcmp(value, "running") == 0;
	if (o->snapshot.running_only || strcmp(value, "all") == 0)
		return true;
	return set_tids(o, value, usage);
}

static bool set_stop(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_stop_mode values[] = {SW_STOP_AUTO, SW_STOP_NEVER, SW_STOP_ALWAYS};
	int n = choose(value, "auto|never|always", usage);
	if (n < 0)
		return false;
	o->snapshot.stop = values[n];
	o->stop_given = true;
	return true;
}

static bool set_max_stop(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->snapshot.max_stop_ms, value, 1, MAX_STOP_MS, usage);
}

static bool set_timeout(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->timeout_given = true;
	return set_u32(&o->timeout_ms, value, 0, MAX_TIMEOUT_MS, usage);
}

static bool set_stack_bytes(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n = 0;
	if (!sw_size_parse(value, MIN_STACK_BYTES, MAX_STACK_BYTES, &n, usage))
		return false;
	o->snapshot.stack_bytes = (size_t) n;
	return true;
}

static bool set_goroutines(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.goroutines = o->walk.goroutines = true;
	return true;
}

static bool set_restart(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_restart values[] = {SW_RESTART_NONE, SW_RESTART_INFINITE,
						 SW_RESTART_ALL};
	int n = choose(value, "none|infinite|all", usage);
	if (n < 0)
		return false;
	o->snapshot.restart = values[n];
	return true;
}

static bool set_via(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = choose(value, "auto|direct|daemon", usage);
	o->via = (enum sw_via) n;
	return n >= 0;
}

/* ---- walk and names ----------------------------------------------------------------------- */

static bool set_depth(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n;
	if (!sw_number_parse(value, 1, SW_MAX_FRAMES, &n, usage))
		return false;
	o->walk.max_frames = (size_t) n;
	return true;
}

static bool set_walk(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	enum { LIBUNWIND = 3 };
	static const enum sw_walk_mode values[] = {SW_WALK_TABLES, SW_WALK_HYBRID, SW_WALK_SCAN,
						   SW_WALK_HYBRID};
	int n = choose(value, "tables|hybrid|scan|libunwind", usage);
	if (n < 0)
		return false;
	o->walk.mode = values[n];
	o->libunwind = n == LIBUNWIND;
	return true;
}

static bool set_scan_below(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n;
	if (!sw_number_parse(value, 1, SW_MAX_FRAMES, &n, usage))
		return false;
	o->walk.scan_below = (size_t) n;
	return true;
}

static bool set_scan_range(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_size_parse(value, 1, MAX_SCAN_RANGE, &o->walk.scan_range_bytes, usage);
}

static bool set_scan_all(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->walk.scan_all = true;
	o->walk.mode = SW_WALK_SCAN;
	return true;
}

static bool set_trim_unknown(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->walk.trim_unknown = true;
	return true;
}

static bool set_symbols(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_symbol_level values[] = {SW_SYMBOLS_NONE, SW_SYMBOLS_NAMES,
						      SW_SYMBOLS_LINES};
	int n = choose(value, "none|names|lines", usage);
	if (n < 0)
		return false;
	o->symbolize.level = values[n];
	return true;
}

static bool set_no_sandbox(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->no_sandbox = true;
	return true;
}

static bool set_no_inlines(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->symbolize.no_inlines = true;
	return true;
}

static bool set_burst(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	const char *comma = strchr(value, ',');
	char count[16];
	size_t length = comma != NULL ? (size_t) (comma - value) : sizeof(count);
	if (length >= sizeof(count))
		return sw_usage_fail(usage, "give as in 5,200: five captures, 200 ms between them",
				     "'%s' is not N,MS", value);
	memcpy(count, value, length);
	count[length] = '\0';
	return set_u32(&o->burst_count, count, 2, MAX_BURST, usage) &&
	       set_u32(&o->burst_ms, comma + 1, 1, MAX_STOP_MS, usage);
}

/* ---- sample ------------------------------------------------------------------------------- */

static bool set_mode(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = choose(value, "wall|cpu|off", usage);
	o->mode = (enum sw_sample_mode) n;
	return n >= 0;
}

static bool set_rate(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->rate_hz, value, 1, MAX_RATE_HZ, usage);
}

static bool set_duration(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->duration_s, value, 0, MAX_DURATION_S, usage);
}

static bool set_max_load(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->max_load_percent, value, 1, 100, usage);
}

/* ---- top ---------------------------------------------------------------------------------- */

static bool set_interval(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->interval_ms, value, MIN_INTERVAL_MS, MAX_STOP_MS, usage);
}

static bool set_count(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_u32(&o->count, value, 0, MAX_LIMIT, usage);
}

static bool set_sort(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = choose(value, "cpu|state|since|name", usage);
	o->top_sort = (enum sw_top_sort) n;
	return n >= 0;
}

static bool set_filter(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	enum { FILTER_MAX = 63 }; /* as much as can be typed */
	if (value[0] == '\0' || strlen(value) > FILTER_MAX)
		return sw_usage_fail(usage, "give 1 to 63 bytes of text", "it cannot be this");
	for (const char *c = value; *c != '\0'; c++)
		if ((unsigned char) *c < ' ' || *c == 127)
			return sw_usage_fail(usage, "give a part of a name, a state or a function",
					     "a control character is in it");
	o->text = value;
	return true;
}

/* ---- daemon ------------------------------------------------------------------------------- */

static bool set_socket(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give the path of a socket", "the value is empty");
	o->socket_path = value;
	return true;
}

static bool set_since(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	char text[SW_SINCE_SIZE];
	o->since = value;
	return sw_since_parse(value, 0, text, usage);
}

static bool set_limit(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->limit_given = true;
	return set_u32(&o->limit, value, 1, MAX_LIMIT, usage);
}

static bool set_lock(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->address = value;
	o->lock = true;
	return sw_address_parse(value, &o->address_avma, usage);
}

static bool set_unpin(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->unpin = true;
	return true;
}

static bool set_states(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give states with commas between",
				     "the value is empty");
	o->states = value;
	return true;
}

static bool set_soft(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->soft = true;
	return true;
}

/* ---- all ---------------------------------------------------------------------------------- */

static bool set_help(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->help = true;
	return true;
}

static bool set_version(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->version = true;
	return true;
}

enum {
	KEPT = SW_FOR_LIST | SW_FOR_SHOW | SW_FOR_WATCH, /* what the daemon has */
	STOPS = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_EXPLAIN | SW_FOR_VERIFY | SW_FOR_RECORD,
	LOOKS = STOPS | SW_FOR_TOP,
	SELECTS = LOOKS | SW_FOR_DOCTOR | SW_FOR_HOOK,
	ASKS = KEPT | SW_FOR_DELETE | SW_FOR_PIN | SW_FOR_DIFF, /* the daemon, and nobody else */
	ALL = SELECTS | ASKS,
	OFFLINE = SW_FOR_DUMP | SW_FOR_EXPLAIN | SW_FOR_VERIFY, /* also cores and fixtures */
	HOOKED = SW_FOR_DUMP | SW_FOR_HOOK,                     /* the daemon may do it */
	WALKS = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_VERIFY,
	NAMES = WALKS | SW_FOR_EXPLAIN,
	REPORTS = SW_FOR_DUMP | SW_FOR_SAMPLE,
	READS = SW_FOR_DUMP | SW_FOR_SHOW, /* writes text for people */
};

const struct sw_option sw_option_table[] = {
	{"comm", 0, "NAME", SELECTS | SW_FOR_LIST, "processes of this name", set_comm, true},
	{"unit", 0, "U", SELECTS, "processes of this systemd unit", set_unit, true},
	{"cgroup", 0, "PATH", SELECTS, "processes in this cgroup or below", set_cgroup, true},
	{"container", 0, "ID", SELECTS, "processes of this container", set_container, true},
	{"pid", 0, "PID", SW_FOR_HOOK, "this process, instead of the one that is said", set_pid,
	 true},
	{"core", 0, "FILE", OFFLINE, "an ELF core file", set_core, true},
	{"exe", 0, "FILE", OFFLINE, "the program of --core, when it moved", set_exe, true},
	{"fixture", 0, "DIR", OFFLINE, "a snapshot made by record", set_fixture, true},

	{"json", 0, NULL, HOOKED | KEPT | SW_FOR_DIFF, "short for --format json", set_json, false},
	{"format", 0, "text|json|folded", SW_FOR_DUMP | SW_FOR_SHOW | SW_FOR_HOOK,
	 "how to print (default text; hook: json)", set_format, false},
	{"format", 0, PROFILE_FORMATS, SW_FOR_SAMPLE,
	 "how to print (default text on a terminal, else folded)", set_profile_format, false},
	{"diff", 0, "FILE", SW_FOR_SAMPLE,
	 "compare with a profile of --format json; in text and html", set_diff, false},
	{"output", 'o', "FILE", REPORTS | SW_FOR_RECORD | SW_FOR_SHOW | SW_FOR_DIFF | SW_FOR_HOOK,
	 "write there; record: the directory to make; hook: a file or directory", set_output,
	 false},
	{"color", 0, "auto|always|never", READS | SW_FOR_SAMPLE | SW_FOR_DIFF,
	 "colours in text (default auto)", set_color, false},
	{"no-group", 0, NULL, READS, "one stack for each thread, by thread id", set_no_group,
	 false},
	{"all", 0, NULL, READS | SW_FOR_SAMPLE | SW_FOR_DIFF,
	 "in text also idle threads, and all stacks; sample: what is small; diff: all of a list",
	 set_all, false},
	{"time", 0, "local|utc|start", READS,
	 "times in text: here, UTC, or since the process began (default utc)", set_time, false},
	{"follow", 0, NULL, SW_FOR_DUMP, "also the processes that its threads wait for", set_follow,
	 false},
	{"state", 0, "LETTERS", READS, "only threads in these states, as in RD", set_state, false},
	{"function", 0, "REGEX", READS, "only threads with such a function", set_function, false},
	{"thread", 0, "NAME", READS, "only threads of this name; 'worker-*' is allowed", set_thread,
	 false},
	{"verbose", 'v', NULL, SELECTS | KEPT,
	 "also addresses, trust, modules, times, all warnings", set_verbose, false},
	{"reason", 0, "TEXT", HOOKED, "kept in the dump", set_reason, false},

	{"threads", 0, "all|running|TID,...", STOPS, "which threads to capture (default all)",
	 set_threads, false},
	{"stop", 0, "auto|never|always", LOOKS,
	 "threads to stop: those on a CPU, none, or all (default auto)", set_stop, false},
	{"kernel", 0, NULL, SW_FOR_DUMP, "also what blocked threads call in the kernel; as root",
	 set_kernel, false},
	{"max-stop", 0, "MS", LOOKS | SW_FOR_HOOK, "longest time to stop them (default 100)",
	 set_max_stop, false},
	{"stack-bytes", 0, "N", LOOKS | SW_FOR_HOOK,
	 "bytes to copy of each stack; K, M and G allowed (default 256K)", set_stack_bytes, false},
	{"restart", 0, "none|infinite|all", LOOKS,
	 "blocked calls to hide the stop from (default infinite)", set_restart, false},
	{"goroutines", 0, NULL, SW_FOR_DUMP,
	 "all goroutines of Go programs, grouped as threads are", set_goroutines, false},
	{"burst", 0, "N,MS", SW_FOR_DUMP,
	 "N captures with MS between: who never ran, who is busy where", set_burst, false},
	{"via", 0, "auto|direct|daemon", STOPS | SW_FOR_HOOK,
	 "who does the capture: this command or the daemon (default auto)", set_via, false},
	{"socket", 0, "PATH", HOOKED | ASKS | SW_FOR_EXPLAIN,
	 "the daemon's socket (default /run/snapwalk/io.snapwalk)", set_socket, false},

	{"depth", 0, "N", WALKS | SW_FOR_HOOK, "frames in one stack (default 1024)", set_depth,
	 false},
	{"walk", 0, "tables|hybrid|scan|libunwind", REPORTS, "how to unwind (default hybrid)",
	 set_walk, false},
	{"scan-below", 0, "N", REPORTS, "scan also stacks that end before N frames", set_scan_below,
	 false},
	{"scan-range", 0, "BYTES", REPORTS,
	 "a CALL counts if it leads at most so far before its callee's address", set_scan_range,
	 false},
	{"scan-all", 0, NULL, REPORTS, "every word of a stack that may be a return address",
	 set_scan_all, false},
	{"trim-unknown", 0, NULL, REPORTS, "leave out innermost frames of no module, counted",
	 set_trim_unknown, false},
	{"symbols", 0, "none|names|lines", NAMES | SW_FOR_HOOK, "how much to name (default lines)",
	 set_symbols, false},
	{"no-inlines", 0, NULL, NAMES | SW_FOR_HOOK, "do not show inlined calls", set_no_inlines,
	 false},
	{"no-sandbox", 0, NULL, (NAMES & ~SW_FOR_SAMPLE) | SW_FOR_RECORD | SW_FOR_HOOK,
	 "keep all privileges while files are read that the target chose", set_no_sandbox, false},
	{"timeout", 0, "MS", NAMES | SW_FOR_TOP | SW_FOR_HOOK,
	 "time for walking and naming, 0: no limit (default 2000); hook: for all (10000)",
	 set_timeout, false},

	{"mode", 0, "wall|cpu|off", SW_FOR_SAMPLE,
	 "by the clock, by CPU time, or the time that threads are blocked (default wall)", set_mode,
	 false},
	{"rate", 0, "HZ", SW_FOR_SAMPLE, "samples a second (default 20; of CPU time: 99)", set_rate,
	 false},
	{"duration", 0, "S", SW_FOR_SAMPLE, "seconds to sample, 0: until Control-C (default 5)",
	 set_duration, false},
	{"max-load", 0, "PERCENT", SW_FOR_SAMPLE,
	 "largest share of time the target is stopped (default 1)", set_max_load, false},

	{"interval", 0, "MS", SW_FOR_TOP, "time between two looks (default 1000)", set_interval,
	 false},
	{"count", 0, "N", SW_FOR_TOP, "looks, then it ends; 0: no end (default 0)", set_count,
	 false},
	{"sort", 0, "cpu|state|since|name", SW_FOR_TOP, "the order at first (default cpu)",
	 set_sort, false},
	{"filter", 0, "TEXT", SW_FOR_TOP, "only threads with this in their name, state or stack",
	 set_filter, false},

	{"since", 0, "TIME", SW_FOR_LIST, "dumps since then: 30m, 2h, 1d or 2026-11-20T10:00:00Z",
	 set_since, false},
	{"limit", 0, "N", SW_FOR_TOP,
	 "where there is no terminal: so many threads at most (default all)", set_limit, false},
	{"limit", 0, "N", SW_FOR_LIST, "so many dumps at most (default 100)", set_limit, false},
	{"lock", 0, "ADDRESS", SW_FOR_EXPLAIN,
	 "say who holds this lock and who waits for it; also in a dump", set_lock, false},
	{"unpin", 0, NULL, SW_FOR_PIN, "the limits of the store hold for it again", set_unpin,
	 false},
	{"states", 0, "WORD,...", SW_FOR_HOOK,
	 "what to act on (default nagios: CRITICAL; collectd: FAILURE)", set_states, false},
	{"soft", 0, NULL, SW_FOR_HOOK, "nagios: act on SOFT states, too", set_soft, false},

	{"help", 'h', NULL, ALL, "this help", set_help, false},
	{"version", 'V', NULL, ALL, "the version", set_version, false},
};
const size_t sw_n_options = SW_ARRAY_SIZE(sw_option_table);
static_assert(SW_ARRAY_SIZE(sw_option_table) <= SW_OPTIONS_MAX, "space in the parser");
