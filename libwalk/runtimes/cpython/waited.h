/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_WAITED_H
#define SW_CPYTHON_WAITED_H

#include "bytes.h"
#include "runtimes/cpython/cpython.h"
#include "snapshot/snapshot.h"

enum {
	SW_CPYTHON_WAITED_BYTES = 40, /* of a lock, and by how much heads of objects are longer */
	SW_CPYTHON_WAITED_WORDS = 160 + SW_REGS_MAX,
	SW_CPYTHON_PARKED_MINOR = 14, /* from this version on the lock is in the object */
};

/* A lock of threading that a thread waits for, of the instant of the thread's registers. */
struct sw_cpython_waited {
	uint64_t avma;         /* of the object */
	struct sw_bytes bytes; /* of it: buffer */
	uint8_t buffer[SW_CPYTHON_WAITED_BYTES + 16];
	bool again; /* an RLock */
};

/* The address of the first word of a thread's stack that waited_words() reads, or of the last one. */
uint64_t sw_cpython_waited_stack(const struct sw_cpython *c, const struct sw_thread *thread,
				 bool last);

/* Addresses at which the lock may be that a thread waits for. How many; 0: it waits for something else. */
size_t sw_cpython_waited_words(const struct sw_cpython *c, const struct sw_thread *thread,
			       uint64_t ret[static SW_CPYTHON_WAITED_WORDS]);

/* Whether it is the one at avma. *ret stays where it is. */
bool sw_cpython_waited_at(const struct sw_cpython *c, const struct sw_thread *thread, uint64_t avma,
			  struct sw_cpython_waited *ret);

/* From 3.13 on: which thread is to end where this one seems to wait for that, as the C library calls it. That the thread does so
 * its innermost frame says. False: it waits for something else. */
bool sw_cpython_joined_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    uint64_t *ret);

/* False: it waits for something else. *ret stays where it is. */
bool sw_cpython_waited_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_cpython_waited *ret);

/* Whether a thread waits in a futex, or may: the name of a call that goes on after a stop is known only after the capture. */
bool sw_cpython_is_in_futex(const struct sw_thread *thread);

/* The tid of a thread, by what the C library calls it; 0: it was not captured. */
pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id);

/* Whether memory of the instant is that of one instant: nothing ran while it was read. */
static inline bool sw_cpython_is_of_instant(const struct sw_snapshot *snap)
{
	return !snap->priv->hooks_torn && (!snap->live || snap->priv->hooks_whole);
}

static inline bool sw_cpython_is_of_core(const struct sw_snapshot *snap)
{
	return snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE;
}

/* Memory of the instant, which does not change until the process goes on; a core file is of one instant. */
static inline struct sw_memory sw_cpython_instant(const struct sw_cpython *c)
{
	return sw_cpython_is_of_core(c->snap) ? c->memory : c->copied;
}

#endif
