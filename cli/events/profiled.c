/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/profiled.h"
#include "cleanup.h"
#include "errors.h"

#include <stdlib.h>

int sw_event_profiled_begin(struct sw_event_profiled *p, struct sw_error *err)
{
	return sw_profile_create(NULL, &p->profile, err);
}

void sw_event_profiled_deinit(struct sw_event_profiled *p)
{
	sw_profile_destroy(p->profile);
	free(p->rows);
	*p = (struct sw_event_profiled){0};
}

uint32_t sw_event_profiled_row(const struct sw_event_profiled *p, uint32_t row)
{
	return row < p->n ? p->rows[row] : SW_PROFILE_NO_ROW;
}

/* The thread alone, in the state that it was in: it made a call. */
static int profile_add(struct sw_event_profiled *p, const struct sw_report *report, size_t thread,
		       uint32_t *ret_row, struct sw_error *err)
{
	sw_cleanup(sw_free_p) struct sw_profile_weight *weights =
		calloc(report->n_threads, sizeof(*weights));
	sw_cleanup(sw_free_p) uint32_t *rows = calloc(report->n_threads, sizeof(*rows));
	if (weights == NULL || rows == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < report->n_threads; i++)
		weights[i] =
			(struct sw_profile_weight){.state = SW_PROFILE_ON_CPU, .skip = i != thread};
	int r = sw_profile_add(p->profile, report, weights, rows, err);
	if (r == 0)
		*ret_row = rows[thread];
	return r;
}

int sw_event_profiled_add(struct sw_event_profiled *p, const struct sw_report *report,
			  size_t thread, uint32_t row, struct sw_error *err)
{
	if (p->profile == NULL || row == SW_TALLY_NO_ROW || row < p->n)
		return 0;
	while (p->n <= row) {
		uint32_t *grown = sw_grow(p->rows, p->n, &p->capacity, 64, sizeof(*grown));
		if (grown == NULL)
			return sw_fail_nomem(err);
		p->rows = grown;
		p->rows[p->n++] = SW_PROFILE_NO_ROW;
	}
	return profile_add(p, report, thread, &p->rows[row], err);
}
