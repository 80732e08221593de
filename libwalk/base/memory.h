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
	/* Optional, of memory that keeps what is read: the same without keeping it. */
	bool (*look)(void *arg, uint64_t avma, void *buffer, size_t length);
	bool is_32bit; /* of a 32-bit program: words and addresses have 4 bytes */
	/*
	 * Optional, of memory that is fetched when it is missed. part() begins a part of the work that depends on no other:
	 * the first read in it that misses something fails, and all that follow it there; false: that was so in the part
	 * before. fetch() gets all that was missed in one turn, so that the parts can be done again, and ends this; false:
	 * nothing was missed.
	 */
	bool (*part)(void *arg);
	bool (*fetch)(void *arg);
	/* Optional, of memory that keeps what is read. As read(), of what nobody will read again: it is not kept. */
	bool (*peek)(void *arg, uint64_t avma, void *buffer, size_t length);
};

struct sw_memory {
	const struct sw_memory_ops *ops;
	void *arg; /* borrowed */
};

static inline bool sw_memory_read(struct sw_memory m, uint64_t avma, void *buffer, size_t length)
{
	return m.ops->read(m.arg, avma, buffer, length);
}

/* Words that only lead to others. */
static inline bool sw_memory_look(struct sw_memory m, uint64_t avma, void *buffer, size_t length)
{
	return (m.ops->look != NULL ? m.ops->look : m.ops->read)(m.arg, avma, buffer, length);
}

static inline bool sw_memory_peek(struct sw_memory m, uint64_t avma, void *buffer, size_t length)
{
	return (m.ops->peek != NULL ? m.ops->peek : m.ops->read)(m.arg, avma, buffer, length);
}

static inline bool sw_memory_u64(struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	return m.ops->read(m.arg, avma, ret, sizeof(*ret));
}

static inline bool sw_memory_is_32bit(struct sw_memory m)
{
	return m.ops->is_32bit;
}

/* Bytes of an address, and of what PUSH puts on the stack. */
static inline unsigned sw_memory_word_bytes(struct sw_memory m)
{
	return m.ops->is_32bit ? 4 : 8;
}

/* A word, as a number. */
static inline bool sw_memory_word(struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	uint32_t half;
	if (!m.ops->is_32bit)
		return sw_memory_u64(m, avma, ret);
	if (!m.ops->read(m.arg, avma, &half, sizeof(half)))
		return false;
	*ret = half;
	return true;
}

/* An address that was calculated: those of 32-bit programs wrap around at 4 GiB. */
static inline uint64_t sw_memory_wrap(struct sw_memory m, uint64_t avma)
{
	return m.ops->is_32bit ? (uint32_t) avma : avma;
}

#endif
