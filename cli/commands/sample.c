/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples over a while, and the profile made of them. The steps between are in sample_run.c,
 * recorder.c and schedule.c. */
#include "commands/commands.h"
#include "common/complain.h"
#include "daemon/complaint.h"
#include "daemon/dump.h"
#include "daemon/first.h"
#include "run/profile_output.h"
#include "series/host_run.h"
#include "series/sample_run.h"
#include "run/sandbox.h"
#include "run/select.h"
#include "run/started.h"
#include "errors.h"

#include <stdlib.h>
#include <unistd.h>

/* Whether there is nothing to be sampled any more, or never was. */
static bool has_ended(const struct sw_error *err)
{
	return err->code == SW_E_EXITED || err->code == SW_E_NO_PROCESS || err->code == SW_E_ZOMBIE;
}

static int complain_early(const struct sw_options *options, const struct sw_sample_run *run,
			  bool ended)
{
	const uint64_t most = options->rate_hz == SW_RATE_HZ_MOST ? SW_SAID_AT_MOST : 0;
	if (ended && options->mode == SW_RECORD_CPU)
		sw_complain_for(options->program[0],
				"it ended before it had used CPU time for a sample", "no_samples",
				SW_SAID_OF_CPU | most);
	else if (ended)
		sw_complain_for(options->program[0], "it ended before a stack of it was sampled",
				"no_samples", most);
	else
		sw_complain_for(run->selection.subjects[0].name,
				"it was told to stop before the first sample", "no_samples",
				SW_SAID_OF_SIGNAL);
	return SW_STATUS_NOTHING;
}

/* Whether there is no result. A round may have come while the started program ended. That a process used no CPU time is a
 * result. */
static bool has_nothing(const struct sw_sample_run *run, bool ended)
{
	const struct sw_profile_totals totals = sw_profile_totals(run->profile);
	if (ended && totals.n_rows == 0 && totals.left_count == 0)
		return true;
	return !run->by_events && sw_sample_run_totals(run).n_samples == 0;
}

static int sample(struct sw_sample_run *run, struct sw_profile_output *output)
{
	struct sw_error err = {0};
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int read = sw_profile_output_parse(output);
	if (read != SW_STATUS_COMPLETE)
		return read;
	int r = sw_sample_run_all(run, &err);
	bool started = run->options->program != NULL;
	if (r < 0 && !(started && has_ended(&err)))
		return sw_complain_error(run->selection.subjects[0].name, &err);
	if (run->n_recorders == 0 && run->status != SW_STATUS_COMPLETE)
		return run->status; /* it may not be sampled any more: that was said */
	/* Without a recorder: it had ended when it was to be opened once more. */
	bool ended = started &&
		     (r < 0 || run->n_recorders == 0 || sw_recorder_has_ended(run->recorders[0]));
	if (has_nothing(run, ended))
		return complain_early(run->options, run, ended);
	int status = sw_sample_run_summary(run, output->format == SW_PROFILE_TEXT);
	return sw_status_worse(status, sw_profile_output_write(output, run->profile));
}

/* The recorder's findings from before exec() are found out again where they depend on the program:
 * whether events alone are enough. The recorder otherwise sees by itself that there is another
 * program. */
static bool begin_program(struct sw_sample_run *run, struct sw_started *started, int *ret_status)
{
	if (!sw_started_go(started, run->options->program[0], ret_status))
		return false;
	if (run->options->mode != SW_RECORD_WALL)
		sw_sample_run_reopen(run);
	return true;
}

/* ---- by the daemon ---- */

static void say_summary(const struct sw_profile *profile, const struct sw_daemon_dump *dump,
			const char *name)
{
	const struct sw_profile_info *info = sw_profile_get_info(profile);
	const char *early = sw_profile_ended_early(profile);
	char stops[64] = "nothing was stopped";
	if (info->stopped_ns > 0)
		(void) snprintf(stops, sizeof(stops), "threads were stopped, for %.2f ms at most",
				(double) info->longest_stop_ns / 1e6); /* fits */
	sw_say(name, "samples", "%llu of %llu samples in %.1f s by the daemon; %s; %s%s",
	       (unsigned long long) info->n_samples, (unsigned long long) info->n_wanted,
	       (double) info->duration_ns / 1e9, stops,
	       dump->stored ? "it keeps them as " : "it does not keep them",
	       dump->stored ? dump->id : "");
	if (early[0] != '\0')
		sw_say(name, "samples_ended", "it ended early: %s", early);
}

static int put_profile(struct sw_profile_output *output, const struct sw_daemon_dump *dump,
		       const char *name)
{
	struct sw_error err = {0};
	struct sw_profile *profile = NULL;
	if (sw_sandbox_enter_parsing(output->options, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_profile_output_parse(output);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (sw_profile_parse(dump->text, dump->size, &profile, &err) < 0)
		return sw_complain_error(name, &err);
	say_summary(profile, dump, name);
	status = sw_profile_output_write(output, profile);
	if (!sw_profile_is_complete(profile))
		status = sw_status_worse(status, SW_STATUS_MISSING);
	sw_profile_destroy(profile);
	return status;
}

/* Control-C ends it with what was sampled until then. */
static bool profile_by_daemon(const struct sw_options *options, pid_t pid,
			      struct sw_daemon_dump *ret, bool *ret_stopped,
			      struct sw_complaint *ret_why)
{
	struct sw_stop_signals stop;
	sw_stop_signals_init(&stop);
	bool ok = sw_daemon_profile(options, pid, &stop, ret, ret_why);
	*ret_stopped = stop.came;
	sw_stop_signals_deinit(&stop);
	return ok;
}

static int sample_by_daemon(const struct sw_options *options)
{
	struct sw_subject subject;
	struct sw_profile_output output;
	struct sw_daemon_dump dump = {0};
	struct sw_complaint why;
	bool stopped;
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	status = sw_profile_output_open(&output, options);
	if (status == SW_STATUS_COMPLETE)
		status = profile_by_daemon(options, subject.pid, &dump, &stopped, &why)
				 ? put_profile(&output, &dump, subject.name)
				 : sw_complain_about(subject.name, &why);
	sw_daemon_dump_deinit(&dump);
	sw_profile_output_deinit(&output);
	return status;
}

/* False: the daemon does not sample this process, and the command tries it by itself. */
static bool sample_one_without_stop(const struct sw_options *options,
				    const struct sw_subject *subject, int *ret_status)
{
	struct sw_options how = *options;
	struct sw_profile_output output;
	struct sw_daemon_dump dump = {0};
	struct sw_complaint why;
	bool done = true, stopped;
	how.not_stored = true; /* it was not asked to keep anything */
	*ret_status = sw_profile_output_open(&output, options);
	if (*ret_status == SW_STATUS_COMPLETE) {
		sw_say(subject->name, "samples_by_daemon",
		       "the daemon samples for %u s; Control-C ends that with the result so far",
		       options->duration_s);
		if (profile_by_daemon(&how, subject->pid, &dump, &stopped, &why))
			*ret_status = put_profile(&output, &dump, subject->name);
		else if (stopped || !sw_may_capture_directly(subject->pid))
			*ret_status = sw_complain_about(subject->name, &why);
		else
			done = false;
		if (!done)
			sw_say(subject->name, "samples_directly",
			       "the daemon took no sample, so the command samples by itself: %s",
			       why.message);
	}
	sw_daemon_dump_deinit(&dump);
	sw_profile_output_deinit(&output);
	return done;
}

static bool sample_without_stop(const struct sw_options *options, int *ret_status)
{
	struct sw_selection selection = {0};
	struct sw_error ignored; /* whoever selects again says it */
	const char *about;
	/* CPU time is sampled by events of the kernel. */
	if (options->mode == SW_RECORD_CPU || !sw_daemon_is_first(options))
		return false;
	bool done = sw_select(options, &selection, &about, &ignored) == 0 &&
		    selection.n_subjects == 1 &&
		    sample_one_without_stop(options, &selection.subjects[0], ret_status);
	sw_selection_deinit(&selection);
	return done;
}

/* started: NULL when the process was there before. */
static int sample_directly(const struct sw_options *options, struct sw_started *started)
{
	struct sw_sample_run run;
	struct sw_profile_output output;
	int status = sw_sample_run_open(&run, options);
	if (status == SW_STATUS_COMPLETE) {
		status = sw_profile_output_open(&output, options);
		if (status == SW_STATUS_COMPLETE)
			status = started == NULL || begin_program(&run, started, &status)
					 ? sample(&run, &output)
					 : status;
		sw_profile_output_deinit(&output);
	}
	sw_sample_run_deinit(&run);
	return status;
}

/* ---- all processes ---- */

static int sample_host(struct sw_host_run *run, struct sw_profile_output *output)
{
	struct sw_error err = {0};
	if (sw_sandbox_enter_sampling_host(run->options, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int read = sw_profile_output_parse(output);
	if (read != SW_STATUS_COMPLETE)
		return read;
	if (sw_host_run_all(run, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_host_run_summary(run);
	return sw_status_worse(status, sw_profile_output_write(output, run->profile));
}

/* False: the kernel refuses events of all processes, which was not asked for: those that are there are sampled. */
static bool sample_all(const struct sw_options *options, int *ret_status)
{
	struct sw_error err = {0};
	struct sw_profile_output output;
	struct sw_host_run *run = calloc(1, sizeof(*run));
	int r = run != NULL ? sw_host_run_open(run, options, &err) : sw_fail_nomem(&err);
	bool done = r == 0 || options->whole_host;
	if (r == 0) {
		*ret_status = sw_profile_output_open(&output, options);
		if (*ret_status == SW_STATUS_COMPLETE)
			*ret_status = sample_host(run, &output);
		sw_profile_output_deinit(&output);
	} else if (done)
		*ret_status = sw_complain_error("snapwalk", &err);
	if (run != NULL)
		sw_host_run_deinit(run);
	free(run);
	return done;
}

/* Whether all processes are sampled by one event for each CPU, and those that are not meant are left out. */
static bool is_of_host(const struct sw_options *o)
{
	bool several = o->n_wants > 1;
	for (size_t i = 0; i < o->n_wants; i++)
		several |= o->wants[i].kind != SW_WANT_PID;
	return o->whole_host || (o->mode == SW_RECORD_CPU && several && geteuid() == 0 &&
				 o->snapshot.stop != SW_STOP_ALWAYS && o->snapshot.tids == NULL);
}

static int sample_started(const struct sw_options *options, struct sw_started *started)
{
	int status = sample_directly(options, started);
	sw_started_wait(started);
	return status;
}

int sw_cmd_sample(const struct sw_options *options)
{
	if (options->via == SW_VIA_DAEMON)
		return sample_by_daemon(options);
	if (options->program != NULL)
		return sw_started_run(options, sample_started);
	int status;
	if (options->whole_host && geteuid() != 0) {
		sw_complain_for("--all", "only root may sample all processes", "not_permitted",
				SW_SAID_OF_MACHINE);
		return SW_STATUS_DENIED;
	}
	if (is_of_host(options) && sample_all(options, &status))
		return status;
	return sample_without_stop(options, &status) ? status : sample_directly(options, NULL);
}
