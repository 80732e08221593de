/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements of a dump: modules, threads, stacks with their frames, and warnings. */
#include "report/limits.h"
#include "report/task_waits.h"
#include "report/parse/elements.h"
#include "report/parse/fields.h"

#include <string.h>

enum { RESOURCE_MAX = 64, TRACE_ATTRIBUTES_MAX = 256 };

/* The name of a Debian package (Debian Policy, 5.6.1), which becomes a word of a command that is recommended. Anything else
 * in a file that came from anywhere is none. */
static const char *package_or_null(struct sw_report_parser *p, const char *member)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char all[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
	const char *name = sw_parse_string_or_null(p, member);
	if (name == NULL || name[0] == '\0' || strchr(first, name[0]) == NULL)
		return NULL;
	return name[strspn(name, all)] == '\0' ? name : NULL;
}

void sw_parse_module(struct sw_report_parser *p, size_t index)
{
	p->report->modules[index] = (struct sw_report_module){
		.path = sw_parse_string(p, "path"),
		.build_id = sw_parse_hex_text_or_null(p, "build_id"),
		.start_avma = sw_parse_address(p, "start"),
		.end_avma = sw_parse_address(p, "end"),
		.format = sw_parse_word(p, "format"),
		.symbols = sw_parse_word(p, "symbols"),
		.symbols_why = sw_parse_string_or_null(p, "symbols_why"),
		.problem = sw_parse_string_or_null(p, "problem"),
		.deleted = sw_parse_flag(p, "deleted"),
		.debug_package = package_or_null(p, "debug_package"),
	};
}

/* The name of an attribute: ASCII without blanks. */
static bool is_key(const char *s)
{
	size_t i = 0;
	while (s[i] > ' ' && s[i] < 0x7f)
		i++;
	return i > 0 && s[i] == '\0';
}

/* An object within the element that is read becomes what is read. */
static const struct sw_json *into(struct sw_report_parser *p, const struct sw_json *inner,
				  const char *what)
{
	const struct sw_json *around = p->from;
	p->from = inner;
	p->what = what;
	return around;
}

/* An object, or an array of objects, within the element that is read. */
struct objects {
	const char *name, *what; /* of the member, of one object */
	size_t size;             /* of the structure that an object becomes */
	void (*read)(struct sw_report_parser *p, void *to);
};

/* The structure; NULL when there is no such object. */
static void *read_object(struct sw_report_parser *p, const struct objects *o)
{
	const struct sw_json *inner = sw_json_member(p->from, o->name);
	if (inner == NULL || inner->type == SW_JSON_NULL)
		return NULL;
	void *structure = sw_parse_calloc(p, 1, o->size);
	if (inner->type != SW_JSON_OBJECT)
		sw_parse_fail(p, o->name);
	if (structure == NULL || p->status < 0)
		return NULL;
	const char *what = p->what;
	const struct sw_json *around = into(p, inner, o->what);
	o->read(p, structure);
	(void) into(p, around, what);
	return structure;
}

static bool all_objects(const struct sw_json *array)
{
	if (array->type != SW_JSON_ARRAY)
		return false;
	for (const struct sw_json *v = sw_json_first(array); v != NULL; v = sw_json_next(array, v))
		if (v->type != SW_JSON_OBJECT)
			return false;
	return true;
}

/* The structures, *ret_n of them; NULL when there is no array or it is empty. */
static void *read_objects(struct sw_report_parser *p, const struct objects *o, size_t *ret_n)
{
	const struct sw_json *array = sw_json_member(p->from, o->name), *v;
	*ret_n = 0;
	if (array == NULL || array->type == SW_JSON_NULL)
		return NULL;
	if (!all_objects(array))
		sw_parse_fail(p, o->name);
	if (p->status < 0 || array->n == 0)
		return NULL;
	const char *what = p->what;
	char *structures = sw_parse_calloc(p, array->n, o->size), *to = structures;
	if (structures == NULL)
		return NULL;
	for (v = sw_json_first(array); v != NULL; v = sw_json_next(array, v), to += o->size) {
		const struct sw_json *around = into(p, v, o->what);
		o->read(p, to);
		(void) into(p, around, what);
	}
	*ret_n = array->n;
	return structures;
}

/* 0: unknown. */
static pid_t read_pid(struct sw_report_parser *p, const char *name)
{
	int64_t pid = sw_parse_known(p, name, INT32_MAX);
	return pid > 0 ? (pid_t) pid : 0;
}

static void read_virtual_threads(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_virtual_threads *) to = (struct sw_report_virtual_threads){
		.count = sw_parse_int(p, "count", 0, INT64_MAX),
		.mounted = sw_parse_int(p, "mounted", 0, INT64_MAX),
		.at_least = sw_parse_bool(p, "at_least"),
	};
}

static void read_collecting(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_collecting *) to = (struct sw_report_collecting){
		.now = sw_parse_bool(p, "now"),
		.name = sw_parse_string_or_null(p, "name"),
		.cause = sw_parse_string_or_null(p, "cause"),
		.number = sw_parse_int(p, "number", 0, INT64_MAX),
		.stopped_permille = sw_parse_known(p, "stopped_permille", 1000),
	};
}

static void read_event_loop(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_event_loop *) to = (struct sw_report_event_loop){
		.late_ms = sw_parse_int(p, "late_ms", 0, INT64_MAX),
		.requests = sw_parse_int(p, "requests", 0, INT64_MAX),
	};
}

static void read_thread_pool(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_thread_pool *) to = (struct sw_report_thread_pool){
		.working = sw_parse_int(p, "working", 0, INT64_MAX),
		.threads = sw_parse_int(p, "threads", 0, INT64_MAX),
		.most = sw_parse_int(p, "most", 0, INT64_MAX),
		.taken_ms = sw_parse_known(p, "taken_ms", INT64_MAX),
		.waits = sw_parse_bool(p, "waits"),
		.name = sw_parse_string_or_null(p, "name"),
		.queued = sw_parse_known(p, "queued", INT64_MAX),
	};
}

static void read_runtime(struct sw_report_parser *p, void *to)
{
	static const struct objects virtual_threads = {"virtual_threads", "virtual_threads",
						       sizeof(struct sw_report_virtual_threads),
						       read_virtual_threads};
	static const struct objects collecting = {"collecting", "collecting",
						  sizeof(struct sw_report_collecting),
						  read_collecting};
	static const struct objects event_loop = {"event_loop", "event_loop",
						  sizeof(struct sw_report_event_loop),
						  read_event_loop};
	static const struct objects thread_pool = {"thread_pool", "thread_pool",
						   sizeof(struct sw_report_thread_pool),
						   read_thread_pool};
	*(struct sw_report_runtime *) to = (struct sw_report_runtime){
		.name = sw_parse_string(p, "name"),
		.version = sw_parse_string_or_null(p, "version"),
		.where = sw_parse_string_or_null(p, "where"),
		.virtual_threads = read_object(p, &virtual_threads),
		.collecting = read_object(p, &collecting),
		.event_loop = read_object(p, &event_loop),
		.thread_pool = read_object(p, &thread_pool),
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

static void read_crash(struct sw_report_parser *p, void *to)
{
	struct sw_report_crash *crash = to;
	*crash = (struct sw_report_crash){
		.signal = sw_parse_string(p, "signal"),
		.number = sw_parse_int(p, "number", 1, UINT32_MAX),
		.tid = (pid_t) sw_parse_int(p, "tid", 1, INT32_MAX),
		.code = sw_parse_string_or_null(p, "code"),
		.text = sw_parse_string_or_null(p, "text"),
		.access = sw_parse_string_or_null(p, "access"),
		.sender_pid = read_pid(p, "sender_pid"),
		.sender_uid = sw_parse_known(p, "sender_uid", UINT32_MAX),
		.stack_overflow = sw_parse_flag(p, "stack_overflow"),
		.stack_bytes = sw_parse_known(p, "stack_bytes", INT64_MAX),
	};
	crash->has_address = sw_parse_address_or_null(p, "address", &crash->address_avma);
}

void sw_parse_crash(struct sw_report_parser *p)
{
	static const struct objects crash = {"crash", "crash", sizeof(struct sw_report_crash),
					     read_crash};
	p->report->process.crash = read_object(p, &crash);
}

static void read_limits(struct sw_report_parser *p, void *to)
{
	for (size_t i = 0; i < SW_LIMIT_FIELDS; i++) {
		int64_t value = sw_parse_known(p, sw_limit_name(i), INT64_MAX);
		*sw_limit_field(to, i) = value > 0 ? value : 0;
	}
}

void sw_parse_limits(struct sw_report_parser *p)
{
	static const struct objects limits = {"limits", "limits", sizeof(struct sw_process_limits),
					      read_limits};
	const struct sw_process_limits *got = read_object(p, &limits);
	if (got != NULL)
		p->report->process.limits = *got;
}

/* An object whose members are strings; NULL: there is none. */
static const struct sw_attribute *attributes_read(struct sw_report_parser *p, const char *name,
						  size_t max, size_t *ret_n)
{
	const struct sw_json *from = sw_json_member(p->from, name);
	*ret_n = 0;
	if (from == NULL || from->type == SW_JSON_NULL)
		return NULL;
	if (from->type != SW_JSON_OBJECT || from->n > max) {
		sw_parse_fail(p, name);
		return NULL;
	}
	struct sw_attribute *to = sw_parse_calloc(p, from->n, sizeof(*to));
	const char *what = p->what;
	const struct sw_json *around = into(p, from, name);
	const struct sw_json *member = from + 1;
	for (uint32_t i = 0; to != NULL && i < from->n; i++, member += member->span) {
		const char *key = sw_arena_strdup(p->arena, member->name);
		if (key == NULL)
			sw_parse_fail_nomem(p);
		else if (!is_key(key))
			sw_parse_fail(p, name);
		to[i] = (struct sw_attribute){key, sw_parse_string(p, member->name)};
	}
	(void) into(p, around, what);
	*ret_n = to != NULL ? from->n : 0;
	return to;
}

void sw_parse_resource(struct sw_report_parser *p)
{
	p->report->process.resource =
		attributes_read(p, "resource", RESOURCE_MAX, &p->report->process.n_resource);
}

static void read_managed(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_managed *) to = (struct sw_report_managed){
		.runtime = sw_parse_string(p, "runtime"),
		.id = sw_parse_known(p, "id", INT64_MAX),
		.name = sw_parse_string_or_null(p, "name"),
		.mode = sw_parse_string_or_null(p, "mode"),
		.role = sw_parse_string_or_null(p, "role"),
	};
}

static void read_pool(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_pool *) to = (struct sw_report_pool){
		.name = sw_parse_string(p, "name"),
		.address_avma = sw_parse_address(p, "address"),
		.threads = sw_parse_known(p, "threads", INT64_MAX),
		.most = sw_parse_known(p, "most", INT64_MAX),
		.queued = sw_parse_known(p, "queued", INT64_MAX),
	};
}

static void read_blocked_on(struct sw_report_parser *p, void *to)
{
	struct sw_report_wait *wait = to;
	*wait = (struct sw_report_wait){
		.kind = sw_parse_word(p, "kind"),
		.fd = sw_parse_known(p, "fd", INT32_MAX),
		.target = sw_parse_string_or_null(p, "target"),
		.owner_tid = read_pid(p, "owner_tid"),
		.owner_pid = read_pid(p, "owner_pid"),
		.owner_name = sw_parse_string_or_null(p, "owner_name"),
		.trust = sw_parse_word(p, "trust"),
	};
	wait->has_address = sw_parse_address_or_null(p, "address", &wait->address_avma);
}

static void read_request(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_request *) to = (struct sw_report_request){
		.runtime = sw_parse_string(p, "runtime"),
		.method = sw_parse_string_or_null(p, "method"),
		.uri = sw_parse_string_or_null(p, "uri"),
		.script = sw_parse_string_or_null(p, "script"),
	};
}

/* Hex digits of a number of bytes; NULL: none. */
static const char *read_id(struct sw_report_parser *p, const char *name, size_t bytes)
{
	const char *s = sw_parse_string_or_null(p, name);
	if (s != NULL && (strlen(s) != 2 * bytes || strspn(s, "0123456789abcdef") != 2 * bytes))
		sw_parse_fail(p, name);
	return s;
}

static void read_trace(struct sw_report_parser *p, void *to)
{
	struct sw_report_trace *trace = to;
	*trace = (struct sw_report_trace){
		.trace_id = read_id(p, "trace_id", 16),
		.span_id = read_id(p, "span_id", 8),
		.sampled = sw_parse_bool(p, "sampled"),
	};
	trace->attributes =
		attributes_read(p, "attributes", TRACE_ATTRIBUTES_MAX, &trace->n_attributes);
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

static void read_peer(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_peer *) to = (struct sw_report_peer){
		.pid = (pid_t) sw_parse_int(p, "pid", 1, INT32_MAX),
		.tid = read_pid(p, "tid"),
		.comm = sw_parse_string(p, "comm"),
		.state = read_state(p),
		.syscall = sw_parse_string_or_null(p, "syscall"),
		.owner_pid = read_pid(p, "owner_pid"),
		.owner_tid = read_pid(p, "owner_tid"),
	};
}

static const pid_t *read_pids(struct sw_report_parser *p, const struct sw_json *from,
			      const char *name, size_t *ret_n)
{
	pid_t *to = sw_parse_calloc(p, from->n, sizeof(*to));
	for (const struct sw_json *v = sw_json_first(from); to != NULL && v != NULL;
	     v = sw_json_next(from, v)) {
		if (v->type != SW_JSON_INTEGER || v->integer < 1 || v->integer > INT32_MAX)
			sw_parse_fail(p, name);
		else
			to[(*ret_n)++] = (pid_t) v->integer;
	}
	return to;
}

static void read_deadlock(struct sw_report_parser *p, const struct sw_json *tids,
			  struct sw_report_deadlock *ret)
{
	ret->tids = read_pids(p, tids, "deadlocks", &ret->n);
}

static void read_holder(struct sw_report_parser *p, void *to)
{
	struct sw_report_holder *ret = to;
	const struct sw_json *waits_for = sw_json_member(p->from, "waits_for");
	*ret = (struct sw_report_holder){
		.tid = (pid_t) sw_parse_int(p, "tid", 1, INT32_MAX),
		.pid = (pid_t) sw_parse_int(p, "pid", 1, INT32_MAX),
		.waiting = (size_t) sw_parse_int(p, "waiting", 1, INT64_MAX),
	};
	if (waits_for == NULL)
		return;
	if (waits_for->type == SW_JSON_ARRAY && waits_for->n > 0)
		ret->waits_for = read_pids(p, waits_for, "waits_for", &ret->n_waits_for);
	else
		sw_parse_fail(p, "waits_for");
}

static void read_hint(struct sw_report_parser *p, void *to)
{
	*(struct sw_report_hint *) to = (struct sw_report_hint){
		.code = sw_parse_word(p, "code"),
		.message = sw_parse_string(p, "message"),
	};
}

void sw_parse_hints(struct sw_report_parser *p)
{
	static const struct objects hints = {"hints", "hint", sizeof(struct sw_report_hint),
					     read_hint};
	p->report->hints = read_objects(p, &hints, &p->report->n_hints);
}

void sw_parse_wait_graph(struct sw_report_parser *p)
{
	static const struct objects holders = {"root_holders", "root holder",
					       sizeof(struct sw_report_holder), read_holder};
	static const struct objects peers = {"peers", "peer", sizeof(struct sw_report_peer),
					     read_peer};
	struct sw_report *r = p->report;
	r->peers = read_objects(p, &peers, &r->n_peers);
	r->root_holders = read_objects(p, &holders, &r->n_root_holders);
	const struct sw_json *array = sw_json_member(p->from, "deadlocks"), *v;
	if (array == NULL || array->type == SW_JSON_NULL)
		return;
	if (array->type != SW_JSON_ARRAY)
		sw_parse_fail(p, "deadlocks");
	if (p->status < 0 || array->n == 0)
		return;
	r->deadlocks = sw_parse_calloc(p, array->n, sizeof(*r->deadlocks));
	for (v = sw_json_first(array); r->deadlocks != NULL && v != NULL;
	     v = sw_json_next(array, v)) {
		if (v->type == SW_JSON_ARRAY && v->n > 0)
			read_deadlock(p, v, &r->deadlocks[r->n_deadlocks++]);
		else
			sw_parse_fail(p, "deadlocks");
	}
}

struct task_name {
	uint64_t address_avma; /* 0: null */
	const char *name;
};

static void read_task_name(struct sw_report_parser *p, void *to)
{
	struct task_name *ret = to;
	ret->address_avma = sw_parse_address(p, "address");
	ret->name = sw_parse_string(p, "name");
}

static void read_task_wait(struct sw_report_parser *p, void *to)
{
	static const struct objects task = {"task", "task", sizeof(struct task_name),
					    read_task_name};
	static const struct objects owner = {"owner", "owner", sizeof(struct task_name),
					     read_task_name};
	const struct task_name *of = read_object(p, &task), *has = read_object(p, &owner);
	*(struct sw_report_task_wait *) to = (struct sw_report_task_wait){
		.runtime = sw_parse_word(p, "runtime"),
		.address_avma = of != NULL ? of->address_avma : 0,
		.name = of != NULL ? of->name : NULL,
		.kind = sw_parse_word(p, "kind"),
		.object_avma = sw_parse_address(p, "object"),
		.owner_avma = has != NULL ? has->address_avma : 0,
		.owner_name = has != NULL ? has->name : NULL,
		.limited = sw_parse_flag(p, "limited"),
	};
	if (of == NULL)
		sw_parse_fail(p, "task");
}

/* Parse the waits of tasks; deadlocks of these are found anew. */
void sw_parse_task_waits(struct sw_report_parser *p)
{
	static const struct objects waits = {"task_waits", "task",
					     sizeof(struct sw_report_task_wait), read_task_wait};
	struct sw_report *r = p->report;
	r->task_waits = read_objects(p, &waits, &r->n_task_waits);
	if (p->status == 0 && r->n_task_waits > 0 && !sw_report_find_task_deadlocks(r, p->arena))
		sw_parse_fail_nomem(p);
}

static void read_undecided(struct sw_report_parser *p, void *to)
{
	struct sw_report_undecided *u = to;
	struct sw_report_futex *f = &u->futex;
	u->is_futex = sw_parse_address_or_null(p, "word", &f->word_avma);
	f->mutex_owner = read_pid(p, "mutex_owner");
	f->rwlock_owner = read_pid(p, "rwlock_owner");
	f->joined = read_pid(p, "joined");
	f->stdio_owner = read_pid(p, "stdio_owner");
	f->once_owner = read_pid(p, "once_owner");
	int64_t lost_owner = sw_parse_known(p, "lost_owner", UINT32_MAX);
	f->lost_owner = lost_owner > 0 ? (uint32_t) lost_owner : 0;
	f->is_stdio = sw_parse_flag(p, "stdio");
	f->once_unknown = sw_parse_flag(p, "once_unknown");
	const struct sw_json *proven = sw_json_member(p->from, "proven");
	u->has_proof = proven != NULL && proven->type != SW_JSON_NULL;
	if (!u->has_proof)
		return;
	u->proven = sw_parse_bool(p, "proven");
	u->stayed = sw_parse_bool(p, "stayed");
	u->instant = (uint32_t) sw_parse_int(p, "instant", 0, UINT32_MAX);
}

/* NULL: not captured, or an older dump. */
static const char *read_captured_by(struct sw_report_parser *p)
{
	const char *by = sw_parse_string_or_null(p, "captured_by");
	return by == NULL ? NULL : sw_parse_word(p, "captured_by");
}

void sw_parse_thread(struct sw_report_parser *p, size_t index)
{
	static const struct objects managed = {"managed", "managed thread",
					       sizeof(struct sw_report_managed), read_managed};
	static const struct objects blocked_on = {"blocked_on", "blocked_on",
						  sizeof(struct sw_report_wait), read_blocked_on};
	static const struct objects request = {"request", "request",
					       sizeof(struct sw_report_request), read_request};
	static const struct objects trace = {"trace", "trace", sizeof(struct sw_report_trace),
					     read_trace};
	static const struct objects pool = {"pool", "pool", sizeof(struct sw_report_pool),
					    read_pool};
	static const struct objects undecided = {"undecided", "undecided",
						 sizeof(struct sw_report_undecided),
						 read_undecided};
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
		.captured_by = read_captured_by(p),
		.since_ms = sw_parse_known(p, "since_ms", INT64_MAX),
		/* of stacks that are there: read_tids() compares */
		.stack = (int32_t) sw_parse_known(p, "stack", INT32_MAX),
		.managed = read_object(p, &managed),
		.blocked_on = read_object(p, &blocked_on),
		.request = read_object(p, &request),
		.trace = read_object(p, &trace),
		.pool = read_object(p, &pool),
		.undecided = read_object(p, &undecided),
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

/* 0: unknown. Then it is left out: a 0 that is written is a mistake. */
static uint32_t read_line(struct sw_report_parser *p)
{
	int64_t line = sw_parse_known(p, "line", UINT32_MAX);
	if (line == 0)
		sw_parse_fail(p, "line");
	return line > 0 ? (uint32_t) line : 0;
}

static signed char read_exact_pc(struct sw_report_parser *p)
{
	const struct sw_json *value = sw_json_member(p->from, "exact_pc");
	if (value == NULL || value->type == SW_JSON_NULL)
		return 0;
	return sw_parse_bool(p, "exact_pc") ? 1 : -1;
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
		.after_guess = sw_parse_flag(p, "after_guess"),
		.internal = sw_parse_flag(p, "internal"),
		.exact_pc = read_exact_pc(p),
		.signature = sw_parse_string_or_null(p, "signature"),
		.tier = sw_parse_string_or_null(p, "tier"),
	};
	f->has_offset = sw_parse_address_or_null(p, "offset", &f->offset);
	f->line = read_line(p);
	int64_t function_offset = sw_parse_known(p, "function_offset", INT64_MAX);
	f->function_offset = function_offset > 0 ? (uint64_t) function_offset : 0;
	if (f->module >= 0 && (size_t) f->module >= n_modules)
		sw_parse_fail(p, "module");
	if ((f->function == NULL) != (function_offset < 0))
		sw_parse_fail(p, "function_offset");
}

/* An array in the element that is read; NULL when it is missing or shorter, which fails. */
static const struct sw_json *array_in(struct sw_report_parser *p, const char *name, size_t least)
{
	const struct sw_json *array = sw_json_member_of(p->from, name, SW_JSON_ARRAY);
	if (array != NULL && array->n >= least)
		return array;
	sw_parse_fail(p, name);
	return NULL;
}

static void read_created_by(struct sw_report_parser *p, void *to)
{
	struct sw_report_goroutine *g = to;
	g->created_by = sw_parse_string(p, "function");
	g->created_file = sw_parse_string_or_null(p, "file");
	g->created_line = read_line(p);
	int64_t id = sw_parse_known(p, "id", INT64_MAX);
	g->created_by_id = id > 0 ? (uint64_t) id : 0;
	if (id == 0)
		sw_parse_fail(p, "id");
}

static void read_goroutine(struct sw_report_parser *p, void *to)
{
	static const struct objects created_by = {"created_by", "created_by",
						  sizeof(struct sw_report_goroutine),
						  read_created_by};
	struct sw_report_goroutine *g = to;
	const struct sw_report_goroutine *created = read_object(p, &created_by);
	if (created != NULL)
		*g = *created;
	g->id = (uint64_t) sw_parse_int(p, "id", 0, INT64_MAX);
	g->state = sw_parse_word(p, "state");
	g->wait_reason = sw_parse_string_or_null(p, "wait_reason");
	g->since_ms = sw_parse_known(p, "since_ms", INT64_MAX);
	g->tid = read_pid(p, "tid");
	g->scanned = sw_parse_flag(p, "scanned");
}

/* A goroutine or task that a thread runs belongs to a thread of this stack. */
static bool is_of_stack(const struct sw_report_parser *p, pid_t tid, size_t stack)
{
	uint64_t thread = 0;
	return tid == 0 || (sw_map64_get(&p->by_tid, (uint64_t) tid, &thread) &&
			    p->report->threads[thread].stack == (int64_t) stack);
}

/* A task that a thread runs may have a stack of its own, besides the thread's: what awaits it. */
static bool is_task_of_stack(const struct sw_report_parser *p, pid_t tid, size_t stack)
{
	uint64_t thread;
	return is_of_stack(p, tid, stack) || (p->report->stacks[stack].n_threads == 0 &&
					      sw_map64_get(&p->by_tid, (uint64_t) tid, &thread));
}

static void read_goroutines(struct sw_report_parser *p, size_t stack)
{
	static const struct objects goroutines = {"goroutines", "goroutine",
						  sizeof(struct sw_report_goroutine),
						  read_goroutine};
	struct sw_report_stack *s = &p->report->stacks[stack];
	s->goroutines = read_objects(p, &goroutines, &s->n_goroutines);
	for (size_t i = 0; i < s->n_goroutines; i++)
		if (!is_of_stack(p, s->goroutines[i].tid, stack))
			sw_parse_fail(p, "goroutines");
}

static void read_waits_for(struct sw_report_parser *p, void *to)
{
	struct sw_report_task *t = to;
	t->waits_for_avma = sw_parse_address(p, "address");
	t->waits_for_name = sw_parse_string_or_null(p, "task");
	if (t->waits_for_avma == 0)
		sw_parse_fail(p, "address");
}

static void read_task(struct sw_report_parser *p, void *to)
{
	static const struct objects waits_for = {"waits_for", "waits_for",
						 sizeof(struct sw_report_task), read_waits_for};
	struct sw_report_task *t = to;
	const struct sw_report_task *waits = read_object(p, &waits_for);
	if (waits != NULL)
		*t = *waits;
	t->address_avma = sw_parse_address(p, "address");
	t->name = sw_parse_string(p, "name");
	t->state = sw_parse_word(p, "state");
	t->tid = read_pid(p, "tid");
	t->registered = sw_parse_string_or_null(p, "registered");
	t->initial_call = sw_parse_string_or_null(p, "initial_call");
	int64_t messages = sw_parse_known(p, "messages", INT64_MAX);
	t->has_messages = messages >= 0;
	t->messages = messages >= 0 ? (uint64_t) messages : 0;
}

static void read_tasks(struct sw_report_parser *p, size_t stack)
{
	static const struct objects tasks = {"tasks", "task", sizeof(struct sw_report_task),
					     read_task};
	struct sw_report_stack *s = &p->report->stacks[stack];
	s->tasks = read_objects(p, &tasks, &s->n_tasks);
	for (size_t i = 0; i < s->n_tasks; i++)
		if (!is_task_of_stack(p, s->tasks[i].tid, stack))
			sw_parse_fail(p, "tasks");
}

/* Each tid is that of a thread that says the same, and comes once. */
static void read_tids(struct sw_report_parser *p, size_t stack)
{
	struct sw_report *r = p->report;
	const struct sw_report_stack *of = &r->stacks[stack];
	size_t least = of->n_goroutines + of->n_tasks > 0 ? 0 : 1;
	const struct sw_json *tids = array_in(p, "threads", least), *v;
	size_t *threads = tids == NULL ? NULL : sw_parse_calloc(p, tids->n, sizeof(*threads));
	if (threads == NULL || p->status < 0)
		return;
	size_t n = 0;
	for (v = sw_json_first(tids); v != NULL; v = sw_json_next(tids, v)) {
		uint64_t thread = 0;
		if (v->type != SW_JSON_INTEGER ||
		    !sw_map64_get(&p->by_tid, (uint64_t) v->integer, &thread) ||
		    r->threads[thread].stack != (int64_t) stack) {
			sw_parse_fail(p, "threads");
			return;
		}
		threads[n++] = thread;
	}
	r->stacks[stack].threads = threads;
	r->stacks[stack].n_threads = n;
}

static void read_frames(struct sw_report_parser *p, size_t stack)
{
	const struct sw_json *element = p->from, *array = array_in(p, "frames", 1);
	struct sw_report_frame *frames =
		array == NULL ? NULL : sw_parse_calloc(p, array->n, sizeof(*frames));
	if (frames == NULL)
		return;
	p->what = "frame";
	p->from = sw_json_first(array);
	for (size_t i = 0; p->from != NULL && p->status == 0; i++) {
		if (p->from->type == SW_JSON_OBJECT)
			read_frame(p, &frames[i]);
		else
			sw_parse_fail(p, "frames");
		p->from = sw_json_next(array, p->from);
	}
	p->from = element;
	size_t n_kernel = 0;
	while (p->status == 0 && n_kernel < array->n &&
	       strcmp(frames[n_kernel].kind, SW_FRAME_KIND_KERNEL) == 0)
		n_kernel++;
	if (n_kernel == array->n)
		sw_parse_fail(p, "frames");
	p->report->stacks[stack].kernel_frames = frames;
	p->report->stacks[stack].n_kernel_frames = n_kernel;
	p->report->stacks[stack].frames = frames + n_kernel;
	p->report->stacks[stack].n_frames = array->n - n_kernel;
}

/* Needs the frames, of which those of the kernel count in JSON. */
static void read_left_out(struct sw_report_parser *p, struct sw_report_stack *stack)
{
	int64_t left_out = sw_parse_known(p, "left_out", INT32_MAX);
	if (left_out <= 0)
		return;
	int64_t before = sw_parse_known(p, "left_out_before", INT32_MAX);
	if (p->status != 0)
		return;
	if (before <= (int64_t) stack->n_kernel_frames ||
	    before >= (int64_t) (stack->n_kernel_frames + stack->n_frames)) {
		sw_parse_fail(p, "left_out_before");
		return;
	}
	stack->n_left_out = (size_t) left_out;
	stack->left_out_before = (size_t) before - stack->n_kernel_frames;
}

void sw_parse_stack(struct sw_report_parser *p, size_t index)
{
	int64_t trimmed = sw_parse_known(p, "trimmed", SW_MAX_FRAMES);
	p->report->stacks[index] = (struct sw_report_stack){
		.id = sw_parse_stack_id(p, "id"),
		.end = sw_parse_word(p, "end"),
		.why = sw_parse_string_or_null(p, "why"),
		.n_trimmed = trimmed > 0 ? (size_t) trimmed : 0,
	};
	read_goroutines(p, index);
	read_tasks(p, index);
	read_tids(p, index);
	read_frames(p, index);
	read_left_out(p, &p->report->stacks[index]);
}

void sw_parse_warning(struct sw_report_parser *p, size_t index)
{
	p->report->warnings[index] = (struct sw_report_warning){
		.code = sw_parse_word(p, "code"),
		.tid = read_pid(p, "tid"),
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
