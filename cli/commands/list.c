/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The dumps that the daemon keeps, newest first. */
#include "commands/commands.h"
#include "daemon/call.h"
#include "daemon/row.h"
#include "daemon/complaint.h"
#include "common/option_values.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { SILENCE_MS = 30000 };

struct lister {
	const struct sw_options *options;
	size_t n_shown;
};

static bool show(struct lister *l, struct json_object *summary)
{
	struct sw_text text = {0};
	bool json = l->options->format == SW_FORMAT_JSON;
	if (l->n_shown++ == 0 && !json)
		sw_row_header(&text);
	if (json)
		sw_row_json(&text, summary);
	else
		sw_row(&text, summary);
	if (!text.failed)
		sw_print_visible(stdout, text.data);
	sw_text_deinit(&text);
	return !ferror(stdout); /* a reader that has gone has read enough */
}

static bool take(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	struct json_object *one = json_object_object_get(parameters, "summary");
	struct json_object *several = json_object_object_get(parameters, "summaries");
	bool more = true;
	(void) why;
	if (json_object_is_type(one, json_type_object))
		more = show(arg, one);
	if (!json_object_is_type(several, json_type_array))
		return more;
	for (size_t i = 0; i < json_object_array_length(several) && more; i++)
		more = show(arg, json_object_array_get_idx(several, i));
	return more;
}

static bool add_since(struct json_object *p, const char *since)
{
	char text[SW_SINCE_SIZE];
	struct sw_usage usage;
	/* The time was right when the command line was parsed. */
	return sw_since_parse(since, time(NULL), text, &usage) &&
	       sw_json_add(p, "since", json_object_new_string(text));
}

static struct json_object *parameters_of(const struct sw_options *o)
{
	struct json_object *p = json_object_new_object();
	bool ok = sw_json_add(p, "limit", json_object_new_int64(o->limit));
	if (ok && o->n_wants > 0 && o->wants[0].kind == SW_WANT_PID)
		ok = sw_json_add(p, "pid", json_object_new_int64(o->wants[0].pid));
	else if (ok && o->n_wants > 0)
		ok = sw_json_add(p, "comm", json_object_new_string(o->wants[0].text));
	if (ok && o->since != NULL)
		ok = add_since(p, o->since);
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return p;
}

static bool take_directory(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	struct sw_text *text = arg;
	const char *directory = sw_json_string(parameters, "directory");
	(void) why;
	if (directory[0] != '\0')
		sw_text_printf(text, "; the daemon keeps them in %s", directory);
	return true;
}

/* For people only, and beside the output: that stays empty for programs that count its lines. */
static void say_none(const struct sw_options *options)
{
	bool of_some = options->n_wants > 0 || options->since != NULL;
	struct sw_text text = {0};
	struct sw_complaint why;
	sw_text_printf(&text, "snapwalk: there is no %sdump that you may see",
		       of_some ? "such " : "");
	/* Without an answer it is said without the directory. */
	(void) sw_daemon_call(options, "io.snapwalk.Status", json_object_new_object(), false,
			      SILENCE_MS, take_directory, &text, &why);
	sw_text_printf(&text, "\n");
	if (!text.failed)
		sw_print_visible(stderr, text.data);
	sw_text_deinit(&text);
}

int sw_cmd_list(const struct sw_options *options)
{
	struct lister l = {.options = options};
	struct sw_complaint why;
	if (!sw_daemon_call(options, "io.snapwalk.List", parameters_of(options), true, SILENCE_MS,
			    take, &l, &why))
		return sw_complain_about("daemon", &why);
	if (l.n_shown == 0 && options->format != SW_FORMAT_JSON)
		say_none(options);
	return SW_STATUS_COMPLETE;
}
