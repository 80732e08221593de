/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/limits.h"
#include "cleanup.h"

#define FIELD(name)                                             \
	{                                                       \
#name, offsetof(struct sw_process_limits, name) \
	}
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD(descriptors),
	FIELD(descriptors_limit),
	FIELD(maps),
	FIELD(maps_limit),
	FIELD(tasks),
	FIELD(tasks_limit),
	FIELD(tasks_refused),
	FIELD(memory_bytes),
	FIELD(memory_cache_bytes),
	FIELD(memory_limit_bytes),
	FIELD(memory_kills),
	FIELD(cpu_quota_us),
	FIELD(cpu_period_us),
	FIELD(cpu_periods),
	FIELD(cpu_throttled),
	FIELD(cpu_throttled_us),
};
#undef FIELD
_Static_assert(SW_ARRAY_SIZE(fields) == SW_LIMIT_FIELDS, "each has a name");
_Static_assert(sizeof(struct sw_process_limits) == SW_LIMIT_FIELDS * sizeof(int64_t),
	       "each has a name");

const char *sw_limit_name(size_t index)
{
	return fields[index].name;
}

int64_t *sw_limit_field(struct sw_process_limits *limits, size_t index)
{
	return (int64_t *) (void *) ((char *) limits + fields[index].offset);
}
