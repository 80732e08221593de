/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook/kinds.h"
#include "cleanup.h"

#include <string.h>

/* A new monitoring system is one line here and one file. */
static const struct sw_hook_kind kinds[] = {
	{"monit", false, sw_hook_monit},     {"alertmanager", true, sw_hook_alertmanager},
	{"nagios", false, sw_hook_nagios},   {"collectd", true, sw_hook_collectd},
	{"systemd", false, sw_hook_systemd},
};

const struct sw_hook_kind *sw_hook_find(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}
