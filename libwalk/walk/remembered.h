/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_REMEMBERED_H
#define SW_WALK_REMEMBERED_H

#include "snapshot/read.h"
#include "snapshot/read_log.h"

/*
 * Walks of the copies that a process gave before, as a trie: a node is what the walk asks for next (a register, or so many
 * bytes at an address), its edges are the answers that there were. The same answers lead to the same walk, whatever else is in
 * the copy; no step is taken again. All that a walk is told of its thread is noted by the log, and it asks for nothing else that
 * changes while the maps stay: a runtime or an unwinder that does says so by not being `repeats`.
 *
 *	(pc, sp, ...) -> [sp + 24]? -0x401136-> [sp + 40]? -0x401180-> frames
 *	                            -0x40120c-> rbp? ...
 *
 * The trie is of one list of participants and one set of maps: it is in sw_snapshot_priv.kept, and goes with that.
 */
struct sw_remembered;

/* That of a snapshot; NULL: nothing is remembered for it, as it is of no copies, or of several. */
struct sw_remembered *sw_remembered_of(const struct sw_snapshot *snap,
				       const struct sw_walk_options *options);
/* Whether a slot of sw_snapshot_priv.kept is one of these. */
bool sw_remembered_is(const void *key);

/* The walk of a thread, as it was told before: frames are borrowed until the next call. False: none has been told this. */
bool sw_remembered_find(struct sw_remembered *m, struct sw_snapshot_memory *memory,
			struct sw_walk *ret);
/* The log that the next walk is to fill, emptied; NULL: it does not pay, nearly no walk was found lately. */
struct sw_read_log *sw_remembered_log(struct sw_remembered *m);
/* Keeps the walk of the thread that has filled the log. What cannot be kept is left out. */
void sw_remembered_add(struct sw_remembered *m, const struct sw_thread *thread,
		       const struct sw_walk *walk);

#endif
