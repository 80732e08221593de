/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probes/variants.h"

#include <snapwalk/event.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whether the names differ in one digit alone, behind C or D, which is smaller in the first one. */
static bool is_outer(const char *outer, const char *inner)
{
	size_t n_differ = 0;
	if (strlen(outer) != strlen(inner))
		return false;
	for (size_t i = 0; outer[i] != '\0'; i++) {
		if (outer[i] == inner[i])
			continue;
		n_differ++;
		if (i == 0 || (outer[i - 1] != 'C' && outer[i - 1] != 'D') ||
		    !isdigit((unsigned char) outer[i]) || !isdigit((unsigned char) inner[i]) ||
		    outer[i] > inner[i])
			return false;
	}
	return n_differ == 1;
}

static bool calls_an_inner_one(const struct sw_matching *m, const struct sw_match *outer,
			       const void *image, size_t image_size)
{
	for (size_t i = 0; i < m->n; i++)
		if (is_outer(outer->raw, m->all[i].raw) &&
		    sw_event_calls(image, image_size, outer->svma, outer->size, m->all[i].svma))
			return true;
	return false;
}

void sw_variants_drop_callers(struct sw_matching *m, const void *image, size_t image_size)
{
	bool drop[SW_MATCHES_MAX];
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		drop[i] = calls_an_inner_one(m, &m->all[i], image, image_size);
	for (size_t i = 0; i < m->n; i++) {
		if (!drop[i]) {
			m->all[n++] = m->all[i];
			continue;
		}
		free(m->all[i].raw);
		free(m->all[i].shown);
	}
	m->n = n;
}
