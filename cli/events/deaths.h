/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_DEATHS_H
#define SW_CLI_EVENT_DEATHS_H

#include "events/event_run.h"

/* How the process ended; the event death of the command on. */
struct sw_deaths {
	struct sw_event_run *run; /* borrowed */
	struct sw_event event;    /* with seen; nothing in it is borrowed */
	uint32_t row;             /* SW_RECORDER_NO_ROW: it has no stack */
	bool seen;
};

/* As sw_event_run.event, of a struct sw_deaths. */
int sw_deaths_event(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err);

/* For people, or as JSON (snapwalk.death/1). 0; -SW_E_NOMEM. */
int sw_deaths_text(const struct sw_deaths *deaths, struct sw_text *ret);
int sw_deaths_json(const struct sw_deaths *deaths, struct sw_text *ret);

#endif
