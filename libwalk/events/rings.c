/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/rings.h"
#include "arch/perf_regs.h"
#include "arch/user_regs.h"

#include <string.h>

/* Records that say nothing to us, in one call: a process makes them as fast as it names its threads. */
enum { SKIPPED_MAX = 65536 };

/* Out of the ring, of which it may be at the end and the beginning. */
static void ring_copy(const struct sw_events_rings *r, const struct sw_events_ring *ring,
		      uint64_t at, void *to, size_t size)
{
	const uint8_t *data = (const uint8_t *) ring->page + ring->page->data_offset;
	size_t begin = (size_t) (at & (r->bytes - 1));
	size_t first = r->bytes - begin < size ? r->bytes - begin : size;
	memcpy(to, data + begin, first);
	memcpy((uint8_t *) to + first, data, size - first);
}

/* The next record; false: there is none. The kernel writes them: they are whole. */
static bool record_read(struct sw_events_rings *r, struct sw_events_ring *ring,
			struct perf_event_header *ret)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (ring->at == head)
		return false;
	ring_copy(r, ring, ring->at, ret, sizeof(*ret));
	if (ret->size < sizeof(*ret) || ret->size > head - ring->at || head - ring->at > r->bytes) {
		ring->at = head; /* cannot be: nothing more is believed */
		__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
		return false;
	}
	ring_copy(r, ring, ring->at, r->record, ret->size);
	ring->at += ret->size;
	__atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
	return true;
}

/*
 * perf_event_open(2), PERF_RECORD_SAMPLE:
 *
 *	header | pid, tid | abi, registers | size, stack, of which so much is valid
 */
static bool sample_parse(const struct sw_events_rings *r, size_t size, struct sw_events_sample *ret)
{
	size_t at = sizeof(struct perf_event_header);
	uint32_t tid;
	uint64_t abi, regs[SW_ARCH_PERF_REGS_N], stack_size, valid;
	if (size < at + 16)
		return false;
	memcpy(&tid, r->record + at + 4, sizeof(tid));
	memcpy(&abi, r->record + at + 8, sizeof(abi));
	at += 16;
	if ((pid_t) tid <= 0)
		return false; /* it has ended, or is of another namespace: perf_event_tid(), v6.1 */
	bool is_32bit = abi == PERF_SAMPLE_REGS_ABI_32;
	if ((!is_32bit && abi != PERF_SAMPLE_REGS_ABI_64) || size < at + sizeof(regs) + 8)
		return false; /* it was in no user code */
	memcpy(regs, r->record + at, sizeof(regs));
	at += sizeof(regs);
	memcpy(&stack_size, r->record + at, sizeof(stack_size));
	at += 8;
	if (stack_size == 0 || stack_size > size - at || size - at - stack_size < 8)
		return false;
	memcpy(&valid, r->record + at + stack_size, sizeof(valid));
	*ret = (struct sw_events_sample){.tid = (pid_t) tid,
					 .stack = r->record + at,
					 .stack_bytes = (size_t) (valid < stack_size ? valid
										     : stack_size)};
	sw_arch_perf_regs(regs, &ret->regs);
	if (is_32bit)
		ret->regs.cs = SW_ARCH_USER32_CS; /* which is not asked for */
	return true;
}

/* PERF_RECORD_COMM: header | pid, tid | name with a NUL, as long as the record. */
static enum sw_events_kind name_parse(const struct sw_events_rings *r, size_t size,
				      struct sw_events_sample *ret)
{
	const size_t at = sizeof(struct perf_event_header) + 8;
	uint32_t tid;
	if (size <= at)
		return SW_EVENTS_NONE;
	memcpy(&tid, r->record + at - 4, sizeof(tid));
	*ret = (struct sw_events_sample){.tid = (pid_t) tid};
	size_t length = size - at < sizeof(ret->comm) - 1 ? size - at : sizeof(ret->comm) - 1;
	memcpy(ret->comm, r->record + at, length);
	return SW_EVENTS_NAME;
}

/* PERF_RECORD_FORK: header | pid, ppid, tid, ptid | time. */
static enum sw_events_kind fork_parse(const struct sw_events_rings *r, size_t size,
				      struct sw_events_sample *ret)
{
	const size_t at = sizeof(struct perf_event_header) + 8;
	uint32_t pid, parent, tid, by;
	if (size < at + 8)
		return SW_EVENTS_NONE;
	memcpy(&pid, r->record + at - 8, sizeof(pid));
	memcpy(&parent, r->record + at - 4, sizeof(parent));
	if (pid != parent) { /* it is not sampled */
		*ret = (struct sw_events_sample){.pid = (pid_t) pid};
		return SW_EVENTS_CHILD;
	}
	memcpy(&tid, r->record + at, sizeof(tid));
	memcpy(&by, r->record + at + 4, sizeof(by));
	if ((pid_t) by <= 0)
		return SW_EVENTS_NONE;
	*ret = (struct sw_events_sample){.tid = (pid_t) tid, .named_as = (pid_t) by};
	return SW_EVENTS_NAME;
}

/* Records of other kinds begin with pid and tid, too; of an end: header | pid, ppid, tid, ptid | time. */
static enum sw_events_kind process_parse(const struct sw_events_rings *r, size_t size,
					 enum sw_events_kind kind, struct sw_events_sample *ret)
{
	const size_t at = sizeof(struct perf_event_header);
	uint32_t pid, tid;
	*ret = (struct sw_events_sample){0};
	if (size < at + 16)
		return kind == SW_EVENTS_END ? SW_EVENTS_NONE : kind;
	memcpy(&pid, r->record + at, sizeof(pid));
	memcpy(&tid, r->record + at + (kind == SW_EVENTS_END ? 8 : 4), sizeof(tid));
	if (kind == SW_EVENTS_END && pid != tid)
		return SW_EVENTS_NONE;
	*ret = (struct sw_events_sample){.pid = (pid_t) pid, .tid = (pid_t) tid};
	return kind;
}

/* PERF_RECORD_MMAP: header | pid, tid, address, length, offset | name. Files have a path, and other memory a name in
 * "[anon:...]" at most: nobody but the kernel maps this name. */
static enum sw_events_kind code_parse(const struct sw_events_rings *r, size_t size,
				      struct sw_events_sample *ret)
{
	static const char name[] = "[uprobes]";
	const size_t at = sizeof(struct perf_event_header) + 32;
	enum sw_events_kind kind = process_parse(r, size, SW_EVENTS_CODE, ret);
	ret->of_probes =
		size >= at + sizeof(name) && memcmp(r->record + at, name, sizeof(name)) == 0;
	return kind;
}

static enum sw_events_kind record_kind(struct sw_events_rings *r,
				       const struct perf_event_header *header,
				       struct sw_events_sample *ret)
{
	uint64_t lost;
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return sample_parse(r, header->size, ret) ? SW_EVENTS_SAMPLE : SW_EVENTS_NONE;
	case PERF_RECORD_MMAP: return code_parse(r, header->size, ret);
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			return process_parse(r, header->size, SW_EVENTS_PROGRAM, ret);
		return r->of_all ? SW_EVENTS_NONE : name_parse(r, header->size, ret);
	case PERF_RECORD_FORK: return r->of_all ? SW_EVENTS_NONE : fork_parse(r, header->size, ret);
	case PERF_RECORD_EXIT:
		return r->of_all ? process_parse(r, header->size, SW_EVENTS_END, ret)
				 : SW_EVENTS_NONE;
	case PERF_RECORD_LOST:
		if (header->size >= sizeof(*header) + 16) {
			memcpy(&lost, r->record + sizeof(*header) + 8, sizeof(lost));
			r->lost += lost;
		}
		return SW_EVENTS_NONE;
	default: return SW_EVENTS_NONE;
	}
}

enum sw_events_kind sw_events_rings_next(struct sw_events_rings *r, struct sw_events_sample *ret)
{
	struct perf_event_header header;
	for (size_t empty = 0, skipped = 0; empty < r->n && skipped < SKIPPED_MAX;) {
		struct sw_events_ring *ring = &r->all[r->turn];
		if (ring->page == NULL || !record_read(r, ring, &header)) {
			empty++;
			r->turn = (r->turn + 1) % r->n;
			continue;
		}
		empty = 0;
		enum sw_events_kind kind = record_kind(r, &header, ret);
		if (kind != SW_EVENTS_NONE)
			return kind;
		skipped++;
	}
	return SW_EVENTS_NONE;
}
