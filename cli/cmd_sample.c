/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples over a while, and the profile made of them. What is between is in sample_run.c, recorder.c and
 * schedule.c. */
#include "commands.h"
#include "common/complain.h"
#include "profile_output.h"
#include "sample_daemon.h"
#include "sample_run.h"
#include "sandbox.h"

static int sample(struct sw_sample_run *run, struct sw_profile_output *output)
{
	struct sw_error err = {0};
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int read = sw_profile_output_parse(output);
	if (read != SW_STATUS_COMPLETE)
		return read;
	if (sw_sample_run_all(run, &err) < 0)
		return sw_complain_error(run->selection.subjects[0].name, &err);
	if (!run->by_events && sw_sample_run_totals(run).n_samples == 0) {
		sw_complain(run->selection.subjects[0].name,
			    "it was told to stop before the first sample", "no_samples",
			    "let it run for longer");
		return SW_STATUS_NOTHING;
	}
	int status = sw_sample_run_summary(run);
	return sw_status_worse(status, sw_profile_output_write(output, run->profile));
}

int sw_cmd_sample(const struct sw_options *options)
{
	if (options->via == SW_VIA_DAEMON)
		return sw_sample_by_daemon(options);
	struct sw_sample_run run;
	struct sw_profile_output output;
	int status = sw_sample_run_open(&run, options);
	if (status == SW_STATUS_COMPLETE) {
		status = sw_profile_output_open(&output, options);
		if (status == SW_STATUS_COMPLETE)
			status = sample(&run, &output);
		sw_profile_output_deinit(&output);
	}
	sw_sample_run_deinit(&run);
	return status;
}
