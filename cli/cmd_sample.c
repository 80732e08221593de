/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples over a while, and the stacks added up. What is between is in sample_run.c, recorder.c and schedule.c. */
#include "commands.h"
#include "common/complain.h"
#include "errors.h"
#include "output.h"
#include "sample_run.h"

#include <signal.h>

enum { TOP_FUNCTIONS = 40 };

static int print_result(struct sw_sample_run *run, struct sw_output *output, struct sw_error *err)
{
	const struct sw_options *o = run->options;
	struct sw_text text = {0};
	int r = sw_tally_merge_numbered(&run->stacks);
	sw_tally_sort(&run->stacks);
	if (r == 0 && o->format_given && o->format == SW_FORMAT_TEXT)
		r = sw_tally_print_top(&run->stacks, TOP_FUNCTIONS, &text);
	else if (r == 0)
		sw_tally_print_folded(&run->stacks, &text);
	if (r < 0 || text.failed)
		r = sw_fail_nomem(err);
	if (r == 0 && text.size > 0)
		r = sw_output_write(output, text.data, text.size, err);
	if (r == 0)
		r = sw_output_commit(output, err);
	sw_text_deinit(&text);
	return r;
}

static int sample(struct sw_sample_run *run, struct sw_output *output)
{
	struct sw_error err = {0};
	const char *file = run->options->output;
	if (sw_sample_run_all(run, &err) < 0)
		return sw_complain_error(run->selection.subjects[0].name, &err);
	if (sw_sample_run_totals(run).n_samples == 0) /* told to stop before the first one */
		return SW_STATUS_NOTHING;
	int status = sw_sample_run_summary(run);
	if (print_result(run, output, &err) < 0)
		return sw_complain_error(file != NULL ? file : "standard output", &err);
	return status;
}

int sw_cmd_sample(const struct sw_options *options)
{
	struct sw_sample_run run;
	struct sw_output output;
	struct sw_error err = {0};
	sigset_t signals;
	(void) sigemptyset(&signals); /* cannot fail */
	(void) sigaddset(&signals, SIGINT);
	(void) sigaddset(&signals, SIGTERM);
	(void) sigprocmask(SIG_BLOCK, &signals, NULL); /* Control-C gives what is there so far */
	int status = sw_sample_run_open(&run, options);
	if (status == SW_STATUS_COMPLETE) {
		if (sw_output_open(&output, options->output, &err) < 0) {
			status = sw_complain_error(options->output, &err);
		} else {
			status = sample(&run, &output);
			sw_output_deinit(&output);
		}
	}
	sw_sample_run_deinit(&run);
	return status;
}
