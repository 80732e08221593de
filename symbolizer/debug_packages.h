/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEBUG_PACKAGES_H
#define SW_DEBUG_PACKAGES_H

#include "provider.h"

/* Of units that have no symbols but those that they export: which package would have them. Each is looked
 * for once. 0 or -SW_E_NOMEM. */
int sw_debug_packages_find(struct sw_unit *const *units, size_t n, const char *lists,
			   const struct sw_request *request);

#endif
