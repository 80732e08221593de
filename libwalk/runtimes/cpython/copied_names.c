/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/copied_names.h"

struct sw_cpython_copied_name *sw_cpython_copied_names_get(struct sw_cpython_copied_names *names,
							   const struct sw_cpython_copied_key *key)
{
	uint64_t hash = key->state_avma ^ sw_mix64(key->id ^ sw_mix64(key->number)), kept;
	if (sw_map64_get(&names->map, hash, &kept))
		return (struct sw_cpython_copied_name *) (uintptr_t) kept;
	if (names->map.count >= SW_CPYTHON_COPIED_NAMES_MAX)
		sw_cpython_copied_names_deinit(names);
	struct sw_cpython_copied_name *name = sw_arena_calloc(&names->arena, 1, sizeof(*name));
	if (name == NULL || sw_map64_put(&names->map, hash, (uintptr_t) name) < 0)
		return NULL;
	return name;
}

void sw_cpython_copied_names_deinit(struct sw_cpython_copied_names *names)
{
	sw_map64_deinit(&names->map);
	sw_arena_deinit(&names->arena);
}
