/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/status.h"
#include "cleanup.h"
#include "errors.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum { STATUS_BYTES_MAX = 4096 };

static const char *const kinds[SW_SHIP_KINDS] = {
	[SW_SHIP_PROFILES] = "profiles",
	[SW_SHIP_DUMPS] = "dumps",
};
static const char *const counts[SW_SHIP_COUNTS] = {
	[SW_SHIP_COLLECTED] = "collected",
	[SW_SHIP_SENT] = "sent",
	[SW_SHIP_REJECTED] = "rejected",
	[SW_SHIP_REFUSED] = "refused",
	[SW_SHIP_GONE] = "gone",
	[SW_SHIP_TOO_LARGE] = "too_large",
	[SW_SHIP_UNREADABLE] = "unreadable",
	[SW_SHIP_RETRIES] = "retries",
};

void sw_ship_status_write(const struct sw_ship_shared *shared, struct sw_text *ret)
{
	for (size_t kind = 0; kind < SW_SHIP_KINDS; kind++)
		for (size_t i = 0; i < SW_SHIP_COUNTS; i++)
			sw_text_printf(ret, "%s %s %" PRIu64 "\n", kinds[kind], counts[i],
				       shared->counts[kind][i]);
	for (size_t kind = 0; kind < SW_SHIP_KINDS; kind++)
		sw_text_printf(ret, "%s denied %" PRIu64 "\n", kinds[kind], shared->denied[kind]);
	sw_text_printf(ret, "spool bytes %" PRIu64 "\nspool files %" PRIu64 "\n",
		       shared->spool_bytes, shared->spool_files);
	sw_text_printf(ret, "spool full %" PRIu64 "\n", shared->spool_full);
	sw_text_printf(ret, "daemon connected %" PRIu64 "\n", shared->connected);
}

static int index_of(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (int) i;
	return -1;
}

void sw_ship_status_read(const char *text, struct sw_ship_shared *shared)
{
	char kind_name[16], count_name[16];
	uint64_t number;
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (sscanf(line, "%15s %15s %" SCNu64, kind_name, count_name, &number) == 3) {
			int kind = index_of(kinds, SW_SHIP_KINDS, kind_name);
			int count = index_of(counts, SW_SHIP_COUNTS, count_name);
			if (kind >= 0 && count >= 0)
				shared->counts[kind][count] += number;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
}

int sw_ship_status_text(int dir_fd, struct sw_text *ret)
{
	return sw_text_read_at(ret, dir_fd, SW_SHIP_STATUS_FILE, STATUS_BYTES_MAX);
}

int sw_ship_status_print(const char *spool, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_cleanup(sw_close_p) int fd = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || sw_ship_status_text(fd, &text) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/" SW_SHIP_STATUS_FILE, spool);
	if (fputs(text.size > 0 ? text.data : "", stdout) < 0 || fflush(stdout) != 0)
		return sw_fail_errno(err, SW_E_IO, "standard output");
	return 0;
}
