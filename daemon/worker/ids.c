/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/ids.h"
#include "cleanup.h"

#include <fcntl.h>
#include <string.h>

/* "Uid:" and "Gid:" of /proc/PID/status, one after the other. False: they cannot be read. */
static bool ids_read(int status_fd, char *ret, size_t size)
{
	char text[4096];
	ssize_t n = pread(status_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *begin = strstr(text, "\nUid:");
	const char *end = begin != NULL ? strstr(begin, "\nFDSize:") : NULL;
	if (end == NULL || (size_t) (end - begin) >= size)
		return false;
	memset(ret, 0, size);
	memcpy(ret, begin, (size_t) (end - begin));
	return true;
}

bool sw_worker_ids_open(struct sw_worker_ids *ids, pid_t pid)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) pid); /* fits */
	ids->status_fd = open(path, O_RDONLY | O_CLOEXEC);
	return ids->status_fd >= 0 && ids_read(ids->status_fd, ids->ids, sizeof(ids->ids));
}

void sw_worker_ids_close(struct sw_worker_ids *ids)
{
	sw_close_p(&ids->status_fd);
}

bool sw_worker_ids_are_same(const struct sw_worker_ids *ids)
{
	char now[sizeof(ids->ids)];
	return ids_read(ids->status_fd, now, sizeof(now)) && strcmp(now, ids->ids) == 0;
}

bool sw_worker_ids_differ(const struct sw_worker_ids *ids)
{
	char now[sizeof(ids->ids)];
	return ids_read(ids->status_fd, now, sizeof(now)) && strcmp(now, ids->ids) != 0;
}
