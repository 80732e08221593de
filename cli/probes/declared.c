/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probes/declared.h"
#include "common/json_text.h"
#include "common/nearest.h"
#include "utf8.h"

#include <inttypes.h>
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

void sw_declared_put(void *arg, const struct sw_event_probe *probe)
{
	struct sw_declared_list *l = arg;
	struct sw_text *text = l->text;
	l->n++;
	if (l->as_json) {
		sw_text_printf(text, "%s{\"file_offset\":%" PRIu64 ",\"semaphore\":%s",
			       l->n > 1 ? "," : "", probe->place.file_off,
			       probe->place.semaphore_off != 0 ? "true" : "false");
		sw_json_text_member(text, "module", l->module);
		sw_json_text_member(text, "provider", probe->provider);
		sw_json_text_member(text, "name", probe->name);
		sw_json_text_member(text, "operands", probe->operands);
		sw_text_append(text, "}", 1);
		return;
	}
	sw_utf8_append_plain(text, l->module, strlen(l->module));
	sw_text_append(text, ":", 1);
	sw_utf8_append_plain(text, probe->provider, strlen(probe->provider));
	sw_text_append(text, ":", 1);
	sw_utf8_append_plain(text, probe->name, strlen(probe->name));
	if (probe->operands[0] != '\0') {
		sw_text_append(text, "  ", 2);
		sw_utf8_append_plain(text, probe->operands, strlen(probe->operands));
	}
	sw_text_append(text, "\n", 1);
}
