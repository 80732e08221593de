/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/events.h"
#include "worker/capture.h"
#include "worker/functions.h"
#include "worker/ids.h"
#include "worker/prober.h"
#include "worker/profile.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "errors.h"
#include "map.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <snapwalk/event_text.h>
#include <snapwalk/probes.h>
#include <snapwalk/protocol.h>
#include <snapwalk/recorder.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum {
	FETCH_NS = 50000000,
	REST_NS = 1000000000, /* for what is there at the end */
	NS_PER_MS = 1000000,
	STACKS_MAX = 16384,
	SEND_BYTES = 256 << 10, /* so many wait at most before they are sent */
	STACK_BYTES = SW_WORKER_EVENTS_BYTES - 2 * SEND_BYTES, /* of a stack's text */
	STAT_BYTES = 1024,
	LATE_MS = 10000, /* of CPU time beyond what events last */
	NS_PER_S = 1000000000,
};

struct events {
	struct sw_worker *worker;
	struct sw_recorder *recorder;
	struct sw_worker_ids ids;
	int proc_fd;
	struct sw_event_naming naming;
	struct sw_map64 rows; /* by id of the stack */
	uint64_t stacks[STACKS_MAX];
	uint32_t n_stacks;
	struct sw_text new_stacks, told; /* that were not sent yet */
	uint64_t n_waiting;              /* events of told, */
	uint64_t n_waiting_no_stack;     /* and those of them that have no stack */
	uint64_t n_dropped;              /* that were not sent, as the process has other users */
	uint64_t n_lost_told;
	bool sent;                   /* the event is a dump that was sent */
	struct sw_function function; /* owned, of SW_EVENT_FUNCTION, as the following */
	struct sw_overhead overhead;
	clockid_t cpu_clock; /* of the process; with has_cpu_clock */
	bool has_cpu_clock;
	int stat_fd; /* owned: of the first thread, by which the kernel knows the process; -EBADF: it has ended before */
	int64_t began_ns, over_ns;    /* that thread has ended; 0: not yet */
	struct sw_worker_ended ended; /* without those that wait */
};

bool sw_worker_events_options(const struct sw_config *config, const struct sw_worker_events *asked,
			      struct sw_event_options *ret)
{
	struct sw_event_options o = asked->options;
	bool known = o.what == SW_EVENT_CALL || o.what == SW_EVENT_DEATH ||
		     o.what == SW_EVENT_NEW_THREADS || o.what == SW_EVENT_NEW_PROCESSES ||
		     o.what == SW_EVENT_BLOCKED ||
		     (o.what == SW_EVENT_FUNCTION && config->function_events != SW_EVENTS_NOBODY);
	bool good = known && o.n_tests <= SW_EVENT_TESTS_MAX && o.text <= SW_EVENT_ARGUMENTS &&
		    o.bytes <= SW_EVENT_ARGUMENTS && o.n_bytes <= SW_EVENT_ARGUMENTS &&
		    o.least_of <= SW_EVENT_ARGUMENTS && o.slower_ns >= 0 && o.error >= 0 &&
		    o.error <= SW_EVENT_ERROR_MAX;
	for (size_t i = 0; good && i < o.n_tests; i++)
		good = o.tests[i].argument < SW_EVENT_ARGUMENTS;
	if (!good)
		return false;
	o.places = NULL;
	o.n_places = 0;
	o.at_return = o.at_return && o.what == SW_EVENT_FUNCTION;
	o.n_held = 0;
	o.probe_open = NULL; /* a pointer of the broker is none here */
	o.probe_arg = NULL;
	o.fixed = true;
	*ret = o;
	return true;
}

/* ---- events as text -------------------------------------------------------------------------- */

static int row_of(struct events *e, const struct sw_report *report, size_t thread, uint32_t *ret,
		  struct sw_error *err)
{
	const ssize_t index = report->threads[thread].stack;
	uint64_t row = 0;
	if (index < 0)
		return 0;
	const struct sw_report_stack *stack = &report->stacks[index];
	if (sw_map64_get(&e->rows, stack->id, &row)) {
		*ret = (uint32_t) row;
		return 0;
	}
	if (e->n_stacks == STACKS_MAX)
		return 0;
	sw_cleanup(sw_free_p) char *json = NULL;
	size_t size = 0;
	int r = sw_report_stack_json(report, stack, &json, &size, err);
	if (r < 0 || size > STACK_BYTES) /* the broker takes no message that is longer */
		return r;
	if (sw_map64_put(&e->rows, stack->id, e->n_stacks) < 0)
		return sw_fail_nomem(err);
	if (e->new_stacks.size > 0)
		sw_text_append(&e->new_stacks, ",", 1);
	sw_text_append(&e->new_stacks, json, size);
	*ret = e->n_stacks;
	e->stacks[e->n_stacks++] = stack->id;
	return 0;
}

static int rows(void *arg, const struct sw_report *report, const bool *wanted,
		const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err)
{
	(void) activity;
	int r = 0;
	for (size_t i = 0; r == 0 && i < report->n_threads; i++) {
		ret_rows[i] = SW_RECORDER_NO_ROW;
		if (wanted[i])
			r = row_of(arg, report, i, &ret_rows[i], err);
	}
	return r;
}

/* event() counts. */
static void count(void *arg, uint32_t row, uint64_t n)
{
	(void) arg;
	(void) row;
	(void) n;
}

static void lost_count(struct events *e)
{
	e->ended.n_lost = sw_recorder_totals(e->recorder)->n_lost + e->n_dropped;
}

/* Drops what waits: nobody was permitted to see it. */
static int drop(struct events *e, struct sw_error *err)
{
	e->n_dropped += e->n_waiting;
	lost_count(e);
	e->n_waiting = e->n_waiting_no_stack = 0;
	e->told.size = e->new_stacks.size = 0;
	return sw_fail(err, SW_E_CHANGED, "process %d has other users", (int) e->naming.pid);
}

/* Sends what waits, with the number of events that were lost since. Whom the process belongs to is looked at first. */
static int send(struct events *e, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (e->n_waiting > 0 && !sw_worker_ids_are_same(&e->ids) &&
	    !sw_recorder_has_ended(e->recorder))
		return drop(e, err);
	const uint64_t n_lost = e->ended.n_lost - e->n_lost_told;
	if (e->worker->request.events.kept || (e->n_waiting == 0 && n_lost == 0))
		return 0;
	sw_text_printf(&text, "{\"stacks\":[");
	if (e->new_stacks.size > 0)
		sw_text_append(&text, e->new_stacks.data, e->new_stacks.size);
	sw_text_printf(&text, "],\"events\":[");
	if (e->told.size > 0)
		sw_text_append(&text, e->told.data, e->told.size);
	sw_text_printf(&text, "],\"lost\":%" PRIu64 "}", n_lost);
	if (text.failed || e->new_stacks.failed || e->told.failed)
		return sw_fail_nomem(err);
	e->n_lost_told = e->ended.n_lost;
	e->ended.n += e->n_waiting;
	e->ended.n_no_stack += e->n_waiting_no_stack;
	e->n_waiting = e->n_waiting_no_stack = 0;
	e->new_stacks.size = e->told.size = 0;
	return sw_worker_event_write(e->worker->stream, SW_WORKER_EVENTS, text.data, text.size,
				     err);
}

static bool is_enough(const struct events *e)
{
	const struct sw_worker_events *asked = &e->worker->request.events;
	const uint64_t most = asked->kept ? 1 : asked->count;
	return most > 0 && e->ended.n + e->n_waiting >= most;
}

/* ---- one event as a dump ---------------------------------------------------------------------- */

/* The event in words; its names are of tables. */
static void put_what(struct sw_text *text, const struct events *e, const struct sw_event *event)
{
	const struct sw_event_death *death = &event->death;
	const char *signal = death->signal > 0 ? sw_signal_name(death->signal) : NULL;
	const char *error = event->returned && sw_event_is_error(sw_event_result(event))
				    ? sw_errno_name((int) -sw_event_result(event))
				    : NULL;
	sw_text_printf(text, "%s%s%s", e->worker->request.reason,
		       e->worker->request.reason[0] != '\0' ? ": " : "", e->naming.name);
	if (event->kind == SW_EVENT_DIED && signal != NULL)
		sw_text_printf(text, " by %s", signal);
	else if (event->kind == SW_EVENT_DIED && death->signal > 0)
		sw_text_printf(text, " by signal %d", death->signal);
	else if (event->kind == SW_EVENT_DIED)
		sw_text_printf(text, ", exit status %d", death->status);
	else if (event->kind == SW_EVENT_WAITED)
		sw_text_printf(text, " for %" PRId64 " ms", event->lasted_ns / NS_PER_MS);
	else if (error != NULL)
		sw_text_printf(text, " %s", error);
	else if (event->returned)
		sw_text_printf(text, " = %" PRId64, sw_event_result(event));
}

/* Sends the thread of the event, as the kernel copied it, as a dump. */
static int keep(struct events *e, const struct sw_event *event, uint32_t row, struct sw_error *err)
{
	const struct sw_report *report = sw_recorder_report(e->recorder);
	sw_cleanup(sw_text_deinit) struct sw_text reason = {0};
	/* A process that dies has its ids until its parent has waited for it. */
	const bool ends = sw_recorder_has_ended(e->recorder) || event->kind == SW_EVENT_DIED;
	if (ends ? sw_worker_ids_differ(&e->ids) : !sw_worker_ids_are_same(&e->ids))
		return drop(e, err);
	e->ended.n = 1;
	if (row == SW_RECORDER_NO_ROW || report == NULL) {
		e->ended.n_no_stack = 1;
		return 0;
	}
	put_what(&reason, e, event);
	if (reason.failed)
		return sw_fail_nomem(err);
	struct sw_report kept = *report;
	kept.reason = reason.data;
	int r = sw_worker_report_send(e->worker, &kept, err);
	e->sent = r == 0;
	return r;
}

static int event(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err)
{
	struct events *e = arg;
	if (e->worker->request.events.kept)
		return is_enough(e) ? 0 : keep(e, event, row, err);
	sw_cleanup(sw_free_p) char *json = NULL;
	size_t size = 0;
	if (is_enough(e))
		return 0;
	int r = sw_event_json(event, &e->naming, &json, &size, err);
	if (r < 0)
		return r;
	sw_text_printf(&e->told, "%s{", e->told.size > 0 ? "," : "");
	sw_text_append(&e->told, json, size);
	if (row < e->n_stacks)
		sw_text_printf(&e->told, ",\"stack\":\"%016" PRIx64 "\"}", e->stacks[row]);
	else
		sw_text_printf(&e->told, ",\"stack\":null}");
	e->n_waiting++;
	e->n_waiting_no_stack += row >= e->n_stacks;
	return e->told.size + e->new_stacks.size < SEND_BYTES ? 0 : send(e, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int permitted(struct events *e, struct sw_error *err)
{
	struct sw_worker *w = e->worker;
	return sw_worker_permit(w, e->proc_fd)
		       ? 0
		       : sw_fail(err, SW_E_NOT_PERMITTED,
				 "process %d may not be captured by the one who asks",
				 (int) w->request.pid);
}

static bool is_function(const struct events *e)
{
	return sw_worker_probes(&e->worker->request);
}

/* Whether the first thread of the process lives, by its state in /proc/PID/stat (proc(5)): later nothing can be opened. */
static bool first_thread_lives(int stat_fd)
{
	char text[STAT_BYTES];
	ssize_t n = pread(stat_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *end = strrchr(text, ')'); /* of the name, which may have any byte */
	return end != NULL && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* The places of the function, and the figures for its cost. */
static int function_find(struct events *e, const struct sw_target *target,
			 struct sw_event_options *wanted, struct sw_error *err)
{
	int r = sw_worker_functions_find(e->worker, target, &e->function, err);
	if (r < 0)
		return r;
	wanted->places = e->function.places;
	wanted->n_places = e->function.n;
	wanted->probe_open = e->worker->prober_fd >= 0 ? sw_prober_ask : NULL;
	wanted->probe_arg = &e->worker->prober_fd;
	e->naming.member = "function";
	e->naming.name = e->function.names[0];
	sw_overhead_set(&e->overhead, e->worker->probe_cost, &e->function);
	e->has_cpu_clock = clock_getcpuclockid(sw_target_pid(target), &e->cpu_clock) == 0;
	e->stat_fd = openat(e->proc_fd, "stat", O_RDONLY | O_CLOEXEC);
	if (!first_thread_lives(e->stat_fd))
		sw_close_p(&e->stat_fd);
	return 0;
}

/* The programs in the kernel, and the permission before and after them: it may have become another program, or
 * another user's, meanwhile. */
static int begin(struct events *e, struct sw_target *target, const struct sw_recorder_sink *sink,
		 struct sw_error *err)
{
	struct sw_worker *w = e->worker;
	const pid_t pid = sw_target_pid(target);
	struct sw_recorder_options how = sw_worker_record_options(w);
	struct sw_event_options wanted;
	struct sw_error why = {0};
	e->proc_fd = sw_target_proc_open(pid);
	int r = 0;
	if (e->proc_fd < 0 || !sw_worker_ids_open(&e->ids, pid))
		r = sw_fail(err, SW_E_EXITED, "process %d has exited", (int) pid);
	else if (!sw_worker_events_options(w->config, &w->request.events, &wanted))
		r = sw_fail(err, SW_E_INVALID, "there is no such event");
	else
		r = permitted(e, err);
	if (r == 0 && is_function(e))
		r = function_find(e, target, &wanted, err);
	if (r < 0) {
		sw_target_close(target);
		return r;
	}
	const struct sw_target_rights before = w->creds.rights;
	how.mode = SW_RECORD_CPU;
	how.event = &wanted;
	r = sw_recorder_create(target, &how, w->session, sink, &e->recorder, &why);
	for (size_t i = 0; i < e->function.n; i++)
		sw_close_p(&e->function.places[i].file_fd); /* the kernel has the file */
	e->began_ns = sw_clock_ns();
	if (r < 0) {
		bool refused = r == -SW_E_NOT_PERMITTED || r == -SW_E_LIMIT || r == -SW_E_INVALID;
		return sw_fail(err, refused ? SW_E_UNSUPPORTED : -r, "%s", why.message);
	}
	r = permitted(e, err);
	if (r == 0 && (memcmp(&before, &w->creds.rights, sizeof(before)) != 0 ||
		       !sw_worker_ids_are_same(&e->ids)))
		r = sw_fail(err, SW_E_CHANGED, "process %d has changed its user meanwhile",
			    (int) pid);
	return r;
}

static int confine(struct events *e, struct sw_error *err)
{
	struct sw_worker *w = e->worker;
	const int64_t left_ms = (w->request.events.end_ns - sw_clock_ns()) / NS_PER_MS;
	const struct sw_worker_resumed resumed = {.target = w->creds,
						  .runs_required = sw_worker_runs_required(w)};
	int r = sw_worker_event_send(w->stream, SW_WORKER_RESUMED, &resumed, sizeof(resumed),
				     w->program_fd, err);
	return r < 0 ? r
		     : sw_worker_confine(w, LATE_MS + (left_ms > 0 ? (uint32_t) left_ms : 0), err);
}

static int fetch(struct events *e, struct sw_error *err)
{
	int r = sw_recorder_sample(e->recorder, err);
	lost_count(e);
	bool ended = sw_recorder_has_ended(e->recorder);
	if (r == 0 || r == -SW_E_CHANGED || ended) {
		int sent = send(e, err);
		r = sent < 0 ? sent : ended ? 0 : r;
	}
	return r;
}

/* Fetches the events until now, as many as there is time for: those that are left are lost. */
static int rest_fetch(struct events *e, struct sw_error *err)
{
	const int64_t deadline_ns = sw_clock_ns() + REST_NS;
	int r = 0;
	sw_recorder_stop_events(e->recorder);
	for (uint64_t before = UINT64_MAX;
	     r == 0 && before != e->ended.n && !is_enough(e) && sw_clock_ns() < deadline_ns;) {
		before = e->ended.n;
		r = fetch(e, err);
	}
	if (r < 0 || is_enough(e) || sw_recorder_has_ended(e->recorder))
		return r;
	sw_recorder_drop_events(e->recorder);
	lost_count(e);
	return send(e, err);
}

/* Whether breakpoints have taken too much of the process. */
static bool is_too_much(struct events *e)
{
	if (!is_function(e))
		return false;
	const struct sw_event_cost cost = sw_recorder_event_cost(e->recorder);
	const int64_t now_ns = sw_clock_ns();
	const int64_t cpu_ns = e->has_cpu_clock ? sw_clock_read(e->cpu_clock) : -1;
	if (!sw_overhead_is_above(&e->overhead, now_ns, cpu_ns,
				  sw_overhead_spent_ns(&e->overhead, &cost)))
		return false;
	const double seconds = (double) (now_ns - e->began_ns) / NS_PER_S;
	e->ended.n_a_second = 1 + (uint64_t) ((double) cost.n_probed / seconds);
	return true;
}

/* Whether the kernel runs no program any more though the process lives. As a process ends its first thread is gone before
 * the others are. */
static bool is_over(struct events *e)
{
	const int64_t now_ns = sw_clock_ns();
	if (!is_function(e) || e->stat_fd < 0 || first_thread_lives(e->stat_fd))
		return false;
	e->over_ns = e->over_ns == 0 ? now_ns : e->over_ns;
	return now_ns - e->over_ns >= NS_PER_S / 2;
}

static int run(struct events *e, struct sw_error *err)
{
	struct sw_worker *w = e->worker;
	int64_t next_ns = sw_clock_ns();
	bool lasts = true;
	int r = 0;
	/* For all of the time, and not for a minute as sw_worker_life_begin() says: events between two workers are missed. */
	w->life = (struct sw_worker_life){.end_ns = w->request.events.end_ns};
	while (lasts && r == 0 && !is_enough(e) && !sw_recorder_has_ended(e->recorder)) {
		next_ns += FETCH_NS;
		lasts = sw_worker_life_wait(&w->life, w->stream, next_ns) && !is_too_much(e);
		r = lasts ? fetch(e, err) : rest_fetch(e, err);
		if (r == 0 && lasts && is_over(e))
			r = -SW_E_CHANGED;
	}
	if (is_enough(e)) /* also where the last look saw other code: no worker goes on */
		e->ended.end = SW_WORKER_END_COUNT;
	else if (r == -SW_E_CHANGED)
		e->ended.end = SW_WORKER_END_CHANGED;
	else if (sw_recorder_has_ended(e->recorder))
		e->ended.end = SW_WORKER_END_EXITED;
	else if (e->ended.n_a_second > 0)
		e->ended.end = SW_WORKER_END_OVERHEAD;
	else
		e->ended.end = SW_WORKER_END_TIME;
	return r == -SW_E_CHANGED ? 0 : r;
}

int sw_worker_events_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err)
{
	static struct events e; /* its table is large */
	const struct sw_recorder_sink sink = {.rows = rows,
					      .count = count,
					      .event = event,
					      .arg = &e};
	e = (struct events){.worker = worker,
			    .proc_fd = -EBADF,
			    .stat_fd = -EBADF,
			    .ids = {.status_fd = -EBADF}};
	worker->request.events.name[SW_WORKER_EVENT_NAME_MAX - 1] = '\0';
	e.naming = (struct sw_event_naming){
		.pid = sw_target_pid(target),
		.member = worker->request.events.options.what == SW_EVENT_CALL ? "call" : "event",
		.name = worker->request.events.name};
	int r = begin(&e, target, &sink, err);
	if (r == 0)
		r = confine(&e, err);
	if (r == 0)
		r = run(&e, err);
	/* An end of this process would take probes out without a look at whose memory is locked. */
	if (e.recorder != NULL && is_function(&e))
		while (sw_recorder_take_probe_out(e.recorder))
			continue;
	return r < 0 || e.sent ? r
			       : sw_worker_event_write(worker->stream, SW_WORKER_ENDED, &e.ended,
						       sizeof(e.ended), err);
}
