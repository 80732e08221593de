/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of threads, which up to 3.13 only the program's own objects have: threading._active leads from
 * a thread's id to its Thread, which has _name. They are read while the process runs: a name counts
 * when it is there twice, and the thread still is the one of the instant at which nothing changed.
 */
#include "runtimes/cpython/thread_names.h"
#include "runtimes/cpython/code.h"
#include "runtimes/cpython/objects.h"
#include "snapshot/live.h"

#include <string.h>

enum { NAME_BYTES = 128 };

struct search {
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	uint64_t id;
	uint64_t object_avma; /* 0: not found yet */
};

static bool is_thread(void *arg, uint64_t key_avma, uint64_t value_avma)
{
	struct search *s = arg;
	uint64_t id;
	if (sw_cpython_int(s->memory, key_avma, &id) && id == s->id)
		s->object_avma = value_avma;
	return s->object_avma == 0;
}

static bool name_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t active_avma,
		      uint64_t id, char *ret, size_t size)
{
	struct search s = {.at = at, .memory = memory, .id = id};
	uint64_t name;
	sw_cpython_dict_each(at, memory, active_avma, is_thread, &s);
	return s.object_avma != 0 &&
	       sw_cpython_attribute_get(at, memory, s.object_avma, "_name", &name) &&
	       sw_cpython_string(at, memory, name, ret, size);
}

/* Whether the thread's state is what it was. */
static bool is_same(const struct sw_cpython *c, const struct sw_cpython_thread *thread,
		    struct sw_memory now)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t id, was, is;
	if (!sw_memory_u64(now, thread->avma + l->thread_id, &id) || id != thread->id)
		return false;
	return l->thread_number == SW_CPYTHON_NONE ||
	       (sw_memory_u64(c->memory, thread->avma + l->thread_number, &was) &&
		sw_memory_u64(now, thread->avma + l->thread_number, &is) && was == is);
}

/* threading._active of the interpreter that was asked for last: most processes have one. */
static uint64_t active_of(struct sw_cpython *c, uint64_t interp_avma)
{
	if (c->active_interp_avma != interp_avma) {
		c->active_interp_avma = interp_avma;
		c->active_avma = 0; /* threading is not loaded */
		(void) sw_cpython_global_get(&c->at, c->memory, interp_avma, "threading", "_active",
					     &c->active_avma);
	}
	return c->active_avma;
}

bool sw_cpython_thread_name(struct sw_cpython *c, const struct sw_cpython_thread *thread, char *ret,
			    size_t size)
{
	char first[NAME_BYTES], again[NAME_BYTES];
	size_t live_before = c->source.live_reads;
	if (c->at.layout.type_keys == SW_CPYTHON_NONE)
		return false;
	uint64_t active = active_of(c, thread->interp_avma);
	if (active == 0 || !name_read(&c->at, c->memory, active, thread->id, first, sizeof(first)))
		return false;
	if (c->source.live_reads != live_before && c->snap->live) {
		struct sw_memory now = sw_live_memory(c->snap);
		if (!name_read(&c->at, now, active, thread->id, again, sizeof(again)) ||
		    strcmp(first, again) != 0 || !is_same(c, thread, now))
			return false;
	}
	size_t n = strlen(first);
	if (n >= size)
		return false;
	memcpy(ret, first, n + 1);
	return true;
}
