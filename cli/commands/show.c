/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps and profiles that the daemon keeps, or are files of JSON, printed like new ones. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "daemon/read_dump.h"
#include "run/deliver.h"
#include "errors.h"
#include "run/naming.h"
#include "run/sandbox.h"

static int put_dump(struct sw_delivery *delivery, const struct sw_read_dump *dump, const char *json,
		    size_t size)
{
	if (delivery->options->profile_format <= SW_PROFILE_JSON ||
	    delivery->options->profile_format == SW_PROFILE_HTML)
		return sw_delivery_put(delivery, sw_read_dump_name(dump), dump->report, json, size);
	sw_complain_for(sw_read_dump_name(dump), "it is a dump: this format is for profiles",
			"usage",
			delivery->options->format_named ? SW_SAID_OF_NAME : SW_SAID_OF_FORMAT);
	return SW_STATUS_USAGE;
}

/* All dumps of a word. */
static int show(struct sw_delivery *delivery, struct sw_read_dump *dump)
{
	int status = SW_STATUS_COMPLETE;
	while (sw_read_dump_more(dump) && !delivery->broken) {
		int r = sw_read_dump_next(dump);
		const char *json = dump->is_foreign ? NULL : dump->text.data + dump->begin;
		size_t size = dump->end - dump->begin;
		if (r == SW_STATUS_COMPLETE && dump->profile != NULL)
			r = sw_delivery_put_profile(delivery, sw_read_dump_name(dump),
						    dump->profile, json, size);
		else if (r == SW_STATUS_COMPLETE)
			r = put_dump(delivery, dump, json, size);
		status = sw_status_worse(status, r);
	}
	return status;
}

/* Everything is read, and what is written is open. */
static int show_all(struct sw_delivery *delivery, struct sw_read_dump *dumps, size_t n)
{
	struct sw_error err = {0};
	int status = SW_STATUS_COMPLETE;
	if (n > 0 && sw_sandbox_enter_parsing(delivery->options, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	for (size_t i = 0; i < n; i++)
		status = sw_status_worse(status, show(delivery, &dumps[i]));
	return status;
}

/* A word that cannot be read does not stop the rest. */
static int show_words(struct sw_delivery *delivery, struct sw_read_dump *dumps)
{
	const struct sw_options *options = delivery->options;
	int status = SW_STATUS_COMPLETE;
	size_t n = 0;
	for (size_t i = 0; i < options->n_words; i++) {
		int r = sw_read_dump_open(&dumps[n], options, options->words[i]);
		n += r == SW_STATUS_COMPLETE;
		status = sw_status_worse(status, r);
	}
	status = sw_status_worse(status, show_all(delivery, dumps, n));
	for (size_t i = 0; i < n; i++)
		sw_read_dump_deinit(&dumps[i]);
	return status;
}

int sw_cmd_show(const struct sw_options *options)
{
	struct sw_delivery delivery;
	struct sw_error err = {0};
	if (sw_naming_is_asked(options))
		return sw_cmd_symbolize(options);
	int status = sw_delivery_begin_parsing(&delivery, options);
	sw_cleanup(sw_free_p) struct sw_read_dump *dumps = calloc(options->n_words, sizeof(*dumps));
	if (status == SW_STATUS_COMPLETE && dumps == NULL) {
		(void) sw_fail_nomem(&err);
		status = sw_complain_error("snapwalk", &err);
	}
	if (status == SW_STATUS_COMPLETE)
		status = show_words(&delivery, dumps);
	return sw_delivery_end(&delivery, status);
}
