/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: Linux v6.1 fs/timerfd.c timerfd_show(), ipc/msg.c sysvipc_msg_proc_show(), ipc/sem.c sysvipc_sem_proc_show(). */
#include "waits/unowned.h"
#include "cleanup.h"
#include "duration.h"
#include "process/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	FDINFO_BYTES = 1024,
	LINE_BYTES = 256,
	LINES_MAX = 65536,
	LINK_BYTES = 64,
	MS_PER_S = 1000,
	NS_PER_MS = 1000000,
};

bool sw_timerfd_parse(const char *text, char ret[static SW_UNOWNED_TEXT_BYTES])
{
	static const char name[] = "\nit_value: (";
	int64_t seconds, ns;
	char duration[SW_DURATION_BYTES];
	const char *at = strstr(text, name);
	if (at == NULL ||
	    sscanf(at + sizeof(name) - 1, "%" SCNd64 ", %" SCNd64 ")", &seconds, &ns) != 2 ||
	    seconds < 0 || seconds > INT64_MAX / MS_PER_S - 1 || ns < 0)
		return false;
	if (seconds == 0 && ns == 0) {
		(void) snprintf(ret, SW_UNOWNED_TEXT_BYTES, "is not armed"); /* fits */
		return true;
	}
	sw_duration_format(duration, seconds * MS_PER_S + ns / NS_PER_MS);
	(void) snprintf(ret, SW_UNOWNED_TEXT_BYTES, "expires in %s", duration); /* fits */
	return true;
}

bool sw_timerfd_text(int proc_fd, int64_t fd, char ret[static SW_UNOWNED_TEXT_BYTES])
{
	char name[32], text[FDINFO_BYTES];
	(void) snprintf(name, sizeof(name), "fdinfo/%" PRId64, fd); /* fits */
	return sw_proc_read_small(proc_fd, name, text, sizeof(text)) > 0 &&
	       sw_timerfd_parse(text, ret);
}

bool sw_ipc_parse(const char *line, bool messages, int id, bool sends,
		  char ret[static SW_UNOWNED_TEXT_BYTES])
{
	int key, its_id, sender, receiver;
	unsigned long n, unused;
	if (messages) {
		if (sscanf(line, "%d %d %*o %lu %lu %d %d", &key, &its_id, &unused, &n, &sender,
			   &receiver) != 6 ||
		    its_id != id)
			return false;
		int last = sends ? receiver : sender;
		int size = snprintf(ret, SW_UNOWNED_TEXT_BYTES, "queue %d, key 0x%x, %lu message%s",
				    id, (unsigned) key, n, n == 1 ? "" : "s");
		if (last > 0) /* in our pid namespace */
			(void) snprintf(ret + size, SW_UNOWNED_TEXT_BYTES - (size_t) size,
					", last %s by process %d", sends ? "received" : "sent",
					last); /* fits */
		return true;
	}
	if (sscanf(line, "%d %d %*o %lu", &key, &its_id, &n) != 3 || its_id != id)
		return false;
	(void) snprintf(ret, SW_UNOWNED_TEXT_BYTES, "set %d, key 0x%x, %lu semaphore%s", id,
			(unsigned) key, n, n == 1 ? "" : "s"); /* fits */
	return true;
}

/* The entries of /proc/sysvipc are those of our own namespace. */
static bool same_namespace(int proc_fd)
{
	char ours[LINK_BYTES], theirs[LINK_BYTES];
	ssize_t n = readlinkat(AT_FDCWD, "/proc/self/ns/ipc", ours, sizeof(ours)),
		m = readlinkat(proc_fd, "ns/ipc", theirs, sizeof(theirs));
	return n > 0 && n == m && memcmp(ours, theirs, (size_t) n) == 0;
}

void sw_ipc_text(int proc_fd, bool messages, int id, bool sends,
		 char ret[static SW_UNOWNED_TEXT_BYTES])
{
	char line[LINE_BYTES];
	(void) snprintf(ret, SW_UNOWNED_TEXT_BYTES, "%s %d", messages ? "queue" : "set",
			id); /* fits */
	if (!same_namespace(proc_fd))
		return;
	sw_cleanup(sw_fclose_p) FILE *file =
		fopen(messages ? "/proc/sysvipc/msg" : "/proc/sysvipc/sem", "re");
	for (int i = 0; file != NULL && i < LINES_MAX && fgets(line, sizeof(line), file) != NULL;
	     i++)
		if (sw_ipc_parse(line, messages, id, sends, ret))
			return;
}
