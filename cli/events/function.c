/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process with privileges, which parses nothing of the files: that is done in events/look_up.c. */
#include "events/function.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/look_up.h"
#include "run/apart.h"
#include "run/output.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <inttypes.h>
#include <string.h>

enum {
	LOOK_UP_S = 30, /* without --timeout */
	GRACE_S = 2,    /* for a process that ends by itself at its deadline */
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	ANSWER_MAX = 1 << 20, /* bytes: at most SW_EVENT_PLACES_MAX lines */
};

void sw_function_notice(const struct sw_function *f, const struct sw_subject *subject,
			struct sw_text *ret)
{
	size_t n_returns = 0;
	bool reentered = false;
	for (size_t i = 0; i < f->n; i++) {
		n_returns += f->places[i].n_returns;
		reentered |= f->places[i].reentered;
	}
	sw_text_printf(ret, "probes ");
	sw_utf8_append_plain(ret, f->names[0], strlen(f->names[0]));
	if (f->n > 1)
		sw_text_printf(ret, " at %zu places", f->n);
	if (n_returns > 0)
		sw_text_printf(ret, " and %zu return%s", n_returns, sw_plural(n_returns));
	sw_text_printf(ret, " in ");
	sw_utf8_append_plain(ret, f->module, strlen(f->module));
	if (f->places[0].semaphore_off != 0)
		sw_text_printf(ret, ", and counts its semaphore up");
	sw_text_printf(ret,
		       ": until this command ends the kernel has %s in the code of process %d\n",
		       f->n + n_returns > 1 ? "breakpoints" : "a breakpoint", (int) subject->pid);
	if (reentered)
		sw_text_printf(ret,
			       "a loop of the function comes back to its beginning: turns of the "
			       "loop are counted as calls\n");
}

void sw_function_json(const struct sw_function *f, struct sw_text *ret)
{
	sw_json_text_member(ret, "function", f->names[0]);
	sw_json_text_member(ret, "module", f->module);
	sw_text_printf(ret, ",\"changes_code\":true,\"places\":[");
	for (size_t i = 0; i < f->n; i++)
		sw_text_printf(ret,
			       "%s{\"file_offset\":%" PRIu64
			       ",\"emulated\":%s,\"reentered\":%s,\"returns\":%zu}",
			       i > 0 ? "," : "", f->places[i].file_off,
			       f->places[i].emulated ? "true" : "false",
			       f->places[i].reentered ? "true" : "false", f->places[i].n_returns);
	sw_text_append(ret, "]", 1);
}

/* 0: none. */
static int64_t deadline_of(const struct sw_options *options)
{
	if (!options->timeout_given)
		return sw_clock_ns() + (int64_t) LOOK_UP_S * NS_PER_S;
	return options->timeout_ms > 0 ? sw_clock_ns() + (int64_t) options->timeout_ms * NS_PER_MS
				       : 0;
}

/* The process without privileges writes what it has looked up. ret: NULL: that is for the user. */
static int looked_up(const struct sw_options *options, const struct sw_subject *subject,
		     const struct sw_function_wanted *wanted, size_t n_wanted, struct sw_text *text,
		     struct sw_function *ret)
{
	struct sw_error err = {0};
	struct sw_apart apart;
	struct sw_target *target = NULL;
	int status = SW_STATUS_COMPLETE;
	int r = sw_target_open(subject->pid, &target, &err);
	struct sw_look_up l = {.options = options,
			       .wanted = wanted,
			       .n_wanted = n_wanted,
			       .subject = subject,
			       .target = target,
			       .deadline_ns = deadline_of(options)};
	if (r == 0)
		r = sw_apart_start(&apart, sw_look_up, &l, &err);
	if (r == 0)
		r = sw_apart_finish_within(&apart,
					   l.deadline_ns > 0
						   ? l.deadline_ns + (int64_t) GRACE_S * NS_PER_S
						   : 0,
					   ANSWER_MAX, text, &status, &err);
	if (r == 0 && status == SW_STATUS_COMPLETE && ret != NULL) {
		sw_text_append(text, "", 1);
		r = text->failed ? sw_fail_nomem(&err)
				 : sw_function_take(target, NULL, text->data, ret, &err);
	}
	sw_target_close(target);
	return r < 0 ? sw_complain_error(subject->name, &err) : status;
}

int sw_function_find(const struct sw_options *options, const struct sw_subject *subject,
		     struct sw_function *ret)
{
	const struct sw_function_wanted wanted = {.module = options->event_module,
						  .name = options->event_name,
						  .is_declared = options->event_declared,
						  .at_return = options->event.at_return,
						  .prefix = options->event_declared ? "usdt:"
										    : "func:"};
	return sw_functions_find(options, subject, &wanted, 1, ret);
}

int sw_functions_find(const struct sw_options *options, const struct sw_subject *subject,
		      const struct sw_function_wanted *wanted, size_t n, struct sw_function *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_function){0};
	return looked_up(options, subject, wanted, n, &text, ret);
}

int sw_function_list(const struct sw_options *options)
{
	struct sw_subject subject;
	struct sw_error err = {0};
	struct sw_output output;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int status = sw_select_one(options, &subject);
	if (status == SW_STATUS_COMPLETE && options->format == SW_FORMAT_JSON)
		sw_text_printf(&text, "{\"schema\":\"snapwalk.usdt/1\",\"pid\":%d,\"probes\":[",
			       (int) subject.pid);
	if (status == SW_STATUS_COMPLETE)
		status = looked_up(options, &subject, NULL, 0, &text, NULL);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (options->format == SW_FORMAT_JSON)
		sw_text_append(&text, "]}\n", 3);
	if (text.size == 0)
		sw_text_printf(&text, "no probes are declared in what it has mapped\n");
	int r = text.failed ? sw_fail_nomem(&err) : sw_output_open(&output, options->output, &err);
	if (r < 0)
		return sw_complain_error(subject.name, &err);
	r = sw_output_write(&output, text.data, text.size, &err);
	if (r == 0)
		r = sw_output_commit(&output, &err);
	sw_output_deinit(&output);
	return r < 0 ? sw_complain_error(subject.name, &err) : SW_STATUS_COMPLETE;
}
