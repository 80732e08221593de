/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_WAITED_H
#define SW_CPYTHON_WAITED_H

#include "bytes.h"
#include "runtimes/cpython/cpython.h"
#include "unwind/capture.h"

enum {
	/* Bytes of a lock that are copied in the window, and one more: a range of this length is
	 * there only if nothing ran while it was copied. */
	SW_CPYTHON_WAITED_BYTES = 41, /* and by how much heads of objects are longer */
	SW_CPYTHON_PARKED_MINOR = 14, /* from this version on the lock is in the object */
};

/* A lock of threading that a thread waits for, of the instant of the thread's registers. */
struct sw_cpython_waited {
	uint64_t avma;         /* of the object */
	struct sw_bytes bytes; /* of it: borrowed from the snapshot, or buffer */
	uint8_t buffer[SW_CPYTHON_WAITED_BYTES + 16];
	bool again; /* an RLock */
};

/* In the window: copies the lock that this thread seems to wait for. False: there is none. */
bool sw_cpython_waited_copy(struct sw_capture *capture, const struct sw_cpython_at *at,
			    const struct sw_thread *thread);

/* From 3.13 on: which thread is to end where this one seems to wait for that, as the C library calls it, by what
 * sw_cpython_waited_copy() has copied. That the thread does so its innermost frame says. False: it waits for something else. */
bool sw_cpython_joined_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    uint64_t *ret);

/* False: it waits for something else. *ret stays where it is. */
bool sw_cpython_waited_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_cpython_waited *ret);

/* The tid of a thread, by what the C library calls it; 0: it was not captured. */
pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id);

static inline bool sw_cpython_is_of_core(const struct sw_snapshot *snap)
{
	return snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE;
}

#endif
