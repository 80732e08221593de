/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Matching /proc/PID/cgroup, whose lines are "hierarchy:controllers:path" (cgroups(7)): one line
 * "0::/path" with version 2, several with version 1, where one match is enough.
 */
#include "select_cgroup.h"

#include <string.h>

enum { CONTAINER_ID_LENGTH = 64 };

/* The path of the next line, or NULL at the end. */
static char *next_path(char **rest)
{
	for (char *line; (line = strsep(rest, "\n")) != NULL;) {
		char *colon = strchr(line, ':');
		colon = colon != NULL ? strchr(colon + 1, ':') : NULL;
		if (colon != NULL)
			return colon + 1;
	}
	return NULL;
}

/* PATH as the kernel writes it: people copy it from /sys/fs/cgroup, too. */
static const char *without_mount(const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";
	size_t length = sizeof(mount) - 1;
	if (strncmp(path, mount, length) == 0 && (path[length] == '/' || path[length] == '\0'))
		return path + length;
	return path;
}

static bool is_at_or_below(const char *path, const char *wanted, size_t length)
{
	return strncmp(path, wanted, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool sw_cgroup_matches(char *text, const char *path)
{
	const char *wanted = without_mount(path);
	/* Version 1 has the controllers' name in between: /sys/fs/cgroup/cpu/user.slice. */
	const char *below = wanted != path && wanted[0] == '/' ? strchr(wanted + 1, '/') : NULL;
	size_t length = strlen(wanted), below_length = below != NULL ? strlen(below) : 0;
	while (length > 0 && wanted[length - 1] == '/')
		length--;
	while (below_length > 0 && below[below_length - 1] == '/')
		below_length--;
	for (char *rest = text, *line; (line = next_path(&rest)) != NULL;)
		if (is_at_or_below(line, wanted, length) ||
		    (below_length > 0 && is_at_or_below(line, below, below_length)))
			return true;
	return false;
}

bool sw_cgroup_has_unit(char *text, const char *unit)
{
	size_t length = strlen(unit);
	bool add_suffix = strchr(unit, '.') == NULL; /* as systemctl: "cron" is cron.service */
	for (char *rest = text, *line; (line = next_path(&rest)) != NULL;) {
		for (char *parts = line, *part; (part = strsep(&parts, "/")) != NULL;) {
			if (strncmp(part, unit, length) != 0)
				continue;
			if (strcmp(part + length, add_suffix ? ".service" : "") == 0)
				return true;
		}
	}
	return false;
}

/*
 * Engines name the cgroup by the container's id of 64 digits, with their own decoration:
 * /docker/ID, docker-ID.scope, libpod-ID.scope, crio-ID.scope, cri-containerd-ID.scope. The ids of
 * pods around it are shorter or have dashes.
 */
bool sw_cgroup_has_container(const char *text, const char *prefix, char ret_id[static 65])
{
	size_t wanted = strlen(prefix);
	for (const char *c = text; *c != '\0';) {
		size_t run = strspn(c, "0123456789abcdef");
		if (run == CONTAINER_ID_LENGTH && strncmp(c, prefix, wanted) == 0) {
			memcpy(ret_id, c, CONTAINER_ID_LENGTH);
			ret_id[CONTAINER_ID_LENGTH] = '\0';
			return true;
		}
		c += run > 0 ? run : 1;
	}
	return false;
}
