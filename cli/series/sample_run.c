/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/sample_run.h"
#include "common/complain.h"
#include "common/waiting.h"
#include "errors.h"
#include "cleanup.h"
#include "run/obtain.h"
#include "run/sampled_files.h"
#include "series/recording.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
	NS_PER_S = 1000000000,
	PER_CENT = 100,
	MISSING_PER_CENT = 2, /* of the samples, from where on the result is not complete */
};

/*
 * How often samples by events are fetched: nobody is woken for them. Each time costs as much as some samples, while
 * what is constant (names of functions) is read that much later than the sample.
 */
static uint32_t fetches_hz(const struct sw_options *options)
{
	enum { FEW_HZ = 250, SELDOM_HZ = 15, OFTEN_HZ = 50 };
	return options->rate_hz <= FEW_HZ ? SELDOM_HZ : OFTEN_HZ;
}

/* ---- open ----------------------------------------------------------------------------------- */

static void naming(void *arg, bool begins)
{
	struct sw_sample_run *run = arg;
	sw_urgency_pause(&run->urgency, begins);
}

static int recording_open(struct sw_sample_run *run, const struct sw_subject *subject,
			  const struct sw_options *options, struct sw_recorder **ret,
			  struct sw_error *err)
{
	struct sw_recorder_options how = sw_recording_options(options);
	struct sw_target *target = NULL;
	how.with_events = true;
	how.naming = naming;
	how.naming_arg = run;
	int r = sw_target_open(subject->pid, &target, err);
	sw_sampled_files_of(subject->pid);
	return r < 0 ? r : sw_recorder_create(target, &how, run->session, &run->sink, ret, err);
}

/*
 * Nobody is stopped unless that was asked for, or the kernel refuses to sample threads that run: for blocked time they have no
 * stack that counts, as long as the counters can be read.
 */
static int recorder_create(struct sw_sample_run *run, const struct sw_subject *subject,
			   struct sw_recorder **ret, struct sw_error *err)
{
	const bool off = run->options->mode == SW_RECORD_OFF;
	struct sw_recorder *made;
	struct sw_error ignored;
	if (run->options->stop_given)
		return recording_open(run, subject, run->options, ret, err);
	run->quiet = *run->options;
	run->quiet.snapshot.stop = SW_STOP_NEVER;
	run->quiet.snapshot.blocked_only = off;
	if (recording_open(run, subject, &run->quiet, &made, &ignored) == 0) {
		if (off || sw_recorder_quiet(made)) {
			*ret = made;
			return 0;
		}
		sw_recorder_destroy(made);
	}
	return recording_open(run, subject, run->options, ret, err);
}

static int recorder_open(struct sw_sample_run *run, const struct sw_subject *subject)
{
	struct sw_error err = {0};
	run->names[run->n_recorders] = subject->name;
	int r = recorder_create(run, subject, &run->recorders[run->n_recorders], &err);
	/* A program may be that short. */
	if (run->options->program != NULL && (r == -SW_E_ZOMBIE || r == -SW_E_EXITED))
		return SW_STATUS_COMPLETE;
	if (r < 0)
		return sw_complain_error(subject->name, &err);
	const struct sw_recorder *made = run->recorders[run->n_recorders++];
	const char *refused = sw_recorder_refused(made);
	run->by_events = sw_recorder_by_events(made) && (run->n_recorders == 1 || run->by_events);
	if (run->n_recorders == 1 && refused[0] != '\0')
		sw_complain_for(subject->name, refused, "unsupported",
				SW_SAID_OF_SAMPLES |
					(run->options->mode == SW_RECORD_CPU   ? SW_SAID_OF_CPU
					 : run->options->mode == SW_RECORD_OFF ? SW_SAID_OF_BLOCKED
									       : 0));
	return SW_STATUS_COMPLETE;
}

/* Whether nobody is stopped for a round. */
static bool is_quiet(const struct sw_sample_run *run)
{
	for (size_t i = 0; i < run->n_recorders; i++)
		if (!sw_recorder_quiet(run->recorders[i]))
			return false;
	return run->n_recorders > 0 && !run->options->snapshot.no_realtime;
}

int sw_sample_run_open(struct sw_sample_run *run, const struct sw_options *options)
{
	struct sw_error err = {0};
	const char *about = "";
	*run = (struct sw_sample_run){.options = options, .status = SW_STATUS_COMPLETE};
	/* A program that was started says by its end when there is nothing more to sample. */
	sw_wait_signals(&run->signals, options->program == NULL);
	if (sw_select(options, &run->selection, &about, &err) < 0)
		return sw_complain_error(about, &err);
	run->recorders = calloc(run->selection.n_subjects + 1, sizeof(struct sw_recorder *));
	run->names = calloc(run->selection.n_subjects + 1, sizeof(*run->names));
	if (run->recorders == NULL || run->names == NULL)
		(void) sw_fail_nomem(&err);
	if (run->recorders == NULL || run->names == NULL ||
	    sw_session_create(&run->session, &err) < 0 ||
	    sw_profile_create(NULL, &run->profile, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	if (options->by_process)
		sw_profile_set_by_process(run->profile);
	run->adding = (struct sw_profile_adding){.profile = run->profile,
						 .mode = options->mode,
						 .interval_ns = NS_PER_S / options->rate_hz};
	run->sink = sw_profile_sink(&run->adding);
	for (size_t i = 0; i < run->selection.n_subjects; i++)
		run->status = sw_status_worse(run->status,
					      recorder_open(run, &run->selection.subjects[i]));
	return run->n_recorders > 0 ? SW_STATUS_COMPLETE : run->status;
}

void sw_sample_run_reopen(struct sw_sample_run *run)
{
	for (size_t i = 0; i < run->n_recorders; i++)
		sw_recorder_destroy(run->recorders[i]);
	run->n_recorders = 0;
	run->by_events = false;
	for (size_t i = 0; i < run->selection.n_subjects; i++)
		run->status = sw_status_worse(run->status,
					      recorder_open(run, &run->selection.subjects[i]));
}

void sw_sample_run_deinit(struct sw_sample_run *run)
{
	for (size_t i = 0; i < run->n_recorders; i++)
		sw_recorder_destroy(run->recorders[i]);
	free(run->recorders);
	free(run->names);
	sw_profile_destroy(run->profile);
	sw_session_destroy(run->session);
	sw_selection_deinit(&run->selection);
}

/* ---- run ------------------------------------------------------------------------------------ */

struct sw_recorder_totals sw_sample_run_totals(const struct sw_sample_run *run)
{
	struct sw_recorder_totals sum = {0};
	for (size_t i = 0; i < run->n_recorders; i++) {
		const struct sw_recorder_totals *t = sw_recorder_totals(run->recorders[i]);
		sum.n_samples += t->n_samples;
		sum.n_failed += t->n_failed;
		sum.n_threads += t->n_threads;
		sum.n_read += t->n_read;
		sum.n_remembered += t->n_remembered;
		sum.n_differ += t->n_differ;
		sum.n_missed += t->n_missed;
		sum.n_stopped += t->n_stopped;
		sum.n_interrupted += t->n_interrupted;
		sum.on_cpu += t->on_cpu;
		sum.runnable += t->runnable;
		sum.blocked += t->blocked;
		sum.stopped_ns += t->stopped_ns;
		sum.held_ns += t->held_ns;
		sum.blocked_ns += t->blocked_ns;
		sum.unplaced_ns += t->unplaced_ns;
		sum.n_lost += t->n_lost;
		sum.no_kernel |= t->no_kernel;
		if (t->longest_ns > sum.longest_ns)
			sum.longest_ns = t->longest_ns;
	}
	return sum;
}

/* The time of the process that was held up most: one of many processes is not slower for it. */
static double held_ns(const struct sw_sample_run *run)
{
	double most = 0;
	for (size_t i = 0; i < run->n_recorders; i++) {
		double held = sw_recorder_totals(run->recorders[i])->held_ns;
		most = held > most ? held : most;
	}
	return most;
}

static void progress_show(struct sw_sample_run *run)
{
	int64_t now_ns = sw_clock_ns();
	if (now_ns - run->progress_ns < NS_PER_S / 4 || !isatty(STDERR_FILENO) ||
	    run->options->program != NULL)
		return;
	run->progress_ns = now_ns;
	double seconds = (double) (now_ns - run->schedule.begin_ns) / 1e9;
	unsigned long long n = sw_sample_run_totals(run).n_samples;
	if (run->options->duration_s == 0)
		fprintf(stderr, "\r%llu samples, %.0f s", n, seconds);
	else
		fprintf(stderr, "\r%llu samples, %.0f of %u s", n, seconds,
			run->options->duration_s);
}

/* Whether a process that was never sampled need not be asked again. */
static bool is_hopeless(const struct sw_recorder *recorder, int code)
{
	return sw_recorder_totals(recorder)->n_samples == 0 &&
	       (code == -SW_E_NOT_PERMITTED || code == -SW_E_UNSUPPORTED || code == -SW_E_ARCH ||
		code == -SW_E_TRACED);
}

/* Takes a sample of each process; *ret_alive: how many may be asked again. */
static int tick(struct sw_sample_run *run, size_t *ret_alive, struct sw_error *err)
{
	*ret_alive = 0;
	for (size_t i = 0; i < run->n_recorders; i++) {
		struct sw_recorder *recorder = run->recorders[i];
		struct sw_error why = {0};
		if (sw_recorder_has_ended(recorder))
			continue;
		int r = sw_recorder_sample(recorder, &why);
		if (r == -SW_E_NOMEM)
			return sw_fail_nomem(err);
		if (r < 0)
			run->failure = why;
		if (r < 0 && run->n_recorders == 1 && is_hopeless(recorder, r)) {
			*err = why;
			return r;
		}
		*ret_alive += !sw_recorder_has_ended(recorder);
	}
	return 0;
}

/* Whether the command may have a priority: for rounds that nobody is stopped for, after the first samples. */
static bool may_be_urgent(const struct sw_sample_run *run)
{
	for (size_t i = 0; i < run->n_recorders; i++)
		if (sw_recorder_totals(run->recorders[i])->n_samples == 0)
			return false;
	return is_quiet(run);
}

static int round_take(struct sw_sample_run *run, size_t *ret_alive, struct sw_error *err)
{
	const int64_t rounds_hz = run->by_events ? fetches_hz(run->options) : run->options->rate_hz;
	int64_t begin_ns = sw_clock_read(CLOCK_THREAD_CPUTIME_ID);
	int r = tick(run, ret_alive, err);
	sw_urgency_round(&run->urgency, sw_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin_ns,
			 NS_PER_S / rounds_hz, may_be_urgent(run));
	return r;
}

static void info_set(struct sw_sample_run *run)
{
	const struct sw_schedule *s = &run->schedule;
	const struct sw_recorder_totals t = sw_sample_run_totals(run);
	const struct sw_profile_info by_events = {
		.mode = "cpu",
		.begin_ns = run->begin_real_ns,
		.duration_ns = run->end_ns - s->begin_ns,
		.rate_hz = run->options->rate_hz,
		.n_samples = t.n_samples,
		.n_wanted = t.n_samples + t.n_lost,
		.n_lost = t.n_lost,
	};
	const struct sw_profile_info info = {
		.mode = sw_record_mode_name(run->options->mode),
		.begin_ns = run->begin_real_ns,
		.duration_ns = run->end_ns - s->begin_ns,
		.rate_hz = s->rate_hz,
		.n_samples = s->n_wanted - s->n_lost - s->n_left_out,
		.n_wanted = s->n_wanted,
		.n_late = s->n_late,
		.n_lost = s->n_lost + s->n_left_out,
		.stopped_ns = t.stopped_ns,
		.longest_stop_ns = t.longest_ns,
	};
	sw_profile_set_info(run->profile, run->by_events ? &by_events : &info);
}

int sw_sample_run_all(struct sw_sample_run *run, struct sw_error *err)
{
	const struct sw_options *o = run->options;
	size_t alive = run->n_recorders;
	int64_t now_ns = run->progress_ns = sw_clock_ns();
	run->begin_real_ns = sw_realtime_ns();
	/* The kernel takes the samples: they are fetched. */
	int64_t end_ns =
		o->duration_s == 0 ? INT64_MAX : now_ns + (int64_t) o->duration_s * NS_PER_S;
	sw_schedule_init(&run->schedule, now_ns, end_ns,
			 run->by_events ? fetches_hz(o) : o->rate_hz, o->max_load_percent);
	while (alive > 0) {
		int64_t due_ns = sw_schedule_next_ns(&run->schedule, held_ns(run));
		if (sw_wait_until(&run->signals, due_ns) ||
		    !sw_schedule_begin(&run->schedule, sw_clock_ns()))
			break;
		int r = round_take(run, &alive, err);
		if (r < 0)
			return r;
		progress_show(run);
	}
	sw_urgency_end(&run->urgency);
	if (run->by_events && alive > 0) { /* those of the last interval */
		int r = tick(run, &alive, err);
		if (r < 0)
			return r;
	}
	run->end_ns = sw_clock_ns();
	sw_schedule_finish(&run->schedule, run->end_ns);
	for (size_t i = 0; i < run->n_recorders; i++)
		sw_recorder_settle(run->recorders[i]);
	info_set(run);
	if (sw_sample_run_totals(run).n_samples == 0 && run->failure.code != 0) {
		*err = run->failure;
		return -err->code;
	}
	return 0;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

static unsigned long long ull(uint64_t n)
{
	return n;
}

static const char *about_of(const struct sw_sample_run *run)
{
	return run->n_recorders == 1 ? run->names[0] : "snapwalk";
}

static void say_why_stopped(const struct sw_sample_run *run)
{
	for (size_t i = 0; i < run->n_recorders; i++) {
		const char *why = sw_recorder_no_events(run->recorders[i]);
		if (run->options->mode != SW_RECORD_WALL || why[0] == '\0')
			continue;
		sw_say(about_of(run), "samples_stopped", "threads on a CPU were stopped: %s", why);
		return;
	}
}

static void say_totals(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	const struct sw_schedule *s = &run->schedule;
	double seconds = (double) (run->end_ns - s->begin_ns) / 1e9;
	double each = t->n_samples > 0 ? (double) t->n_samples : 1;
	uint64_t n_rounds = s->n_wanted - s->n_lost - s->n_left_out;
	char processes[48] = "", stops[96] = "nothing was stopped";
	size_t n_threads = 0;
	for (size_t i = 0; i < run->n_recorders; i++)
		n_threads += sw_recorder_threads(run->recorders[i]);
	if (run->n_recorders > 1)
		(void) snprintf(processes, sizeof(processes), " of %zu processes",
				run->n_recorders); /* fits */
	if (t->n_stopped > 0)
		(void) snprintf(stops, sizeof(stops),
				"%.2f threads stopped for each, %.2f ms at most",
				(double) t->n_stopped / each,
				(double) t->longest_ns / 1e6); /* fits */
	sw_say(about_of(run), "samples",
	       "%llu of %llu samples in %.1f s (%.1f of %u a second), %zu thread%s%s; %s",
	       ull(n_rounds), ull(s->n_wanted), seconds,
	       seconds > 0 ? (double) n_rounds / seconds : 0, s->rate_hz, n_threads,
	       sw_plural(n_threads), processes, stops);
	if (t->n_stopped > 0)
		say_why_stopped(run);
	double per_process = each / (double) run->n_recorders;
	sw_say(about_of(run), "samples_states",
	       "on a CPU %.2f threads, runnable %.2f, blocked %.2f",
	       (double) t->on_cpu / per_process, (double) t->runnable / per_process,
	       (double) t->blocked / per_process);
}

static void say_events(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	double seconds = (double) (run->end_ns - run->schedule.begin_ns) / 1e9;
	double cpu = (double) t->n_samples / run->options->rate_hz;
	sw_say(about_of(run), "samples",
	       "%llu samples in %.1f s, for %.2f s of CPU time (%u a second of it); nothing was "
	       "stopped",
	       ull(t->n_samples), seconds, cpu, run->options->rate_hz);
	if (t->no_kernel)
		sw_say(about_of(run), "samples_no_kernel",
		       "time in the kernel does not count: /proc/sys/kernel/perf_event_paranoid "
		       "is above 1");
	if (t->n_lost > 0)
		sw_say(about_of(run), "samples_lost",
		       "%llu samples are lost: they were not fetched in time", ull(t->n_lost));
}

/* "Nothing was on a CPU" is a finding, and what waits is found by another mode. */
static void say_none(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	if (t->n_samples == 0 && t->n_lost == 0)
		sw_say(about_of(run), "samples_none",
		       "no thread used CPU time for a sample: --mode off says what the threads "
		       "wait for");
}

static void say_blocked(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	char unplaced[96] = "";
	if (t->unplaced_ns > 0)
		(void) snprintf(unplaced, sizeof(unplaced),
				", and %.3f s between samples, nobody saw where",
				(double) t->unplaced_ns / 1e9); /* fits */
	sw_say(about_of(run), "samples_blocked", "blocked for %.1f s, all threads together%s",
	       (double) t->blocked_ns / 1e9, unplaced);
}

/* Says once what only a stop would have had. */
static void say_native(const struct sw_sample_run *run)
{
	const char *why = "";
	uint64_t n = 0;
	for (size_t i = 0; i < run->n_recorders; i++) {
		const char *one = sw_recorder_no_recipe(run->recorders[i]);
		n += sw_recorder_native(run->recorders[i]);
		why = why[0] == '\0' ? one : why;
	}
	if (n > 0)
		sw_say(about_of(run), "samples_native",
		       "%llu samples of threads that ran have native frames only: %s; --stop auto "
		       "stops threads for the others",
		       ull(n), why);
}

/* Whether part of whole is so much that the result is not what was asked for. */
static bool is_much(uint64_t part, uint64_t whole)
{
	return part * PER_CENT > whole * MISSING_PER_CENT;
}

static int say_missing(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	const struct sw_schedule *s = &run->schedule;
	int status = SW_STATUS_COMPLETE;
	const char *about = about_of(run);
	if (s->n_late > 0 && !run->by_events)
		sw_say(about, "samples_late",
		       "%llu sample%s came late by more than half of the interval", ull(s->n_late),
		       sw_plural(s->n_late));
	if (s->n_lost > 0 && !run->by_events)
		sw_say(about, "samples_lost",
		       "%llu sample%s lost: there was no CPU, or it took too long", ull(s->n_lost),
		       s->n_lost == 1 ? " is" : "s are");
	if (s->n_left_out > 0)
		sw_say(about, "samples_left_out",
		       "%llu sample%s left out, so that the target is not stopped for more than "
		       "%u %% of the time (--max-load)",
		       ull(s->n_left_out), s->n_left_out == 1 ? " was" : "s were",
		       s->max_load_percent);
	if (t->n_failed > 0)
		sw_say(about, "samples_failed", "%llu sample%s failed: %s", ull(t->n_failed),
		       sw_plural(t->n_failed), run->failure.message);
	if (t->n_missed > 0)
		sw_say(about, "samples_unread",
		       "%llu stack%s of threads that ran could not be read", ull(t->n_missed),
		       sw_plural(t->n_missed));
	if (t->n_interrupted > 0)
		sw_say(about, "samples_interrupted",
		       "%llu time%s a system call with a time limit returned EINTR",
		       ull(t->n_interrupted), sw_plural(t->n_interrupted));
	if (run->options->walk.memory == SW_WALK_REMEMBER_BOTH)
		sw_say(about, "walks_compared",
		       "%llu of %llu stacks were walked before; walked again, %llu differ",
		       ull(t->n_remembered), ull(t->n_read), ull(t->n_differ));
	if (t->n_differ > 0)
		status = SW_STATUS_MISSING;
	const struct sw_profile_totals totals = sw_profile_totals(run->profile);
	if (totals.left_count > 0) {
		sw_say(about, "samples_no_space", "%llu stacks found no space and are not counted",
		       ull(totals.left_count));
		status = SW_STATUS_MISSING;
	}
	uint64_t lost = run->by_events ? t->n_lost : s->n_lost + s->n_left_out;
	uint64_t wanted = run->by_events ? t->n_lost + t->n_samples : s->n_wanted;
	if (is_much(lost, wanted) || is_much(t->n_failed, t->n_failed + t->n_samples) ||
	    is_much(t->n_missed, t->n_missed + t->n_read))
		status = SW_STATUS_MISSING;
	return status;
}

/* Says what to do where too few samples came to tell one share from another. The time that --mode off measures does not
 * depend on their number. */
static void say_few(const struct sw_sample_run *run, const struct sw_recorder_totals *t)
{
	enum { FEW = 60, MANY = 400, SECONDS_MOST = 600, LOAD_MOST = 10 };
	const struct sw_schedule *s = &run->schedule;
	uint64_t n = run->by_events ? t->n_samples : s->n_wanted - s->n_lost - s->n_left_out;
	if (n == 0 || n >= FEW || run->options->mode == SW_RECORD_OFF)
		return;
	double ran = (double) (run->end_ns - s->begin_ns) / 1e9;
	double wanted = ran * MANY / (double) n + 1;
	double longer = wanted > SECONDS_MOST ? SECONDS_MOST : wanted;
	char advice[160] = "";
	if (run->options->program != NULL)
		(void) snprintf(advice, sizeof(advice), "; let the program run for longer");
	else if (longer > ran)
		(void) snprintf(advice, sizeof(advice), "; sample for longer, as with -d %.0f",
				longer);
	/* A load above that is felt by whom the program serves: that is not to be advised. */
	if (s->n_left_out * 2 > s->n_wanted && s->max_load_percent < LOAD_MOST) {
		size_t used = strlen(advice);
		(void) snprintf(
			advice + used, sizeof(advice) - used,
			", or let the target be stopped for more of the time with --max-load "
			"%d",
			LOAD_MOST); /* fits */
	}
	sw_say(about_of(run), "samples_few", "only %llu sample%s came: shares may be far off (±)%s",
	       ull(n), sw_plural(n), advice);
}

int sw_sample_run_summary(const struct sw_sample_run *run, bool with_margins)
{
	const struct sw_recorder_totals t = sw_sample_run_totals(run);
	if (run->progress_ns != run->schedule.begin_ns)
		fputs("\r\033[K", stderr);
	if (run->by_events) {
		say_events(run, &t);
		say_none(run, &t);
	} else
		say_totals(run, &t);
	if (run->options->mode == SW_RECORD_OFF)
		say_blocked(run, &t);
	say_native(run);
	int status = sw_status_worse(run->status, say_missing(run, &t));
	if (with_margins)
		say_few(run, &t);
	for (size_t i = 0; i < run->n_recorders; i++) {
		if (!sw_recorder_has_ended(run->recorders[i]) || run->options->program != NULL)
			continue;
		sw_complain_for(run->names[i], "it ended while it was sampled", "exited",
				SW_SAID_OF_OTHERS);
		status = sw_status_worse(status, SW_STATUS_MISSING);
	}
	return status;
}
