/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Captures again and again, and adds up the stacks. The share of time that the target is stopped is
 * bounded: the pause between two captures grows with what they cost it.
 */
#include "commands.h"
#include "common/complain.h"
#include "errors.h"
#include "obtain.h"
#include "profile_output.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

struct sampler {
	const struct sw_options *options;
	const struct sw_subject *subject;
	struct sw_session *session; /* owned */
	struct sw_profile *profile; /* owned */
	sigset_t stop_signals;      /* blocked, so that Ctrl-C gives what is there so far */
	int64_t begin_ns, end_ns, progress_ns;
	int64_t begin_real_ns;          /* CLOCK_REALTIME */
	int64_t stopped_ns, longest_ns; /* of the target */
	size_t n_samples, n_incomplete, n_interrupted;
	bool target_ended;
};

static int sample_once(struct sampler *s, struct sw_error *err)
{
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline got = {0};
	struct sw_pipeline_options how = sw_obtain_options(s->options, sw_clock_ns());
	how.report.seq = s->n_samples + 1;
	int r = sw_obtain(s->session, s->subject, s->options, &how, &got, err);
	if (r < 0)
		return r;
	r = sw_profile_add(s->profile, got.report, NULL, NULL, err);
	int64_t stopped_ns = got.snap->times.stopped_ns;
	s->stopped_ns += stopped_ns;
	if (stopped_ns > s->longest_ns)
		s->longest_ns = stopped_ns;
	s->n_samples++;
	s->n_incomplete += !got.report->complete;
	s->n_interrupted += got.snap->interrupted_calls;
	return r;
}

/* When the next sample is due: by the rate, and not before the stops so far are few enough. */
static int64_t next_ns(const struct sampler *s, int64_t last_ns)
{
	int64_t by_rate = last_ns + NS_PER_S / s->options->rate_hz;
	int64_t by_load = s->begin_ns + s->stopped_ns / s->options->max_load_percent * 100;
	return by_rate > by_load ? by_rate : by_load;
}

/* Waits; true when a signal says to stop. */
static bool wait_until(const struct sampler *s, int64_t when_ns)
{
	int64_t left_ns = when_ns - sw_clock_ns();
	if (left_ns < 0)
		left_ns = 0;
	struct timespec t = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
	return sigtimedwait(&s->stop_signals, NULL, &t) > 0;
}

static void show_progress(struct sampler *s)
{
	int64_t now_ns = sw_clock_ns();
	if (now_ns - s->progress_ns < NS_PER_S / 4 || !isatty(STDERR_FILENO))
		return;
	s->progress_ns = now_ns;
	fprintf(stderr, "\r%zu samples, %.0f of %u s", s->n_samples,
		(double) (now_ns - s->begin_ns) / 1e9, s->options->duration_s);
}

/* Until the time is over, a signal comes, or the target ends. */
static int sample_all(struct sampler *s, struct sw_error *err)
{
	struct timespec now;
	(void) clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
	s->begin_real_ns = (int64_t) now.tv_sec * NS_PER_S + now.tv_nsec;
	s->begin_ns = s->progress_ns = sw_clock_ns();
	int64_t until_ns = s->begin_ns + (int64_t) s->options->duration_s * NS_PER_S;
	for (int64_t due_ns = s->begin_ns; due_ns < until_ns;) {
		if (wait_until(s, due_ns))
			break;
		due_ns = sw_clock_ns();
		int r = sample_once(s, err);
		s->target_ended = r == -SW_E_NO_PROCESS || r == -SW_E_EXITED || r == -SW_E_ZOMBIE;
		if (s->target_ended && s->n_samples > 0)
			break;
		if (r < 0)
			return r;
		due_ns = next_ns(s, due_ns);
		show_progress(s);
	}
	s->end_ns = sw_clock_ns();
	return 0;
}

static void say_summary(const struct sampler *s)
{
	double seconds = (double) (s->end_ns - s->begin_ns) / 1e9;
	if (s->progress_ns != s->begin_ns)
		fputs("\r\033[K", stderr);
	fprintf(stderr,
		"%zu samples in %.1f s (%.1f a second); the target was stopped for %.2f %% of the "
		"time, %.2f ms at most\n",
		s->n_samples, seconds, (double) s->n_samples / seconds,
		(double) s->stopped_ns / 1e7 / seconds, (double) s->longest_ns / 1e6);
	if (s->n_interrupted > 0)
		fprintf(stderr, "%zu times a system call with a time limit returned EINTR\n",
			s->n_interrupted);
	uint64_t n_left = sw_profile_totals(s->profile).left_count;
	if (n_left > 0)
		fprintf(stderr, "%llu stacks found no space and are not counted\n",
			(unsigned long long) n_left);
}

static int print_result(struct sampler *s, struct sw_profile_output *output)
{
	sw_profile_set_info(s->profile, &(struct sw_profile_info){
						.mode = "wall",
						.begin_ns = s->begin_real_ns,
						.duration_ns = s->end_ns - s->begin_ns,
						.rate_hz = s->options->rate_hz,
						.n_samples = s->n_samples,
						.stopped_ns = s->stopped_ns,
						.longest_stop_ns = s->longest_ns,
					});
	return sw_profile_output_write(output, s->profile);
}

static int sample(struct sampler *s, struct sw_profile_output *output)
{
	struct sw_error err = {0};
	if (sample_all(s, &err) < 0)
		return sw_complain_error(s->subject->name, &err);
	if (s->n_samples == 0) /* told to stop before the first one */
		return SW_STATUS_NOTHING;
	say_summary(s);
	int status = print_result(s, output);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (s->target_ended)
		sw_complain(s->subject->name, "it ended while it was sampled", "exited",
			    "the result is what was there by then");
	if (s->n_incomplete > 0 && s->options->verbose) {
		char message[80];
		(void) snprintf(message, sizeof(message), "%zu of %zu samples are not complete",
				s->n_incomplete, s->n_samples);
		sw_complain(s->subject->name, message, "incomplete", "see one with snapwalk dump");
	}
	return s->target_ended || s->n_incomplete > 0 ? SW_STATUS_MISSING : SW_STATUS_COMPLETE;
}

int sw_cmd_sample(const struct sw_options *options)
{
	struct sw_subject subject;
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	struct sampler s = {.options = options, .subject = &subject};
	struct sw_profile_output output;
	struct sw_error err = {0};
	(void) sigemptyset(&s.stop_signals); /* cannot fail */
	(void) sigaddset(&s.stop_signals, SIGINT);
	(void) sigaddset(&s.stop_signals, SIGTERM);
	(void) sigprocmask(SIG_BLOCK, &s.stop_signals, NULL);
	status = sw_profile_output_open(&output, options);
	if (status == SW_STATUS_COMPLETE && (sw_session_create(&s.session, &err) < 0 ||
					     sw_profile_create(NULL, &s.profile, &err) < 0))
		status = sw_complain_error("snapwalk", &err);
	else if (status == SW_STATUS_COMPLETE)
		status = sample(&s, &output);
	sw_profile_output_deinit(&output);
	sw_profile_destroy(s.profile);
	sw_session_destroy(s.session);
	return status;
}
