/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MEM_LIVE_H
#define SW_MEM_LIVE_H

#include "memory.h"
#include "snapshot/snapshot.h"

/*
 * Memory of the running process, by pages that are read once and kept with the snapshot: what is
 * looked at after the stop is looked at often, and a recorded snapshot needs it again.
 */
enum { SW_LIVE_PAGES_MAX = 16384 }; /* kept; more are read and forgotten */

/* All of length bytes, or false. */
bool sw_live_read(const struct sw_snapshot *snap, uint64_t avma, void *buffer, size_t length);

/* The same, read anew and not kept: before the stop, when what it says will not hold after it. */
bool sw_live_peek(const struct sw_snapshot *snap, uint64_t avma, void *buffer, size_t length);

/* Reads as sw_live_peek() does. */
struct sw_memory sw_live_memory(const struct sw_snapshot *snap);

/* Calls each for what was read so far and is not among the snapshot's copies; stops when it answers
 * false, and answers that. */
bool sw_live_each(const struct sw_snapshot *snap,
		  bool (*each)(void *arg, const struct sw_range *range), void *arg);

#endif
