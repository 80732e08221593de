/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: the target's memory, copied for the stacks and read for the unwinders' hooks.
 *
 * Runs while the target is STOPPED, in the helper, on its small stack, and may be killed between any
 * two instructions. Nothing here parses, opens, allocates, locks, names or prints; it waits for
 * nothing; every loop is bounded by space that was made before. tests/held.sh looks at what it calls.
 */
#include "capture/copy.h"
#include "bytes.h"
#include "capture/same.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <string.h>

/* Reads what it can of one range. */
static size_t read_slow(const struct sw_stop *stop, uint64_t avma, uint8_t *to, size_t bytes)
{
	return stop->mem_fd >= 0 ? sw_pread(stop->mem_fd, to, bytes, avma) : 0;
}

/* Any thread that is held gives access to the memory; the leader may be a zombie. */
static pid_t held_tid(const struct sw_capture_space *space)
{
	const struct sw_stop *stop = space->stop;
	if (space->carrier != 0)
		return space->carrier;
	for (size_t i = 0; i < stop->n; i++)
		if (stop->tracees[i].has_regs)
			return stop->tracees[i].tid;
	return 0;
}

/* Copies parts [first, last), which lie in a row in the pool. Sets how much came of each. */
static void batch_copy(struct sw_capture_space *space, pid_t tid, size_t first, size_t last)
{
	while (first < last) {
		size_t n = last - first;
		struct iovec local = {space->parts[first].to, 0};
		for (size_t i = 0; i < n; i++) {
			const struct sw_capture_part *p = &space->parts[first + i];
			space->remote[i] = (struct iovec){(void *) (uintptr_t) p->avma, p->bytes};
			local.iov_len += p->bytes;
		}
		ssize_t r = process_vm_readv(tid, &local, 1, space->remote, n, 0);
		if (r < 0 && (errno == ENOSYS || errno == EPERM)) {
			space->no_vm_readv = true;
			return;
		}
		size_t got = r > 0 ? (size_t) r : 0;
		while (first < last && got >= space->parts[first].bytes)
			got -= space->parts[first++].bytes;
		/* The first one that is not whole ended the call: the next call begins after it. */
		if (first < last)
			space->parts[first++].bytes = got;
	}
}

void sw_capture_parts_trim(struct sw_capture_space *space, size_t from)
{
	const struct sw_pages *pages = &space->snap->priv->pages;
	for (size_t i = from; i < space->n_parts; i++) {
		struct sw_capture_part *p = &space->parts[i];
		if (!sw_pages_may_stall(pages, p->avma, p->bytes))
			continue;
		size_t present = sw_pages_present(pages, p->avma, p->bytes);
		p->absent = present < p->bytes;
		p->bytes = present;
	}
}

void sw_capture_parts_copy(struct sw_capture_space *space, size_t from)
{
	pid_t tid = held_tid(space);
	size_t begin = from;
	for (size_t first = begin; first < space->n_parts;) {
		/* The first batch is always copied: without it the answer is worth nothing. */
		if (first > begin && sw_clock_ns() > space->stop->copy_end_ns) {
			space->out_of_time = true;
			for (size_t i = first; i < space->n_parts; i++)
				space->parts[i].bytes = 0;
			space->n_copied = space->n_parts;
			return;
		}
		size_t last = first, bytes = 0;
		while (last < space->n_parts && last - first < SW_CAPTURE_BATCH &&
		       bytes < SW_CAPTURE_BATCH_BYTES)
			bytes += space->parts[last++].bytes;
		if (!space->no_vm_readv)
			batch_copy(space, tid, first, last);
		for (size_t i = first; space->no_vm_readv && i < last; i++) {
			struct sw_capture_part *p = &space->parts[i];
			p->bytes = read_slow(space->stop, p->avma, p->to, p->bytes);
		}
		space->n_copied = first = last;
	}
}

/* At most the bytes that could be read, into local; a refused system call is remembered. */
static size_t read_fast(struct sw_capture_space *space, const struct iovec *local,
			const struct iovec *remote, size_t n)
{
	if (space->no_vm_readv)
		return 0;
	ssize_t got = process_vm_readv(held_tid(space), local, n, remote, n, 0);
	space->no_vm_readv = got < 0 && (errno == ENOSYS || errno == EPERM);
	return got > 0 ? (size_t) got : 0;
}

/* Reads up to SW_CAPTURE_READS; how many were whole, before the first one that was not. */
static size_t reads_try(struct sw_capture_space *space, const struct sw_capture_read *reads,
			size_t n)
{
	struct iovec local[SW_CAPTURE_READS], remote[SW_CAPTURE_READS];
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){reads[i].buffer, reads[i].bytes};
		remote[i] = (struct iovec){(void *) (uintptr_t) reads[i].avma, reads[i].bytes};
	}
	size_t got = read_fast(space, local, remote, n), whole = 0;
	while (whole < n && got >= reads[whole].bytes)
		got -= reads[whole++].bytes;
	return whole;
}

static bool will_come(const struct sw_capture_space *space, const struct sw_capture_read *read)
{
	const struct sw_pages *pages = &space->snap->priv->pages;
	return !sw_pages_may_stall(pages, read->avma, read->bytes) ||
	       sw_pages_present(pages, read->avma, read->bytes) == read->bytes;
}

void sw_capture_reads_make(struct sw_capture_space *space, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t batch = 0;
		while (batch < n - i && batch < SW_CAPTURE_READS &&
		       will_come(space, &reads[i + batch]))
			batch++;
		if (batch == 0) {
			reads[i++].ok = false;
			continue;
		}
		size_t whole = reads_try(space, reads + i, batch);
		for (size_t end = i + whole; i < end; i++)
			reads[i].ok = true;
		/* The first one that is not whole ended the call: the next call begins after it. */
		if (whole < batch) {
			struct sw_capture_read *r = &reads[i++];
			r->ok = space->no_vm_readv &&
				read_slow(space->stop, r->avma, r->buffer, r->bytes) == r->bytes;
		}
	}
}

void sw_capture_reads(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	sw_capture_reads_make(capture->arg, reads, n);
	sw_capture_same_note(capture->arg, reads, n);
}

bool sw_capture_copy_range(struct sw_capture *capture, uint64_t avma, size_t bytes,
			   const uint8_t **ret_data)
{
	struct sw_capture_space *space = capture->arg;
	struct sw_snapshot *snap = space->snap;
	if (bytes > space->size - space->used || snap->n_ranges >= space->copies_max) {
		space->space_short = true;
		return false;
	}
	uint8_t *to = snap->priv->pool + space->used;
	if (!sw_capture_read(capture, avma, to, bytes))
		return false;
	space->used += bytes;
	snap->ranges[snap->n_ranges] = (struct sw_range){avma, bytes, to};
	atomic_signal_fence(memory_order_release); /* as in part_add() */
	snap->n_ranges++;
	*ret_data = to;
	return true;
}

/* The first reads for which there is space get their places; how many. */
static size_t copies_place(struct sw_capture_space *space, struct sw_capture_read *reads, size_t n)
{
	size_t used = space->used, i = 0;
	for (; i < n && i < SW_CAPTURE_READS; i++) {
		if (reads[i].bytes > space->size - used ||
		    space->snap->n_ranges + i >= space->copies_max)
			break;
		reads[i].buffer = space->snap->priv->pool + used;
		used += reads[i].bytes;
	}
	return i;
}

void sw_capture_copies(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	struct sw_capture_space *space = capture->arg;
	struct sw_snapshot *snap = space->snap;
	for (size_t i = 0; i < n; i++)
		reads[i].ok = false;
	while (n > 0) {
		size_t batch = copies_place(space, reads, n);
		if (batch == 0) {
			space->space_short = true;
			return;
		}
		sw_capture_reads(capture, reads, batch);
		for (size_t i = 0; i < batch; i++) {
			const struct sw_capture_read *r = &reads[i];
			if (!r->ok)
				continue;
			space->used =
				(size_t) ((uint8_t *) r->buffer - snap->priv->pool) + r->bytes;
			snap->ranges[snap->n_ranges] =
				(struct sw_range){r->avma, r->bytes, r->buffer};
			atomic_signal_fence(memory_order_release); /* as in part_add() */
			snap->n_ranges++;
		}
		reads += batch;
		n -= batch;
	}
}

bool sw_capture_is_over(struct sw_capture *capture)
{
	const struct sw_capture_space *space = capture->arg;
	return sw_clock_ns() > space->stop->copy_end_ns;
}

/* The bytes that lie in one of n parts. A caller with many addresses asks in the order of the
 * parts: each search goes on where the last one found something. */
static bool parts_find(const struct sw_capture_part *parts, size_t n, size_t *at, uint64_t avma,
		       void *buffer, size_t bytes)
{
	size_t k = *at < n ? *at : 0;
	for (size_t i = 0; i < n; i++, k = k + 1 < n ? k + 1 : 0) {
		const struct sw_capture_part *p = &parts[k];
		if (avma < p->avma || avma - p->avma > p->bytes ||
		    bytes > p->bytes - (avma - p->avma))
			continue;
		if (buffer != NULL)
			memcpy(buffer, p->to + (avma - p->avma), bytes);
		*at = k;
		return true;
	}
	return false;
}

bool sw_capture_wanted_find(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	struct sw_capture_space *space = capture->arg;
	return parts_find(space->parts, space->n_want, &space->wanted_at, avma, buffer, bytes);
}

bool sw_capture_in_stack_find(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	struct sw_capture_space *space = capture->arg;
	return parts_find(space->parts + space->n_want, space->n_found - space->n_want,
			  &space->stack_at, avma, buffer, bytes);
}
