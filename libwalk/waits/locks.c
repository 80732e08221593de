/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "1: POSIX  ADVISORY  WRITE 712 fd:01:393 0 EOF"; "1: -> POSIX ..." is one that waits for the one of
 * that number. Linux v6.1 fs/locks.c lock_get_status(). */
#include "waits/locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct line {
	uint64_t number, inode;
	char type[16];
	int pid;
	bool waits;
};

static bool line_parse(const char *text, struct line *ret)
{
	int at = 0;
	if (sscanf(text, "%" SCNu64 ": %n", &ret->number, &at) != 1 || at == 0)
		return false;
	ret->waits = strncmp(text + at, "->", 2) == 0;
	text += at + (ret->waits ? 2 : 0);
	return sscanf(text, " %15s %*15s %*15s %d %*x:%*x:%" SCNu64, ret->type, &ret->pid,
		      &ret->inode) == 3;
}

static const char *next_line(const char *text)
{
	const char *end = strchr(text, '\n');
	return end != NULL ? end + 1 : text + strlen(text);
}

pid_t sw_file_lock_owner(const char *text, pid_t pid, uint64_t inode, bool flock)
{
	struct line line, held = {0};
	pid_t owner = 0;
	for (; *text != '\0'; text = next_line(text)) {
		if (!line_parse(text, &line))
			continue;
		if (!line.waits) {
			held = line;
			continue;
		}
		if (line.pid != pid || line.inode != inode || line.number != held.number ||
		    (strcmp(line.type, "FLOCK") == 0) != flock)
			continue;
		if (held.pid <= 0 || (owner != 0 && owner != held.pid))
			return 0;
		owner = held.pid;
	}
	return owner;
}
