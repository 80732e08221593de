/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: linux kernel/bpf/ringbuf.c, include/uapi/linux/bpf.h (BPF_RINGBUF_*), v6.1 and v6.18. */
#include "copies/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD_BYTES = BPF_RINGBUF_HDR_SZ };

static size_t page_bytes(void)
{
	return (size_t) sysconf(_SC_PAGESIZE);
}

int sw_copies_ring_map(int fd, size_t bytes, struct sw_copies_ring *ret)
{
	size_t page = page_bytes();
	void *read_at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (read_at == MAP_FAILED)
		return -errno;
	void *written_at = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t) page);
	if (written_at == MAP_FAILED) {
		int error = errno;
		(void) munmap(read_at, page); /* it was mapped */
		return -error;
	}
	*ret = (struct sw_copies_ring){.read_at = read_at,
				       .written_at = written_at,
				       .data = (const uint8_t *) written_at + page,
				       .bytes = bytes,
				       .at = __atomic_load_n((uint64_t *) read_at,
							     __ATOMIC_ACQUIRE)};
	return 0;
}

void sw_copies_ring_unmap(struct sw_copies_ring *ring)
{
	if (ring->read_at == NULL)
		return;
	(void) munmap(ring->read_at, page_bytes()); /* both were mapped */
	(void) munmap((void *) (uintptr_t) ring->written_at, page_bytes() + 2 * ring->bytes);
	*ring = (struct sw_copies_ring){0};
}

/* The record at *at, which is that of the next one then. */
static bool record_next(const struct sw_copies_ring *ring, uint64_t *at, const uint8_t **ret,
			size_t *ret_size)
{
	uint64_t end = __atomic_load_n(ring->written_at, __ATOMIC_ACQUIRE);
	while (*at != end) {
		const uint8_t *head = ring->data + (*at & (ring->bytes - 1));
		uint32_t length =
			__atomic_load_n((const uint32_t *) (const void *) head, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return false; /* it is being written */
		size_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t padded = ((uint64_t) size + HEAD_BYTES + 7) & ~UINT64_C(7);
		if (padded > end - *at || padded > ring->bytes) {
			*at = end; /* cannot be: nothing more is believed */
			return false;
		}
		*at += padded;
		if (length & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret = head + HEAD_BYTES;
		*ret_size = size;
		return true;
	}
	return false;
}

bool sw_copies_ring_next(struct sw_copies_ring *ring, const uint8_t **ret, size_t *ret_size)
{
	return record_next(ring, &ring->at, ret, ret_size);
}

bool sw_copies_ring_peek(const struct sw_copies_ring *ring, uint64_t *at, const uint8_t **ret,
			 size_t *ret_size)
{
	if (*at < ring->at)
		*at = ring->at;
	return record_next(ring, at, ret, ret_size);
}

bool sw_copies_ring_has_more(const struct sw_copies_ring *ring)
{
	return ring->at != __atomic_load_n(ring->written_at, __ATOMIC_ACQUIRE);
}

void sw_copies_ring_give_back(struct sw_copies_ring *ring)
{
	__atomic_store_n(ring->read_at, ring->at, __ATOMIC_RELEASE);
}
