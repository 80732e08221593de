/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/hotspot/owners.h"
#include "cleanup.h"
#include "memory_blocks.h"
#include "runtimes/hotspot/names.h"
#include "runtimes/hotspot/now.h"
#include "runtimes/hotspot/structures/fields.h"
#include "runtimes/hotspot/virtual/chunk.h"
#include "runtimes/hotspot/virtual/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64, TABLE_MAX = 1 << 18, STEPS_MAX = 1 << 19 };

bool sw_hotspot_virtual_name(const struct sw_hotspot *h,
			     const struct sw_hotspot_thread_layout *layout, struct sw_memory memory,
			     uint64_t object, char *ret, size_t size)
{
	uint64_t klass = sw_hotspot_class_of(&layout->objects, memory, object), id;
	char name[sizeof(((struct sw_hotspot_thread_object *) NULL)->name)];
	if (klass == 0 || sw_hotspot_class_named(h, klass, "java/lang/VirtualThread") == 0 ||
	    !sw_hotspot_u64(memory, object, layout->tid, &id) ||
	    !sw_hotspot_thread_name_of(h, layout, memory, object, name))
		return false;
	(void) snprintf(ret, size, "%s%s#%" PRIu64 "%s", name, name[0] != '\0' ? " (" : "", id,
			name[0] != '\0' ? ")" : ""); /* cut to fit */
	return true;
}

struct search {
	const struct sw_hotspot_heap_reader *r;
	const struct sw_hotspot_thread_layout *layout;
	uint64_t id, found;
};

static bool is_other(void *arg, uint64_t object)
{
	struct search *s = arg;
	uint64_t id;
	if (sw_hotspot_heap_is(s->r, object, SW_HOTSPOT_JDK_VIRTUAL) &&
	    sw_hotspot_u64(s->r->memory, object, s->layout->tid, &id) && id == s->id)
		s->found = object;
	return s->found == 0;
}

static bool set_search(void *arg, uint64_t map, bool mixed)
{
	struct search *s = arg;
	(void) mixed;
	/* A set that cannot be read does not keep the others from being searched. */
	(void) sw_hotspot_map_each(s->r, map, is_other, s);
	return s->found == 0;
}

bool sw_hotspot_virtual_name_by_id(const struct sw_hotspot *h,
				   const struct sw_hotspot_thread_layout *layout,
				   struct sw_memory memory, uint64_t id, uint64_t *ret_object,
				   char *ret, size_t size)
{
	sw_cleanup(sw_free_p) struct sw_memory_block *blocks = calloc(BLOCKS, sizeof(*blocks));
	struct sw_memory_blocks reads = {memory, blocks, BLOCKS};
	struct sw_hotspot_collector collector;
	struct sw_hotspot_jdk jdk;
	size_t steps_left = STEPS_MAX;
	uint64_t counted;
	bool others;
	if (blocks == NULL)
		return false;
	if (h->window != NULL)
		jdk = h->window->jdk;
	else
		sw_hotspot_jdk_find(h, &layout->objects, &jdk);
	sw_hotspot_collector_read(&h->at, h->place->bias, &layout->objects, memory, &collector);
	if (!jdk.usable || collector.at_work)
		return false;
	const struct sw_hotspot_heap_reader r = {.jdk = &jdk,
						 .memory = sw_memory_by_blocks(&reads),
						 .good_mask = collector.good_mask,
						 .table_max = TABLE_MAX,
						 .steps_left = &steps_left};
	struct search s = {.r = &r, .layout = layout, .id = id};
	/* False also when it has been found. */
	(void) sw_hotspot_sets_each(&r, set_search, &s, &counted, &others);
	*ret_object = s.found;
	return s.found != 0 && sw_hotspot_virtual_name(h, layout, memory, s.found, ret, size);
}

/* ---- their stacks ------------------------------------------------------------------------------ */

struct sw_hotspot_owner {
	uint64_t object;
	const char *name; /* the arena's */
};

void sw_hotspot_owner_keep(struct sw_hotspot *h, uint64_t object, const char *name)
{
	if (h->owners == NULL)
		h->owners = sw_arena_calloc(&h->arena, SW_HOTSPOT_OWNERS_MAX, sizeof(*h->owners));
	if (h->owners == NULL || h->n_owners == SW_HOTSPOT_OWNERS_MAX)
		return;
	for (size_t i = 0; i < h->n_owners; i++)
		if (h->owners[i].object == object || strcmp(h->owners[i].name, name) == 0)
			return;
	const char *kept = sw_arena_strdup(&h->arena, name);
	if (kept != NULL)
		h->owners[h->n_owners++] = (struct sw_hotspot_owner){object, kept};
}

size_t sw_hotspot_owners(const struct sw_hotspot *h)
{
	return h->n_owners;
}

struct shown {
	struct sw_hotspot *h;
	struct sw_frame_sink *sink;
	bool lost; /* a frame whose method is not known */
};

static bool frame_show(void *arg, uint64_t pc, uint64_t method_avma, uint64_t bcp_avma)
{
	struct shown *s = arg;
	uint64_t cookie =
		method_avma != 0 ? sw_hotspot_interpreted_cookie(s->h, method_avma, bcp_avma) : 0;
	s->lost |= method_avma != 0 && cookie == 0;
	return !s->lost && s->sink->add(s->sink, pc, cookie);
}

/* A stack of which not all could be read is not shown: the thread that waits names its owner. */
bool sw_hotspot_owner_show(struct sw_hotspot *h, size_t n, struct sw_runtime_task *ret,
			   struct sw_frame_sink *sink)
{
	struct shown s = {.h = h, .sink = sink};
	if (n >= h->n_owners || h->thread_layout == NULL || !h->thread_layout->usable ||
	    !sw_hotspot_chunk_frames(h, h->thread_layout, sw_hotspot_now(h), h->owners[n].object,
				     frame_show, &s) ||
	    s.lost)
		return false;
	*ret = (struct sw_runtime_task){.info = {.address_avma = h->owners[n].object,
						 .name = h->owners[n].name,
						 .state = "waiting"},
					.live_read = h->snap->live};
	return true;
}
