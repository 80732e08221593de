/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The owner of a process as the path of its control group tells it. */
#include "cgroup.h"

#include <stdbool.h>
#include <string.h>

enum { CONTAINER_ID_DIGITS = 64 };

static bool ends_with(struct sw_cgroup_part part, const char *suffix)
{
	size_t size = strlen(suffix);
	return part.size > size && memcmp(part.data + part.size - size, suffix, size) == 0;
}

static bool begins_with(struct sw_cgroup_part part, const char *prefix)
{
	size_t size = strlen(prefix);
	return part.size >= size && memcmp(part.data, prefix, size) == 0;
}

/* Steps through the components from the innermost outwards: *end is where the last one began. */
static bool next_outwards(const char *path, size_t *end, struct sw_cgroup_part *ret)
{
	while (*end > 0 && path[*end - 1] == '/')
		--*end;
	size_t begin = *end;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	*ret = (struct sw_cgroup_part){path + begin, *end - begin};
	*end = begin;
	return ret->size > 0;
}

struct sw_cgroup_part sw_cgroup_unit(const char *path)
{
	struct sw_cgroup_part part;
	for (size_t end = strlen(path); next_outwards(path, &end, &part);) {
		if (!ends_with(part, ".service") && !ends_with(part, ".scope"))
			continue;
		/* systemd puts "_" before names that could be taken for the kernel's files
		 * (cg_escape() of systemd 252, src/basic/cgroup-util.c). */
		if (part.data[0] == '_')
			part = (struct sw_cgroup_part){part.data + 1, part.size - 1};
		return part;
	}
	return (struct sw_cgroup_part){0};
}

static bool is_hex(const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!(s[i] >= '0' && s[i] <= '9') && !(s[i] >= 'a' && s[i] <= 'f'))
			return false;
	return true;
}

struct sw_cgroup_part sw_cgroup_container(const char *path)
{
	struct sw_cgroup_part part;
	for (size_t end = strlen(path); next_outwards(path, &end, &part);) {
		/* The monitor of a container is not in it: libpod-conmon-ID.scope. */
		if (begins_with(part, "libpod-conmon-") || begins_with(part, "crio-conmon-"))
			continue;
		if (ends_with(part, ".scope"))
			part.size -= strlen(".scope");
		if (part.size < CONTAINER_ID_DIGITS)
			continue;
		size_t before = part.size - CONTAINER_ID_DIGITS;
		/* ID alone, or docker-ID, cri-containerd-ID, crio-ID, libpod-ID; with the systemd
		 * driver of containerd also SLICE:cri-containerd:ID. */
		if (before > 0 && part.data[before - 1] != '-' && part.data[before - 1] != ':')
			continue;
		if (is_hex(part.data + before, CONTAINER_ID_DIGITS))
			return (struct sw_cgroup_part){part.data + before, CONTAINER_ID_DIGITS};
	}
	return (struct sw_cgroup_part){0};
}
