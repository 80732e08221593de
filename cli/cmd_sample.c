/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Captures again and again, and adds up the stacks. The share of time that the target is stopped is
 * bounded: the pause between two captures grows with what they cost it.
 */
#include "apart.h"
#include "commands.h"
#include "common/complain.h"
#include "errors.h"
#include "folded.h"
#include "obtain.h"
#include "output.h"
#include "sandbox.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
	TOP_FUNCTIONS = 40,
	NS_PER_S = 1000000000,
	BATCH_MAX = 128,        /* samples that are read by one child, */
	BATCH_BYTES = 32 << 20, /* and how much memory they may have */
};

struct sampler {
	const struct sw_options *options;
	const struct sw_subject *subject;
	struct sw_session *session; /* owned */
	struct sw_tally stacks;
	struct sw_snapshot *batch[BATCH_MAX]; /* owned; captured, not yet read */
	size_t n_batch, batch_bytes;
	int64_t batch_ns;       /* when the first of them was captured */
	struct sw_apart reader; /* of the batch before */
	sigset_t stop_signals;  /* blocked, so that Ctrl-C gives what is there so far */
	int64_t begin_ns, end_ns, progress_ns;
	int64_t stopped_ns, longest_ns; /* of the target */
	size_t n_samples, n_incomplete, n_interrupted;
	bool target_ended;
};

/* ---- reading what was captured: by a child, which has no privileges -------------------------- */

/* Goes before the folded stacks of each sample. */
struct sample_header {
	uint32_t size;
	uint32_t complete;
};

static int tell_one(struct sampler *s, struct sw_snapshot *snap, const struct sw_output *output,
		    struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_SNAPSHOT, .snapshot = snap};
	const struct sw_pipeline_options how = sw_obtain_options(s->options, sw_clock_ns());
	struct sw_output to = *output;
	struct sw_pipeline made;
	char *text;
	size_t size;
	int r = sw_pipeline_run(s->session, &origin, &how, &made, err);
	if (r == 0)
		r = sw_report_folded(made.report, &text, &size, err);
	if (r < 0)
		return r;
	const struct sample_header header = {.size = (uint32_t) size + 1,
					     .complete = made.report->complete};
	r = sw_output_write(&to, (const char *) &header, sizeof(header), err);
	if (r == 0)
		r = sw_output_write(&to, text, header.size, err); /* with its NUL */
	free(text);
	sw_pipeline_deinit(&made);
	return r;
}

static int tell(void *arg, int fd)
{
	struct sampler *s = arg;
	const struct sw_output output = {.fd = fd, .direct = true};
	struct sw_error err = {0};
	int r = sw_sandbox_enter(s->options, s->batch[0], NULL, &err);
	for (size_t i = 0; i < s->n_batch && r == 0; i++)
		r = tell_one(s, s->batch[i], &output, &err);
	return r < 0 ? sw_complain_error(s->subject->name, &err) : SW_STATUS_COMPLETE;
}

static int tally_add(struct sampler *s, const struct sw_text *told, struct sw_error *err)
{
	struct sample_header header;
	for (size_t at = 0; told->size - at >= sizeof(header);) {
		memcpy(&header, told->data + at, sizeof(header));
		at += sizeof(header);
		if (header.size == 0 || header.size > told->size - at ||
		    told->data[at + header.size - 1] != '\0')
			return sw_fail(err, SW_E_INTERNAL, "a sample was cut");
		if (sw_tally_add_folded(&s->stacks, told->data + at) < 0)
			return sw_fail_nomem(err);
		s->n_incomplete += !header.complete;
		at += header.size;
	}
	return 0;
}

/* Waits for what is being read. */
static int batch_finish(struct sampler *s, struct sw_error *err)
{
	struct sw_text told = {0};
	int status = SW_STATUS_COMPLETE;
	if (s->reader.pid == 0)
		return 0;
	int r = sw_apart_finish(&s->reader, &told, &status, err);
	if (r == 0 && status != SW_STATUS_COMPLETE)
		r = sw_fail(err, SW_E_INTERNAL, "its samples could not be read");
	if (r == 0)
		r = tally_add(s, &told, err);
	sw_text_deinit(&told);
	return r;
}

static void batch_drop(struct sampler *s)
{
	for (size_t i = 0; i < s->n_batch; i++)
		sw_snapshot_destroy(s->batch[i]);
	s->n_batch = s->batch_bytes = 0;
}

/* Has what was captured read while sampling goes on. */
static int batch_start(struct sampler *s, struct sw_error *err)
{
	int r = batch_finish(s, err);
	if (r == 0 && s->n_batch > 0)
		r = sw_apart_start(&s->reader, tell, s, err);
	batch_drop(s);
	return r;
}

/* ---- capturing ------------------------------------------------------------------------------- */

static size_t snapshot_bytes(const struct sw_snapshot *snap)
{
	size_t bytes = 0;
	for (size_t i = 0; i < snap->n_threads; i++)
		bytes += snap->threads[i].stack_bytes;
	for (size_t i = 0; i < snap->n_ranges; i++)
		bytes += snap->ranges[i].bytes;
	return bytes;
}

static int sample_once(struct sampler *s, struct sw_error *err)
{
	struct sw_pipeline got;
	struct sw_pipeline_options how = sw_obtain_options(s->options, sw_clock_ns());
	how.last = SW_PIPELINE_TAKE;
	int r = sw_obtain(s->session, s->subject, s->options, &how, &got, err);
	if (r < 0)
		return r;
	int64_t now_ns = sw_clock_ns(), stopped_ns = got.snap->times.stopped_ns;
	s->stopped_ns += stopped_ns;
	if (stopped_ns > s->longest_ns)
		s->longest_ns = stopped_ns;
	s->n_samples++;
	s->n_interrupted += got.snap->interrupted_calls;
	if (s->n_batch == 0)
		s->batch_ns = now_ns;
	s->batch[s->n_batch++] = got.snap;
	s->batch_bytes += snapshot_bytes(got.snap);
	bool full = s->n_batch == BATCH_MAX || s->batch_bytes >= BATCH_BYTES ||
		    now_ns - s->batch_ns >= NS_PER_S;
	return full ? batch_start(s, err) : 0;
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
	if (s->stacks.n_lost > 0)
		fprintf(stderr, "%llu stacks found no space and are not counted\n",
			(unsigned long long) s->stacks.n_lost);
}

static int print_result(struct sampler *s, struct sw_output *output, struct sw_error *err)
{
	struct sw_text text = {0};
	int r = 0;
	sw_tally_sort(&s->stacks);
	if (s->options->format_given && s->options->format == SW_FORMAT_TEXT)
		r = sw_tally_print_top(&s->stacks, TOP_FUNCTIONS, &text);
	else
		sw_tally_print_folded(&s->stacks, &text);
	if (r < 0 || text.failed)
		r = sw_fail_nomem(err);
	if (r == 0 && text.size > 0)
		r = sw_output_write(output, text.data, text.size, err);
	if (r == 0)
		r = sw_output_commit(output, err);
	sw_text_deinit(&text);
	return r;
}

static int sample(struct sampler *s, struct sw_output *output)
{
	struct sw_error err = {0};
	int r = sample_all(s, &err);
	if (r == 0)
		r = batch_start(s, &err);
	if (r == 0)
		r = batch_finish(s, &err);
	if (r < 0)
		return sw_complain_error(s->subject->name, &err);
	if (s->n_samples == 0) /* told to stop before the first one */
		return SW_STATUS_NOTHING;
	say_summary(s);
	if (print_result(s, output, &err) < 0)
		return sw_complain_error(s->options->output != NULL ? s->options->output
								    : "standard output",
					 &err);
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
	struct sw_output output;
	struct sw_error err = {0};
	(void) sigemptyset(&s.stop_signals); /* cannot fail */
	(void) sigaddset(&s.stop_signals, SIGINT);
	(void) sigaddset(&s.stop_signals, SIGTERM);
	(void) sigprocmask(SIG_BLOCK, &s.stop_signals, NULL);
	if (sw_output_open(&output, options->output, &err) < 0)
		return sw_complain_error(options->output, &err);
	if (sw_session_create(&s.session, &err) < 0)
		status = sw_complain_error("snapwalk", &err);
	else
		status = sample(&s, &output);
	sw_output_deinit(&output);
	if (s.reader.pid != 0) { /* after an error, which was said */
		struct sw_error ignored;
		(void) batch_finish(&s, &ignored);
	}
	batch_drop(&s);
	sw_tally_deinit(&s.stacks);
	sw_session_destroy(s.session);
	return status;
}
