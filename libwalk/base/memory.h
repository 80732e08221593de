/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MEMORY_H
#define SW_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_snapshot;
struct sw_thread;

/*
 * Memory of a target. A pair: readers never know if it is a snapshot, a live process, a core file
 * or a test's array.
 */
struct sw_memory_ops {
	/* All of length bytes, or false with buffer undefined. Never partial. */
	bool (*read)(void *arg, uint64_t avma, void *buffer, size_t length);
};

struct sw_memory {
	const struct sw_memory_ops *ops;
	void *arg; /* borrowed */
};

static inline bool sw_memory_read(struct sw_memory m, uint64_t avma, void *buffer, size_t length)
{
	return m.ops->read(m.arg, avma, buffer, length);
}

static inline bool sw_memory_u64(struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	return m.ops->read(m.arg, avma, ret, sizeof(*ret));
}

#endif
