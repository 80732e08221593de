/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "map.h"

#include <snapwalk/error.h>
#include <stdlib.h>

enum { MAP64_FIRST_CAPACITY = 64 };

struct sw_map64_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

void sw_map64_deinit(struct sw_map64 *map)
{
	free(map->slots);
	*map = (struct sw_map64){0};
}

/* The slot that holds key, or the free one where it belongs. The table is never full. */
static struct sw_map64_slot *slot_find(struct sw_map64_slot *slots, size_t capacity, uint64_t key)
{
	size_t mask = capacity - 1;
	for (size_t i = (size_t) sw_mix64(key) & mask;; i = (i + 1) & mask)
		if (!slots[i].used || slots[i].key == key)
			return &slots[i];
}

bool sw_map64_get(const struct sw_map64 *map, uint64_t key, uint64_t *ret_value)
{
	if (map->capacity == 0)
		return false;
	const struct sw_map64_slot *slot = slot_find(map->slots, map->capacity, key);
	if (!slot->used)
		return false;
	*ret_value = slot->value;
	return true;
}

static int grow(struct sw_map64 *map)
{
	size_t capacity = map->capacity == 0 ? MAP64_FIRST_CAPACITY : map->capacity * 2;
	struct sw_map64_slot *slots = calloc(capacity, sizeof(*slots));
	if (slots == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*slot_find(slots, capacity, map->slots[i].key) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->capacity = capacity;
	return 0;
}

int sw_map64_put(struct sw_map64 *map, uint64_t key, uint64_t value)
{
	if ((map->count + 1) * 4 > map->capacity * 3) {
		int r = grow(map);
		if (r < 0)
			return r;
	}
	struct sw_map64_slot *slot = slot_find(map->slots, map->capacity, key);
	if (!slot->used)
		map->count++;
	*slot = (struct sw_map64_slot){.key = key, .value = value, .used = true};
	return 0;
}
