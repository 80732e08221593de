/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that the unwinder of a frame knows: managed methods, JIT-compiled code.
 */
#include "provider.h"

#include <string.h>

enum { RUNTIME_NAME_MAX = 4096 }; /* bytes with NUL; Java signatures reach 500 */

static int runtime_frame(const struct sw_walks *walks, const struct sw_frame *frame,
			 struct sw_arena *arena, struct sw_symbol *ret)
{
	char name[RUNTIME_NAME_MAX];
	if (!sw_walk_describe(walks, frame, name, sizeof(name)))
		return 0;
	const char *kept = sw_arena_strndup(arena, name, strnlen(name, sizeof(name)));
	if (kept == NULL)
		return -SW_E_NOMEM;
	*ret = (struct sw_symbol){
		.function = kept,
		.line_offset = -1,
		.source = frame->trust == SW_TRUST_JIT ? SW_SOURCE_JIT : SW_SOURCE_RUNTIME,
	};
	return 1;
}

const struct sw_provider_ops sw_prov_runtime = {.name = "runtime", .frame = runtime_frame};
