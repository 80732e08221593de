/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a dump's JSON back into a report, so that one that was stored, or made by the daemon, is
 * written as text or folded as if it had just been made here. The file may be anybody's: everything
 * is checked that the writers rely on, above all the indices that elements have of one another.
 *
 * The text is checked as a whole and then read element by element, as it is written: never more
 * than a stack is held as a tree.
 */
#include "report/parse/fields.h"
#include "report/parse/elements.h"
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"
#include "text.h"

#include <string.h>

enum { DUMP_DEPTH_MAX = 16 };

/* The members of a dump that are arrays; their order is that in which they are read. */
enum array { MODULES, THREADS, STACKS, WARNINGS, N_ARRAYS };

static const char *const array_names[N_ARRAYS] = {"modules", "threads", "stacks", "warnings"};

/* A dump's text, cut. */
struct parts {
	struct sw_text head; /* owned; an object of all other members */
	struct sw_json_part arrays[N_ARRAYS];
};

/* The array of this name; N_ARRAYS: none. */
static enum array array_of(struct sw_json_part name)
{
	for (enum array i = 0; i < N_ARRAYS; i++)
		if (name.size == strlen(array_names[i]) &&
		    memcmp(name.data, array_names[i], name.size) == 0)
			return i;
	return N_ARRAYS;
}

static void cut(struct sw_report_parser *p, struct sw_json_scan scan, struct parts *parts)
{
	struct sw_json_part name, value;
	int r;
	sw_text_append(&parts->head, "{", 1);
	while ((r = sw_json_scan_next(&scan, &name, &value, p->err)) > 0) {
		enum array array = array_of(name);
		if (array == N_ARRAYS) {
			sw_text_append(&parts->head, ",", parts->head.size > 1);
			/* with the quotes, which are around the name */
			sw_text_append(&parts->head, name.data - 1, name.size + 2);
			sw_text_append(&parts->head, ":", 1);
			sw_text_append(&parts->head, value.data, value.size);
		} else if (parts->arrays[array].data != NULL || value.data[0] != '[') {
			sw_parse_fail(p, array_names[array]);
		} else {
			parts->arrays[array] = value;
		}
	}
	if (r < 0)
		p->status = r;
	sw_text_append(&parts->head, "}", 1);
	for (enum array i = 0; i < N_ARRAYS; i++)
		if (parts->arrays[i].data == NULL)
			sw_parse_fail(p, array_names[i]);
	if (parts->head.failed)
		sw_parse_fail_nomem(p);
}

/* Goes into an object that is part of the one being read; NULL: it is missing. */
static const struct sw_json *enter(struct sw_report_parser *p, const char *name)
{
	const struct sw_json *around = p->from;
	const struct sw_json *inner = sw_json_member_of(around, name, SW_JSON_OBJECT);
	if (inner == NULL) {
		sw_parse_fail(p, name);
		return NULL;
	}
	p->from = inner;
	p->what = name;
	return around;
}

static void leave(struct sw_report_parser *p, const struct sw_json *around)
{
	p->from = around;
	p->what = "dump";
}

static void read_host(struct sw_report_parser *p)
{
	const struct sw_json *around = enter(p, "host");
	if (around == NULL)
		return;
	p->report->host_name = sw_parse_string_or_null(p, "name");
	p->report->host_kernel = sw_parse_string_or_null(p, "kernel");
	p->report->host_machine = sw_parse_string(p, "machine");
	leave(p, around);
}

static void read_process(struct sw_report_parser *p)
{
	struct sw_report *r = p->report;
	const struct sw_json *around = enter(p, "process");
	if (around == NULL)
		return;
	r->process.pid = (pid_t) sw_parse_int(p, "pid", 1, INT32_MAX);
	r->process.starttime = (uint64_t) sw_parse_int(p, "starttime", 0, INT64_MAX);
	r->process.ppid = (pid_t) sw_parse_known(p, "ppid", INT32_MAX);
	r->process.uid = (uid_t) sw_parse_known(p, "uid", UINT32_MAX);
	r->process.comm = sw_parse_string(p, "comm");
	r->process.exe = sw_parse_string_or_null(p, "exe");
	r->process.cgroup = sw_parse_string_or_null(p, "cgroup");
	r->process.unit = sw_parse_string_or_null(p, "unit");
	r->process.container = sw_parse_hex_text_or_null(p, "container");
	r->process.elf_class = (int) sw_parse_int(p, "elf_class", 32, 64);
	if (r->process.elf_class != 32 && r->process.elf_class != 64)
		sw_parse_fail(p, "elf_class");
	sw_parse_runtimes(p);
	sw_parse_crash(p);
	sw_parse_limits(p);
	sw_parse_resource(p);
	leave(p, around);
}

static void read_timings(struct sw_report_parser *p)
{
	struct sw_report *r = p->report;
	const struct sw_json *around = enter(p, "timings");
	if (around == NULL)
		return;
	r->timings.stopped_us = sw_parse_int(p, "stopped_us", 0, INT64_MAX);
	r->timings.longest_thread_stop_us = sw_parse_int(p, "longest_thread_stop_us", 0, INT64_MAX);
	r->timings.attach_us = sw_parse_int(p, "attach_us", 0, INT64_MAX);
	r->timings.copy_us = sw_parse_int(p, "copy_us", 0, INT64_MAX);
	r->timings.unwind_us = sw_parse_int(p, "unwind_us", 0, INT64_MAX);
	r->timings.symbolize_us = sw_parse_int(p, "symbolize_us", 0, INT64_MAX);
	r->timings.total_us = sw_parse_int(p, "total_us", 0, INT64_MAX);
	r->timings.interrupted_calls = (size_t) sw_parse_int(p, "interrupted_calls", 0, INT64_MAX);
	r->timings.stopped_why = sw_parse_string_or_null(p, "stopped_why");
	r->timings.n_stopped = sw_parse_known(p, "n_stopped", INT64_MAX);
	r->timings.realtime_refused = sw_parse_flag(p, "realtime_refused");
	leave(p, around);
}

static void read_head(struct sw_report_parser *p)
{
	struct sw_report *r = p->report;
	const char *schema = sw_parse_string(p, "schema");
	if (schema != NULL && strcmp(schema, SW_DUMP_SCHEMA) != 0)
		sw_parse_fail(p, "schema");
	r->id = sw_parse_dump_id(p, "id");
	r->seq = (uint64_t) sw_parse_int(p, "seq", 0, INT64_MAX);
	r->time_ns = sw_parse_time_ns(p, "time");
	r->process.uptime_ms = sw_parse_known(p, "uptime_ms", INT64_MAX);
	r->reason = sw_parse_string_or_null(p, "reason");
	r->complete = sw_parse_bool(p, "complete");
	read_host(p);
	read_process(p);
	read_timings(p);
	sw_parse_wait_graph(p);
	sw_parse_task_waits(p);
	sw_parse_hints(p);
}

/* Elements are read one at a time, each a tree of its own, in the memory of the one before. */
static void read_elements(struct sw_report_parser *p, struct sw_json_part array, const char *what,
			  void (*read)(struct sw_report_parser *p, size_t index))
{
	struct sw_json_part none, element;
	struct sw_json_scan scan = sw_json_scan_begin(array.data, array.size, DUMP_DEPTH_MAX);
	struct sw_json_tree tree = {0};
	for (size_t i = 0; i < array.n && p->status == 0; i++) {
		p->status = sw_json_scan_next(&scan, &none, &element, p->err);
		if (p->status > 0)
			p->status = sw_json_parse(&tree, element.data, element.size, DUMP_DEPTH_MAX,
						  p->err);
		if (p->status == 0 && tree.values->type != SW_JSON_OBJECT)
			p->status = sw_fail(p->err, SW_E_FORMAT, "this is JSON, but not an object");
		p->from = tree.values;
		p->what = what;
		if (p->status == 0)
			read(p, i);
	}
	sw_json_tree_deinit(&tree);
}

static void read_arrays(struct sw_report_parser *p, const struct parts *parts)
{
	struct sw_report *r = p->report;
	r->n_modules = parts->arrays[MODULES].n;
	r->n_threads = parts->arrays[THREADS].n;
	r->n_stacks = parts->arrays[STACKS].n;
	r->n_warnings = parts->arrays[WARNINGS].n;
	r->modules = sw_parse_calloc(p, r->n_modules, sizeof(*r->modules));
	r->threads = sw_parse_calloc(p, r->n_threads, sizeof(*r->threads));
	r->stacks = sw_parse_calloc(p, r->n_stacks, sizeof(*r->stacks));
	r->warnings = sw_parse_calloc(p, r->n_warnings, sizeof(*r->warnings));
	read_elements(p, parts->arrays[MODULES], "module", sw_parse_module);
	read_elements(p, parts->arrays[THREADS], "thread", sw_parse_thread);
	read_elements(p, parts->arrays[STACKS], "stack", sw_parse_stack);
	read_elements(p, parts->arrays[WARNINGS], "warning", sw_parse_warning);
	if (p->status == 0)
		sw_parse_check_threads(p);
}

static void read_dump(struct sw_report_parser *p, const struct parts *parts)
{
	struct sw_json_tree head = {0};
	p->status =
		sw_json_parse(&head, parts->head.data, parts->head.size, DUMP_DEPTH_MAX, p->err);
	p->from = head.values;
	p->what = "dump";
	if (p->status == 0)
		read_head(p);
	sw_json_tree_deinit(&head);
	if (p->status == 0)
		read_arrays(p, parts);
}

int sw_report_parse(const char *json, size_t size, struct sw_report **ret, struct sw_error *err)
{
	struct sw_json_scan scan = sw_json_scan_begin(json, size, DUMP_DEPTH_MAX);
	int r = scan.close == '}' ? 0 : sw_json_check(json, size, DUMP_DEPTH_MAX, err);
	if (r < 0)
		return r;
	struct sw_report *report = sw_report_create();
	if (report == NULL)
		return sw_fail_nomem(err);
	struct sw_report_parser p = {.report = report,
				     .arena = &report->priv->arena,
				     .what = "dump",
				     .err = err};
	struct parts parts = {0};
	if (scan.close != '}')
		sw_parse_fail(&p, "schema"); /* JSON, but no object */
	else
		cut(&p, scan, &parts);
	if (p.status == 0)
		read_dump(&p, &parts);
	sw_text_deinit(&parts.head);
	sw_map64_deinit(&p.strings);
	sw_map64_deinit(&p.by_tid);
	if (p.status < 0)
		sw_report_destroy(report);
	else
		*ret = report;
	return p.status;
}
