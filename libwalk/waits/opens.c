/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/opens.h"
#include "memory.h"
#include "snapshot/read.h"

#include <string.h>

enum { PATH_BYTES = 512, PART_BYTES = 64 };

/* False: it cannot be read, or is longer than that. A part never reaches over the end of a page. */
static bool path_read(const struct sw_snapshot *snap, uint64_t avma, char ret[static PATH_BYTES])
{
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	for (size_t n = 0; n < PATH_BYTES;) {
		size_t part = PART_BYTES - (avma + n) % PART_BYTES;
		part = part < PATH_BYTES - n ? part : PATH_BYTES - n;
		if (!m.ops->read(m.arg, avma + n, ret + n, part))
			return false;
		if (memchr(ret + n, '\0', part) != NULL)
			return true;
		n += part;
	}
	return false;
}

/* Source: fifo_open() in fs/pipe.c, v6.1, which has the other one inlined or not. */
bool sw_open_waits(struct sw_snapshot *snap, const struct sw_thread *thread, uint64_t path_avma,
		   struct sw_wait_for *ret)
{
	char path[PATH_BYTES];
	if (strcmp(thread->wchan, "wait_for_partner") != 0 &&
	    strcmp(thread->wchan, "fifo_open") != 0)
		return false;
	*ret = (struct sw_wait_for){.kind = "fifo", .fd = -1};
	if (path_read(snap, path_avma, path) && path[0] != '\0')
		ret->target = sw_arena_strdup(&snap->priv->arena, path);
	return true;
}
