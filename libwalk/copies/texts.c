/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/texts.h"

#include <string.h>

const char *sw_copy_text_keep(struct sw_arena *arena, struct sw_map64 *by_hash, const char *text)
{
	uint64_t kept, hash = sw_mix_text(0, text);
	if (sw_map64_get(by_hash, hash, &kept) &&
	    strcmp((const char *) (uintptr_t) kept, text) == 0)
		return (const char *) (uintptr_t) kept;
	char *copy = sw_arena_strdup(arena, text);
	if (copy != NULL)
		(void) sw_map64_put(by_hash, hash, (uintptr_t) copy); /* else kept once more */
	return copy;
}
