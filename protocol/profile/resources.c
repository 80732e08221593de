/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/resources.h"
#include "cleanup.h"
#include "errors.h"

#include <stdlib.h>
#include <string.h>

static int compare_process(uint32_t pid, uint32_t generation, const struct sw_profile_attribute *b)
{
	if (pid != b->pid)
		return pid < b->pid ? -1 : 1;
	return generation < b->generation ? -1 : generation > b->generation;
}

static int compare(const void *a, const void *b, void *arg)
{
	const uint32_t i = *(const uint32_t *) a, j = *(const uint32_t *) b;
	const struct sw_profile_attribute *x = sw_profile_attribute_at(arg, i);
	int r = compare_process(x->pid, x->generation, sw_profile_attribute_at(arg, j));
	return r != 0 ? r : i < j ? -1 : i > j;
}

int sw_profile_resources_init(struct sw_profile_resources *ret, const struct sw_profile *p)
{
	const size_t n = p->attributes.n;
	*ret = (struct sw_profile_resources){.profile = p,
					     .order = malloc((n + 1) * sizeof(uint32_t))};
	if (ret->order == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		ret->order[i] = (uint32_t) i;
	qsort_r(ret->order, n, sizeof(uint32_t), compare, (void *) p);
	return 0;
}

void sw_profile_resources_deinit(struct sw_profile_resources *resources)
{
	free(resources->order);
	*resources = (struct sw_profile_resources){0};
}

size_t sw_profile_resources_first(const struct sw_profile_resources *resources,
				  const struct sw_profile_process *process)
{
	size_t low = 0, high = resources->order != NULL ? resources->profile->attributes.n : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_process(process->pid, process->generation,
				    sw_profile_attribute_at(resources->profile,
							    resources->order[middle])) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct sw_profile_attribute *
sw_profile_resources_next(const struct sw_profile_resources *resources,
			  const struct sw_profile_process *process, size_t *place)
{
	if (resources->order == NULL || *place >= resources->profile->attributes.n)
		return NULL;
	const struct sw_profile_attribute *a =
		sw_profile_attribute_at(resources->profile, resources->order[*place]);
	if (!sw_profile_attribute_is_of(a, process))
		return NULL;
	(*place)++;
	return a;
}

bool sw_profile_resources_is_own(const char *key, bool has_container, bool has_unit)
{
	static const char *const own[] = {"process.pid", "process.executable.name",
					  "process.executable.path", "host.name"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(own); i++)
		if (strcmp(own[i], key) == 0)
			return true;
	return (strcmp(key, "container.id") == 0 && has_container) ||
	       (strcmp(key, "snapwalk.unit") == 0 && has_unit);
}
