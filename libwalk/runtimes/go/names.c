/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/go/names.h"
#include "runtimes/go/inlined.h"
#include "runtimes/go/step.h"

#include <inttypes.h>
#include <stdio.h>

bool sw_go_owns(const struct sw_go *go, const struct sw_cursor *cursor)
{
	return sw_go_module_at(go, cursor->place, cursor->lookup_avma) != NULL;
}

int sw_go_describe(const struct sw_go *go, const struct sw_frame *frame, size_t level,
		   struct sw_description *ret)
{
	struct sw_go_level levels[SW_GO_INLINED_MAX];
	struct sw_go_func func;
	/* A signal returns to the first instruction of a function. */
	uint64_t avma =
		frame->flags & SW_FRAME_SIGNAL ? frame->pc_avma : sw_frame_lookup_avma(frame);
	const struct sw_go_module *m = sw_go_module_at(go, frame->place, avma);
	if (m == NULL || !sw_go_image_func(&m->image, avma - m->place->bias, &func))
		return 0;
	uint64_t base = m->place->bias + m->image.text_svma;
	size_t n = sw_go_levels(m, &func, avma - base, levels, SW_GO_INLINED_MAX);
	if (level == SW_GO_OUTERMOST)
		level = n - 1;
	if (level >= n)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", levels[level].name);
	(void) snprintf(ret->file, sizeof(ret->file), "%s", levels[level].file); /* cut to fit */
	ret->line = levels[level].line;
	if (level == n - 1)
		ret->start_avma = base + func.start_off;
	return 1;
}

void sw_go_explain(const struct sw_go *go, uint64_t avma, struct sw_text *text)
{
	struct sw_go_level levels[SW_GO_INLINED_MAX];
	struct sw_go_func func;
	int32_t delta;
	const struct sw_go_module *m = sw_go_module_at(go, sw_snapshot_place(go->snap, avma), avma);
	if (m == NULL || !sw_go_image_func(&m->image, avma - m->place->bias, &func)) {
		sw_text_printf(text, "no Go code\n");
		return;
	}
	uint64_t base = m->place->bias + m->image.text_svma;
	sw_text_printf(text, "%s: code 0x%" PRIx64 "-0x%" PRIx64 "%s%s\n", func.name,
		       base + func.start_off, base + func.end_off,
		       func.flags & SW_GO_FUNC_TOP ? ", a stack's first" : "",
		       func.flags & SW_GO_FUNC_SP_WRITE ? ", changes stacks" : "");
	if (sw_go_value(&m->image.table, &func, func.sp_table, avma - base, &delta))
		sw_text_printf(text, "return address at rsp+%" PRId32 "\n", delta);
	size_t n = sw_go_levels(m, &func, avma - base, levels, SW_GO_INLINED_MAX);
	for (size_t i = 0; i < n; i++)
		sw_text_printf(text, "%s at %s:%" PRIu32 "%s\n", levels[i].name, levels[i].file,
			       levels[i].line, i + 1 < n ? ", inlined" : "");
}
