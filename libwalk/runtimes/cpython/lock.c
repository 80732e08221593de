/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of a Lock of threading, which does not name it, is the thread in whose frames a with
 * statement of this lock is open (structures/withs.c). It has entered that, and not begun to leave
 * it; so it has the lock, but where it gave that back meanwhile by a call of its own. That is why
 * nobody is named
 *
 *	where a function in the body, or that was called from it and runs now, calls something by a name that
 *	gives locks back (release() ...), which may be this one; those of the library's own threading and
 *	logging give back their own only, and Condition.wait() the condition's, which can be read
 *	where several threads are in such a body, as only one can have the lock
 *	where the lock is not locked at all
 *
 * A function that was called from the body and has returned is not seen any more: therefore such an
 * owner has a trust of its own. A lock that was taken by acquire() alone has no owner that could be
 * told.
 *
 * Source: Modules/_threadmodule.c (lockobject, lock_PyThread_release_lock()), Lib/threading.py and
 * Lib/logging/__init__.py of 3.8.18 to 3.14.10; Include/cpython/tupleobject.h.
 */
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/joined.h"
#include "runtimes/cpython/structures/library.h"
#include "runtimes/cpython/structures/import.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"
#include "runtimes/cpython/structures/withs.h"
#include "snapshot/live.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	LOCKED_OFF = 32, /* up to 3.13 */
	LOCK_OFF = 16,
	LOCKED = 1,
	CODE_NAMES_10 = 64, /* up to 3.10 */
	CODE_NAMES = 32,
	TUPLE_SIZE = 16,
	TUPLE_ITEMS = 24,
	TUPLE_ITEMS_14 = 32,
	NAMES_MAX = 4096,
	BODIES_MAX = 1 << 16, /* of a process */
};

/* A with statement in whose body a thread is. */
struct body {
	uint64_t object_avma, exit_avma;
	uint64_t state_avma, thread_id;
	size_t depth; /* of its frame among those of the thread state, from the innermost one */
};

/* A thread state, with its frames. */
struct inside {
	uint64_t state_avma, thread_id;
	size_t first, n; /* of frames */
};

struct sw_cpython_bodies {
	struct body *all; /* owned */
	size_t n, capacity;
	struct inside *threads; /* owned */
	size_t n_threads, threads_capacity;
	struct sw_cpython_frame *frames; /* owned; innermost first */
	size_t n_frames, frames_capacity;
	struct sw_map64 codes; /* code object -> enum what */
	bool failed;           /* no memory */
	/* While they are gathered. */
	const struct inside *thread;
	size_t depth;
};

void sw_cpython_bodies_destroy(struct sw_cpython_bodies *bodies)
{
	if (bodies == NULL)
		return;
	free(bodies->all);
	free(bodies->threads);
	free(bodies->frames);
	sw_map64_deinit(&bodies->codes);
	free(bodies);
}

/* ---- which bodies there are -------------------------------------------------------------------- */

static void body_add(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct sw_cpython_bodies *b = arg;
	struct body *grown =
		b->n < BODIES_MAX ? sw_grow(b->all, b->n, &b->capacity, 64, sizeof(*grown)) : NULL;
	b->failed |= grown == NULL;
	if (grown == NULL)
		return;
	b->all = grown;
	b->all[b->n++] = (struct body){object_avma, exit_avma, b->thread->state_avma,
				       b->thread->thread_id, b->depth};
}

static bool frame_keep(struct sw_cpython_bodies *b, const struct sw_cpython_frame *frame)
{
	struct sw_cpython_frame *grown =
		sw_grow(b->frames, b->n_frames, &b->frames_capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return false;
	b->frames = grown;
	b->frames[b->n_frames++] = *frame;
	return true;
}

static void thread_gather(const struct sw_cpython *c, const struct sw_cpython_thread *t,
			  struct sw_cpython_chain *chain, struct sw_cpython_bodies *b)
{
	const struct sw_thread *thread = sw_snapshot_thread_by_pointer(c->snap, t->id);
	if (thread == NULL)
		return;
	struct inside *grown =
		sw_grow(b->threads, b->n_threads, &b->threads_capacity, 64, sizeof(*grown));
	b->failed |= grown == NULL;
	if (grown == NULL)
		return;
	b->threads = grown;
	sw_cpython_chain_reset(chain);
	sw_cpython_chain_add(&c->at, sw_cpython_instant(c), t->avma, &thread->regs, chain);
	struct inside *in = &b->threads[b->n_threads++];
	*in = (struct inside){t->avma, t->id, b->n_frames, chain->n_frames};
	b->thread = in;
	for (b->depth = 0; b->depth < chain->n_frames && !b->failed; b->depth++) {
		const struct sw_cpython_frame *frame = &chain->frames[b->depth];
		b->failed |= !frame_keep(b, frame);
		/* Statements that cannot be read are left out. */
		(void) sw_cpython_withs_each(&c->at, sw_cpython_instant(c), frame, body_add, b);
	}
}

/* Once for a process; NULL: no memory. */
static struct sw_cpython_bodies *bodies_get(struct sw_cpython *c)
{
	struct sw_cpython_bodies *b = c->bodies;
	if (b != NULL)
		return b->failed ? NULL : b;
	c->bodies = b = calloc(1, sizeof(*b));
	if (b == NULL)
		return NULL;
	struct sw_cpython_chain chain = {
		.frames_max = SW_CPYTHON_FRAMES_MAX,
		.frames = calloc(SW_CPYTHON_FRAMES_MAX, sizeof(*chain.frames)),
		.groups = calloc(SW_CPYTHON_GROUPS_MAX, sizeof(*chain.groups)),
	};
	b->failed = chain.frames == NULL || chain.groups == NULL;
	for (size_t i = 0; i < c->n_threads && !b->failed; i++)
		thread_gather(c, &c->threads[i], &chain, b);
	free(chain.frames);
	free(chain.groups);
	return b->failed ? NULL : b;
}

/* ---- what functions do ------------------------------------------------------------------------- */

enum what {
	NOTHING = 0,
	RELEASES = 1 << 0,  /* gives a lock back, perhaps */
	CONDITION = 1 << 1, /* Condition.wait() of threading */
	JOIN = 1 << 2,      /* of a thread */
	SHUTDOWN = 1 << 3,  /* of threading: it waits for all threads */
	UNKNOWN = 1 << 4,   /* it could not be read */
};

static const char *last_part(const char *text, char separator)
{
	const char *at = strrchr(text, separator);
	return at != NULL ? at + 1 : text;
}

static bool is_releasing(const char *name)
{
	static const char *const names[] = {"release", "release_lock", "_release_save", "__exit__",
					    "_at_fork_reinit"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Whether a function has such a name among those that it looks up. False: they could not be read. */
static bool names_read(struct sw_cpython *c, uint64_t code_avma, bool *ret_releases,
		       bool *ret_saves)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t names, n, item, off = l->minor >= 14 ? TUPLE_ITEMS_14 : TUPLE_ITEMS;
	char name[32];
	*ret_releases = *ret_saves = false;
	if (!sw_memory_u64(c->memory,
			   code_avma + l->head_more +
				   (l->pairing == SW_CPYTHON_BY_CONTENT ? CODE_NAMES_10
									: CODE_NAMES),
			   &names) ||
	    !sw_memory_u64(c->memory, names + TUPLE_SIZE + l->head_more, &n) || n > NAMES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!sw_memory_u64(c->memory, names + off + l->head_more + 8 * i, &item) ||
		    !sw_cpython_string(&c->at, c->memory, item, name, sizeof(name)))
			return false;
		*ret_releases |= is_releasing(name);
		*ret_saves |= strcmp(name, "_release_save") == 0;
	}
	return true;
}

/* A code object of that instant is looked at; it is still in use if its names are the same after
 * they were read. */
static unsigned code_look(struct sw_cpython *c, uint64_t avma)
{
	struct sw_cpython_code code, now;
	char function[256], file[4096];
	bool releases, saves;
	if (!sw_cpython_code_read(&c->at, sw_cpython_instant(c), avma, &code) ||
	    !sw_cpython_string(&c->at, c->memory, code.function_avma, function, sizeof(function)) ||
	    !sw_cpython_string(&c->at, c->memory, code.filename_avma, file, sizeof(file)) ||
	    !names_read(c, avma, &releases, &saves) ||
	    (c->snap->live && (!sw_cpython_code_read(&c->at, sw_live_memory(c->snap), avma, &now) ||
			       !sw_cpython_code_is(&code, &now))))
		return UNKNOWN;
	const char *name = last_part(function, '.');
	if (sw_cpython_is_of_library(file, "threading.py"))
		return strcmp(name, "wait") == 0 && saves ? CONDITION
		       : strcmp(name, "_wait_for_tstate_lock") == 0 || strcmp(name, "join") == 0
			       ? JOIN
		       : strcmp(name, "_shutdown") == 0 ? SHUTDOWN
							: NOTHING;
	if (sw_cpython_is_of_library(file, "logging/__init__.py"))
		return NOTHING;
	return releases ? RELEASES : NOTHING;
}

static unsigned what_does(struct sw_cpython *c, uint64_t code_avma)
{
	uint64_t what;
	if (sw_map64_get(&c->bodies->codes, code_avma, &what))
		return (unsigned) what;
	what = code_look(c, code_avma);
	(void) sw_map64_put(&c->bodies->codes, code_avma, what); /* else looked at again */
	return (unsigned) what;
}

bool sw_cpython_may_release(struct sw_cpython *c, uint64_t code_avma)
{
	return bodies_get(c) == NULL ||
	       (what_does(c, code_avma) & (RELEASES | UNKNOWN | CONDITION));
}

/* Whether Condition.wait(), which a frame executes, is that of a condition with another lock. The condition
 * is the same object still if the frame has it when its lock has been read. */
static bool is_of_another(struct sw_cpython *c, const struct sw_cpython_frame *frame,
			  uint64_t lock_avma)
{
	uint64_t self, lock, self_now, previous;
	struct sw_cpython_frame now;
	bool last;
	if (!sw_cpython_self_read(&c->at, sw_cpython_instant(c), frame, &self) ||
	    !sw_cpython_attribute_get(&c->at, c->memory, self, "_lock", &lock) || lock == lock_avma)
		return false;
	return !c->snap->live ||
	       (sw_cpython_frame_read(&c->at, sw_live_memory(c->snap), frame->avma, &now, &previous,
				      &last) &&
		now.code_avma == frame->code_avma &&
		sw_cpython_self_read(&c->at, sw_live_memory(c->snap), frame, &self_now) &&
		self_now == self);
}

/* ---- who has it -------------------------------------------------------------------------------- */

static const struct inside *inside_of(const struct sw_cpython_bodies *b, uint64_t state_avma)
{
	for (size_t i = 0; i < b->n_threads; i++)
		if (b->threads[i].state_avma == state_avma)
			return &b->threads[i];
	return NULL;
}

/* Whether the lock was kept, as far as it can be seen, by what runs in the body. */
static bool is_kept(struct sw_cpython *c, const struct body *body)
{
	const struct sw_cpython_bodies *b = c->bodies;
	const struct inside *in = inside_of(b, body->state_avma);
	for (size_t i = 0; in != NULL && i <= body->depth; i++) {
		const struct sw_cpython_frame *frame = &b->frames[in->first + i];
		unsigned what = what_does(c, frame->code_avma);
		if ((what & (RELEASES | UNKNOWN)) ||
		    ((what & CONDITION) && !is_of_another(c, frame, body->object_avma)))
			return false;
	}
	return in != NULL;
}

/* The thread that has the lock, as the C library calls it; 0 if the owner cannot be told. */
static uint64_t owner_of(struct sw_cpython *c, uint64_t lock_avma)
{
	const struct sw_cpython_bodies *b = c->bodies;
	const struct body *found = NULL;
	for (size_t i = 0; i < b->n; i++) {
		const struct body *body = &b->all[i];
		if (body->object_avma != lock_avma ||
		    (body->exit_avma != 0 && !sw_cpython_is_exit(&c->at, sw_cpython_instant(c),
								 c->memory, body->exit_avma)))
			continue;
		if (found != NULL)
			return 0; /* it was given back in one of the two */
		found = body;
	}
	return found != NULL && is_kept(c, found) ? found->thread_id : 0;
}

static bool is_locked(const struct sw_cpython_layout *l, struct sw_bytes bytes)
{
	uint8_t byte;
	size_t off = l->minor >= SW_CPYTHON_PARKED_MINOR ? LOCK_OFF : LOCKED_OFF;
	return sw_bytes_u8(bytes, off + l->head_more, &byte) && (byte & LOCKED) != 0;
}

/* The thread's innermost frame at that instant; NULL: it has none. *ret_thread is NULL then, too. */
static const struct sw_cpython_frame *innermost_of(const struct sw_cpython_bodies *b,
						   uint64_t thread_id,
						   const struct inside **ret_thread)
{
	*ret_thread = NULL;
	for (size_t i = 0; i < b->n_threads && *ret_thread == NULL; i++)
		if (b->threads[i].thread_id == thread_id && b->threads[i].n > 0)
			*ret_thread = &b->threads[i];
	return *ret_thread != NULL ? &b->frames[(*ret_thread)->first] : NULL;
}

static bool import_wait(const struct sw_cpython *c, const struct sw_cpython_frame *frame,
			uint64_t lock_avma, struct sw_runtime_wait *ret)
{
	struct sw_cpython_import import;
	if (frame == NULL ||
	    !sw_cpython_import_read(&c->at, sw_cpython_instant(c), frame, &import) ||
	    import.wakeup_avma != lock_avma)
		return false;
	*ret = (struct sw_runtime_wait){.kind = "python_import", .address_avma = import.avma};
	if (!sw_cpython_string(&c->at, c->memory, import.name_avma, ret->target,
			       sizeof(ret->target)))
		ret->target[0] = '\0';
	if (import.owner != 0)
		ret->owner_tid = sw_cpython_tid_of(c->snap, import.owner);
	return true;
}

static uint64_t interp_of(const struct sw_cpython *c, uint64_t state_avma)
{
	for (size_t i = 0; i < c->n_threads; i++)
		if (c->threads[i].avma == state_avma)
			return c->threads[i].interp_avma;
	return 0;
}

/* The thread whose end a joining thread waits for. */
static void joined_wait(const struct sw_cpython *c, uint64_t ident, struct sw_runtime_wait *ret)
{
	*ret = (struct sw_runtime_wait){.kind = "thread"};
	if (ident != 0)
		ret->owner_tid = sw_cpython_tid_of(c->snap, ident);
}

bool sw_cpython_lock_wait(struct sw_cpython *c, const struct sw_thread *thread,
			  const struct sw_cpython_waited *waited, struct sw_runtime_wait *ret)
{
	if (bodies_get(c) == NULL)
		return false;
	const struct inside *in;
	const struct sw_cpython_frame *frame = innermost_of(c->bodies, thread->fs_base, &in);
	unsigned what = frame != NULL ? what_does(c, frame->code_avma) : UNKNOWN;
	uint64_t ident = 0;
	if (what & CONDITION)
		return false;
	if (what & JOIN)
		ident = sw_cpython_joined_by_method(c, sw_cpython_instant(c), frame, waited->avma);
	else if (what & SHUTDOWN)
		ident = sw_cpython_joined_at_exit(c, interp_of(c, in->state_avma), frame,
						  waited->avma);
	if ((what & JOIN) || ident != 0) {
		joined_wait(c, ident, ret);
		return true;
	}
	if (import_wait(c, frame, waited->avma, ret))
		return true;
	*ret = (struct sw_runtime_wait){.kind = "python_lock", .address_avma = waited->avma};
	if (is_locked(&c->at.layout, waited->bytes))
		ret->owner_tid = sw_cpython_tid_of(c->snap, owner_of(c, waited->avma));
	if (ret->owner_tid != 0)
		ret->trust = "with";
	return true;
}

bool sw_cpython_event_wait(struct sw_cpython *c, const struct sw_thread *thread,
			   struct sw_runtime_wait *ret)
{
	uint64_t ident;
	const struct inside *in;
	if (!sw_cpython_joined_find(c, thread, &ident) || bodies_get(c) == NULL)
		return false;
	const struct sw_cpython_frame *frame = innermost_of(c->bodies, thread->fs_base, &in);
	if (frame == NULL || !(what_does(c, frame->code_avma) & (JOIN | SHUTDOWN)))
		return false;
	joined_wait(c, ident, ret);
	return true;
}
