/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that the unwinder of a frame knows: managed methods, JIT-compiled code.
 */
#include "provider.h"
#include "providers.h"

#include <string.h>

static int runtime_frame(const struct sw_walks *walks, const struct sw_frame *frame,
			 struct sw_arena *arena, struct sw_symbol *ret)
{
	struct sw_description d;
	if (!sw_walk_describe(walks, frame, &d))
		return 0;
	const char *function = sw_arena_strndup(arena, d.function, strlen(d.function));
	const char *file =
		d.file[0] == '\0' ? NULL : sw_arena_strndup(arena, d.file, strlen(d.file));
	if (function == NULL || (file == NULL && d.file[0] != '\0'))
		return -SW_E_NOMEM;
	uint64_t avma = sw_frame_lookup_avma(frame);
	bool start_known = d.start_avma != 0 && d.start_avma <= avma;
	*ret = (struct sw_symbol){
		.function = function,
		.file = file,
		.function_offset = start_known ? avma - d.start_avma : 0,
		.line = d.line,
		.line_offset = -1,
		.source = strcmp(frame->kind, "jit") == 0 ? SW_SOURCE_JIT : SW_SOURCE_RUNTIME,
	};
	return 1;
}

const struct sw_provider_ops sw_prov_runtime = {.name = "runtime", .frame = runtime_frame};
