/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of a capture: what is copied, how it is walked and named. */
#include "common/option_capture.h"
#include "cleanup.h"
#include "common/option_values.h"
#include "parts.h"

#include <limits.h>
#include <string.h>

enum {
	MAX_STOP_MS = 60 * 1000,
	MAX_TIMEOUT_MS = 24 * 3600 * 1000,
	MAX_SCAN_RANGE = 1 << 30,
	MAX_BURST = 1000,
	MAX_TIDS = 32768, /* as many as sw_snapshot_options.max_threads allows by default */
};

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
		return sw_usage_fail_nomem(usage);
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

bool sw_set_threads(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->snapshot.tids = NULL;
	o->snapshot.n_tids = 0;
	o->snapshot.running_only = strcmp(value, "running") == 0;
	if (o->snapshot.running_only || strcmp(value, "all") == 0)
		return true;
	return set_tids(o, value, usage);
}

bool sw_set_stop(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_stop_mode values[] = {SW_STOP_AUTO, SW_STOP_NEVER, SW_STOP_ALWAYS};
	int n = sw_choice_parse(value, "auto|never|always", usage);
	if (n < 0)
		return false;
	o->snapshot.stop = values[n];
	o->stop_given = true;
	return true;
}

bool sw_set_follow(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->follow = true;
	return true;
}

bool sw_set_kernel(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.kernel_stacks = true;
	return true;
}

bool sw_set_max_stop(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 1, MAX_STOP_MS, &o->snapshot.max_stop_ms, usage);
}

bool sw_set_timeout(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->timeout_given = true;
	return sw_u32_parse(value, 0, MAX_TIMEOUT_MS, &o->timeout_ms, usage);
}

bool sw_set_stack_bytes(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n = 0;
	if (!sw_size_parse(value, SW_STACK_BYTES_LEAST, SW_STACK_BYTES_MOST, &n, usage))
		return false;
	o->snapshot.stack_bytes = (size_t) n;
	return true;
}

bool sw_set_goroutines(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.goroutines = o->walk.goroutines = true;
	return true;
}

bool sw_set_tasks(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.tasks = o->walk.tasks = true;
	return true;
}

bool sw_set_args(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->snapshot.args = o->walk.args = true;
	return true;
}

bool sw_set_restart(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_restart values[] = {SW_RESTART_NONE, SW_RESTART_INFINITE,
						 SW_RESTART_ALL};
	int n = sw_choice_parse(value, "none|infinite|all", usage);
	if (n < 0)
		return false;
	o->snapshot.restart = values[n];
	return true;
}

bool sw_set_via(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "auto|direct|daemon", usage);
	o->via = (enum sw_via) n;
	return n >= 0;
}

bool sw_set_priority(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "normal|high", usage);
	o->priority_normal = n == 0;
	return n >= 0;
}

/* ---- walk and names ----------------------------------------------------------------------- */

bool sw_set_depth(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n;
	if (!sw_number_parse(value, 1, SW_MAX_FRAMES, &n, usage))
		return false;
	o->walk.max_frames = (size_t) n;
	return true;
}

bool sw_set_walk(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	enum { LIBUNWIND = 3 };
	static const enum sw_walk_mode values[] = {SW_WALK_TABLES, SW_WALK_HYBRID, SW_WALK_SCAN,
						   SW_WALK_HYBRID};
	int n = sw_choice_parse(value, "tables|hybrid|scan|libunwind", usage);
	if (n < 0)
		return false;
	o->walk.mode = values[n];
	o->libunwind = n == LIBUNWIND;
	return true;
}

bool sw_set_scan_below(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t n;
	if (!sw_number_parse(value, 1, SW_MAX_FRAMES, &n, usage))
		return false;
	o->walk.scan_below = (size_t) n;
	return true;
}

bool sw_set_scan_range(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_size_parse(value, 1, MAX_SCAN_RANGE, &o->walk.scan_range_bytes, usage);
}

bool sw_set_walks(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_walk_memory values[] = {SW_WALK_REMEMBER, SW_WALK_FORGET,
						     SW_WALK_REMEMBER_BOTH};
	int n = sw_choice_parse(value, "remember|each|both", usage);
	if (n < 0)
		return false;
	o->walk.memory = values[n];
	return true;
}

bool sw_set_scan_all(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->walk.scan_all = true;
	o->walk.mode = SW_WALK_SCAN;
	return true;
}

bool sw_set_trim_unknown(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->walk.trim_unknown = true;
	return true;
}

bool sw_set_from(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_directory_add(&o->from, &o->n_from, value, usage);
}

/* Addresses with spaces between them, as in DEBUGINFOD_URLS. */
static bool are_urls(const char *value)
{
	static const char *const schemes[] = {"http://", "https://", "file://"};
	size_t n = 0;
	for (value += strspn(value, " "); *value != '\0'; value += strspn(value, " ")) {
		bool known = false;
		for (size_t i = 0; i < SW_ARRAY_SIZE(schemes); i++)
			known |= sw_begins_with(value, schemes[i]);
		if (!known)
			return false;
		value += strcspn(value, " ");
		n++;
	}
	return n > 0;
}

bool sw_set_debuginfod(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value != NULL && value[0] == '\0')
		return sw_usage_fail(usage, "give the address of a server, or leave = away",
				     "the value is empty");
	if (value != NULL && !are_urls(value))
		return sw_usage_fail(usage, "begin it with http://, https:// or file://",
				     "this is no address of a server");
	o->debuginfod = true;
	o->debuginfod_url = value;
	return true;
}

bool sw_set_symbols(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_symbol_level values[] = {SW_SYMBOLS_NONE, SW_SYMBOLS_NAMES,
						      SW_SYMBOLS_LINES};
	int n = sw_choice_parse(value, "none|names|lines", usage);
	if (n < 0)
		return false;
	o->symbolize.level = values[n];
	return true;
}

bool sw_set_no_sandbox(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->no_sandbox = true;
	return true;
}

bool sw_set_cache(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (strcmp(value, "none") != 0 && (value[0] != '/' || strlen(value) >= PATH_MAX))
		return sw_usage_fail(usage, "give the whole path of a directory, or none",
				     "it must begin with '/'");
	o->cache = value;
	return true;
}

bool sw_set_no_inlines(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->symbolize.no_inlines = true;
	return true;
}

bool sw_set_burst(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	const char *comma = strchr(value, ',');
	char count[16];
	size_t length = comma != NULL ? (size_t) (comma - value) : sizeof(count);
	if (length >= sizeof(count))
		return sw_usage_fail(usage, "give as in 5,200: five captures, 200 ms between them",
				     "'%s' is not N,MS", value);
	memcpy(count, value, length);
	count[length] = '\0';
	return sw_u32_parse(count, 2, MAX_BURST, &o->burst_count, usage) &&
	       sw_u32_parse(comma + 1, 1, MAX_STOP_MS, &o->burst_ms, usage);
}
