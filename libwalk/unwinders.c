/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of unwinders: order is preference. See unwinder.h for how to add one. */
#include "unwinder.h"

#include "cleanup.h"
#include "walk_libunwind.h"

extern const struct sw_unwinder_ops sw_unwind_elf;
extern const struct sw_unwinder_ops sw_unwind_fp;
extern const struct sw_unwinder_ops sw_unwind_scan;

const struct sw_unwinder_ops *const sw_unwinders[] = {
	&sw_unwind_elf,
	&sw_unwind_fp,
	&sw_unwind_scan,
};

const size_t sw_n_unwinders = SW_ARRAY_SIZE(sw_unwinders);

_Static_assert(SW_ARRAY_SIZE(sw_unwinders) <= SW_UNWINDERS_MAX, "modules have a slot for each");

const char *sw_unwinder_name(unsigned by)
{
	if (by == 0)
		return "context";
	if (by == SW_BY_LIBUNWIND)
		return "libunwind";
	return by <= sw_n_unwinders ? sw_unwinders[by - 1]->name : "unknown";
}
