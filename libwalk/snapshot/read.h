/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SNAPSHOT_READ_H
#define SW_SNAPSHOT_READ_H

#include "snapshot/snapshot.h"

/* The copy (priv->copies) that holds avma, or the first one behind it; n_copies when there is none. */
size_t sw_snapshot_copy_find(const struct sw_snapshot *snap, uint64_t avma);

/* Part of sw_snapshot_index(): what sw_snapshot_memory() searches. */
void sw_snapshot_index_copies(struct sw_snapshot *snap);
/* The same of what one thread's copy has: those of other threads are of other instants, at which the same address may have
 * been something else. NULL: of all again. */
void sw_snapshot_index_copy(const struct sw_snapshot *snap, const struct sw_thread *thread);

/*
 * Memory as one thread of a snapshot sees it, in this order: its copied stack, other copied ranges
 * and stacks, read-only module images (their file is what is mapped), the live process. Counts what
 * came from the live process, so that the walker can mark the frame; not what is read-only in PE images, whose
 * memory is asked before their file.
 */
struct sw_snapshot_memory {
	const struct sw_snapshot *snap; /* borrowed */
	const struct sw_thread *thread; /* borrowed; NULL: no stack is preferred */
	size_t live_reads;
	bool no_live; /* never ask the running process */
	bool live_code; /* but for code that no file has: what is there now, which is a mark on the frame */
};

struct sw_memory sw_snapshot_memory(struct sw_snapshot_memory *memory);

#endif
