/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_CLASS_LAYOUT_H
#define SW_CLR_CLASS_LAYOUT_H

#include "runtimes/clr/objects/classes.h"
#include "runtimes/clr/published/layout.h"

/* The layout of classes as the runtime describes it, or, where it does not, as .NET 8 and 9 have
 * it; layout is its. Returns false if neither is known. A layout that is known so has yet to be
 * proven: sw_clr_class_layout_holds(). */
bool sw_clr_class_layout(const struct sw_clr_contract *contract, const struct sw_clr_layout *layout,
			 struct sw_clr_classes *ret);

/* Whether String, whose two fields are where compilers of all versions expect them, is described as at has it. */
bool sw_clr_class_layout_holds(const struct sw_clr_classes *at, struct sw_memory memory,
			       uint64_t string_table_avma, uint32_t length_rid, uint32_t first_rid);

#endif
