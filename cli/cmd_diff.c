/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two dumps, which the daemon keeps or are files of JSON. */
#include "commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "deliver.h"
#include "daemon/read_dump.h"

#include <snapwalk/diff.h>

static int write_diff(const struct sw_options *options, const struct sw_diff *diff)
{
	struct sw_delivery delivery;
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	if (sw_delivery_begin(&delivery, options, options->format, options->output, &err) < 0)
		return sw_complain_error(sw_delivery_name(&delivery), &err);
	struct sw_text_options how = {.color = delivery.color, .all = options->all};
	int r = options->format == SW_FORMAT_JSON ? sw_diff_json(diff, &text, &size, &err)
						  : sw_diff_text(diff, &how, &text, &size, &err);
	if (r == 0)
		r = sw_output_write(&delivery.output, text, size, &err);
	if (r == 0)
		r = sw_output_commit(&delivery.output, &err);
	int status =
		r < 0 ? sw_complain_error(sw_delivery_name(&delivery), &err) : SW_STATUS_COMPLETE;
	sw_output_deinit(&delivery.output);
	return status;
}

int sw_cmd_diff(const struct sw_options *options)
{
	struct sw_report *reports[2] = {NULL, NULL};
	struct sw_diff *diff = NULL;
	struct sw_error err = {0};
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < 2 && status == SW_STATUS_COMPLETE; i++)
		status = sw_read_dump(options, options->words[i], &reports[i]);
	if (status == SW_STATUS_COMPLETE && sw_diff_build(reports[0], reports[1], &diff, &err) < 0)
		status = sw_complain_error("diff", &err);
	if (status == SW_STATUS_COMPLETE)
		status = write_diff(options, diff);
	if (status == SW_STATUS_COMPLETE && !(reports[0]->complete && reports[1]->complete))
		status = SW_STATUS_MISSING;
	sw_diff_destroy(diff);
	for (size_t i = 0; i < 2; i++)
		if (reports[i] != NULL)
			sw_report_destroy(reports[i]);
	return status;
}
