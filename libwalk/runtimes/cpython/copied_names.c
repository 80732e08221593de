/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/copied_names.h"

#include <stdio.h>
#include <string.h>

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

bool sw_cpython_copied_name_is_old(const struct sw_cpython_copied_name *name, int64_t now_ns)
{
	return name->read_ns == 0 || now_ns - name->read_ns > name->believed_ns;
}

void sw_cpython_copied_name_set(struct sw_cpython_copied_name *name, const char *text,
				int64_t now_ns)
{
	const int64_t first_ns = 1000000000, most_ns = 16 * first_ns;
	bool same = name->read_ns != 0 && strcmp(text, name->text) == 0;
	int64_t believed_ns = same ? 2 * name->believed_ns : first_ns;
	name->believed_ns = believed_ns < most_ns ? believed_ns : most_ns;
	name->read_ns = now_ns;
	(void) snprintf(name->text, sizeof(name->text), "%s", text); /* as long */
}

void sw_cpython_copied_names_deinit(struct sw_cpython_copied_names *names)
{
	sw_map64_deinit(&names->map);
	sw_arena_deinit(&names->arena);
}
