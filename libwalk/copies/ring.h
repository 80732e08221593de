/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_RING_H
#define SW_COPIES_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The reader of a ring of BPF (BPF_MAP_TYPE_RINGBUF). It makes no system call after sw_copies_ring_map(),
 * and nobody wakes it.
 *
 *	page 0: how far was read (ours to write) | page 1: how far was written | the data, twice
 */
struct sw_copies_ring {
	uint64_t *read_at;          /* owned: a mapping */
	const uint64_t *written_at; /* owned: a mapping, the data are behind its first page */
	const uint8_t *data;
	size_t bytes; /* a power of two */
	uint64_t
		at; /* up to where it was looked at; what is before that and not given back may still be used */
};

/* 0, or a negative errno. fd: borrowed, and not needed afterwards. */
int sw_copies_ring_map(int fd, size_t bytes, struct sw_copies_ring *ret);
void sw_copies_ring_unmap(struct sw_copies_ring *ring);

/* The next record; false: there is none by now. It stays until sw_copies_ring_give_back(). */
bool sw_copies_ring_next(struct sw_copies_ring *ring, const uint8_t **ret, size_t *ret_size);

/* A record that waits, from *at on, which is behind it then. Nothing is taken. */
bool sw_copies_ring_peek(const struct sw_copies_ring *ring, uint64_t *at, const uint8_t **ret,
			 size_t *ret_size);

/* Whether there is a record that was not returned yet. */
bool sw_copies_ring_has_more(const struct sw_copies_ring *ring);

/* Give back the records that were returned so far. */
void sw_copies_ring_give_back(struct sw_copies_ring *ring);

#endif
