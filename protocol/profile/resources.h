/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_RESOURCES_H
#define SW_PROFILE_RESOURCES_H

#include "profile/tables.h"

/* The attributes of each process of a profile, found without a look at those of all others. */
struct sw_profile_resources {
	const struct sw_profile *profile; /* borrowed */
	uint32_t *order; /* owned; attributes by process, and in one process as they came */
};

/* 0; -SW_E_NOMEM. deinit is legal after either. */
int sw_profile_resources_init(struct sw_profile_resources *ret, const struct sw_profile *p);
void sw_profile_resources_deinit(struct sw_profile_resources *resources);

/* The place of a process's first attribute, for sw_profile_resources_next(). */
size_t sw_profile_resources_first(const struct sw_profile_resources *resources,
				  const struct sw_profile_process *process);
/* The process's attribute at that place, which becomes the next one; NULL: there are no more. */
const struct sw_profile_attribute *
sw_profile_resources_next(const struct sw_profile_resources *resources,
			  const struct sw_profile_process *process, size_t *place);

/* Whether OpenTelemetry's resource has the key without the process's help: each key comes once. has_container, has_unit: it is
 * known which ones they are. */
bool sw_profile_resources_is_own(const char *key, bool has_container, bool has_unit);

#endif
