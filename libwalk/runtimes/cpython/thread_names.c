/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of threads, which only the program's own objects have whole: threading._active leads from
 * a thread's id to its Thread, which has _name. They are read while the process runs: a name counts
 * when it is there twice, and the thread still is the one of the instant at which nothing changed.
 */
#include "runtimes/cpython/thread_names.h"
#include "memory_blocks.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/objects.h"
#include "snapshot/live.h"

#include <string.h>

enum { NAME_BYTES = 128, BLOCKS = 8 };

/* Memory of the running process as it is now, read by blocks: most reads of objects are small. */
struct now {
	struct sw_memory_blocks blocks;
	struct sw_memory_block all[BLOCKS];
};

static struct sw_memory now_begin(struct now *now, const struct sw_cpython *c)
{
	for (size_t i = 0; i < BLOCKS; i++)
		now->all[i].avma = 0;
	now->blocks = (struct sw_memory_blocks){sw_live_memory(c->snap), now->all, BLOCKS};
	return sw_memory_by_blocks(&now->blocks);
}

struct listing {
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	struct sw_map64 *objects;
};

static bool object_add(void *arg, uint64_t key_avma, uint64_t value_avma)
{
	struct listing *l = arg;
	uint64_t id;
	return !sw_cpython_int(l->at, l->memory, key_avma, &id) ||
	       sw_map64_put(l->objects, id, value_avma) == 0; /* no memory: others have no name */
}

static void active_list(const struct sw_cpython *c, struct sw_memory memory, uint64_t active_avma,
			struct sw_map64 *ret)
{
	struct listing l = {&c->at, memory, ret};
	sw_cpython_dict_each(&c->at, memory, active_avma, object_add, &l);
}

/* Read once for all threads of an interpreter: most processes have one. */
static void active_read(struct sw_cpython *c, uint64_t interp_avma)
{
	uint64_t active_avma;
	size_t live_before = c->source.live_reads;
	if (c->active_interp_avma == interp_avma)
		return;
	c->active_interp_avma = interp_avma;
	c->active_is_live = false;
	sw_map64_deinit(&c->active);
	sw_map64_deinit(&c->active_again);
	if (!sw_cpython_global_get(&c->at, c->memory, interp_avma, "threading", "_active",
				   &active_avma))
		return; /* threading is not loaded */
	active_list(c, c->memory, active_avma, &c->active);
	c->active_is_live = c->source.live_reads != live_before && c->snap->live;
	struct now now;
	if (c->active_is_live)
		active_list(c, now_begin(&now, c), active_avma, &c->active_again);
}

/* The Thread; false when there is none, or the dictionary changed while it was read. */
static bool object_find(const struct sw_cpython *c, uint64_t id, uint64_t *ret)
{
	uint64_t again;
	return sw_map64_get(&c->active, id, ret) && *ret != 0 &&
	       (!c->active_is_live ||
		(sw_map64_get(&c->active_again, id, &again) && again == *ret));
}

static bool name_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t object_avma,
		      char *ret, size_t size)
{
	uint64_t name;
	return sw_cpython_attribute_get(at, memory, object_avma, "_name", &name) &&
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

bool sw_cpython_thread_name(struct sw_cpython *c, const struct sw_cpython_thread *thread, char *ret,
			    size_t size)
{
	char first[NAME_BYTES], again[NAME_BYTES];
	size_t live_before = c->source.live_reads;
	uint64_t object;
	active_read(c, thread->interp_avma);
	if (!object_find(c, thread->id, &object) ||
	    !name_read(&c->at, c->memory, object, first, sizeof(first)))
		return false;
	/* As long as the thread is there, so is its Thread. */
	if (c->active_is_live || (c->source.live_reads != live_before && c->snap->live)) {
		struct now now;
		if (!name_read(&c->at, now_begin(&now, c), object, again, sizeof(again)) ||
		    strcmp(first, again) != 0 || !is_same(c, thread, sw_live_memory(c->snap)))
			return false;
	}
	size_t n = strlen(first);
	if (n >= size)
		return false;
	memcpy(ret, first, n + 1);
	return true;
}
