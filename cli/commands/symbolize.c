/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for dumps and profiles that were made elsewhere, or without any. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "daemon/read_dump.h"
#include "errors.h"
#include "run/deliver.h"
#include "run/naming.h"
#include "run/sandbox.h"

static int put_dump(struct sw_delivery *delivery, const struct sw_read_dump *dump)
{
	const struct sw_options *o = delivery->options;
	if (o->profile_format <= SW_PROFILE_JSON || o->profile_format == SW_PROFILE_HTML)
		return sw_delivery_put(delivery, sw_read_dump_name(dump), dump->report, NULL, 0);
	sw_complain_for(sw_read_dump_name(dump), "it is a dump: this format is for profiles",
			"usage", o->format_named ? SW_SAID_OF_NAME : SW_SAID_OF_FORMAT);
	return SW_STATUS_USAGE;
}

static int symbolize_next(struct sw_delivery *delivery, struct sw_namer *namer,
			  struct sw_read_dump *dump)
{
	struct sw_error err = {0};
	int status = sw_read_dump_next(dump);
	if (status != SW_STATUS_COMPLETE)
		return status;
	int r = dump->profile != NULL ? sw_namer_profile(namer, &dump->profile, &err)
				      : sw_namer_report(namer, dump->report, &err);
	if (r < 0)
		return sw_complain_error(sw_read_dump_name(dump), &err);
	return dump->profile != NULL ? sw_delivery_put_profile(delivery, sw_read_dump_name(dump),
							       dump->profile, NULL, 0)
				     : put_dump(delivery, dump);
}

/* Everything is read, and what is written is open. */
static int symbolize_all(struct sw_delivery *delivery, struct sw_namer *namer,
			 struct sw_read_dump *dumps, size_t n)
{
	struct sw_error err = {0};
	int status = SW_STATUS_COMPLETE;
	if (n > 0 && sw_sandbox_enter_naming(delivery->options, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	for (size_t i = 0; i < n; i++) {
		dumps[i].as_it_is = false;
		while (sw_read_dump_more(&dumps[i]) && !delivery->broken)
			status =
				sw_status_worse(status, symbolize_next(delivery, namer, &dumps[i]));
	}
	sw_namer_say_missing(namer);
	return status;
}

/* A dump that cannot be read does not stop the rest. */
static int symbolize_words(struct sw_delivery *delivery, struct sw_namer *namer,
			   struct sw_read_dump *dumps)
{
	const struct sw_options *options = delivery->options;
	int status = SW_STATUS_COMPLETE;
	size_t n = 0;
	for (size_t i = 0; i < options->n_words; i++) {
		int r = sw_read_dump_open(&dumps[n], options, options->words[i]);
		n += r == SW_STATUS_COMPLETE;
		status = sw_status_worse(status, r);
	}
	status = sw_status_worse(status, symbolize_all(delivery, namer, dumps, n));
	for (size_t i = 0; i < n; i++)
		sw_read_dump_deinit(&dumps[i]);
	return status;
}

int sw_cmd_symbolize(const struct sw_options *options)
{
	struct sw_delivery delivery;
	struct sw_error err = {0};
	struct sw_namer namer = {.fetcher.fd = -EBADF, .packager.fd = -EBADF};
	int status = sw_delivery_begin_parsing(&delivery, options);
	sw_cleanup(sw_free_p) struct sw_read_dump *dumps = calloc(options->n_words, sizeof(*dumps));
	if (status == SW_STATUS_COMPLETE && dumps == NULL) {
		(void) sw_fail_nomem(&err);
		status = sw_complain_error("snapwalk", &err);
	}
	if (status == SW_STATUS_COMPLETE)
		status = sw_namer_begin(&namer, options);
	if (status == SW_STATUS_COMPLETE)
		status = symbolize_words(&delivery, &namer, dumps);
	sw_namer_end(&namer);
	return sw_delivery_end(&delivery, status);
}
