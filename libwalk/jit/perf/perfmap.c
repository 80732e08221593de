/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/perfmap.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/common/source.h"
#include "jit/perf/perfmap_text.h"
#include "process/proc.h"
#include "snapshot/side_file.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

enum {
	STATUS_BYTES = 16 << 10,
	IDS_MAX = 4, /* in the line "Uid:" */
	START_SLACK_S =
		2, /* start times count ticks since boot, file times the clock on the wall */
	COUNT_BYTES = 1 << 20, /* of a map that nobody asked: it is read only to be listed */
};

static const char side_name[] = "perf-map";

/* ---- the text ---------------------------------------------------------------------------------- */

static int digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the space behind it. */
static bool number_read(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *at = *p;
	uint64_t value = 0;
	int digit;
	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	const uint8_t *first = at;
	for (; at < end && (digit = digit_of(*at)) >= 0; at++) {
		if (value >> 60 != 0)
			return false;
		value = value << 4 | (unsigned) digit;
	}
	if (at == first || at == end || *at != ' ')
		return false;
	while (at < end && *at == ' ')
		at++;
	*p = at;
	*ret = value;
	return true;
}

/* [p, end) without the newline. */
static bool line_parse(const uint8_t *p, const uint8_t *end, struct sw_perfmap_line *ret)
{
	if (!number_read(&p, end, &ret->start_avma) || !number_read(&p, end, &ret->bytes))
		return false;
	if (p < end && end[-1] == '\r')
		end--;
	ret->name = (struct sw_bytes){p, (size_t) (end - p)};
	return p < end && ret->bytes > 0;
}

bool sw_perfmap_line_read(struct sw_bytes map, size_t offset, struct sw_perfmap_line *ret)
{
	if (offset >= map.size)
		return false;
	const uint8_t *p = map.data + offset, *end = memchr(p, '\n', map.size - offset);
	return end != NULL && line_parse(p, end, ret);
}

/* The last newline in [data, end). Asked for in parts: memrchr() itself stops where it finds one, but
 * what checks its arguments (AddressSanitizer) looks at all that it is given, and lines are many. */
static const uint8_t *newline_before(const uint8_t *data, const uint8_t *end)
{
	enum { FIRST_PART = 256 };
	size_t left = (size_t) (end - data);
	for (size_t part = FIRST_PART; part < left; part *= 2) {
		const uint8_t *found = memrchr(end - part, '\n', part);
		if (found != NULL)
			return found;
	}
	return left > 0 ? memrchr(data, '\n', left) : NULL;
}

int sw_perfmap_parse(struct sw_bytes map, struct sw_jit_ranges *ranges, size_t *ret_n,
		     bool *ret_limited)
{
	const uint8_t *end = map.size > 0 ? newline_before(map.data, map.data + map.size) : NULL;
	size_t lines = 0;
	*ret_n = 0;
	*ret_limited = false;
	while (end != NULL) {
		if (lines++ == SW_PERFMAP_LINES_MAX) {
			*ret_limited = true;
			break;
		}
		const uint8_t *before = newline_before(map.data, end);
		const uint8_t *p = before != NULL ? before + 1 : map.data;
		struct sw_perfmap_line line;
		if (line_parse(p, end, &line)) {
			++*ret_n;
			if (sw_jit_ranges_add(ranges, line.start_avma, line.bytes,
					      (uint32_t) (p - map.data)) < 0)
				return -SW_E_NOMEM;
		}
		end = before;
	}
	return 0;
}

/* ---- before the stop --------------------------------------------------------------------------- */

/* The words of a line of /proc/PID/status. */
static const char *status_line(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at != NULL ? at + strlen(key) : NULL;
}

/* The process's id in its own namespace, which it names files by: the last one of NSpid. */
static long own_pid(const char *status)
{
	const char *at = status_line(status, "\nNSpid:");
	if (at == NULL)
		return 0;
	for (at += strcspn(at, "\n"); at[-1] >= '0' && at[-1] <= '9'; at--) {
	} /* a colon is before them */
	return strtol(at, NULL, 10);
}

/* Real, effective, saved and file system's user. */
static bool owner_is_target(const char *status, uid_t owner)
{
	const char *at = status_line(status, "\nUid:");
	for (int i = 0; at != NULL && i < IDS_MAX; i++) {
		char *end;
		unsigned long uid = strtoul(at, &end, 10);
		if (end == at)
			return false;
		if (uid == owner)
			return true;
		at = end;
	}
	return false;
}

static bool older_than_process(const struct sw_snapshot *snap, const struct stat *st)
{
	struct timespec now;
	if (snap->process.uptime_ms < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	int64_t start_s = now.tv_sec - snap->process.uptime_ms / 1000;
	return st->st_mtim.tv_sec < start_s - START_SLACK_S;
}

/* Anybody may put a file there, and pids are used again. Root's files are believed. NULL: it is good. */
static const char *refusal(const struct sw_snapshot *snap, const char *status,
			   const struct stat *st)
{
	if (st->st_uid != 0 && !owner_is_target(status, st->st_uid))
		return "it belongs to another user";
	if (older_than_process(snap, st))
		return "it is older than the process";
	return NULL;
}

static int perfmap_prepare(struct sw_jit_capture *c)
{
	char status[STATUS_BYTES], path[64];
	struct stat st;
	struct sw_capture *capture = c->capture;
	ssize_t n = sw_capture_proc_read(capture, "status", status, sizeof(status));
	long pid = n > 0 ? own_pid(status) : 0;
	if (pid <= 0)
		return 0; /* it is gone, and that is found out elsewhere */
	(void) snprintf(path, sizeof(path), "/tmp/perf-%ld.map", pid); /* fits */
	sw_cleanup(sw_close_p) int fd = sw_capture_open_stat(capture, path, &st);
	if (fd < 0 && errno == ETIMEDOUT)
		sw_side_file_refuse(capture->snap, side_name, "its file system does not answer");
	if (fd < 0 && errno == EACCES)
		sw_side_file_refuse(capture->snap, side_name,
				    "the user of the process may not read it");
	if (fd < 0)
		return 0; /* most processes have none */
	const char *why = refusal(capture->snap, status, &st);
	if (why == NULL)
		return sw_side_file_keep(capture->snap, side_name, sw_take_fd(fd));
	sw_side_file_refuse(capture->snap, side_name, why);
	return 0;
}

/* ---- after the stop ---------------------------------------------------------------------------- */

struct perfmap {
	const struct sw_snapshot *snap;
	/* Beside copies of events, else NULL: the lines, shared by all that have read them, and the end of those that were there
	 * then. */
	struct sw_perfmap_text *copied;
	uint64_t end;
	bool loaded, limited, nomem;
	struct sw_bytes text; /* borrowed from the snapshot; empty: none */
	struct sw_jit_ranges ranges;
	size_t n_lines;
};

/* The map where it can be read again. A file whose server may cease to answer was opened as a copy, which has no name and does
 * not grow; nor does one that was removed. */
static int growing_fd(const struct sw_snapshot *snap)
{
	struct stat st;
	int fd = sw_side_file_fd(snap, side_name);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 0 ? fd : -EBADF;
}

static int perfmap_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			  size_t n_roots, void *found, void **ret_state)
{
	struct perfmap *m = calloc(1, sizeof(*m));
	(void) roots; /* none: it has no probe() */
	(void) n_roots;
	(void) found;
	if (m == NULL)
		return -SW_E_NOMEM;
	m->snap = snap;
	if (snap->priv->by_copies) {
		m->copied = sw_perfmap_text_create(growing_fd(snap));
		m->nomem = m->copied == NULL || sw_perfmap_text_look(m->copied, &m->end) < 0;
	}
	*ret_state = m;
	return 0;
}

static int perfmap_again(void *state, void **ret_state)
{
	const struct perfmap *last = state;
	struct perfmap *m = calloc(1, sizeof(*m));
	if (m == NULL)
		return -SW_E_NOMEM;
	m->snap = last->snap;
	if (last->copied != NULL) {
		m->copied = sw_perfmap_text_share(last->copied);
		m->nomem = sw_perfmap_text_look(m->copied, &m->end) < 0;
	}
	*ret_state = m;
	return 0;
}

static void perfmap_detach(void *state)
{
	struct perfmap *m = state;
	if (m == NULL)
		return;
	sw_perfmap_text_drop(m->copied);
	sw_jit_ranges_deinit(&m->ranges);
	free(m);
}

/* Tried once. */
static void load(struct perfmap *m)
{
	if (m->loaded)
		return;
	m->loaded = true;
	if (!sw_side_file_get(m->snap, side_name, 0, &m->text))
		return;
	m->nomem = sw_perfmap_parse(m->text, &m->ranges, &m->n_lines, &m->limited) < 0 ||
		   sw_jit_ranges_finish(&m->ranges) < 0;
	if (m->nomem)
		sw_jit_ranges_deinit(&m->ranges);
}

/* *ret_place: of the line in the map. */
static bool line_at(struct perfmap *m, uint64_t avma, struct sw_perfmap_line *ret,
		    uint64_t *ret_place)
{
	if (m->snap->priv->by_copies) /* a line that came later has hidden what was there before */
		return m->copied != NULL && sw_perfmap_text_find(m->copied, avma, ret, ret_place) &&
		       *ret_place < m->end;
	load(m);
	const struct sw_jit_range *range = sw_jit_ranges_find(&m->ranges, avma);
	if (range == NULL)
		return false;
	*ret_place = range->value;
	return sw_perfmap_line_read(m->text, range->value, ret);
}

static bool perfmap_named(void *state, uint64_t avma, uint64_t *ret_id)
{
	struct sw_perfmap_line line;
	return line_at(state, avma, &line, ret_id);
}

static int perfmap_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	struct sw_perfmap_line line;
	uint64_t place;
	if (!line_at(state, avma, &line, &place))
		return 0;
	size_t n =
		line.name.size < sizeof(ret->function) ? line.name.size : sizeof(ret->function) - 1;
	memcpy(ret->function, line.name.data, n);
	ret->function[n] = '\0';
	ret->start_avma = line.start_avma;
	return 1;
}

static void perfmap_explain(void *state, uint64_t avma, struct sw_text *text)
{
	struct perfmap *m = state;
	struct sw_perfmap_line line;
	uint64_t place;
	const char *refused = sw_side_file_refused(m->snap, side_name);
	if (refused != NULL)
		sw_text_printf(text, "perf-map: not used: %s\n", refused);
	if (line_at(m, avma, &line, &place))
		sw_text_printf(text, "perf-map: [0x%" PRIx64 ", 0x%" PRIx64 "), %.*s\n",
			       line.start_avma, line.start_avma + line.bytes, (int) line.name.size,
			       (const char *) line.name.data);
}

static size_t perfmap_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct perfmap *m = state;
	if (max == 0 || m == NULL || m->snap->priv->by_copies) /* samples do not list it */
		return 0;
	if (sw_side_file_size(m->snap, side_name, 0) <= COUNT_BYTES)
		load(m);
	if (m->text.size == 0)
		return 0;
	*ret = (struct sw_runtime){.name = side_name, .entries = (int64_t) m->n_lines};
	if (m->nomem)
		(void) snprintf(ret->problem, sizeof(ret->problem), "not enough memory");
	else if (m->limited)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"only its last %d lines are used", SW_PERFMAP_LINES_MAX);
	return 1;
}

const struct sw_jit_hook_ops sw_jit_perfmap_hooks = {
	.name = side_name,
	.prepare = perfmap_prepare,
};

const struct sw_jit_source_ops sw_jit_perfmap = {
	.name = side_name,
	.attach = perfmap_attach,
	.detach = perfmap_detach,
	.again = perfmap_again,
	.named = perfmap_named,
	.describe = perfmap_describe,
	.explain = perfmap_explain,
	.recognise = perfmap_recognise,
};
