/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/read_dump.h"
#include "cleanup.h"
#include "common/complain.h"
#include "daemon/complaint.h"
#include "daemon/dump.h"
#include "daemon/kept.h"
#include "errors.h"
#include "text.h"

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

static int read_file(const char *path, struct sw_text *text)
{
	struct sw_error err = {0};
	int r = sw_text_read_at(text, AT_FDCWD, path, FILE_BYTES_MAX);
	if (r == -SW_E_IO)
		(void) sw_fail_errno(&err, SW_E_IO, "it cannot be read");
	else if (r < 0)
		(void) sw_fail(&err, -r, "it cannot be read");
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
	/* With --json the dump is handed on as text, not parsed. */
	if (dump.report == NULL)
		r = sw_report_parse(dump.text, dump.size, &dump.report, &err);
	*ret = sw_take_ptr(dump.report);
	sw_daemon_dump_deinit(&dump);
	return r < 0 ? sw_complain_error(id, &err) : SW_STATUS_COMPLETE;
}

int sw_read_dump_open(struct sw_read_dump *ret, const struct sw_options *options, const char *word)
{
	*ret = (struct sw_read_dump){.word = word};
	return is_file(word) ? read_file(word, &ret->text) : read_kept(options, word, &ret->report);
}

int sw_read_dump_parse(struct sw_read_dump *dump)
{
	const struct sw_text *text = &dump->text;
	struct sw_error err = {0};
	if (dump->report == NULL &&
	    sw_report_parse(text->size > 0 ? text->data : "", text->size, &dump->report, &err) < 0)
		return sw_complain_error(dump->word, &err);
	sw_text_deinit(&dump->text);
	return SW_STATUS_COMPLETE;
}

void sw_read_dump_deinit(struct sw_read_dump *dump)
{
	sw_text_deinit(&dump->text);
	if (dump->report != NULL)
		sw_report_destroy(dump->report);
	dump->report = NULL;
}
