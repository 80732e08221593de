/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_SCOPES_H
#define SW_HOTSPOT_SCOPES_H

#include "runtimes/hotspot/structures/hotspot.h"

enum { SW_HOTSPOT_SCOPES_MAX = 64, SW_HOTSPOT_PCS_BYTES_MAX = 4 << 20 };

/* A method at a place of compiled code, itself or compiled into the next one. */
struct sw_hotspot_scope {
	uint64_t method_avma;
	int32_t bci;
};

/*
 * The methods that are executed at pc of a compiled method, innermost first; the last one is the
 * method itself. *ret_exact: there is a description of pc itself, as for all calls; else the result
 * is what the descriptions before and behind it have in common, at the place of the one behind it.
 * Returns how many; 1 with bci SW_HOTSPOT_BCI_NONE when there is no description.
 */
size_t sw_hotspot_scopes_at(struct sw_hotspot *h, const struct sw_hotspot_blob *blob, uint64_t pc,
			    struct sw_hotspot_scope ret[SW_HOTSPOT_SCOPES_MAX], bool *ret_exact);

#endif
