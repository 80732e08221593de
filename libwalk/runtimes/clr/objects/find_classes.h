/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_FIND_CLASSES_H
#define SW_CLR_FIND_CLASSES_H

#include "runtimes/clr/objects/classes.h"
#include "runtimes/clr/published/layout.h"

/* Target running, or a snapshot. open() opens the metadata of a Module, that of the
 * runtime's own library. False with
 * *ret_why (static): tasks of this runtime cannot be read. */
bool sw_clr_classes_find(const struct sw_clr_contract *contract, const struct sw_clr_layout *layout,
			 struct sw_memory memory,
			 bool (*open)(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret),
			 void *arg, struct sw_clr_classes *ret, const char **ret_why);

/* The same of a library of its own, which is module_avma: its classes are added to at, all of them or none. Each module is
 * looked at once, and SW_CLR_PART_TRIES are. */
void sw_clr_part_find(struct sw_memory memory, enum sw_clr_part part, uint64_t module_avma,
		      bool (*open)(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret),
		      void *arg, struct sw_clr_classes *at);

/* The row of a field of a type; 0: it has none. */
uint32_t sw_clr_field_rid(const struct sw_clr_metadata *m, uint32_t type_rid, const char *name);

#endif
