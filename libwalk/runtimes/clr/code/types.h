/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TYPES_H
#define SW_CLR_TYPES_H

#include "runtimes/clr/code/names.h"

/* A type that the runtime has loaded: Namespace.Type`1[int]. */
void sw_clr_type_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		      uint64_t handle, struct sw_text *text);

/* n types at avma: [int,string]. */
void sw_clr_type_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			   uint64_t avma, uint32_t n, struct sw_text *text);

/* The module that has the metadata of a MethodTable. */
bool sw_clr_type_module(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			uint64_t table_avma, uint64_t *ret_module_avma);

/* The type arguments of a MethodTable; nothing when it has none. */
void sw_clr_table_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			    uint64_t table_avma, struct sw_text *text);

/* The element type of an array's MethodTable and [], when it is one. */
bool sw_clr_array_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t table_avma, struct sw_text *text);

#endif
