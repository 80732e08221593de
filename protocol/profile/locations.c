/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/locations.h"
#include "cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST = 64 };

/* A trie: the lines before this one, and this one. Element 0 is the empty location. */
struct element {
	uint32_t before, frame;
	uint32_t is_exact; /* the pc is none of a return address */
};

void sw_profile_locations_init(struct sw_profile_locations *ret, const struct sw_profile *p)
{
	*ret = (struct sw_profile_locations){
		.profile = p,
		.table = {.item_bytes = sizeof(struct element),
			  .key_bytes = sizeof(struct element)},
	};
}

void sw_profile_locations_deinit(struct sw_profile_locations *l)
{
	free(l->table.items);
	sw_map64_deinit(&l->table.index);
	free(l->ids);
	free(l->ends);
}

static const struct element *element_at(const struct sw_profile_locations *l, uint32_t i)
{
	return (const struct element *) l->table.items + i;
}

/* The element behind before, made if need be. 0, or -SW_E_NOMEM. */
static int element_find(struct sw_profile_locations *l, uint32_t before, uint32_t frame,
			bool is_exact, uint32_t *ret)
{
	struct element element = {.before = before, .frame = frame, .is_exact = is_exact};
	size_t n = l->table.n;
	uint32_t *ids = sw_grow(l->ids, n + 1, &l->ids_capacity, FIRST, sizeof(*ids));
	if (ids == NULL)
		return -SW_E_NOMEM;
	l->ids = ids;
	if (n == 0)
		l->ids[0] = 0;
	int r = sw_profile_table_find(&l->table, l->profile->seed, &element, true, ret);
	if (l->table.n > n)
		l->ids[l->table.n] = 0;
	++*ret; /* 0 is the empty one */
	return r < 0 ? r : 0;
}

static int location_end(struct sw_profile_locations *l, uint32_t element, uint32_t *ret_id)
{
	if (l->ids[element] == 0) {
		uint32_t *ends = sw_grow(l->ends, l->n, &l->ends_capacity, FIRST, sizeof(*ends));
		if (ends == NULL)
			return -SW_E_NOMEM;
		l->ends = ends;
		l->ends[l->n++] = element;
		l->ids[element] = (uint32_t) l->n;
	}
	*ret_id = l->ids[element];
	return 0;
}

int sw_profile_locations_of(struct sw_profile_locations *l, uint32_t node)
{
	const struct sw_profile *p = l->profile;
	uint32_t element = 0;
	size_t n = 0;
	bool is_exact = true; /* of the innermost frame, and of one that a signal has interrupted */
	while (node != 0 && n < SW_ARRAY_SIZE(l->stack)) {
		const struct sw_profile_node *at = sw_profile_node_at(p, node);
		const struct sw_profile_frame *f = sw_profile_frame_at(p, at->frame);
		node = at->parent;
		if (element_find(l, element, at->frame, is_exact, &element) < 0)
			return -SW_E_NOMEM;
		/* The call that an inlined one is in follows. */
		if ((f->flags & SW_PROFILE_INLINED) && node != 0)
			continue;
		if (location_end(l, element, &l->stack[n++]) < 0)
			return -SW_E_NOMEM;
		element = 0;
		is_exact = f->flags & SW_PROFILE_SIGNAL;
	}
	return (int) n;
}

size_t sw_profile_location_lines(const struct sw_profile_locations *l, uint32_t id,
				 uint32_t *ret_frames, size_t max)
{
	size_t n = 0;
	for (uint32_t at = l->ends[id - 1]; at != 0 && n < max; at = element_at(l, at - 1)->before)
		ret_frames[n++] = element_at(l, at - 1)->frame;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = ret_frames[i];
		ret_frames[i] = ret_frames[n - 1 - i];
		ret_frames[n - 1 - i] = other;
	}
	return n;
}

uint64_t sw_profile_location_avma(const struct sw_profile_locations *l, uint32_t id)
{
	const struct element *last = element_at(l, l->ends[id - 1] - 1);
	const struct sw_profile_frame *f = sw_profile_frame_at(l->profile, last->frame);
	uint64_t avma = f->address;
	if (!(f->flags & SW_PROFILE_AVMA))
		avma += sw_profile_module_at(l->profile, f->module)->bias;
	return avma != 0 && !last->is_exact ? avma - 1 : avma;
}
