/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_OPENS_H
#define SW_WAITS_OPENS_H

#include "snapshot/snapshot.h"

/* Whether a thread that opens a file waits for the other end of a FIFO: nobody has it, which is why it waits.
 * The path is what the thread gave, if its memory can be read. */
bool sw_open_waits(struct sw_snapshot *snap, const struct sw_thread *thread, uint64_t path_avma,
		   struct sw_wait_for *ret);

#endif
