/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The elements of a dump as json-c objects. Fields and their rules are in snapwalk-dump.schema.json
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

/* An object in the making. json-c's null is a NULL pointer, and so is its "out of memory": that is
 * why null is added by add_null() only, and every other NULL sets failed. */
struct element {
	struct json_object *object; /* owned */
	struct sw_text clean;       /* the string that is being added */
	bool failed;                /* asked once, in element_end() */
};

static struct element element_begin(void)
{
	struct json_object *object = json_object_new_object();
	return (struct element){.object = object, .failed = object == NULL};
}

static struct json_object *element_end(struct element *e)
{
	sw_text_deinit(&e->clean);
	if (!e->failed)
		return e->object;
	(void) json_object_put(e->object); /* whether it was the last reference */
	return NULL;
}

/* Every key is a literal and is added once: json-c need neither copy nor look for it. */
static int add_to(struct element *e, const char *key, struct json_object *value)
{
	return json_object_object_add_ex(e->object, key, value,
					 JSON_C_OBJECT_ADD_KEY_IS_NEW |
						 JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

/* Consumes the value, also on failure. */
static void add(struct element *e, const char *key, struct json_object *value)
{
	if (!e->failed && value != NULL && add_to(e, key, value) == 0)
		return;
	(void) json_object_put(value); /* NULL is legal */
	e->failed = true;
}

static void add_null(struct element *e, const char *key)
{
	e->failed = e->failed || add_to(e, key, NULL) < 0;
}

/* NULL: unknown. */
static void add_string(struct element *e, const char *key, const char *value)
{
	if (value == NULL) {
		add_null(e, key);
		return;
	}
	e->clean.size = 0;
	sw_utf8_append(&e->clean, value, strlen(value));
	add(e, key, e->clean.failed ? NULL : json_object_new_string(e->clean.data));
}

static void add_int(struct element *e, const char *key, int64_t value)
{
	add(e, key, json_object_new_int64(value));
}

/* Above 2^63 - 1 it is written as that: readers take integers as int64 at most. */
static void add_uint(struct element *e, const char *key, uint64_t value)
{
	add_int(e, key, value > INT64_MAX ? INT64_MAX : (int64_t) value);
}

/* Negative: unknown. */
static void add_known(struct element *e, const char *key, int64_t value)
{
	if (value < 0)
		add_null(e, key);
	else
		add_int(e, key, value);
}

/* Addresses are strings, because many readers keep 53 bits of a number. */
static void add_hex(struct element *e, const char *key, uint64_t value)
{
	char text[24];
	(void) snprintf(text, sizeof(text), "0x%" PRIx64, value); /* fits: 18 digits at most */
	add(e, key, json_object_new_string(text));
}

static void add_bool(struct element *e, const char *key, bool value)
{
	add(e, key, json_object_new_boolean(value));
}

/* For fields that are there only when they are true. */
static void add_flag(struct element *e, const char *key, bool value)
{
	if (value)
		add_bool(e, key, true);
}

static void add_time(struct element *e, const char *key, int64_t time_ns)
{
	char stamp[64], text[96];
	sw_utc_format(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", time_ns);
	(void) snprintf(text, sizeof(text), "%s.%06dZ", stamp,
			(int) (time_ns % 1000000000 / 1000)); /* RFC 3339, fits */
	add_string(e, key, text);
}

static struct json_object *host_object(const struct sw_report *r)
{
	struct element e = element_begin();
	add_string(&e, "name", r->host_name);
	add_string(&e, "kernel", r->host_kernel);
	add_string(&e, "machine", r->host_machine);
	return element_end(&e);
}

/* Consumes the element, also on failure, after which there is no array. */
static void append_to(struct json_object **array, struct json_object *element)
{
	if (*array != NULL && element != NULL && json_object_array_add(*array, element) == 0)
		return;
	(void) json_object_put(element); /* NULL is legal */
	(void) json_object_put(*array);  /* likewise */
	*array = NULL;
}

static struct json_object *runtime_object(const struct sw_report_runtime *r)
{
	struct element e = element_begin();
	add_string(&e, "name", r->name);
	add_string(&e, "version", r->version);
	add_string(&e, "where", r->where);
	if (r->virtual_threads != NULL) {
		struct element v = element_begin();
		add_int(&v, "count", r->virtual_threads->count);
		add_int(&v, "mounted", r->virtual_threads->mounted);
		add_bool(&v, "at_least", r->virtual_threads->at_least);
		add(&e, "virtual_threads", element_end(&v));
	}
	if (r->collecting != NULL) {
		struct element c = element_begin();
		add_bool(&c, "now", r->collecting->now);
		add_string(&c, "name", r->collecting->name);
		add_string(&c, "cause", r->collecting->cause);
		add_int(&c, "number", r->collecting->number);
		add_known(&c, "stopped_permille", r->collecting->stopped_permille);
		add(&e, "collecting", element_end(&c));
	}
	if (r->event_loop != NULL) {
		struct element l = element_begin();
		add_int(&l, "late_ms", r->event_loop->late_ms);
		add_int(&l, "requests", r->event_loop->requests);
		add(&e, "event_loop", element_end(&l));
	}
	if (r->thread_pool != NULL) {
		struct element p = element_begin();
		add_int(&p, "working", r->thread_pool->working);
		add_int(&p, "threads", r->thread_pool->threads);
		add_int(&p, "most", r->thread_pool->most);
		add_bool(&p, "waits", r->thread_pool->waits);
		add_known(&p, "taken_ms", r->thread_pool->taken_ms);
		add(&e, "thread_pool", element_end(&p));
	}
	return element_end(&e);
}

static struct json_object *runtimes_array(const struct sw_report *r)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		append_to(&array, runtime_object(&r->process.runtimes[i]));
	return array;
}

static struct json_object *registry_object(const struct sw_report_registry *r)
{
	struct element e = element_begin();
	add_string(&e, "name", r->name);
	add_string(&e, "where", r->where);
	add_int(&e, "entries", r->entries);
	return element_end(&e);
}

static struct json_object *registries_array(const struct sw_report *r)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < r->process.n_registries; i++)
		append_to(&array, registry_object(&r->process.registries[i]));
	return array;
}

static void add_crash(struct element *e, const struct sw_report_crash *c)
{
	if (c == NULL)
		return;
	struct element inner = element_begin();
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
	add(e, "crash", element_end(&inner));
}

static void add_limits(struct element *e, const struct sw_process_limits *limits)
{
	struct element inner = element_begin();
	bool any = false;
	for (size_t i = 0; i < SW_LIMIT_FIELDS; i++) {
		int64_t value = *sw_limit_field((struct sw_process_limits *) limits, i);
		any |= value != 0;
		if (value != 0)
			add_int(&inner, sw_limit_name(i), value);
	}
	if (any)
		add(e, "limits", element_end(&inner));
	else
		json_object_put(element_end(&inner));
}

/* Keys are of ASCII, and come once: sw_otel_payload_parse(). */
static void add_resource(struct element *e, const struct sw_report *r)
{
	struct element inner = element_begin();
	for (size_t i = 0; i < r->process.n_resource; i++)
		add_string(&inner, r->process.resource[i].key, r->process.resource[i].value);
	if (r->process.n_resource > 0)
		add(e, "resource", element_end(&inner));
	else
		json_object_put(element_end(&inner));
}

static struct json_object *process_object(const struct sw_report *r)
{
	struct element e = element_begin();
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
	add(&e, "runtimes", runtimes_array(r));
	add(&e, "registries", registries_array(r));
	add_crash(&e, r->process.crash);
	add_limits(&e, &r->process.limits);
	add_resource(&e, r);
	return element_end(&e);
}

static struct json_object *timings_object(const struct sw_report *r)
{
	struct element e = element_begin();
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
	return element_end(&e);
}

struct json_object *sw_report_json_head(const struct sw_report *r)
{
	struct element e = element_begin();
	add_string(&e, "schema", SW_DUMP_SCHEMA);
	add_string(&e, "id", r->id);
	add_uint(&e, "seq", r->seq);
	add_time(&e, "time", r->time_ns);
	add_known(&e, "uptime_ms", r->process.uptime_ms);
	add_string(&e, "reason", r->reason);
	add_bool(&e, "complete", r->complete);
	add(&e, "host", host_object(r));
	add(&e, "process", process_object(r));
	add(&e, "timings", timings_object(r));
	return element_end(&e);
}

static void add_managed(struct element *e, const struct sw_report_managed *m)
{
	if (m == NULL) {
		add_null(e, "managed");
		return;
	}
	struct element inner = element_begin();
	add_string(&inner, "runtime", m->runtime);
	add_known(&inner, "id", m->id);
	add_string(&inner, "name", m->name);
	add_string(&inner, "mode", m->mode);
	add_string(&inner, "role", m->role);
	add(e, "managed", element_end(&inner));
}

static void add_blocked_on(struct element *e, const struct sw_report_wait *wait, int64_t since_ms)
{
	if (wait == NULL)
		return;
	struct element inner = element_begin();
	add_string(&inner, "kind", wait->kind);
	if (wait->has_address)
		add_hex(&inner, "address", wait->address_avma);
	else
		add_null(&inner, "address");
	add_known(&inner, "fd", wait->fd);
	add_string(&inner, "target", wait->target);
	add_known(&inner, "owner_tid", wait->owner_tid > 0 ? wait->owner_tid : -1);
	add_known(&inner, "owner_pid", wait->owner_pid > 0 ? wait->owner_pid : -1);
	add_known(&inner, "since_ms", since_ms);
	add_string(&inner, "trust", wait->trust);
	add(e, "blocked_on", element_end(&inner));
}

static void add_request(struct element *e, const struct sw_report_request *request)
{
	if (request == NULL)
		return;
	struct element inner = element_begin();
	add_string(&inner, "runtime", request->runtime);
	add_string(&inner, "method", request->method);
	add_string(&inner, "uri", request->uri);
	add_string(&inner, "script", request->script);
	add(e, "request", element_end(&inner));
}

struct json_object *sw_report_json_deadlock(const struct sw_report_deadlock *deadlock)
{
	struct json_object *tids = json_object_new_array();
	for (size_t i = 0; i < deadlock->n; i++)
		append_to(&tids, json_object_new_int64(deadlock->tids[i]));
	return tids;
}

static struct json_object *task_name(uint64_t address_avma, const char *name)
{
	struct element e = element_begin();
	add_hex(&e, "address", address_avma);
	add_string(&e, "name", name);
	return element_end(&e);
}

struct json_object *sw_report_json_task_wait(const struct sw_report_task_wait *wait)
{
	struct element e = element_begin();
	add_string(&e, "runtime", wait->runtime);
	add(&e, "task", task_name(wait->address_avma, wait->name));
	add_string(&e, "kind", wait->kind);
	add_hex(&e, "object", wait->object_avma);
	if (wait->owner_avma != 0)
		add(&e, "owner", task_name(wait->owner_avma, wait->owner_name));
	else
		add_null(&e, "owner");
	if (wait->limited)
		add_bool(&e, "limited", true);
	return element_end(&e);
}

struct json_object *sw_report_json_task_deadlock(const struct sw_report *r,
						 const struct sw_report_task_deadlock *deadlock)
{
	struct json_object *tasks = json_object_new_array();
	for (size_t i = 0; i < deadlock->n; i++) {
		const struct sw_report_task_wait *wait = &r->task_waits[deadlock->waits[i]];
		append_to(&tasks, task_name(wait->address_avma, wait->name));
	}
	return tasks;
}

struct json_object *sw_report_json_holder(const struct sw_report_holder *holder)
{
	struct element e = element_begin();
	add_int(&e, "tid", holder->tid);
	add_int(&e, "pid", holder->pid);
	add_uint(&e, "waiting", holder->waiting);
	if (holder->n_waits_for > 0) {
		struct json_object *pids = json_object_new_array();
		for (size_t i = 0; i < holder->n_waits_for; i++)
			append_to(&pids, json_object_new_int64(holder->waits_for[i]));
		add(&e, "waits_for", pids);
	}
	return element_end(&e);
}

struct json_object *sw_report_json_peer(const struct sw_report_peer *peer)
{
	char state[2] = {peer->state, '\0'};
	struct element e = element_begin();
	add_int(&e, "pid", peer->pid);
	add_known(&e, "tid", peer->tid > 0 ? peer->tid : -1);
	add_string(&e, "comm", peer->comm);
	add_string(&e, "state", state);
	add_string(&e, "syscall", peer->syscall);
	add_known(&e, "owner_pid", peer->owner_pid > 0 ? peer->owner_pid : -1);
	add_known(&e, "owner_tid", peer->owner_tid > 0 ? peer->owner_tid : -1);
	add_flag(&e, "proven", peer->proven);
	return element_end(&e);
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
	struct element inner = element_begin();
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
	add(e, "undecided", element_end(&inner));
}

struct json_object *sw_report_json_thread(const struct sw_report_thread *t)
{
	char state[2] = {t->state != '\0' ? t->state : '?', '\0'};
	struct element e = element_begin();
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
	add_undecided(&e, t->undecided);
	if (t->stop_us >= 0)
		add_int(&e, "stop_us", t->stop_us);
	add_flag(&e, "interrupted", t->interrupted);
	if (t->reason != NULL) {
		add_string(&e, "reason", t->reason);
		add_string(&e, "reason_text", t->reason_text);
	}
	return element_end(&e);
}

static struct json_object *tids_array(const struct sw_report *r, const struct sw_report_stack *s)
{
	struct json_object *tids = json_object_new_array();
	for (size_t i = 0; i < s->n_threads; i++)
		append_to(&tids, json_object_new_int64(r->threads[s->threads[i]].tid));
	return tids;
}

static struct json_object *created_by_object(const struct sw_report_goroutine *g)
{
	struct element e = element_begin();
	add_string(&e, "function", g->created_by);
	add_string(&e, "file", g->created_file);
	add_known(&e, "line", g->created_line == 0 ? -1 : (int64_t) g->created_line);
	add_known(&e, "id",
		  g->created_by_id == 0 || g->created_by_id > INT64_MAX
			  ? -1
			  : (int64_t) g->created_by_id);
	return element_end(&e);
}

static struct json_object *goroutine_object(const struct sw_report_goroutine *g)
{
	struct element e = element_begin();
	add_uint(&e, "id", g->id);
	add_string(&e, "state", g->state);
	add_string(&e, "wait_reason", g->wait_reason);
	add_known(&e, "since_ms", g->since_ms);
	if (g->created_by != NULL)
		add(&e, "created_by", created_by_object(g));
	else
		add_null(&e, "created_by");
	add_known(&e, "tid", g->tid > 0 ? g->tid : -1);
	add_flag(&e, "scanned", g->scanned);
	return element_end(&e);
}

static struct json_object *goroutines_array(const struct sw_report_stack *s)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < s->n_goroutines; i++)
		append_to(&array, goroutine_object(&s->goroutines[i]));
	return array;
}

static void add_waits_for(struct element *e, const struct sw_report_task *t)
{
	if (t->waits_for_avma == 0) {
		add_null(e, "waits_for");
		return;
	}
	struct element inner = element_begin();
	add_hex(&inner, "address", t->waits_for_avma);
	add_string(&inner, "task", t->waits_for_name);
	add(e, "waits_for", element_end(&inner));
}

static struct json_object *task_object(const struct sw_report_task *t)
{
	struct element e = element_begin();
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
	return element_end(&e);
}

static struct json_object *tasks_array(const struct sw_report_stack *s)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < s->n_tasks; i++)
		append_to(&array, task_object(&s->tasks[i]));
	return array;
}

struct json_object *sw_report_json_stack(const struct sw_report *r, const struct sw_report_stack *s)
{
	char id[24];
	(void) snprintf(id, sizeof(id), "%016" PRIx64, s->id); /* fits: 16 digits */
	struct element e = element_begin();
	add_string(&e, "id", id);
	add(&e, "threads", tids_array(r, s));
	if (s->n_goroutines > 0)
		add(&e, "goroutines", goroutines_array(s));
	if (s->n_tasks > 0)
		add(&e, "tasks", tasks_array(s));
	add_string(&e, "end", s->end);
	add_string(&e, "why", s->why);
	if (s->n_trimmed > 0)
		add_uint(&e, "trimmed", s->n_trimmed);
	if (s->n_left_out > 0) {
		add_uint(&e, "left_out", s->n_left_out);
		add_uint(&e, "left_out_before", s->left_out_before + s->n_kernel_frames);
	}
	return element_end(&e);
}

struct json_object *sw_report_json_frame(const struct sw_report_frame *f)
{
	struct element e = element_begin();
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
	return element_end(&e);
}

struct json_object *sw_report_json_module(const struct sw_report_module *m)
{
	struct element e = element_begin();
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
	return element_end(&e);
}

struct json_object *sw_report_json_warning(const struct sw_report_warning *w)
{
	struct element e = element_begin();
	add_string(&e, "code", w->code);
	add_known(&e, "tid", w->tid == 0 ? -1 : w->tid);
	add_string(&e, "message", w->message);
	return element_end(&e);
}

struct json_object *sw_report_json_hint(const struct sw_report_hint *hint)
{
	struct element e = element_begin();
	add_string(&e, "code", hint->code);
	add_string(&e, "message", hint->message);
	return element_end(&e);
}
