/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements of a dump: modules, threads, stacks with their frames, and warnings. */
#include "report_parse.h"

#include <string.h>

void sw_parse_module(struct sw_report_parser *p, size_t index)
{
	p->report->modules[index] = (struct sw_report_module){
		.path = sw_parse_string(p, "path"),
		.build_id = sw_parse_hex_text_or_null(p, "build_id"),
		.start_avma = sw_parse_address(p, "start"),
		.end_avma = sw_parse_address(p, "end"),
		.format = sw_parse_word(p, "format"),
		.symbols = sw_parse_word(p, "symbols"),
		.problem = sw_parse_string_or_null(p, "problem"),
		.deleted = sw_parse_flag(p, "deleted"),
	};
}

/* An object within the element that is read becomes what is read. */
static struct json_object *into(struct sw_report_parser *p, struct json_object *inner,
				const char *what)
{
	struct json_object *around = p->from;
	p->from = inner;
	p->what = what;
	return around;
}

/* An array of objects within the element that is read. */
struct objects {
	const char *name, *what; /* of the array, of one object */
	size_t size;             /* of the structure that an object becomes */
	void (*read)(struct sw_report_parser *p, void *to);
};

static bool all_objects(struct json_object *array)
{
	if (!json_object_is_type(array, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		if (!json_object_is_type(json_object_array_get_idx(array, i), json_type_object))
			return false;
	return true;
}

/* The structures, *ret_n of them; NULL when there is no array or it is empty. */
static void *read_objects(struct sw_report_parser *p, const struct objects *o, size_t *ret_n)
{
	struct json_object *array = NULL;
	*ret_n = 0;
	(void) json_object_object_get_ex(p->from, o->name, &array); /* absent: stays NULL */
	if (array != NULL && !all_objects(array))
		sw_parse_fail(p, o->name);
	if (array == NULL || p->status < 0 || json_object_array_length(array) == 0)
		return NULL;
	size_t n = json_object_array_length(array);
	const char *what = p->what;
	char *structures = sw_parse_calloc(p, n, o->size);
	for (size_t i = 0; structures != NULL && i < n; i++) {
		struct json_object *around = into(p, json_object_array_get_idx(array, i), o->what);
		o->read(p, structures + i * o->size);
		(void) into(p, around, what);
	}
	*ret_n = structures == NULL ? 0 : n;
	return structures;
}

static void read_runtime(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_runtime *) to = (struct sw_report_runtime){
		.name = sw_parse_string(p, "name"),
		.version = sw_parse_string_or_null(p, "version"),
		.where = sw_parse_string_or_null(p, "where"),
	};
}

static void read_registry(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_registry *) to = (struct sw_report_registry){
		.name = sw_parse_string(p, "name"),
		.where = sw_parse_string_or_null(p, "where"),
		.entries = sw_parse_int(p, "entries", 0, INT64_MAX),
	};
}

void sw_parse_runtimes(struct sw_report_parser *p)
{
	static const struct objects runtimes = {"runtimes", "runtime",
						sizeof(struct sw_report_runtime), read_runtime};
	static const struct objects registries = {"registries", "registry",
						  sizeof(struct sw_report_registry), read_registry};
	struct sw_report *r = p->report;
	r->process.runtimes = read_objects(p, &runtimes, &r->process.n_runtimes);
	r->process.registries = read_objects(p, &registries, &r->process.n_registries);
}

static const struct sw_report_managed *read_managed(struct sw_report_parser *p)
{
	struct json_object *inner = NULL;
	(void) json_object_object_get_ex(p->from, "managed", &inner); /* absent: stays NULL */
	if (inner == NULL)
		return NULL;
	struct sw_report_managed *managed = sw_parse_calloc(p, 1, sizeof(*managed));
	if (!json_object_is_type(inner, json_type_object))
		sw_parse_fail(p, "managed");
	if (managed == NULL || p->status < 0)
		return NULL;
	struct json_object *around = into(p, inner, "managed thread");
	*managed = (struct sw_report_managed){
		.runtime = sw_parse_string(p, "runtime"),
		.id = sw_parse_known(p, "id", INT64_MAX),
		.name = sw_parse_string_or_null(p, "name"),
		.mode = sw_parse_string_or_null(p, "mode"),
		.role = sw_parse_string_or_null(p, "role"),
	};
	(void) into(p, around, "thread");
	return managed;
}

static char read_state(struct sw_report_parser *p)
{
	const char *s = sw_parse_string(p, "state");
	if (s == NULL)
		return '?';
	bool letter = (s[0] >= 'A' && s[0] <= 'Z') || (s[0] >= 'a' && s[0] <= 'z');
	if ((!letter && s[0] != '?') || s[1] != '\0')
		sw_parse_fail(p, "state");
	return s[0];
}

void sw_parse_thread(struct sw_report_parser *p, size_t index)
{
	struct sw_report_thread *t = &p->report->threads[index];
	uint64_t before;
	*t = (struct sw_report_thread){
		.tid = (pid_t) sw_parse_int(p, "tid", 1, INT32_MAX),
		.comm = sw_parse_string(p, "comm"),
		.state = read_state(p),
		.captured = sw_parse_bool(p, "captured"),
		.wchan = sw_parse_string_or_null(p, "wchan"),
		.syscall = sw_parse_string_or_null(p, "syscall"),
		.interrupted = sw_parse_flag(p, "interrupted"),
		.cpu_ns = sw_parse_known(p, "cpu_ns", INT64_MAX),
		.stop_us = sw_parse_known(p, "stop_us", INT64_MAX),
		/* of stacks that are there: read_tids() compares */
		.stack = (int32_t) sw_parse_known(p, "stack", INT32_MAX),
		.managed = read_managed(p),
	};
	if (t->captured != (t->stack >= 0))
		sw_parse_fail(p, "captured");
	if (!t->captured) {
		t->reason = sw_parse_word(p, "reason");
		t->reason_text = sw_parse_sentence(p, "reason_text");
	}
	if (sw_map64_get(&p->by_tid, (uint64_t) t->tid, &before))
		sw_parse_fail(p, "tid");
	if (sw_map64_put(&p->by_tid, (uint64_t) t->tid, index) < 0)
		sw_parse_fail_nomem(p);
}

static void read_frame(struct sw_report_parser *p, struct sw_report_frame *f)
{
	size_t n_modules = p->report->n_modules;
	/* line_offset + 1 is written */
	*f = (struct sw_report_frame){
		.pc_avma = sw_parse_address(p, "pc"),
		.module = (int32_t) sw_parse_known(p, "module", INT32_MAX),
		.function = sw_parse_string_or_null(p, "function"),
		.file = sw_parse_string_or_null(p, "file"),
		.line_offset = (int32_t) sw_parse_known(p, "line_offset", INT32_MAX - 1),
		.kind = sw_parse_word(p, "kind"),
		.by = sw_parse_word(p, "by"),
		.trust = sw_parse_word(p, "trust"),
		.inlined = sw_parse_bool(p, "inlined"),
		.signal = sw_parse_flag(p, "signal"),
		.live_read = sw_parse_flag(p, "live_read"),
		.may_miss = sw_parse_flag(p, "may_miss"),
	};
	f->has_offset = sw_parse_address_or_null(p, "offset", &f->offset);
	int64_t line = sw_parse_known(p, "line", UINT32_MAX);
	int64_t function_offset = sw_parse_known(p, "function_offset", INT64_MAX);
	f->line = line > 0 ? (uint32_t) line : 0;
	f->function_offset = function_offset > 0 ? (uint64_t) function_offset : 0;
	if (f->module >= 0 && (size_t) f->module >= n_modules)
		sw_parse_fail(p, "module");
	if (line == 0)
		sw_parse_fail(p, "line");
	if ((f->function == NULL) != (function_offset < 0))
		sw_parse_fail(p, "function_offset");
}

/* An array in the element that is read; NULL when it is missing or empty, which fails. */
static struct json_object *array_in(struct sw_report_parser *p, const char *name, size_t *ret_n)
{
	struct json_object *array = NULL;
	*ret_n = 0;
	if (json_object_object_get_ex(p->from, name, &array) &&
	    json_object_is_type(array, json_type_array))
		*ret_n = json_object_array_length(array);
	if (*ret_n > 0)
		return array;
	sw_parse_fail(p, name);
	return NULL;
}

/* Each tid is that of a thread that says the same, and comes once. */
static void read_tids(struct sw_report_parser *p, size_t stack)
{
	struct sw_report *r = p->report;
	size_t n;
	struct json_object *tids = array_in(p, "threads", &n);
	size_t *threads = tids == NULL ? NULL : sw_parse_calloc(p, n, sizeof(*threads));
	for (size_t i = 0; threads != NULL && i < n && p->status == 0; i++) {
		struct json_object *tid = json_object_array_get_idx(tids, i);
		uint64_t thread = 0;
		if (!json_object_is_type(tid, json_type_int) ||
		    !sw_map64_get(&p->by_tid, (uint64_t) json_object_get_int64(tid), &thread) ||
		    r->threads[thread].stack != (int64_t) stack) {
			sw_parse_fail(p, "threads");
			return;
		}
		threads[i] = thread;
	}
	r->stacks[stack].threads = threads;
	r->stacks[stack].n_threads = threads == NULL ? 0 : n;
}

static void read_frames(struct sw_report_parser *p, size_t stack)
{
	size_t n;
	struct json_object *element = p->from, *array = array_in(p, "frames", &n);
	struct sw_report_frame *frames =
		array == NULL ? NULL : sw_parse_calloc(p, n, sizeof(*frames));
	if (frames == NULL)
		return;
	p->what = "frame";
	for (size_t i = 0; i < n && p->status == 0; i++) {
		p->from = json_object_array_get_idx(array, i);
		if (json_object_is_type(p->from, json_type_object))
			read_frame(p, &frames[i]);
		else
			sw_parse_fail(p, "frames");
	}
	p->from = element;
	p->report->stacks[stack].frames = frames;
	p->report->stacks[stack].n_frames = n;
}

void sw_parse_stack(struct sw_report_parser *p, size_t index)
{
	p->report->stacks[index] = (struct sw_report_stack){
		.id = sw_parse_stack_id(p, "id"),
		.end = sw_parse_word(p, "end"),
		.why = sw_parse_string_or_null(p, "why"),
	};
	read_tids(p, index);
	read_frames(p, index);
}

void sw_parse_warning(struct sw_report_parser *p, size_t index)
{
	int64_t tid = sw_parse_known(p, "tid", INT32_MAX);
	p->report->warnings[index] = (struct sw_report_warning){
		.code = sw_parse_word(p, "code"),
		.tid = tid > 0 ? (pid_t) tid : 0,
		.message = sw_parse_string(p, "message"),
	};
}

/* Every captured thread is in a stack, once. That those in stacks are captured, and in no other
 * stack, read_tids() saw; so it remains to see that none is there twice, and to count. */
void sw_parse_check_threads(struct sw_report_parser *p)
{
	const struct sw_report *r = p->report;
	size_t captured = 0, listed = 0;
	p->what = "stack";
	bool *seen = sw_parse_calloc(p, r->n_threads, sizeof(*seen));
	for (size_t i = 0; i < r->n_threads; i++)
		captured += r->threads[i].captured;
	for (size_t i = 0; i < r->n_stacks && p->status == 0; i++)
		for (size_t t = 0; t < r->stacks[i].n_threads; t++, listed++) {
			size_t thread = r->stacks[i].threads[t];
			if (seen[thread])
				sw_parse_fail(p, "threads");
			seen[thread] = true;
		}
	if (listed != captured)
		sw_parse_fail(p, "threads");
}
