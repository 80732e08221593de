/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held_profile.h"
#include "cleanup.h"
#include "errors.h"

#include <stdlib.h>

/* As programs for heap profiles name them. */
static const struct sw_profile_values with_bytes = {.types = {{"alloc_objects", "count"},
							      {"alloc_space", "bytes"},
							      {"inuse_objects", "count"},
							      {"inuse_space", "bytes"}},
						    .n_types = 4};
static const struct sw_profile_values without_bytes = {.types = {{"alloc_objects", "count"},
								 {"inuse_objects", "count"}},
						       .n_types = 2};

/* Each stack is a row of the profile; two may be the same one there. */
static void row_put(const struct sw_held *h, const struct sw_held_row *row,
		    uint64_t (*values)[SW_PROFILE_VALUES_MAX])
{
	const struct sw_event_profiled *kept = &h->run->profiled;
	uint32_t to = row->row == SW_RECORDER_NO_ROW ? SW_PROFILE_NO_ROW
						     : sw_event_profiled_row(kept, row->row);
	uint64_t amount = h->kind->has_bytes ? row->outstanding_bytes : row->outstanding;
	sw_profile_again(kept->profile, to, amount, 0);
	if (to == SW_PROFILE_NO_ROW)
		return;
	if (h->kind->has_bytes) {
		values[to][0] += row->acquired;
		values[to][1] += row->acquired_bytes;
		values[to][2] += row->outstanding;
		values[to][3] += row->outstanding_bytes;
	} else {
		values[to][0] += row->acquired;
		values[to][1] += row->outstanding;
	}
}

int sw_held_profile(const struct sw_held *h, enum sw_profile_format format, struct sw_text *ret)
{
	const struct sw_event_run *run = h->run;
	struct sw_profile_values values = h->kind->has_bytes ? with_bytes : without_bytes;
	values.n_rows = sw_profile_totals(run->profiled.profile).n_rows;
	sw_cleanup(sw_free_p) uint64_t(*rows)[SW_PROFILE_VALUES_MAX] =
		calloc(values.n_rows + 1, sizeof(*rows));
	sw_cleanup(sw_free_p) char *data = NULL;
	size_t size = 0;
	if (rows == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < h->n_rows; i++)
		row_put(h, &h->rows[i], rows);
	values.rows = rows;
	sw_profile_set_info(run->profiled.profile,
			    &(struct sw_profile_info){.begin_ns = run->begin_real_ns,
						      .duration_ns = run->end_ns - run->begin_ns,
						      .n_samples = h->acquired,
						      .n_lost = run->n_lost,
						      .unit = h->kind->has_bytes ? "byte"
										 : h->kind->noun});
	int r = sw_profile_write(run->profiled.profile, format,
				 &(struct sw_profile_write_options){.values = &values}, &data,
				 &size, NULL);
	if (r == 0)
		sw_text_append(ret, data, size);
	return r == 0 && ret->failed ? -SW_E_NOMEM : r;
}
