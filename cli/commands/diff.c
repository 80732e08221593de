/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changes between two dumps, which the daemon keeps or are files of JSON. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "events/held_diff.h"
#include "run/deliver.h"
#include "daemon/read_dump.h"
#include "run/naming.h"
#include "run/sandbox.h"

#include <snapwalk/diff.h>

enum { DUMPS = 2 };

static int write_diff(struct sw_delivery *delivery, const struct sw_diff *diff)
{
	const struct sw_options *options = delivery->options;
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	struct sw_text_options how = {.color = delivery->color, .all = options->all};
	int r = options->format == SW_FORMAT_JSON ? sw_diff_json(diff, &text, &size, &err)
						  : sw_diff_text(diff, &how, &text, &size, &err);
	if (r == 0)
		r = sw_output_write(&delivery->output, text, size, &err);
	if (r == 0)
		r = sw_output_commit(&delivery->output, &err);
	return r < 0 ? sw_complain_error(sw_delivery_name(delivery), &err) : SW_STATUS_COMPLETE;
}

/* The same of two results of leaks. */
static int compare_leaks(struct sw_delivery *delivery, const struct sw_read_dump dumps[DUMPS])
{
	const struct sw_options *options = delivery->options;
	const struct sw_text sides[DUMPS] = {dumps[0].text, dumps[1].text};
	const struct sw_held_diff_options how = {.json = options->format == SW_FORMAT_JSON,
						 .all = options->all};
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_error err = {0};
	int r = sw_held_diff(sides, &how, &text, &err);
	if (r < 0)
		return sw_complain_error("snapwalk", &err);
	r = sw_output_write(&delivery->output, text.data, text.size, &err);
	if (r == 0)
		r = sw_output_commit(&delivery->output, &err);
	return r < 0 ? sw_complain_error(sw_delivery_name(delivery), &err) : SW_STATUS_COMPLETE;
}

/* namer: NULL where names are not asked for. */
static int dump_parse(struct sw_read_dump *dump, struct sw_namer *namer)
{
	struct sw_error err = {0};
	int status = sw_read_dump_only(dump);
	if (status == SW_STATUS_COMPLETE && namer != NULL &&
	    sw_namer_report(namer, dump->report, &err) < 0)
		status = sw_complain_error(sw_read_dump_name(dump), &err);
	return status;
}

/* Everything is read, and what is written is open. */
static int compare(struct sw_delivery *delivery, struct sw_read_dump dumps[DUMPS],
		   struct sw_namer *namer)
{
	struct sw_error err = {0};
	struct sw_diff *diff = NULL;
	int r = namer != NULL ? sw_sandbox_enter_naming(delivery->options, &err)
			      : sw_sandbox_enter_parsing(delivery->options, &err);
	if (r < 0)
		return sw_complain_error("snapwalk", &err);
	if (sw_held_diff_is(&dumps[0].text) && sw_held_diff_is(&dumps[1].text))
		return compare_leaks(delivery, dumps);
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < DUMPS && status == SW_STATUS_COMPLETE; i++)
		status = dump_parse(&dumps[i], namer);
	if (namer != NULL)
		sw_namer_say_missing(namer);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (sw_diff_build(dumps[0].report, dumps[1].report, &diff, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = write_diff(delivery, diff);
	sw_diff_destroy(diff);
	bool complete = dumps[0].report->complete && dumps[1].report->complete;
	return status == SW_STATUS_COMPLETE && !complete ? SW_STATUS_MISSING : status;
}

int sw_cmd_diff(const struct sw_options *options)
{
	struct sw_read_dump dumps[DUMPS] = {{0}};
	struct sw_delivery delivery;
	struct sw_namer namer = {.fetcher.fd = -EBADF, .packager.fd = -EBADF};
	const bool named = sw_naming_is_asked(options);
	int status = sw_delivery_begin_parsing(&delivery, options);
	for (size_t i = 0; i < DUMPS && status == SW_STATUS_COMPLETE; i++)
		status = sw_read_dump_open(&dumps[i], options, options->words[i]);
	if (status == SW_STATUS_COMPLETE && named)
		status = sw_namer_begin(&namer, options);
	if (status == SW_STATUS_COMPLETE)
		status = compare(&delivery, dumps, named ? &namer : NULL);
	sw_namer_end(&namer);
	sw_output_deinit(&delivery.output);
	for (size_t i = 0; i < DUMPS; i++)
		sw_read_dump_deinit(&dumps[i]);
	return status;
}
