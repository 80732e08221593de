/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/host_run.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/waiting.h"
#include "errors.h"
#include "run/obtain.h"
#include "series/recording.h"

#include <poll.h>
#include <snapwalk/clock.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	/* A sample of a process that is not known wakes the command, as what has ended has no maps any more. Others wait. A
	 * round costs as much as some samples, so there is a pause before each. */
	FETCHES_HZ = 25,
	PAUSE_NS = 1000000,
	RECORDERS_MAX = 512,    /* each has the maps of a process, and some open files */
	STACK_BYTES = 64 << 10, /* as much as the kernel copies; samples are few */
	FORGET_S = 120,         /* a process of which no sample came for so long is forgotten */
	MISSING_PER_CENT = 2,
	PER_CENT = 100,
};

/* ---- processes ------------------------------------------------------------------------------- */

static void recorder_count(struct sw_host_counts *counts, const struct sw_host_process *p)
{
	const struct sw_recorder_totals *t = sw_recorder_totals(p->recorder);
	const uint64_t n_unanswered = sw_recorder_unanswered(p->recorder);
	counts->n_samples += t->n_samples;
	counts->n_lost += t->n_lost;
	counts->n_native += sw_recorder_native(p->recorder);
	counts->n_unanswered += n_unanswered;
	if (n_unanswered > 0 && counts->n_unanswered_processes++ == 0)
		counts->unanswered_pid = p->pid;
}

static void recorder_drop(struct sw_host_run *run, struct sw_host_process *p)
{
	if (p->recorder != NULL)
		recorder_count(&run->counts, p);
	sw_recorder_destroy(p->recorder);
	if (p->recorder != NULL)
		sw_sessions_leave(&run->sessions, p->session);
	*p = (struct sw_host_process){0};
}

static struct sw_host_process *process_find(struct sw_host_run *run, pid_t pid)
{
	for (size_t i = 0; i < run->n_places; i++)
		if (run->processes[i].pid == pid)
			return &run->processes[i];
	return NULL;
}

/* The process of which a sample came longest ago, among those with a recorder. */
static struct sw_host_process *process_oldest(struct sw_host_run *run, bool with_recorder)
{
	struct sw_host_process *oldest = NULL;
	for (size_t i = 0; i < run->n_places; i++) {
		struct sw_host_process *p = &run->processes[i];
		if (p->pid != 0 && (p->recorder != NULL || !with_recorder) &&
		    (oldest == NULL || p->last_ns < oldest->last_ns))
			oldest = p;
	}
	return oldest;
}

static size_t recorders_count(const struct sw_host_run *run)
{
	size_t n = 0;
	for (size_t i = 0; i < run->n_places; i++)
		n += run->processes[i].recorder != NULL;
	return n;
}

/* A place for one more, if need be that of another one, which is looked at again if it runs. */
static struct sw_host_process *process_add(struct sw_host_run *run)
{
	if (recorders_count(run) >= RECORDERS_MAX) {
		recorder_drop(run, process_oldest(run, true));
		run->counts.n_dropped++;
	}
	struct sw_host_process *p = process_find(run, 0);
	if (p == NULL && run->n_places < SW_HOST_SEEN_MAX)
		p = &run->processes[run->n_places++];
	if (p == NULL) {
		p = process_oldest(run, false);
		recorder_drop(run, p);
	}
	return p;
}

/* Whether a process is the one that a sample is of, and not a later one of the same number. In clock ticks: proc(5). */
static bool is_same(const struct sw_target *target, const struct sw_host_event *event)
{
	const uint64_t tick_ns = NS_PER_S / (uint64_t) sysconf(_SC_CLK_TCK);
	return sw_target_starttime(target) == event->start_ns / tick_ns;
}

static void naming(void *arg, bool begins)
{
	struct sw_host_run *run = arg;
	sw_urgency_pause(&run->urgency, begins);
}

/* Processes of the session that is in the way are looked at again when they run. */
static void session_clear(struct sw_host_run *run)
{
	const struct sw_session *oldest = sw_sessions_oldest(&run->sessions);
	for (size_t i = 0; oldest != NULL && i < run->n_places; i++) {
		struct sw_host_process *p = &run->processes[i];
		run->counts.n_dropped += p->recorder != NULL && p->session == oldest;
		if (p->recorder != NULL && p->session == oldest)
			recorder_drop(run, p);
	}
}

static int recorder_open(struct sw_host_run *run, const struct sw_host_event *event,
			 struct sw_host_process *p, struct sw_error *err)
{
	sw_cleanup(sw_target_close_p) struct sw_target *target = NULL;
	struct sw_recorder_options how = sw_recording_options(run->options);
	how.mode = SW_RECORD_CPU;
	how.host = run->host;
	how.only_events = true;
	how.naming = naming;
	how.naming_arg = run;
	/* Each process has few samples, and many processes are not to take memory for them. */
	if (how.how.walk.memory == SW_WALK_REMEMBER)
		how.how.walk.memory = SW_WALK_FORGET;
	int r = sw_target_open(event->pid, &target, err);
	if (r < 0)
		return r;
	if (!is_same(target, event))
		return sw_fail(err, SW_E_EXITED, "process %d exited", (int) event->pid);
	session_clear(run);
	r = sw_sessions_join(&run->sessions, &p->session, err);
	if (r < 0)
		return r;
	r = sw_recorder_create(sw_take_ptr(target), &how, p->session, &run->sink, &p->recorder,
			       err);
	if (r < 0)
		sw_sessions_leave(&run->sessions, p->session);
	return r;
}

static bool has_ended(int code)
{
	return code == -SW_E_EXITED || code == -SW_E_NO_PROCESS || code == -SW_E_ZOMBIE;
}

/* A thread whose process has ended counts without a stack, by its name: many that are short are one. */
static int ended_count(struct sw_host_run *run, const struct sw_host_event *event,
		       struct sw_error *err)
{
	struct sw_report_thread thread = {.comm = event->comm,
					  .state = 'R',
					  .reason = "exited",
					  .stack = -1};
	const struct sw_report report = {.process.comm = event->comm,
					 .threads = &thread,
					 .n_threads = 1};
	const struct sw_profile_weight weight = {.count = 1,
						 .ns = run->adding.interval_ns,
						 .state = SW_PROFILE_ON_CPU};
	run->counts.n_ended++;
	return sw_profile_add(run->profile, &report, &weight, NULL, err);
}

/* A process that is not sampled is not looked at again; its samples are not copied, if there is space to note that. */
static int process_begin(struct sw_host_run *run, const struct sw_host_event *event,
			 struct sw_host_process **ret, struct sw_error *err)
{
	struct sw_error why = {0};
	*ret = NULL;
	if (!sw_selects(run->options, event->pid)) {
		sw_host_sampler_leave_out(run->host, event->pid);
		return 0;
	}
	struct sw_host_process *p = process_add(run);
	int r = recorder_open(run, event, p, &why);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	p->pid = event->pid;
	p->start_ns = event->start_ns;
	p->last_ns = sw_clock_ns();
	p->ended = has_ended(r);
	run->counts.n_processes += r == 0;
	*ret = p;
	return 0;
}

static void process_end(struct sw_host_run *run, pid_t pid)
{
	struct sw_host_process *p = process_find(run, pid);
	if (p != NULL)
		recorder_drop(run, p);
}

static void processes_forget(struct sw_host_run *run, int64_t now_ns)
{
	for (size_t i = 0; i < run->n_places; i++) {
		struct sw_host_process *p = &run->processes[i];
		if (p->pid != 0 && now_ns - p->last_ns > (int64_t) FORGET_S * NS_PER_S)
			recorder_drop(run, p);
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

static int sample_take(struct sw_host_run *run, const struct sw_host_event *event,
		       struct sw_error *err)
{
	struct sw_error why = {0};
	struct sw_host_process *p = process_find(run, event->pid);
	if (p != NULL && p->start_ns != event->start_ns) { /* the number is used again */
		recorder_drop(run, p);
		p = NULL;
	}
	int r = p == NULL ? process_begin(run, event, &p, err) : 0;
	if (r < 0 || p == NULL)
		return r;
	p->last_ns = sw_clock_ns();
	if (p->recorder == NULL) {
		run->counts.n_lost += !p->ended;
		return p->ended ? ended_count(run, event, err) : 0;
	}
	r = sw_recorder_sample(p->recorder, &why);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (has_ended(r)) {
		recorder_drop(run, p);
		run->counts.n_lost--; /* the sampler has left it out */
		return ended_count(run, event, err);
	}
	if (r == -SW_E_NOT_PERMITTED) {
		run->counts.n_denied++;
		run->counts.n_denied_processes++;
		pid_t pid = p->pid;
		recorder_drop(run, p);
		sw_host_sampler_leave_out(run->host, pid);
	}
	return 0;
}

/* Looks at the processes of all samples that wait, before the names of the next one are looked for, which may take long. */
static int waiting_begin(struct sw_host_run *run, struct sw_error *err)
{
	struct sw_host_event event;
	struct sw_host_process *begun;
	int r = 0;
	while (r == 0 && sw_host_sampler_peek(run->host, &run->peeked_at, &event))
		if (process_find(run, event.pid) == NULL)
			r = process_begin(run, &event, &begun, err);
	return r;
}

/* All that there are by now, as far as the time goes. */
static int round_take(struct sw_host_run *run, int64_t deadline_ns, struct sw_error *err)
{
	struct sw_host_event event;
	int r = 0;
	while (r == 0 && sw_clock_ns() < deadline_ns) {
		r = waiting_begin(run, err);
		if (r < 0)
			break;
		sw_host_sampler_next(run->host, &event);
		if (event.kind == SW_HOST_NONE)
			break;
		if (event.kind == SW_HOST_END) {
			process_end(run, event.pid);
			continue;
		}
		r = sample_take(run, &event, err);
	}
	return r;
}

/*
 * Takes the samples that the kernel has made until the end and nobody has fetched yet. What a process has of names may take
 * seconds to be found: what is left when --timeout is over counts as lost.
 */
static int rest_take(struct sw_host_run *run, struct sw_error *err)
{
	enum { MOST = 1 << 20, NS_PER_MS = 1000000 };
	const int64_t timeout_ns = (int64_t) run->options->timeout_ms * NS_PER_MS;
	struct sw_host_event event = {.kind = SW_HOST_SAMPLE};
	sw_host_sampler_limit(run->host, run->begin_ns, run->end_ns);
	run->counts.n_late += sw_host_sampler_lost(run->host); /* those of later are none of ours */
	int r = round_take(run, timeout_ns > 0 ? sw_clock_ns() + timeout_ns : INT64_MAX, err);
	for (int i = 0; i < MOST && event.kind != SW_HOST_NONE; i++) {
		sw_host_sampler_next(run->host, &event);
		run->counts.n_late += event.kind == SW_HOST_SAMPLE;
	}
	return r;
}

static struct sw_host_counts counts_now(const struct sw_host_run *run)
{
	struct sw_host_counts c = run->counts;
	for (size_t i = 0; i < run->n_places; i++)
		if (run->processes[i].recorder != NULL)
			recorder_count(&c, &run->processes[i]);
	return c;
}

static void info_set(struct sw_host_run *run)
{
	const struct sw_host_counts c = counts_now(run);
	const struct sw_profile_info info = {.mode = "cpu",
					     .begin_ns = run->begin_real_ns,
					     .duration_ns = run->end_ns - run->begin_ns,
					     .rate_hz = run->options->rate_hz,
					     .n_samples = c.n_samples + c.n_ended,
					     .n_wanted =
						     c.n_samples + c.n_ended + c.n_lost + c.n_late,
					     .n_lost = c.n_lost + c.n_late};
	sw_profile_set_info(run->profile, &info);
}

/* ---- the run --------------------------------------------------------------------------------- */

int sw_host_run_open(struct sw_host_run *run, const struct sw_options *options,
		     struct sw_error *err)
{
	const size_t stack_bytes = options->snapshot.stack_bytes;
	const struct sw_host_options how = {.rate_hz = options->rate_hz,
					    .stack_bytes =
						    stack_bytes != 0 ? stack_bytes : STACK_BYTES};
	*run = (struct sw_host_run){.options = options};
	sw_wait_signals(&run->signals, true);
	int r = sw_host_sampler_open(&how, &run->host, err);
	if (r == 0)
		r = sw_profile_create(NULL, &run->profile, err);
	if (r < 0)
		return r;
	sw_host_sampler_leave_out(run->host, getpid());
	sw_profile_set_by_process(run->profile);
	run->adding = (struct sw_profile_adding){.profile = run->profile,
						 .mode = SW_RECORD_CPU,
						 .interval_ns = NS_PER_S / options->rate_hz};
	run->sink = sw_profile_sink(&run->adding);
	return 0;
}

void sw_host_run_deinit(struct sw_host_run *run)
{
	for (size_t i = 0; i < run->n_places; i++)
		sw_recorder_destroy(run->processes[i].recorder);
	sw_sessions_deinit(&run->sessions);
	sw_host_sampler_close(run->host);
	sw_profile_destroy(run->profile);
}

/* Waits for a sample of a process that is not known, at most until due_ns. True: a signal has come. */
static bool wait_due(const struct sw_host_run *run, int64_t due_ns)
{
	struct pollfd wanted = {.fd = sw_host_sampler_fd(run->host), .events = POLLIN};
	int64_t pause_ns = run->waits_ns + PAUSE_NS;
	if (sw_wait_until(&run->signals, pause_ns < due_ns ? pause_ns : due_ns))
		return true;
	int64_t left_ns = due_ns - sw_clock_ns();
	struct timespec t = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
	if (left_ns > 0)
		(void) ppoll(&wanted, 1, &t, NULL); /* where it fails, the round is early */
	return sw_wait_until(&run->signals, 0);
}

static int round_take_timed(struct sw_host_run *run, struct sw_error *err)
{
	int64_t begin_ns = sw_clock_read(CLOCK_THREAD_CPUTIME_ID), now_ns = sw_clock_ns();
	int r = round_take(run, now_ns + NS_PER_S, err);
	/* With the time that it has waited before. */
	int64_t wall_ns = sw_clock_ns() - run->waits_ns;
	sw_urgency_round(&run->urgency, sw_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin_ns, wall_ns,
			 !run->options->snapshot.no_realtime);
	run->waits_ns = sw_clock_ns();
	return r;
}

int sw_host_run_all(struct sw_host_run *run, struct sw_error *err)
{
	const struct sw_options *o = run->options;
	run->begin_ns = sw_clock_ns();
	run->begin_real_ns = sw_realtime_ns();
	int64_t end_ns =
		o->duration_s == 0 ? INT64_MAX : run->begin_ns + (int64_t) o->duration_s * NS_PER_S;
	int64_t due_ns = 0;
	int r = 0;
	sw_host_sampler_limit(run->host, run->begin_ns, end_ns);
	/* The first round looks at all processes that run, and takes longest. */
	sw_urgency_round(&run->urgency, 0, NS_PER_S / FETCHES_HZ, !o->snapshot.no_realtime);
	run->waits_ns = run->begin_ns;
	while (r == 0) {
		due_ns = sw_clock_ns() + NS_PER_S / FETCHES_HZ;
		if (due_ns > end_ns)
			due_ns = end_ns;
		if (wait_due(run, due_ns) || sw_clock_ns() >= end_ns)
			break;
		r = round_take_timed(run, err);
		processes_forget(run, due_ns);
	}
	run->end_ns = sw_clock_ns() < end_ns ? sw_clock_ns() : end_ns;
	if (r == 0)
		r = rest_take(run, err);
	sw_urgency_end(&run->urgency);
	info_set(run);
	return r;
}

int sw_host_run_summary(const struct sw_host_run *run)
{
	const struct sw_host_counts c = counts_now(run);
	double seconds = (double) (run->end_ns - run->begin_ns) / 1e9;
	int status = SW_STATUS_COMPLETE;
	sw_say("snapwalk", "samples",
	       "%llu samples of %zu processes in %.1f s, for %.2f s of CPU time (%u a second on "
	       "each CPU); nothing was stopped",
	       (unsigned long long) (c.n_samples + c.n_ended), c.n_processes, seconds,
	       (double) (c.n_samples + c.n_ended) / run->options->rate_hz, run->options->rate_hz);
	sw_say("snapwalk", "cost",
	       "it took %.0f ms of CPU time, and %.0f ms of the CPU time of the processes",
	       (double) sw_clock_read(CLOCK_PROCESS_CPUTIME_ID) / 1e6,
	       (double) sw_host_sampler_cost_ns(run->host) / 1e6);
	if (!sw_host_sampler_with_kernel(run->host))
		sw_say("snapwalk", "samples_no_kernel",
		       "time in the kernel does not count: /proc/sys/kernel/perf_event_paranoid "
		       "is above 1");
	if (c.n_native > 0)
		sw_say("snapwalk", "samples_native",
		       "%llu samples have native frames only: their process's runtime was not "
		       "known yet, or its frames cannot be copied",
		       (unsigned long long) c.n_native);
	if (c.n_ended > 0)
		sw_say("snapwalk", "samples_ended",
		       "%llu samples have no stack: their process had ended when they were read",
		       (unsigned long long) c.n_ended);
	if (c.n_unanswered > 0)
		sw_say("snapwalk", "samples_unanswered",
		       "%llu samples are lost: the memory of process %d%s did not answer in time, "
		       "as that of a file system whose server has stopped, or where there is no "
		       "free CPU; it is looked at again after pauses that grow",
		       (unsigned long long) c.n_unanswered, (int) c.unanswered_pid,
		       c.n_unanswered_processes > 1 ? ", and of others," : "");
	if (c.n_lost > c.n_unanswered)
		sw_say("snapwalk", "samples_lost",
		       "%llu samples are lost: their process became another program before its "
		       "maps were read",
		       (unsigned long long) (c.n_lost - c.n_unanswered));
	if (c.n_late > 0)
		sw_say("snapwalk", "samples_late",
		       "%llu samples are lost: they were not fetched in time",
		       (unsigned long long) c.n_late);
	if (c.n_denied_processes > 0)
		sw_say("snapwalk", "samples_denied",
		       "%zu processes may not be captured by this user, and are left out",
		       c.n_denied_processes);
	if (c.n_dropped > 0)
		sw_say("snapwalk", "processes_dropped",
		       "processes came and went: %zu times one was forgotten that may run on, and "
		       "was looked at anew",
		       c.n_dropped);
	if (sw_profile_totals(run->profile).left_count > 0 ||
	    (c.n_lost + c.n_late) * PER_CENT >
		    (c.n_samples + c.n_ended + c.n_lost + c.n_late) * MISSING_PER_CENT)
		status = SW_STATUS_MISSING;
	return status;
}
