/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of unwinders: order is preference. See unwind/unwinder.h for how to add one. */
#include "unwind/unwinder.h"

#include "cleanup.h"
#include "compare/libunwind.h"

extern const struct sw_unwinder_ops sw_runtime_wine;
extern const struct sw_unwinder_ops sw_runtime_clr;
extern const struct sw_unwinder_ops sw_unwind_elf;
extern const struct sw_unwinder_ops sw_unwind_pe;
extern const struct sw_unwinder_ops sw_unwind_wine_tables;
extern const struct sw_unwinder_ops sw_unwind_jit;
extern const struct sw_unwinder_ops sw_unwind_fp;
extern const struct sw_unwinder_ops sw_unwind_scan;

const struct sw_unwinder_ops *const sw_unwinders[] = {
	&sw_runtime_wine,       &sw_runtime_clr, &sw_unwind_elf, &sw_unwind_pe,
	&sw_unwind_wine_tables, &sw_unwind_jit,  &sw_unwind_fp,  &sw_unwind_scan,
};

const size_t sw_n_unwinders = SW_ARRAY_SIZE(sw_unwinders);

_Static_assert(SW_ARRAY_SIZE(sw_unwinders) <= SW_UNWINDERS_MAX, "modules have a slot for each");

const char *sw_frame_by(const struct sw_frame *frame)
{
	if (frame->by == 0)
		return "context";
	if (frame->by == SW_BY_LIBUNWIND)
		return "libunwind";
	if (frame->by > sw_n_unwinders)
		return "unknown";
	const struct sw_unwinder_ops *ops = sw_unwinders[frame->by - 1];
	if (ops->sources == NULL)
		return ops->name;
	for (size_t i = 0; ops->sources[i] != NULL; i++)
		if (i == frame->source)
			return ops->sources[i];
	return ops->name;
}

const char *sw_frame_kind(const struct sw_frame *frame)
{
	if (frame->owner > 0 && frame->owner <= sw_n_unwinders &&
	    sw_unwinders[frame->owner - 1]->kind != NULL)
		return sw_unwinders[frame->owner - 1]->kind;
	if (frame->place == NULL)
		return "unknown";
	switch (sw_module_kind(frame->place->module)) {
	case SW_MODULE_ELF:
	case SW_MODULE_VDSO: return "native";
	case SW_MODULE_PE: return "pe";
	case SW_MODULE_JIT: return "jit";
	case SW_MODULE_ANON: break;
	}
	return "unknown";
}
