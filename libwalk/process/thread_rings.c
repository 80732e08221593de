/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/thread_rings.h"
#include "arch/pthread.h"
#include "arena.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <stdlib.h>
#include <string.h>

/*
 * glibc has its threads in rings: those with a stack of its own (_dl_stack_used), those with another one, as the first
 * thread (_dl_stack_user), and stacks that are free for the next thread (_dl_stack_cache). pthread_join() and the end of a
 * detached thread take a thread out of the first two; the kernel writes 0 to its number when it ends. So a thread in them
 * with the number 0 has ended, and nobody joined it.
 *
 * Source: glibc 2.34 to 2.41, sysdeps/generic/ldsodefs.h (order of the heads), nptl/nptl-stack.c,
 * nptl/pthread_create.c (start_thread).
 */
enum {
	HEAD_BYTES = 16,
	TRIES = 8, /* a ring may change while it is read */
	PAGE_MASK = 4095,
};

/* The limits of one answer. */
struct budget {
	struct sw_memory memory;
	int64_t deadline_ns;
	size_t nodes; /* that are left */
};

/* An entry of a ring, which may be its head; behind those of threads stands the number. */
struct node {
	uint64_t next_avma, back_avma;
	uint32_t tid;
};

struct ring {
	struct sw_thread_end *ends; /* owned */
	size_t n, capacity;
	uint64_t head_avma; /* 0: not found */
};

static void ring_deinit(struct ring *r)
{
	free(r->ends);
}

static bool node_read(struct sw_memory memory, uint64_t avma, struct node *ret)
{
	uint8_t bytes[SW_PTHREAD_TID - SW_PTHREAD_LIST + sizeof(ret->tid)];
	if (!sw_memory_read(memory, avma, bytes, sizeof(bytes)))
		return false;
	memcpy(&ret->next_avma, bytes, sizeof(ret->next_avma));
	memcpy(&ret->back_avma, bytes + sizeof(ret->next_avma), sizeof(ret->back_avma));
	memcpy(&ret->tid, bytes + (SW_PTHREAD_TID - SW_PTHREAD_LIST), sizeof(ret->tid));
	return true;
}

static bool is_thread(struct sw_memory memory, uint64_t pointer_avma)
{
	uint64_t self;
	return sw_memory_u64(memory, pointer_avma + SW_PTHREAD_SELF, &self) && self == pointer_avma;
}

static int end_add(struct ring *ring, uint64_t node_avma, const struct node *node)
{
	struct sw_thread_end *grown =
		sw_grow(ring->ends, ring->n, &ring->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	ring->ends = grown;
	ring->ends[ring->n++] = (struct sw_thread_end){.pointer_avma = node_avma - SW_PTHREAD_LIST,
						       .has_ended = node->tid == 0};
	return 0;
}

static int budget_take(struct budget *budget)
{
	enum { NODES_PER_LOOK = 64 };
	if (budget->nodes == 0)
		return -SW_E_LIMIT;
	bool look = budget->nodes-- % NODES_PER_LOOK == 0;
	return look && sw_clock_ns() >= budget->deadline_ns ? -SW_E_TIMEOUT : 0;
}

/* From a node, which may be the head, once around. -SW_E_UNSUPPORTED: it is no ring, or changes. */
static int ring_read_once(struct budget *budget, uint64_t first_avma, struct ring *ring)
{
	uint64_t at = first_avma;
	struct node first, node;
	ring->n = 0;
	ring->head_avma = 0;
	if (!node_read(budget->memory, first_avma, &first))
		return -SW_E_UNSUPPORTED;
	node = first;
	for (;;) {
		int r = budget_take(budget);
		if (r == 0 && is_thread(budget->memory, at - SW_PTHREAD_LIST))
			r = end_add(ring, at, &node);
		else if (r == 0 && ring->head_avma == 0)
			ring->head_avma = at;
		else if (r == 0)
			r = -SW_E_UNSUPPORTED; /* there is one head */
		if (r < 0)
			return r;
		uint64_t next_avma = node.next_avma;
		if (next_avma == first_avma)
			return ring->head_avma != 0 && first.back_avma == at ? 0
									     : -SW_E_UNSUPPORTED;
		if (!node_read(budget->memory, next_avma, &node) || node.back_avma != at)
			return -SW_E_UNSUPPORTED;
		at = next_avma;
	}
}

static int ring_read(struct budget *budget, uint64_t first_avma, struct ring *ring)
{
	int r = -SW_E_UNSUPPORTED;
	for (int i = 0; i < TRIES && r == -SW_E_UNSUPPORTED; i++)
		r = ring_read_once(budget, first_avma, ring);
	return r;
}

/* The heads stand one behind the other, and then the bytes in the cache. */
static int rings_read(struct budget *budget, uint64_t used_avma, struct ring *used,
		      struct ring *user)
{
	sw_cleanup(ring_deinit) struct ring cache = {0};
	uint64_t bytes;
	int r = ring_read(budget, used_avma, used);
	if (r == 0)
		r = ring_read(budget, used_avma + HEAD_BYTES, user);
	if (r == 0)
		r = ring_read(budget, used_avma + 2 * HEAD_BYTES, &cache);
	if (r < 0)
		return r;
	bool good = used->head_avma == used_avma && user->head_avma == used_avma + HEAD_BYTES &&
		    sw_memory_u64(budget->memory, used_avma + 3 * HEAD_BYTES, &bytes) &&
		    (bytes == 0) == (cache.n == 0) && (bytes & PAGE_MASK) == 0;
	return good ? 0 : -SW_E_UNSUPPORTED;
}

/* A thread that runs is in one of two rings: which one, is seen by what stands beside its head. */
static int rings_find(struct budget *budget, uint64_t pointer_avma, struct ring *used,
		      struct ring *user)
{
	sw_cleanup(ring_deinit) struct ring ring = {0};
	if (pointer_avma == 0 || !is_thread(budget->memory, pointer_avma))
		return -SW_E_UNSUPPORTED;
	int r = ring_read(budget, pointer_avma + SW_PTHREAD_LIST, &ring);
	if (r == 0)
		r = rings_read(budget, ring.head_avma, used, user);
	if (r == -SW_E_UNSUPPORTED && ring.head_avma != 0)
		r = rings_read(budget, ring.head_avma - HEAD_BYTES, used, user);
	return r;
}

int sw_thread_rings_read(struct sw_memory memory, int64_t deadline_ns, const uint64_t *running_avma,
			 size_t n, struct sw_thread_end **ret, size_t *ret_n)
{
	struct budget budget = {.memory = memory,
				.deadline_ns = deadline_ns,
				.nodes = SW_THREAD_RINGS_NODES_MAX};
	sw_cleanup(ring_deinit) struct ring used = {0}, user = {0};
	enum { LOOKS = 16 };
	int r = -SW_E_UNSUPPORTED;
	for (size_t i = 0; i < n && i < LOOKS && r == -SW_E_UNSUPPORTED; i++)
		r = rings_find(&budget, running_avma[i], &used, &user);
	if (r < 0)
		return r;
	struct sw_thread_end *ends = calloc(used.n + user.n + 1, sizeof(*ends));
	if (ends == NULL)
		return -SW_E_NOMEM;
	if (used.n > 0)
		memcpy(ends, used.ends, used.n * sizeof(*ends));
	if (user.n > 0)
		memcpy(ends + used.n, user.ends, user.n * sizeof(*ends));
	*ret = ends;
	*ret_n = used.n + user.n;
	return 0;
}
