/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_RECORD_H
#define SW_COPIES_RECORD_H

#include "iterate/sampled.h"

#include <snapwalk/walk.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/user.h>

enum { SW_COPY_PARTS_MAX = SW_SAMPLED_BYTES_MAX / 24 }; /* a part has 8 bytes at least */

/* A piece of the process's memory, as the kernel copied it at the event. */
struct sw_copy_part {
	uint64_t avma;
	const uint8_t *data; /* borrowed: the record */
	uint32_t bytes;
	uint32_t kind; /* SW_SAMPLED_KIND_STACK, or one of a recipe */
};

/* A thread at an event. */
struct sw_copy {
	struct sw_sampled_head head; /* flags, numbers, times */
	struct user_regs_struct regs;
	const struct sw_copy_part *parts; /* in the order in which they were copied */
	size_t n_parts;
};

/*
 * A record as the kernel wrote it. The kernel is believed, its record is not: whatever bytes these are, what
 * is read lies within them.
 *
 * @param bytes  Borrowed: the parts point into it.
 * @param parts  Borrowed: space for SW_COPY_PARTS_MAX.
 * @return False: it is no such record.
 */
bool sw_copy_parse(const uint8_t *bytes, size_t size, struct sw_copy_part *parts,
		   struct sw_copy *ret);

/* When a thread was copied: a copy of the kernel's has its own time. otherwise_ns: there is no such copy. */
static inline int64_t sw_copy_made_ns(const struct sw_thread *thread, int64_t otherwise_ns)
{
	const struct sw_copy *copy = thread != NULL ? thread->copy : NULL;
	return copy != NULL && copy->head.time_ns != 0 ? (int64_t) copy->head.time_ns
						       : otherwise_ns;
}

#endif
