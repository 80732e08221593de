/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two dumps, which the daemon keeps or are files of JSON. */
#include "commands.h"
#include "cleanup.h"
#include "daemon/complaint.h"
#include "daemon/dump.h"
#include "daemon/kept.h"
#include "deliver.h"
#include "errors.h"
#include "text.h"

#include <snapwalk/diff.h>
#include <fcntl.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 30 };

/* An id has neither a slash nor this ending. */
static bool is_file(const char *word)
{
	static const char ending[] = ".json";
	size_t length = strlen(word), n = sizeof(ending) - 1;
	return strchr(word, '/') != NULL || (length > n && strcmp(word + length - n, ending) == 0);
}

static int read_file(const char *path, struct sw_report **ret)
{
	struct sw_error err = {0};
	struct sw_text text = {0};
	int r = sw_text_read_at(&text, AT_FDCWD, path, FILE_BYTES_MAX);
	if (r == 0)
		r = sw_report_parse(text.size > 0 ? text.data : "", text.size, ret, &err);
	else if (r == -SW_E_IO)
		r = sw_fail_errno(&err, SW_E_IO, "it cannot be read");
	else
		r = sw_fail(&err, -r, "it cannot be read");
	sw_text_deinit(&text);
	return r < 0 ? sw_complain_error(path, &err) : SW_STATUS_COMPLETE;
}

static int read_kept(const struct sw_options *options, const char *word, struct sw_report **ret)
{
	char id[SW_KEPT_ID_SIZE];
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	struct sw_error err = {0};
	int r = 0, status = sw_kept_find(options, word, true, id);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (!sw_daemon_read(options, id, &dump, &why))
		return sw_complain_about(id, &why);
	/* With --json it comes as its text. */
	if (dump.report == NULL)
		r = sw_report_parse(dump.text, dump.size, &dump.report, &err);
	*ret = sw_take_ptr(dump.report);
	sw_daemon_dump_deinit(&dump);
	return r < 0 ? sw_complain_error(id, &err) : SW_STATUS_COMPLETE;
}

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
		status = is_file(options->words[i])
				 ? read_file(options->words[i], &reports[i])
				 : read_kept(options, options->words[i], &reports[i]);
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
