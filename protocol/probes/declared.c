/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probes/declared.h"

#include <snapwalk/nearest.h>
#include <stdio.h>
#include <string.h>

static bool is_wanted(const char *wanted, const struct sw_event_probe *probe)
{
	size_t n = strlen(probe->provider);
	if (strcmp(wanted, probe->name) == 0)
		return true;
	if (strncmp(wanted, probe->provider, n) != 0)
		return false;
	wanted += n;
	if (wanted[0] == ':')
		return strcmp(wanted + 1, probe->name) == 0;
	return wanted[0] == '_' && wanted[1] == '_' && strcmp(wanted + 2, probe->name) == 0;
}

static void near_add(struct sw_declared *d, const struct sw_event_probe *probe)
{
	if (d->n_near == sizeof(d->near) / sizeof(d->near[0]) ||
	    !sw_is_near(d->wanted, probe->name))
		return;
	for (size_t i = 0; i < d->n_near; i++)
		if (strcmp(d->near[i], probe->name) == 0)
			return;
	(void) snprintf(d->near[d->n_near++], sizeof(d->near[0]), "%s",
			probe->name); /* cut is fine */
}

void sw_declared_add(void *arg, const struct sw_event_probe *probe)
{
	struct sw_declared *d = arg;
	char name[sizeof(d->name)];
	d->n_all++;
	if (!is_wanted(d->wanted, probe)) {
		near_add(d, probe);
		return;
	}
	(void) snprintf(name, sizeof(name), "%s:%s", probe->provider, probe->name); /* likewise */
	if (d->n == 0)
		memcpy(d->name, name, sizeof(name));
	d->is_ambiguous |= strcmp(d->name, name) != 0;
	for (size_t i = 0; i < d->n; i++)
		if (d->places[i].file_off == probe->place.file_off)
			return;
	if (d->n == SW_EVENT_PLACES_MAX)
		d->n_more++;
	else
		d->places[d->n++] = probe->place;
}
