/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line for each new dump, until the daemon or the reader ends. */
#include "commands/commands.h"
#include "daemon/call.h"
#include "daemon/row.h"
#include "daemon/complaint.h"

#include <errno.h>
#include <string.h>

enum { FOR_EVER = -1 };

static void put_event(struct sw_text *text, const char *event, struct json_object *parameters)
{
	struct json_object *summary = json_object_object_get(parameters, "summary");
	if (strcmp(event, "captured") == 0 && summary != NULL)
		sw_row(text, summary);
	else if (strcmp(event, "failed") == 0)
		sw_text_printf(text, "failed: %s\n", sw_json_string(parameters, "error"));
}

/* A reader wants each line when it happens, not when a buffer is full. */
static bool print(struct sw_text *text)
{
	if (!text->failed && text->size > 0)
		sw_print_visible(stdout, text->data);
	return !text->failed && fflush(stdout) == 0;
}

static bool take(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	const struct sw_options *options = arg;
	const char *event = sw_json_string(parameters, "event");
	struct sw_text text = {0};
	(void) why;
	if (options->format == SW_FORMAT_JSON)
		sw_row_json(&text, parameters);
	else if (strcmp(event, "ready") == 0)
		sw_row_header(&text);
	else if (strcmp(event, "dropped") == 0)
		sw_complain_for("daemon", "some dumps were made that are not shown here", "dropped",
				0);
	else
		put_event(&text, event, parameters);
	bool more = print(&text);
	sw_text_deinit(&text);
	return more;
}

int sw_cmd_watch(const struct sw_options *options)
{
	struct sw_complaint why;
	struct sw_options copy = *options; /* sw_daemon_call() has a plain pointer for us */
	if (sw_daemon_call(options, "io.snapwalk.Subscribe", json_object_new_object(), true,
			   FOR_EVER, take, &copy, &why))
		return SW_STATUS_COMPLETE;
	return sw_complain_about("daemon", &why);
}
