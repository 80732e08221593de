/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The resources that a process gets and does not give up, by the stacks that got them. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "events/objects/held_kinds.h"
#include "events/held_output.h"
#include "events/held_profile.h"
#include "events/memory/memory.h"
#include "events/pairs.h"
#include "run/output.h"
#include "run/sandbox.h"

static int put(struct sw_held *held, struct sw_output *output)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = sw_held_finish(held);
	enum sw_profile_format format = held->run->options->profile_format;
	if (r == 0)
		r = format == SW_PROFILE_JSON   ? sw_held_json(held, &text)
		    : format == SW_PROFILE_TEXT ? sw_held_text(held, &text)
						: sw_held_profile(held, format, &text);
	return sw_event_run_put(output, &text, r);
}

/* Before anything else is written, where code is changed. JSON has it as a member. */
static int notice_put(const struct sw_event_run *run, struct sw_output *output,
		      struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (!sw_event_run_changes_code(run) || run->options->profile_format != SW_PROFILE_TEXT)
		return 0;
	sw_pairs_notice(run, &text);
	return text.failed ? sw_fail_nomem(err)
			   : sw_output_write(output, text.data, text.size, err);
}

static void held_destroy(struct sw_held **held)
{
	if (*held != NULL)
		(*held)->kind->destroy(*held);
}

static int run_and_put(struct sw_event_run *run, struct sw_output *output)
{
	const struct sw_held_kind *kind = sw_held_kind(run->options->of);
	sw_cleanup(held_destroy) struct sw_held *held = NULL;
	struct sw_error err = {0};
	if (kind->create(run, &held, &err) < 0)
		return sw_complain_error(run->subject.name, &err);
	run->event = kind->event;
	run->before_end = kind->read != NULL ? sw_held_check : NULL;
	run->arg = held;
	const enum sw_profile_format format = run->options->profile_format;
	run->stacks.with_json = format == SW_PROFILE_JSON;
	run->stacks.by_function = sw_event_run_changes_code(run);
	if (format != SW_PROFILE_JSON && format != SW_PROFILE_TEXT &&
	    sw_event_profiled_begin(&run->profiled, &err) < 0)
		return sw_complain_error(run->subject.name, &err);
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_event_run_begin(run);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (notice_put(run, output, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = sw_event_run_all(run);
	status = sw_status_worse(status, put(held, output));
	if (held->not_checked.code != 0) {
		(void) sw_complain_error(run->subject.name,
					 &held->not_checked); /* all else is there */
		status = sw_status_worse(status, SW_STATUS_MISSING);
	}
	if (run->wanted.what == SW_EVENT_PAIRS)
		status = sw_status_worse(status, sw_pairs_missing(run));
	return sw_status_worse(status, sw_event_run_missing(run));
}

static int leaks(const struct sw_options *options, struct sw_started *started)
{
	const struct sw_event_options wanted = {.what = sw_held_kind(options->of)->events,
						.stack_bytes = options->snapshot.stack_bytes,
						.n_held =
							options->limit_given ? options->limit : 0};
	return sw_event_run_with(options, started, &wanted, NULL, run_and_put, NULL);
}

int sw_cmd_leaks(const struct sw_options *options)
{
	if (options->of == SW_LEAKS_MEMORY)
		return sw_memory_leaks(options);
	return options->program != NULL ? sw_started_run(options, leaks) : leaks(options, NULL);
}
