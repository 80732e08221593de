/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROBES_DECLARED_H
#define SW_PROBES_DECLARED_H

#include <snapwalk/event.h>

/* Probes that a program declares (USDT). */

/* The places of one probe. */
struct sw_declared {
	const char *wanted; /* borrowed: NAME, PROVIDER__NAME or PROVIDER:NAME */
	struct sw_event_place places[SW_EVENT_PLACES_MAX];
	size_t n, n_more;
	size_t n_all;      /* probes that the file declares */
	char name[128];    /* of the one that was found: PROVIDER:NAME */
	bool is_ambiguous; /* two providers have a probe of that name */
	char near[3][128]; /* that are nearly the wanted one */
	size_t n_near;
};

/* For sw_event_probes(); arg is a struct sw_declared. */
void sw_declared_add(void *arg, const struct sw_event_probe *probe);

#endif
