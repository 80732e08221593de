/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_THREADS_H
#define SW_HOTSPOT_THREADS_H

#include "runtimes/hotspot/structures/hotspot.h"

enum { SW_HOTSPOT_THREADS_MAX = 65536 };

struct sw_hotspot_thread {
	uint64_t avma;                 /* JavaThread */
	uint64_t start_avma, end_avma; /* of its stack */
};

/* The JavaThread whose stack a thread is on. False when it has none: threads of the VM itself. */
bool sw_hotspot_thread_find(struct sw_hotspot *h, const struct sw_thread *thread, uint64_t *ret);

/* The information of a thread by its JavaThread. */
bool sw_hotspot_thread_note(struct sw_hotspot *h, const struct sw_thread *thread,
			    struct sw_thread_info *ret);

/* The same by copies, where it was read some time before or after. */
bool sw_hotspot_thread_note_copied(struct sw_hotspot *h, const struct sw_thread *thread,
				   struct sw_thread_info *ret);

#endif
