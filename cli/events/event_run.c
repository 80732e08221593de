/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/event_run.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/waiting.h"
#include "errors.h"
#include "events/pairs.h"
#include "run/sampled_files.h"
#include "run/sandbox.h"
#include "series/recording.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	FETCHES_HZ = 50, /* nobody is woken for events */
	LOOKS_HZ = 1000, /* where an event is waited for that is dumped */
	/* A program that was started may end soon: what its code is has to be seen before. */
	FIRST_FETCHES_HZ = 1000,
	FIRST_NS = 200 * 1000 * 1000,
	NAMING_S = 30,
	REST_S = 5, /* for what is there at the end */
};

/* The label before the stack; NULL: none, as the stack has it. syscall: the one that the thread is in, or NULL. */
static const char *label_of(const struct sw_event_run *run, const char *syscall)
{
	const struct sw_options *o = run->options;
	if (o->event_name == NULL || o->event.what == SW_EVENT_BLOCKED)
		return syscall;
	bool named = o->event.what == SW_EVENT_CALL ||
		     (o->event.what == SW_EVENT_FUNCTION && o->event.at_return);
	return named ? o->event_name : NULL;
}

static int rows(void *arg, const struct sw_report *report, const bool *wanted,
		const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err)
{
	struct sw_event_run *run = arg;
	(void) activity;
	for (size_t i = 0; i < report->n_threads; i++) {
		ret_rows[i] = SW_RECORDER_NO_ROW;
		if (!wanted[i])
			continue;
		const char *call = label_of(run, report->threads[i].syscall);
		int r = sw_event_stacks_add(&run->stacks, report, i, call, &ret_rows[i], err);
		if (r == 0)
			r = sw_event_profiled_add(&run->profiled, report, i, ret_rows[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* event() counts. */
static void count(void *arg, uint32_t row, uint64_t n)
{
	(void) arg;
	(void) row;
	(void) n;
}

static int told(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct sw_event_run *run = arg;
	/* Events from before execve(2) of the program are not the program's. */
	if (run->started != NULL && e->of_first)
		return 0;
	run->n_events++;
	sw_event_dumps_event(&run->dumps, e);
	return run->enough ? 0 : run->event(run->arg, e, row, err);
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct sw_event_run *run = arg;
	run->n_read++;
	return sw_event_order_add(&run->order, e, row, err);
}

/* Descriptors, threads, mappings, timers, shared memory and sets of epoll that are followed are compared with /proc in the end. */
static bool is_compared_in_the_end(enum sw_event_what what)
{
	return what == SW_EVENT_DESCRIPTORS || what == SW_EVENT_THREAD_LIVES ||
	       what == SW_EVENT_MAPPINGS || what == SW_EVENT_TIMERS || what == SW_EVENT_SHM ||
	       what == SW_EVENT_EPOLLS;
}

static int recorder_open(struct sw_event_run *run, const struct sw_event_options *wanted,
			 struct sw_error *err)
{
	struct sw_recorder_options how = sw_recording_options(run->options);
	struct sw_target *target = NULL;
	how.mode = SW_RECORD_CPU;
	how.event = &run->wanted;
	/* A stack that is named in part would be counted beside the same one that is named whole. Nothing waits for
	 * it: the time is for the first look into debug information. */
	if (!run->options->timeout_given)
		how.how.limit_ns = (int64_t) NAMING_S * NS_PER_S;
	run->order = (struct sw_event_order){.tell = told, .arg = run};
	run->sink =
		(struct sw_recorder_sink){.rows = rows, .count = count, .event = event, .arg = run};
	struct sw_event_options *at = &run->wanted;
	*at = *wanted;
	int r = sw_target_open(run->subject.pid, &target, err);
	if (r < 0)
		return r;
	sw_sampled_files_of(run->subject.pid);
	if (sw_event_run_changes_code(run)) {
		at->places = run->function.places;
		at->n_places = run->function.n;
		if (sw_target_starttime(target) != run->function.starttime) {
			sw_target_close(target);
			return sw_fail(err, SW_E_EXITED, "the process exited");
		}
	}
	if (is_compared_in_the_end(at->what)) {
		r = sw_target_directory(target, err);
		if (r < 0) {
			sw_target_close(target);
			return r;
		}
		run->proc_fd = r;
	}
	return sw_recorder_create(target, &how, run->session, &run->sink, &run->recorder, err);
}

/* The name of a process that was given by its number; none, where it has ended. */
static void comm_read(struct sw_event_run *run)
{
	char path[32];
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (run->subject.comm[0] != '\0')
		return;
	(void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) run->subject.pid); /* fits */
	if (sw_text_read_at(&text, AT_FDCWD, path, sizeof(run->subject.comm)) == 0 && text.size > 0)
		(void) snprintf(run->subject.comm, sizeof(run->subject.comm), "%.*s",
				(int) strcspn(text.data, "\n"), text.data);
}

static int events_begin(struct sw_event_run *run, const struct sw_event_options *wanted,
			struct sw_error *err)
{
	int r = sw_session_create(&run->session, err);
	if (r == 0 && run->options->then_dump)
		r = sw_event_dumps_start(&run->dumps, run->options, run->subject.pid, err);
	if (r == 0)
		r = recorder_open(run, wanted, err);
	if (r < 0)
		return r;
	run->begin_ns = sw_clock_ns(); /* events have begun */
	run->begin_real_ns = sw_realtime_ns();
	if (clock_getcpuclockid(run->subject.pid, &run->cpu_clock) == 0)
		run->cpu_begin_ns = sw_clock_read(run->cpu_clock);
	comm_read(run);
	return 0;
}

/* Prepares the run before events begin: it may take seconds, and has nothing to tell when a signal ends it. */
static int prepare(struct sw_event_run *run, const struct sw_event_options *wanted,
		   int (*before)(struct sw_event_run *run))
{
	int status = SW_STATUS_COMPLETE;
	if (run->started == NULL)
		sw_wait_say(
			run->subject.name,
			"a signal has ended the command while it prepared: it has found nothing");
	if (wanted->what == SW_EVENT_FUNCTION || wanted->what == SW_EVENT_PAIRS)
		sw_overhead_begin(&run->overhead);
	if (wanted->what == SW_EVENT_FUNCTION)
		status = sw_function_find(run->options, &run->subject, &run->function);
	else if (wanted->what == SW_EVENT_PAIRS)
		status = sw_pairs_find(run->options, &run->subject, &run->function);
	sw_overhead_end(&run->overhead, &run->function);
	if (run->options->max_overhead_given)
		run->overhead.max_percent = run->options->max_overhead_percent;
	if (status == SW_STATUS_COMPLETE && before != NULL)
		status = before(run);
	return status;
}

/* -SW_E_INVALID is no argument here: the process has stacks, or system calls, that the kernel does not copy at events. */
static int complain(const struct sw_event_run *run, const struct sw_error *err)
{
	if (err->code != SW_E_INVALID &&
	    !(err->code == SW_E_UNSUPPORTED && sw_event_run_changes_code(run)))
		return sw_complain_error(run->subject.name, err);
	sw_complain_for(run->subject.name, err->message, sw_error_wire(err->code), SW_SAID_OF_CODE);
	return sw_status_of(err);
}

int sw_event_run_open(struct sw_event_run *run, const struct sw_options *options,
		      struct sw_started *started, const struct sw_event_options *wanted,
		      int (*before)(struct sw_event_run *run), void *arg)
{
	struct sw_error err = {0};
	*run = (struct sw_event_run){.options = options,
				     .started = started,
				     .arg = arg,
				     .proc_fd = -EBADF,
				     .cpu_begin_ns = -1};
	int status = sw_select_one(options, &run->subject);
	if (status == SW_STATUS_COMPLETE)
		status = prepare(run, wanted, before);
	if (status != SW_STATUS_COMPLETE)
		return status;
	/* A program that was started says by its end when there is nothing more to come. */
	sw_wait_signals(&run->signals, started == NULL);
	int r = events_begin(run, wanted, &err);
	return r < 0 ? complain(run, &err) : SW_STATUS_COMPLETE;
}

int sw_event_run_open_beside(struct sw_event_run *ret, const struct sw_options *options,
			     const struct sw_event_run *run, struct sw_function *function,
			     const struct sw_event_options *wanted, struct sw_error *err)
{
	*ret = (struct sw_event_run){.options = options,
				     .subject = run->subject,
				     .function = *function,
				     .proc_fd = -EBADF,
				     .cpu_begin_ns = -1};
	*function = (struct sw_function){0};
	sw_overhead_begin(&ret->overhead);
	sw_overhead_end(&ret->overhead, &ret->function);
	return events_begin(ret, wanted, err);
}

void sw_event_run_deinit(struct sw_event_run *run)
{
	sw_recorder_destroy(run->recorder);
	sw_function_deinit(&run->function);
	sw_overhead_deinit(&run->overhead);
	sw_close_p(&run->proc_fd);
	sw_session_destroy(run->session);
	sw_event_stacks_deinit(&run->stacks);
	sw_event_profiled_deinit(&run->profiled);
	sw_event_order_deinit(&run->order);
	sw_event_dumps_deinit(&run->dumps);
}

int sw_event_run_with(const struct sw_options *options, struct sw_started *started,
		      const struct sw_event_options *wanted,
		      int (*before)(struct sw_event_run *run),
		      int (*body)(struct sw_event_run *run, struct sw_output *output), void *arg)
{
	struct sw_event_run run;
	struct sw_output output = {.fd = -EBADF};
	struct sw_error err = {0};
	if (sw_output_open(&output, options->output, &err) < 0)
		return sw_complain_error(options->output, &err);
	bool is_binary = options->profile_format == SW_PROFILE_PPROF ||
			 options->profile_format == SW_PROFILE_OTLP;
	if (is_binary && options->output == NULL && isatty(STDOUT_FILENO)) {
		sw_complain_for("--format", "a terminal cannot show it", "usage",
				SW_SAID_OF_TERMINAL);
		return SW_STATUS_USAGE;
	}
	/* The output of a program that was started is not mixed with a result. */
	if (started != NULL && options->output == NULL)
		output.fd = STDERR_FILENO;
	if (sw_sandbox_entrust(options, &output, &err) < 0)
		return sw_complain_error(options->output, &err);
	int status = sw_event_run_open(&run, options, started, wanted, before, arg);
	if (status == SW_STATUS_COMPLETE)
		status = body(&run, &output);
	sw_event_run_deinit(&run);
	sw_output_deinit(&output);
	if (started != NULL)
		sw_started_wait(started);
	return status;
}

int sw_event_run_put(struct sw_output *output, const struct sw_text *text, int made)
{
	struct sw_error err = {0};
	int r = made < 0 ? sw_fail_nomem(&err) : 0;
	if (r == 0)
		r = sw_output_write(output, text->data, text->size, &err);
	if (r == 0)
		r = sw_output_commit(output, &err);
	return r < 0 ? sw_complain_error(output->path != NULL ? output->path : "standard output",
					 &err)
		     : SW_STATUS_COMPLETE;
}

static int fetch(struct sw_event_run *run, struct sw_error *err)
{
	int r = sw_recorder_sample(run->recorder, err);
	run->n_lost = sw_recorder_totals(run->recorder)->n_lost;
	run->ended = sw_recorder_has_ended(run->recorder);
	if (r == 0 || run->ended)
		r = sw_event_order_turn(&run->order, err);
	return r;
}

/* A breakpoint takes its time from the process at each call, and nobody may be there to end it. */
static bool is_limited(const struct sw_event_run *run)
{
	const struct sw_options *o = run->options;
	return sw_event_run_changes_code(run) &&
	       (o->max_overhead_given ||
		(!(o->duration_given && o->duration_s > 0) && o->count == 0));
}

/* Ends the run where its breakpoints take more than is allowed. */
static void overhead_look(struct sw_event_run *run, int64_t now_ns)
{
	const struct sw_event_cost cost = sw_recorder_event_cost(run->recorder);
	int64_t cpu_ns = run->cpu_begin_ns < 0 ? -1 : sw_clock_read(run->cpu_clock);
	if (!sw_overhead_is_above(&run->overhead, now_ns, cpu_ns,
				  sw_overhead_spent_ns(&run->overhead, &cost)))
		return;
	double seconds = (double) (now_ns - run->begin_ns) / NS_PER_S;
	run->too_many = 1 + (uint64_t) ((double) cost.n_probed / seconds);
}

/* Waits until a time, or the next event that is dumped. True: a signal says to stop. */
static bool wait_until(struct sw_event_run *run, int64_t until_ns)
{
	if (run->dumps.all == NULL)
		return sw_wait_until(&run->signals, until_ns);
	for (;;) {
		sw_event_dumps_take(&run->dumps, false);
		if (sw_recorder_has_events(run->recorder)) {
			sw_event_dumps_begin(&run->dumps);
			return false;
		}
		int64_t now_ns = sw_clock_ns(), step_ns = now_ns + NS_PER_S / LOOKS_HZ;
		if (now_ns >= until_ns)
			return false;
		if (sw_wait_until(&run->signals, step_ns < until_ns ? step_ns : until_ns))
			return true;
	}
}

/* Ends the events of a run, and the time that its figures are of; r: 0, or the error that has ended it. Probes stay in the
 * code, as to take them out may take seconds. */
static int stop(struct sw_event_run *run, int r, struct sw_error *err)
{
	if (r == 0 && run->before_end != NULL && !run->ended)
		r = run->before_end(run->arg, err);
	run->end_ns = sw_clock_ns();
	run->cpu_end_ns = run->cpu_begin_ns < 0 ? -1 : sw_clock_read(run->cpu_clock);
	sw_recorder_stop_events(run->recorder);
	run->cost = sw_recorder_event_cost(run->recorder);
	return r;
}

static int64_t rest_end_ns(void)
{
	return sw_clock_ns() + REST_S * (int64_t) NS_PER_S;
}

/* Reads events from before the end until no more come. Those for which there is no time are lost. *deadline_ns is 0
 * after a further signal, which says that there is no time any more. */
static int rest_read(struct sw_event_run *run, int r, int64_t *deadline_ns, struct sw_error *err)
{
	bool all = false;
	while (r == 0 && !run->enough && !run->ended && !all && sw_clock_ns() < *deadline_ns) {
		const uint64_t before = run->n_read;
		r = fetch(run, err);
		all = run->n_read == before;
		if (sw_wait_until(&run->signals, 0))
			*deadline_ns = 0;
	}
	if (!run->enough && !run->ended) {
		sw_recorder_drop_events(run->recorder);
		run->n_lost = sw_recorder_totals(run->recorder)->n_lost;
	}
	if (r == 0)
		r = sw_event_order_end(&run->order, err);
	sw_event_dumps_take(&run->dumps, true);
	return r;
}

/* Reads the events of a run beside this one, and ends it where it is over: events of this one go on meanwhile. */
static int beside_turn(struct sw_event_run *run, int64_t now_ns, struct sw_error *err)
{
	struct sw_event_run *beside = run->beside;
	if (beside == NULL || beside->finished)
		return 0;
	int r = fetch(beside, err);
	if (r == 0 && !beside->ended &&
	    !(beside->is_over != NULL && beside->is_over(beside, now_ns)))
		return 0;
	int64_t deadline_ns = rest_end_ns();
	beside->finished = true;
	r = rest_read(beside, stop(beside, r, err), &deadline_ns, err);
	while (sw_recorder_take_probe_out(beside->recorder))
		if (r == 0)
			r = fetch(run, err);
	return r;
}

/* The end of a run and of the one beside it; r: 0, or the error that has ended them. Both stop at once. */
static int finish(struct sw_event_run *run, int r, struct sw_error *err)
{
	struct sw_event_run *beside =
		run->beside != NULL && !run->beside->finished ? run->beside : NULL;
	if (beside != NULL)
		r = stop(beside, r, err);
	r = stop(run, r, err);
	/* The time of both; the run beside takes half of it at most. */
	int64_t deadline_ns = rest_end_ns();
	int64_t half_ns = deadline_ns - REST_S * (int64_t) NS_PER_S / 2;
	if (beside != NULL) {
		beside->signals = run->signals; /* before, they were for the run alone */
		r = rest_read(beside, r, &half_ns, err);
		deadline_ns = half_ns != 0 ? deadline_ns : 0;
	}
	r = rest_read(run, r, &deadline_ns, err);
	while (beside != NULL && sw_recorder_take_probe_out(beside->recorder))
		continue;
	while (sw_recorder_take_probe_out(run->recorder))
		continue;
	return r;
}

static int all_read(struct sw_event_run *run, struct sw_error *err)
{
	const bool limited = is_limited(run);
	const uint32_t duration_s = run->options->duration_s;
	int64_t now_ns = sw_clock_ns();
	const int64_t begin_ns = now_ns;
	int64_t end_ns = duration_s == 0 ? INT64_MAX : now_ns + (int64_t) duration_s * NS_PER_S;
	bool told = false;
	int64_t over_ns = 0;
	int r = 0;
	while (r == 0 && !run->enough && !run->ended && !told && now_ns < end_ns &&
	       run->too_many == 0) {
		/* As a process ends its first thread is gone before the others are. */
		run->over = sw_recorder_events_are_over(run->recorder);
		over_ns = run->over && over_ns == 0 ? now_ns : over_ns;
		if (run->over && now_ns - over_ns >= NS_PER_S / 2)
			break;
		bool first = run->started != NULL && now_ns - begin_ns < FIRST_NS;
		int64_t due_ns = now_ns + NS_PER_S / (first ? FIRST_FETCHES_HZ : FETCHES_HZ);
		told = wait_until(run, due_ns < end_ns ? due_ns : end_ns);
		r = fetch(run, err);
		now_ns = sw_clock_ns();
		if (r == 0)
			r = beside_turn(run, now_ns, err);
		if (limited)
			overhead_look(run, now_ns);
	}
	return finish(run, r, err);
}

bool sw_event_run_changes_code(const struct sw_event_run *run)
{
	return run->wanted.what == SW_EVENT_FUNCTION || run->wanted.what == SW_EVENT_PAIRS;
}

int sw_event_run_begin(struct sw_event_run *run)
{
	int status;
	if (run->started == NULL)
		return SW_STATUS_COMPLETE;
	if (!sw_started_go(run->started, run->options->program[0], &status))
		return status;
	run->begin_ns = sw_clock_ns();
	run->begin_real_ns = sw_realtime_ns();
	run->subject.comm[0] = '\0'; /* that of the command until now */
	comm_read(run);
	return SW_STATUS_COMPLETE;
}

int sw_event_run_all(struct sw_event_run *run)
{
	struct sw_error err = {0};
	return all_read(run, &err) < 0 ? complain(run, &err) : SW_STATUS_COMPLETE;
}

static void too_many_say(const struct sw_event_run *run)
{
	const uint32_t given = run->overhead.max_percent;
	char text[192], more[96];
	if (given > 0)
		(void) snprintf(more, sizeof(more),
				"adds more than the %" PRIu32
				" %% of --max-overhead to its CPU time",
				given); /* fits, as the following */
	else
		(void) snprintf(more, sizeof(more),
				"takes more than %d %% of a CPU, or %d %% of what it uses",
				SW_OVERHEAD_PERCENT, SW_OVERHEAD_OWN_PERCENT);
	(void) snprintf(text, sizeof(text),
			"it comes to breakpoints %" PRIu64
			" times a second, which %s: the command has ended",
			run->too_many, more);
	sw_complain_for(run->subject.name, text, "limit",
			given == 0 ? SW_SAID_OF_ENDLESS : sw_overhead_causes(run->options));
}

/* leaks has no conditions of its events. */
static unsigned conditions_of(const struct sw_event_run *run)
{
	enum sw_event_what what = run->wanted.what;
	return what == SW_EVENT_CALL || what == SW_EVENT_FUNCTION || what == SW_EVENT_BLOCKED
		       ? SW_SAID_OF_CONDITIONS
		       : 0;
}

/* Text and JSON have them as figures; profiles, and lines of single events, do not. */
static void lost_say(const struct sw_event_run *run)
{
	const struct sw_options *o = run->options;
	bool is_json = o->profile_format == SW_PROFILE_JSON || o->format == SW_FORMAT_JSON;
	const struct {
		uint64_t n;
		const char *what;
		uint64_t causes;
	} figures[] = {
		{run->n_lost, "events were lost, as they came faster than they were read",
		 conditions_of(run)},
		{run->cost.n_not_held, "things were not followed, as so many were outstanding",
		 SW_SAID_OF_SPACE |
			 (o->limit_given && o->limit == SW_LIMIT_MOST ? SW_SAID_AT_MOST : 0)},
		{run->cost.n_unsure,
		 "things were not followed, as other threads got or gave up the same one", 0},
	};
	if (is_json ? !o->each : o->profile_format == SW_PROFILE_TEXT)
		return;
	for (size_t i = 0; i < SW_ARRAY_SIZE(figures); i++) {
		char text[128];
		(void) snprintf(text, sizeof(text), "%" PRIu64 " %s", figures[i].n,
				figures[i].what); /* fits */
		if (figures[i].n > 0)
			sw_complain_for(run->subject.name, text, "lost", figures[i].causes);
	}
}

int sw_event_run_missing(const struct sw_event_run *run)
{
	lost_say(run);
	const char *why = sw_recorder_no_events(run->recorder);
	if (why[0] != '\0')
		sw_complain_for(run->subject.name, why, "no_stacks", 0);
	bool over = run->over && !run->ended;
	if (over)
		sw_complain_for(run->subject.name,
				"the thread by which the kernel knows the process has ended: there "
				"are no events after that",
				"thread_ended", 0);
	if (run->too_many > 0)
		too_many_say(run);
	return why[0] != '\0' || over || run->n_lost > 0 || run->cost.n_not_held > 0 ||
			       run->cost.n_unsure > 0 || run->too_many > 0
		       ? SW_STATUS_MISSING
		       : SW_STATUS_COMPLETE;
}

void sw_event_run_title(const struct sw_event_run *run, struct sw_text *ret)
{
	const char *comm = run->subject.comm;
	sw_utf8_append_plain(ret, comm, strlen(comm));
	sw_text_printf(ret, "%spid %d, %.0f s", comm[0] != '\0' ? ", " : "", (int) run->subject.pid,
		       (double) (run->end_ns - run->begin_ns) / NS_PER_S);
}
