/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_GREENLET_H
#define SW_CPYTHON_GREENLET_H

#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"

/*
 * greenlet (gevent is made of it) runs several stacks in one place: what a greenlet has of it is copied out
 * and in, from its top to where it was started. All that lies above is of others, and not always of those
 * who were there then: the function that every greenlet begins with is the first frame, and never returns.
 */
struct sw_greenlet {
	const struct sw_place
		*place; /* of the extension; borrowed. NULL: it is not there, or not known */
	uint64_t start_svma, end_svma; /* [start, end) of that function */
};

void sw_greenlet_find(const struct sw_snapshot *snap, struct sw_greenlet *ret);

/* SW_STEP_END: the cursor is in it. Else SW_STEP_DECLINE. */
enum sw_step sw_greenlet_step(const struct sw_greenlet *greenlet, const struct sw_cursor *cursor);

#endif
