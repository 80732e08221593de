/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_METADATA_NAMES_H
#define SW_CLR_METADATA_NAMES_H

#include "runtimes/clr/metadata/tables.h"

/* Names that rows of metadata give. */

/* Namespace.Outer+Inner; without its namespace and its outer types when brief. */
bool sw_clr_type_def_name(const struct sw_clr_metadata *m, uint32_t rid, bool brief,
			  struct sw_text *text);
bool sw_clr_type_ref_name(const struct sw_clr_metadata *m, uint32_t rid, bool brief,
			  struct sw_text *text);

/* The type that has the method; 0 when there is none. */
uint32_t sw_clr_method_owner(const struct sw_clr_metadata *m, uint32_t rid);

bool sw_clr_method_def_name(const struct sw_clr_metadata *m, uint32_t rid, struct sw_text *text);

/* "T": of a generic parameter of a type or a method; "!0", "!!0" when it has no name. */
void sw_clr_generic_param_name(const struct sw_clr_metadata *m, bool of_method, uint32_t owner_rid,
			       uint32_t number, struct sw_text *text);

#endif
