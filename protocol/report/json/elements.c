/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The elements of a dump, written as they are read. Fields and their rules are in snapwalk-dump.schema.json
 * and snapwalk-dump(5): the fields of the schema's "required" lists are always there, null when
 * unknown; the others only when they say something.
 */
#include "report/limits.h"
#include "report/json/elements.h"
#include "utc.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An object or array in the making, in the text. */
struct element {
	struct sw_text *text; /* borrowed */
	bool any;             /* something is in it */
};

static struct element element_begin(struct sw_text *text, const char *bracket)
{
	sw_text_append(text, bracket, 1);
	return (struct element){.text = text};
}

static struct element object_begin(struct sw_text *text)
{
	return element_begin(text, "{");
}

static void object_end(const struct element *e)
{
	sw_text_append(e->text, "}", 1);
}

static struct element array_begin(struct sw_text *text)
{
	return element_begin(text, "[");
}

static void array_end(const struct element *e)
{
	sw_text_append(e->text, "]", 1);
}

/* Where the next item of an array is written. */
static struct sw_text *item(struct element *e)
{
	if (e->any)
		sw_text_append(e->text, ",", 1);
	e->any = true;
	return e->text;
}

/* Where the value of the next member of an object is written. A name is a literal that needs no escapes. */
static struct sw_text *member(struct element *e, const char *name)
{
	struct sw_text *text = item(e);
	sw_text_append(text, "\"", 1);
	sw_text_append(text, name, strlen(name));
	sw_text_append(text, "\":", 2);
	return text;
}

static void add_null(struct element *e, const char *name)
{
	sw_text_append(member(e, name), "null", 4);
}

/* NULL: unknown. */
static void add_string(struct element *e, const char *name, const char *value)
{
	if (value == NULL)
		add_null(e, name);
	else
		sw_utf8_append_json_string(member(e, name), value);
}

static void append_int(struct sw_text *text, int64_t value)
{
	char digits[20]; /* of 2^63, and the sign */
	size_t at = sizeof(digits);
	uint64_t left = value < 0 ? -(uint64_t) value : (uint64_t) value;
	do {
		digits[--at] = (char) ('0' + left % 10);
		left /= 10;
	} while (left != 0);
	if (value < 0)
		digits[--at] = '-';
	sw_text_append(text, digits + at, sizeof(digits) - at);
}

static void add_int(struct element *e, const char *name, int64_t value)
{
	append_int(member(e, name), value);
}

/* Above 2^63 - 1 it is written as that: readers take integers as int64 at most. */
static void add_uint(struct element *e, const char *name, uint64_t value)
{
	add_int(e, name, value > INT64_MAX ? INT64_MAX : (int64_t) value);
}

/* Negative: unknown. */
static void add_known(struct element *e, const char *name, int64_t value)
{
	if (value < 0)
		add_null(e, name);
	else
		add_int(e, name, value);
}

/* Addresses are strings, because many readers keep 53 bits of a number. */
static void add_hex(struct element *e, const char *name, uint64_t value)
{
	char text[20]; /* 16 digits, 0x and the quotes */
	size_t at = sizeof(text);
	text[--at] = '"';
	do {
		text[--at] = "0123456789abcdef"[value % 16];
		value /= 16;
	} while (value != 0);
	text[--at] = 'x';
	text[--at] = '0';
	text[--at] = '"';
	sw_text_append(member(e, name), text + at, sizeof(text) - at);
}

static void add_bool(struct element *e, const char *name, bool value)
{
	sw_text_append(member(e, name), value ? "true" : "false", value ? 4 : 5);
}

/* For fields that are there only when they are true. */
static void add_flag(struct element *e, const char *name, bool value)
{
	if (value)
		add_bool(e, name, true);
}

static void add_time(struct element *e, const char *key, int64_t time_ns)
{
	char stamp[64], text[96];
	sw_utc_format(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", time_ns);
	(void) snprintf(text, sizeof(text), "%s.%06dZ", stamp,
			(int) (time_ns % 1000000000 / 1000)); /* RFC 3339, fits */
	add_string(e, key, text);
}

static void host_object(struct sw_text *text, const struct sw_report *r)
{
	struct element e = object_begin(text);
	add_string(&e, "name", r->host_name);
	add_string(&e, "kernel", r->host_kernel);
	add_string(&e, "machine", r->host_machine);
	object_end(&e);
}

static void runtime_object(struct sw_text *text, const struct sw_report_runtime *r)
{
	struct element e = object_begin(text);
	add_string(&e, "name", r->name);
	add_string(&e, "version", r->version);
	add_string(&e, "where", r->where);
	if (r->virtual_threads != NULL) {
		struct element v = object_begin(member(&e, "virtual_threads"));
		add_int(&v, "count", r->virtual_threads->count);
		add_int(&v, "mounted", r->virtual_threads->mounted);
		add_bool(&v, "at_least", r->virtual_threads->at_least);
		object_end(&v);
	}
	if (r->collecting != NULL) {
		struct element c = object_begin(member(&e, "collecting"));
		add_bool(&c, "now", r->collecting->now);
		add_string(&c, "name", r->collecting->name);
		add_string(&c, "cause", r->collecting->cause);
		add_int(&c, "number", r->collecting->number);
		add_known(&c, "stopped_permille", r->collecting->stopped_permille);
		object_end(&c);
	}
	if (r->event_loop != NULL) {
		struct element l = object_begin(member(&e, "event_loop"));
		add_int(&l, "late_ms", r->event_loop->late_ms);
		add_int(&l, "requests", r->event_loop->requests);
		object_end(&l);
	}
	if (r->thread_pool != NULL) {
		struct element p = object_begin(member(&e, "thread_pool"));
		add_int(&p, "working", r->thread_pool->working);
		add_int(&p, "threads", r->thread_pool->threads);
		add_int(&p, "most", r->thread_pool->most);
		add_bool(&p, "waits", r->thread_pool->waits);
		add_known(&p, "taken_ms", r->thread_pool->taken_ms);
		if (r->thread_pool->name != NULL) {
			add_string(&p, "name", r->thread_pool->name);
			add_known(&p, "queued", r->thread_pool->queued);
		}
		object_end(&p);
	}
	object_end(&e);
}

static void runtimes_array(struct sw_text *text, const struct sw_report *r)
{
	struct element array = array_begin(text);
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		runtime_object(item(&array), &r->process.runtimes[i]);
	array_end(&array);
}

static void registry_object(struct sw_text *text, const struct sw_report_registry *r)
{
	struct element e = object_begin(text);
	add_string(&e, "name", r->name);
	add_string(&e, "where", r->where);
	add_int(&e, "entries", r->entries);
	object_end(&e);
}

static void registries_array(struct sw_text *text, const struct sw_report *r)
{
	struct element array = array_begin(text);
	for (size_t i = 0; i < r->process.n_registries; i++)
		registry_object(item(&array), &r->process.registries[i]);
	array_end(&array);
}

static void add_crash(struct element *e, const struct sw_report_crash *c)
{
	if (c == NULL)
		return;
	struct element inner = object_begin(member(e, "crash"));
	add_string(&inner, "signal", c->signal);
	add_int(&inner, "number", c->number);
	add_int(&inner, "tid", c->tid);
	add_string(&inner, "code", c->code);
	add_string(&inner, "text", c->text);
	if (c->has_address)
		add_hex(&inner, "address", c->address_avma);
	else
		add_null(&inner, "address");
	add_string(&inner, "access", c->access);
	add_known(&inner, "sender_pid", c->sender_pid > 0 ? c->sender_pid : -1);
	add_known(&inner, "sender_uid", c->sender_uid);
	add_flag(&inner, "stack_overflow", c->stack_overflow);
	if (c->stack_overflow)
		add_known(&inner, "stack_bytes", c->stack_bytes);
	object_end(&inner);
}

static void add_limits(struct element *e, const struct sw_process_limits *limits)
{
	struct element inner = {0}; /* without a text until there is one */
	for (size_t i = 0; i < SW_LIMIT_FIELDS; i++) {
		int64_t value = *sw_limit_field((struct sw_process_limits *) limits, i);
		if (value != 0 && inner.text == NULL)
			inner = object_begin(member(e, "limits"));
		if (value != 0)
			add_int(&inner, sw_limit_name(i), value);
	}
	if (inner.text != NULL)
		object_end(&inner);
}

/* Keys come once: sw_otel_payload_parse(). */
static void add_attributes(struct element *e, const char *key, const struct sw_attribute *all,
			   size_t n)
{
	if (n == 0)
		return;
	struct element inner = object_begin(member(e, key));
	for (size_t i = 0; i < n; i++) {
		struct sw_text *text = item(&inner);
		sw_utf8_append_json_string(text, all[i].key);
		sw_text_append(text, ":", 1);
		sw_utf8_append_json_string(text, all[i].value);
	}
	object_end(&inner);
}

static void process_object(struct sw_text *text, const struct sw_report *r)
{
	struct element e = object_begin(text);
	add_int(&e, "pid", r->process.pid);
	add_uint(&e, "starttime", r->process.starttime);
	add_known(&e, "ppid", r->process.ppid);
	add_known(&e, "uid", r->process.uid != (uid_t) -1 ? (int64_t) r->process.uid : -1);
	add_string(&e, "comm", r->process.comm);
	add_string(&e, "exe", r->process.exe);
	add_string(&e, "cgroup", r->process.cgroup);
	add_string(&e, "unit", r->process.unit);
	add_string(&e, "container", r->process.container);
	add_int(&e, "elf_class", r->process.elf_class);
	runtimes_array(member(&e, "runtimes"), r);
	registries_array(member(&e, "registries"), r);
	add_crash(&e, r->process.crash);
	add_limits(&e, &r->process.limits);
	add_attributes(&e, "resource", r->process.resource, r->process.n_resource);
	object_end(&e);
}

static void timings_object(struct sw_text *text, const struct sw_report *r)
{
	struct element e = object_begin(text);
	add_int(&e, "stopped_us", r->timings.stopped_us);
	add_known(&e, "n_stopped", r->timings.n_stopped);
	add_string(&e, "stopped_why", r->timings.stopped_why);
	add_flag(&e, "realtime_refused", r->timings.realtime_refused);
	add_int(&e, "longest_thread_stop_us", r->timings.longest_thread_stop_us);
	add_int(&e, "attach_us", r->timings.attach_us);
	add_int(&e, "copy_us", r->timings.copy_us);
	add_int(&e, "unwind_us", r->timings.unwind_us);
	add_int(&e, "symbolize_us", r->timings.symbolize_us);
	add_int(&e, "total_us", r->timings.total_us);
	add_uint(&e, "interrupted_calls", r->timings.interrupted_calls);
	object_end(&e);
}

void sw_report_json_shared(struct sw_text *text, const struct sw_report *r)
{
	struct element e = {.text = text, .any = true};
	add_string(&e, "id", r->id);
	add_time(&e, "time", r->time_ns);
	if (r->reason != NULL)
		add_string(&e, "reason", r->reason);
	add_bool(&e, "complete", r->complete);
	process_object(member(&e, "process"), r);
	timings_object(member(&e, "timings"), r);
}

void sw_report_json_head(struct sw_text *text, const struct sw_report *r)
{
	struct element e = object_begin(text);
	add_string(&e, "schema", SW_DUMP_SCHEMA);
	add_string(&e, "id", r->id);
	add_uint(&e, "seq", r->seq);
	add_time(&e, "time", r->time_ns);
	add_known(&e, "uptime_ms", r->process.uptime_ms);
	add_string(&e, "reason", r->reason);
	add_bool(&e, "complete", r->complete);
	host_object(member(&e, "host"), r);
	process_object(member(&e, "process"), r);
	timings_object(member(&e, "timings"), r);
	object_end(&e);
}

static void add_managed(struct element *e, const struct sw_report_managed *m)
{
	if (m == NULL) {
		add_null(e, "managed");
		return;
	}
	struct element inner = object_begin(member(e, "managed"));
	add_string(&inner, "runtime", m->runtime);
	add_known(&inner, "id", m->id);
	add_string(&inner, "name", m->name);
	add_string(&inner, "mode", m->mode);
	add_string(&inner, "role", m->role);
	object_end(&inner);
}

static void add_blocked_on(struct element *e, const struct sw_report_wait *wait, int64_t since_ms)
{
	if (wait == NULL)
		return;
	struct element inner = object_begin(member(e, "blocked_on"));
	add_string(&inner, "kind", wait->kind);
	if (wait->has_address)
		add_hex(&inner, "address", wait->address_avma);
	else
		add_null(&inner, "address");
	add_known(&inner, "fd", wait->fd);
	add_string(&inner, "target", wait->target);
	add_known(&inner, "owner_tid", wait->owner_tid > 0 ? wait->owner_tid : -1);
	add_known(&inner, "owner_pid", wait->owner_pid > 0 ? wait->owner_pid : -1);
	if (wait->owner_name != NULL)
		add_string(&inner, "owner_name", wait->owner_name);
	add_known(&inner, "since_ms", since_ms);
	add_string(&inner, "trust", wait->trust);
	object_end(&inner);
}

static void add_request(struct element *e, const struct sw_report_request *request)
{
	if (request == NULL)
		return;
	struct element inner = object_begin(member(e, "request"));
	add_string(&inner, "runtime", request->runtime);
	add_string(&inner, "method", request->method);
	add_string(&inner, "uri", request->uri);
	add_string(&inner, "script", request->script);
	object_end(&inner);
}

static void add_trace(struct element *e, const struct sw_report_trace *trace)
{
	if (trace == NULL)
		return;
	struct element inner = object_begin(member(e, "trace"));
	add_string(&inner, "trace_id", trace->trace_id);
	add_string(&inner, "span_id", trace->span_id);
	add_bool(&inner, "sampled", trace->sampled);
	add_attributes(&inner, "attributes", trace->attributes, trace->n_attributes);
	object_end(&inner);
}

static void add_pool(struct element *e, const struct sw_report_pool *pool)
{
	if (pool == NULL)
		return;
	struct element inner = object_begin(member(e, "pool"));
	add_string(&inner, "name", pool->name);
	add_hex(&inner, "address", pool->address_avma);
	add_known(&inner, "threads", pool->threads);
	add_known(&inner, "most", pool->most);
	add_known(&inner, "queued", pool->queued);
	object_end(&inner);
}

void sw_report_json_deadlock(struct sw_text *text, const struct sw_report_deadlock *deadlock)
{
	struct element tids = array_begin(text);
	for (size_t i = 0; i < deadlock->n; i++)
		append_int(item(&tids), deadlock->tids[i]);
	array_end(&tids);
}

static void task_name(struct sw_text *text, uint64_t address_avma, const char *name)
{
	struct element e = object_begin(text);
	add_hex(&e, "address", address_avma);
	add_string(&e, "name", name);
	object_end(&e);
}

void sw_report_json_task_wait(struct sw_text *text, const struct sw_report_task_wait *wait)
{
	struct element e = object_begin(text);
	add_string(&e, "runtime", wait->runtime);
	task_name(member(&e, "task"), wait->address_avma, wait->name);
	add_string(&e, "kind", wait->kind);
	add_hex(&e, "object", wait->object_avma);
	if (wait->owner_avma != 0)
		task_name(member(&e, "owner"), wait->owner_avma, wait->owner_name);
	else
		add_null(&e, "owner");
	if (wait->limited)
		add_bool(&e, "limited", true);
	object_end(&e);
}

void sw_report_json_task_deadlock(struct sw_text *text, const struct sw_report *r,
				  const struct sw_report_task_deadlock *deadlock)
{
	struct element tasks = array_begin(text);
	for (size_t i = 0; i < deadlock->n; i++) {
		const struct sw_report_task_wait *wait = &r->task_waits[deadlock->waits[i]];
		task_name(item(&tasks), wait->address_avma, wait->name);
	}
	array_end(&tasks);
}

void sw_report_json_holder(struct sw_text *text, const struct sw_report_holder *holder)
{
	struct element e = object_begin(text);
	add_int(&e, "tid", holder->tid);
	add_int(&e, "pid", holder->pid);
	add_uint(&e, "waiting", holder->waiting);
	if (holder->n_waits_for > 0) {
		struct element pids = array_begin(member(&e, "waits_for"));
		for (size_t i = 0; i < holder->n_waits_for; i++)
			append_int(item(&pids), holder->waits_for[i]);
		array_end(&pids);
	}
	object_end(&e);
}

void sw_report_json_peer(struct sw_text *text, const struct sw_report_peer *peer)
{
	char state[2] = {peer->state, '\0'};
	struct element e = object_begin(text);
	add_int(&e, "pid", peer->pid);
	add_known(&e, "tid", peer->tid > 0 ? peer->tid : -1);
	add_string(&e, "comm", peer->comm);
	add_string(&e, "state", state);
	add_string(&e, "syscall", peer->syscall);
	add_known(&e, "owner_pid", peer->owner_pid > 0 ? peer->owner_pid : -1);
	add_known(&e, "owner_tid", peer->owner_tid > 0 ? peer->owner_tid : -1);
	add_flag(&e, "proven", peer->proven);
	object_end(&e);
}

static void add_tid(struct element *e, const char *key, pid_t tid)
{
	if (tid > 0)
		add_int(e, key, tid);
}

/* Facts that blocked_on has, too, are zero in the structure and left out. */
static void add_undecided(struct element *e, const struct sw_report_undecided *u)
{
	if (u == NULL)
		return;
	struct element inner = object_begin(member(e, "undecided"));
	if (u->is_futex && u->futex.word_avma != 0)
		add_hex(&inner, "word", u->futex.word_avma);
	add_tid(&inner, "mutex_owner", u->futex.mutex_owner);
	add_tid(&inner, "rwlock_owner", u->futex.rwlock_owner);
	add_tid(&inner, "joined", u->futex.joined);
	add_tid(&inner, "stdio_owner", u->futex.stdio_owner);
	add_tid(&inner, "once_owner", u->futex.once_owner);
	if (u->futex.lost_owner != 0)
		add_int(&inner, "lost_owner", u->futex.lost_owner);
	add_flag(&inner, "stdio", u->futex.is_stdio);
	add_flag(&inner, "once_unknown", u->futex.once_unknown);
	if (u->has_proof) {
		add_bool(&inner, "proven", u->proven);
		add_bool(&inner, "stayed", u->stayed);
		add_int(&inner, "instant", u->instant);
	}
	object_end(&inner);
}

void sw_report_json_thread(struct sw_text *text, const struct sw_report_thread *t)
{
	char state[2] = {t->state != '\0' ? t->state : '?', '\0'};
	struct element e = object_begin(text);
	add_int(&e, "tid", t->tid);
	add_string(&e, "comm", t->comm);
	add_string(&e, "state", state);
	add_bool(&e, "captured", t->captured);
	add_string(&e, "captured_by", t->captured_by);
	add_string(&e, "wchan", t->wchan);
	add_string(&e, "syscall", t->syscall);
	add_known(&e, "cpu_ns", t->cpu_ns);
	add_known(&e, "since_ms", t->since_ms);
	add_known(&e, "stack", t->stack);
	add_managed(&e, t->managed);
	add_blocked_on(&e, t->blocked_on, t->since_ms);
	add_request(&e, t->request);
	add_trace(&e, t->trace);
	add_pool(&e, t->pool);
	add_undecided(&e, t->undecided);
	if (t->stop_us >= 0)
		add_int(&e, "stop_us", t->stop_us);
	add_flag(&e, "interrupted", t->interrupted);
	if (t->reason != NULL) {
		add_string(&e, "reason", t->reason);
		add_string(&e, "reason_text", t->reason_text);
	}
	object_end(&e);
}

static void tids_array(struct sw_text *text, const struct sw_report *r,
		       const struct sw_report_stack *s)
{
	struct element tids = array_begin(text);
	for (size_t i = 0; i < s->n_threads; i++)
		append_int(item(&tids), r->threads[s->threads[i]].tid);
	array_end(&tids);
}

static void created_by_object(struct sw_text *text, const struct sw_report_goroutine *g)
{
	struct element e = object_begin(text);
	add_string(&e, "function", g->created_by);
	add_string(&e, "file", g->created_file);
	add_known(&e, "line", g->created_line == 0 ? -1 : (int64_t) g->created_line);
	add_known(&e, "id",
		  g->created_by_id == 0 || g->created_by_id > INT64_MAX
			  ? -1
			  : (int64_t) g->created_by_id);
	object_end(&e);
}

static void goroutine_object(struct sw_text *text, const struct sw_report_goroutine *g)
{
	struct element e = object_begin(text);
	add_uint(&e, "id", g->id);
	add_string(&e, "state", g->state);
	add_string(&e, "wait_reason", g->wait_reason);
	add_known(&e, "since_ms", g->since_ms);
	if (g->created_by != NULL)
		created_by_object(member(&e, "created_by"), g);
	else
		add_null(&e, "created_by");
	add_known(&e, "tid", g->tid > 0 ? g->tid : -1);
	add_flag(&e, "scanned", g->scanned);
	object_end(&e);
}

static void goroutines_array(struct sw_text *text, const struct sw_report_stack *s)
{
	struct element array = array_begin(text);
	for (size_t i = 0; i < s->n_goroutines; i++)
		goroutine_object(item(&array), &s->goroutines[i]);
	array_end(&array);
}

static void add_waits_for(struct element *e, const struct sw_report_task *t)
{
	if (t->waits_for_avma == 0) {
		add_null(e, "waits_for");
		return;
	}
	struct element inner = object_begin(member(e, "waits_for"));
	add_hex(&inner, "address", t->waits_for_avma);
	add_string(&inner, "task", t->waits_for_name);
	object_end(&inner);
}

static void task_object(struct sw_text *text, const struct sw_report_task *t)
{
	struct element e = object_begin(text);
	add_hex(&e, "address", t->address_avma);
	add_string(&e, "name", t->name);
	add_string(&e, "state", t->state);
	add_waits_for(&e, t);
	add_known(&e, "tid", t->tid > 0 ? t->tid : -1);
	if (t->registered != NULL)
		add_string(&e, "registered", t->registered);
	if (t->initial_call != NULL)
		add_string(&e, "initial_call", t->initial_call);
	if (t->has_messages)
		add_uint(&e, "messages", t->messages);
	object_end(&e);
}

static void tasks_array(struct sw_text *text, const struct sw_report_stack *s)
{
	struct element array = array_begin(text);
	for (size_t i = 0; i < s->n_tasks; i++)
		task_object(item(&array), &s->tasks[i]);
	array_end(&array);
}

void sw_report_json_stack(struct sw_text *text, const struct sw_report *r,
			  const struct sw_report_stack *s)
{
	char id[24];
	(void) snprintf(id, sizeof(id), "%016" PRIx64, s->id); /* fits: 16 digits */
	struct element e = object_begin(text);
	add_string(&e, "id", id);
	tids_array(member(&e, "threads"), r, s);
	if (s->n_goroutines > 0)
		goroutines_array(member(&e, "goroutines"), s);
	if (s->n_tasks > 0)
		tasks_array(member(&e, "tasks"), s);
	add_string(&e, "end", s->end);
	add_string(&e, "why", s->why);
	if (s->n_trimmed > 0)
		add_uint(&e, "trimmed", s->n_trimmed);
	if (s->n_left_out > 0) {
		add_uint(&e, "left_out", s->n_left_out);
		add_uint(&e, "left_out_before", s->left_out_before + s->n_kernel_frames);
	}
	object_end(&e);
}

void sw_report_json_frame(struct sw_text *text, const struct sw_report_frame *f)
{
	struct element e = object_begin(text);
	add_hex(&e, "pc", f->pc_avma);
	add_known(&e, "module", f->module);
	if (f->has_offset)
		add_hex(&e, "offset", f->offset);
	else
		add_null(&e, "offset");
	add_string(&e, "function", f->function);
	if (f->function != NULL)
		add_uint(&e, "function_offset", f->function_offset);
	else
		add_null(&e, "function_offset");
	add_string(&e, "file", f->file);
	add_known(&e, "line", f->line == 0 ? -1 : (int64_t) f->line);
	add_known(&e, "line_offset", f->line_offset);
	add_string(&e, "kind", f->kind);
	add_string(&e, "by", f->by);
	add_string(&e, "trust", f->trust);
	add_bool(&e, "inlined", f->inlined);
	add_flag(&e, "signal", f->signal);
	add_flag(&e, "live_read", f->live_read);
	add_flag(&e, "may_miss", f->may_miss);
	add_flag(&e, "after_guess", f->after_guess);
	add_flag(&e, "internal", f->internal);
	if (f->exact_pc != 0)
		add_bool(&e, "exact_pc", f->exact_pc > 0);
	if (f->signature != NULL)
		add_string(&e, "signature", f->signature);
	if (f->tier != NULL)
		add_string(&e, "tier", f->tier);
	object_end(&e);
}

void sw_report_json_module(struct sw_text *text, const struct sw_report_module *m)
{
	struct element e = object_begin(text);
	add_string(&e, "path", m->path);
	add_string(&e, "build_id", m->build_id);
	add_hex(&e, "start", m->start_avma);
	add_hex(&e, "end", m->end_avma);
	add_string(&e, "format", m->format);
	add_string(&e, "symbols", m->symbols);
	if (m->symbols_why != NULL)
		add_string(&e, "symbols_why", m->symbols_why);
	add_flag(&e, "deleted", m->deleted);
	if (m->problem != NULL)
		add_string(&e, "problem", m->problem);
	if (m->debug_package != NULL)
		add_string(&e, "debug_package", m->debug_package);
	object_end(&e);
}

void sw_report_json_warning(struct sw_text *text, const struct sw_report_warning *w)
{
	struct element e = object_begin(text);
	add_string(&e, "code", w->code);
	add_known(&e, "tid", w->tid == 0 ? -1 : w->tid);
	add_string(&e, "message", w->message);
	object_end(&e);
}

void sw_report_json_hint(struct sw_text *text, const struct sw_report_hint *hint)
{
	struct element e = object_begin(text);
	add_string(&e, "code", hint->code);
	add_string(&e, "message", hint->message);
	object_end(&e);
}
