/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which thread is to end, where one waits for that. Up to 3.12 a Thread has a Lock that is given back when it ends:
 * _tstate_lock. Whoever waits for it is in a method of that Thread, or, at the interpreter's exit, in a function that
 * has nothing but the Lock; then the Thread is searched among all of them. A thread's _ident never changes, so that it is
 * read while the process runs. It counts if the frame still is what it was when it has been read. Later versions have an event
 * (waited.c).
 *
 * Source: Lib/threading.py (_wait_for_tstate_lock(), _shutdown()) of 3.8.18 to 3.12.1.
 */
#include "runtimes/cpython/joined.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"
#include "snapshot/live.h"

struct search {
	const struct sw_cpython *c;
	uint64_t lock_avma, ident;
};

static bool is_still(const struct sw_cpython *c, const struct sw_cpython_frame *frame)
{
	struct sw_cpython_frame now;
	uint64_t previous;
	bool last;
	return !c->snap->live || (sw_cpython_frame_read(&c->at, sw_live_memory(c->snap),
							frame->avma, &now, &previous, &last) &&
				  now.code_avma == frame->code_avma);
}

static bool is_self_still(const struct sw_cpython *c, const struct sw_cpython_frame *frame,
			  uint64_t self_avma)
{
	uint64_t now;
	return !c->snap->live ||
	       (sw_cpython_self_read(&c->at, sw_live_memory(c->snap), frame, &now) &&
		now == self_avma);
}

static bool has_lock(const struct sw_cpython *c, uint64_t thread_avma, uint64_t lock_avma)
{
	uint64_t lock;
	return sw_cpython_attribute_get(&c->at, c->memory, thread_avma, "_tstate_lock", &lock) &&
	       lock == lock_avma;
}

uint64_t sw_cpython_joined_by_method(const struct sw_cpython *c, struct sw_memory copied,
				     const struct sw_cpython_frame *frame, uint64_t lock_avma)
{
	uint64_t self, value, ident;
	return sw_cpython_self_read(&c->at, copied, frame, &self) && has_lock(c, self, lock_avma) &&
			       sw_cpython_attribute_get(&c->at, c->memory, self, "_ident",
							&value) &&
			       sw_cpython_int(&c->at, c->memory, value, &ident) &&
			       is_still(c, frame) && is_self_still(c, frame, self)
		       ? ident
		       : 0;
}

static bool thread_look(void *arg, uint64_t key_avma, uint64_t value_avma)
{
	struct search *s = arg;
	return !has_lock(s->c, value_avma, s->lock_avma) ||
	       !sw_cpython_int(&s->c->at, s->c->memory, key_avma, &s->ident);
}

uint64_t sw_cpython_joined_at_exit(const struct sw_cpython *c, uint64_t interp_avma,
				   const struct sw_cpython_frame *frame, uint64_t lock_avma)
{
	struct search search = {.c = c, .lock_avma = lock_avma};
	uint64_t active_avma;
	if (!sw_cpython_global_get(&c->at, c->memory, interp_avma, "threading", "_active",
				   &active_avma))
		return 0;
	sw_cpython_dict_each(&c->at, c->memory, active_avma, thread_look, &search);
	return is_still(c, frame) ? search.ident : 0;
}
