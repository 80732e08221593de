/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that the unwinder of a frame knows: managed methods, JIT-compiled code.
 */
#include "provider.h"
#include "providers.h"

#include <string.h>

enum { LEVELS_MAX = 64 }; /* of inlined calls; what is left out is the outermost but the function */

/* NULL for "", and when there is no memory. */
static const char *text_copy(struct sw_arena *arena, const char *text)
{
	return text[0] == '\0' ? NULL : sw_arena_strndup(arena, text, strlen(text));
}

static int symbol_fill(const struct sw_frame *frame, const struct sw_description *d,
		       struct sw_arena *arena, struct sw_symbol *ret)
{
	const char *function = sw_arena_strndup(arena, d->function, strlen(d->function));
	const char *file = text_copy(arena, d->file), *signature = text_copy(arena, d->signature);
	if (function == NULL || (file == NULL && d->file[0] != '\0') ||
	    (signature == NULL && d->signature[0] != '\0'))
		return -SW_E_NOMEM;
	uint64_t avma = sw_frame_lookup_avma(frame);
	bool start_known = d->start_avma != 0 && d->start_avma <= avma;
	*ret = (struct sw_symbol){
		.function = function,
		.file = file,
		.signature = signature,
		.tier = d->tier,
		.function_offset = start_known ? avma - d->start_avma : 0,
		.line = d->line,
		.line_offset = -1,
		.source = strcmp(frame->kind, "jit") == 0 ? SW_SOURCE_JIT : SW_SOURCE_RUNTIME,
	};
	return 0;
}

static int runtime_frame(const struct sw_walks *walks, const struct sw_frame *frame,
			 struct sw_arena *arena, const struct sw_symbol **ret)
{
	struct sw_symbol levels[LEVELS_MAX];
	struct sw_description d;
	int n = 0;
	while (n < LEVELS_MAX && sw_walk_describe_inlined(walks, frame, (size_t) n, &d)) {
		int r = symbol_fill(frame, &d, arena, &levels[n]);
		if (r < 0)
			return r;
		n++;
	}
	if (n == 0)
		return 0;
	for (int i = 0; i < n - 1; i++) {
		levels[i].inlined = true;
		/* As for native code: from the start of the function that has the code. */
		levels[i].function_offset = levels[n - 1].function_offset;
	}
	struct sw_symbol *kept = sw_arena_calloc(arena, (size_t) n, sizeof(*kept));
	if (kept == NULL)
		return -SW_E_NOMEM;
	*ret = memcpy(kept, levels, (size_t) n * sizeof(*kept));
	return n;
}

const struct sw_provider_ops sw_prov_runtime = {.name = "runtime", .frame = runtime_frame};
