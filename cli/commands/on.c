/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stack at each system call of a process, or at each call of a function. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "events/call_counts.h"
#include "events/deaths.h"
#include "run/output.h"
#include "run/sandbox.h"

static bool is_profile(const struct sw_options *o)
{
	return o->profile_format != SW_PROFILE_TEXT && o->profile_format != SW_PROFILE_JSON;
}

static int put(struct sw_call_counts *counts, struct sw_output *output)
{
	const struct sw_options *o = counts->run->options;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = 0;
	if (is_profile(o))
		r = sw_call_counts_profile(counts, o->profile_format, &text);
	else if (o->each && o->format == SW_FORMAT_JSON) /* the events are there already */
		sw_event_dumps_lines(&counts->run->dumps, &text);
	else
		r = o->format == SW_FORMAT_JSON ? sw_call_counts_json(counts, &text)
						: sw_call_counts_text(counts, &text);
	r = r == 0 && text.failed ? -SW_E_NOMEM : r;
	return sw_event_run_put(output, &text, r);
}

/* Before anything else is written. JSON that is one object has it as a member. */
static int notice_put(const struct sw_event_run *run, struct sw_output *output,
		      struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	bool as_json = run->options->format == SW_FORMAT_JSON;
	if (run->wanted.what != SW_EVENT_FUNCTION || (as_json && !run->options->each) ||
	    is_profile(run->options))
		return 0;
	if (as_json) {
		sw_text_printf(&text, "{\"schema\":\"snapwalk.probe/1\",\"pid\":%d",
			       (int) run->subject.pid);
		sw_function_json(&run->function, &text);
		sw_text_append(&text, "}\n", 2);
	} else {
		sw_function_notice(&run->function, &run->subject, &text);
		sw_overhead_notice(&run->overhead, &run->function, false, &text);
	}
	return text.failed ? sw_fail_nomem(err)
			   : sw_output_write(output, text.data, text.size, err);
}

static int run_and_put(struct sw_event_run *run, struct sw_output *output)
{
	sw_cleanup(sw_call_counts_deinit) struct sw_call_counts counts = {.run = run,
									  .output = output};
	struct sw_error err = {0};
	run->event = sw_call_counts_event;
	run->arg = &counts;
	run->stacks.with_json = run->options->format == SW_FORMAT_JSON;
	if (is_profile(run->options) && sw_event_profiled_begin(&run->profiled, &err) < 0)
		return sw_complain_error(run->subject.name, &err);
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0 ||
	    notice_put(run, output, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_event_run_begin(run);
	if (status != SW_STATUS_COMPLETE)
		return status;
	status = sw_event_run_all(run);
	status = sw_status_worse(status, put(&counts, output));
	status = sw_status_worse(status, sw_event_dumps_status(&run->dumps));
	return sw_status_worse(status, sw_event_run_missing(run));
}

static int death_put(const struct sw_deaths *deaths, struct sw_output *output)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = deaths->run->options->format == SW_FORMAT_JSON ? sw_deaths_json(deaths, &text)
							       : sw_deaths_text(deaths, &text);
	return sw_event_run_put(output, &text, r);
}

static int death_run_and_put(struct sw_event_run *run, struct sw_output *output)
{
	struct sw_deaths deaths = {.run = run, .row = SW_RECORDER_NO_ROW};
	struct sw_error err = {0};
	run->event = sw_deaths_event;
	run->arg = &deaths;
	run->stacks.with_json = run->options->format == SW_FORMAT_JSON;
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_event_run_begin(run);
	if (status != SW_STATUS_COMPLETE)
		return status;
	status = sw_event_run_all(run);
	status = sw_status_worse(status, death_put(&deaths, output));
	return sw_status_worse(status, sw_event_run_missing(run));
}

static int on(const struct sw_options *options, struct sw_started *started)
{
	if (options->list)
		return sw_function_list(options);
	return sw_event_run_with(options, started, &options->event, NULL,
				 options->event.what == SW_EVENT_DEATH ? death_run_and_put
								       : run_and_put,
				 NULL);
}

int sw_cmd_on(const struct sw_options *options)
{
	return options->program != NULL ? sw_started_run(options, on) : on(options, NULL);
}
