/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_VIEW_H
#define SW_PROFILE_VIEW_H

#include "profile/tables.h"

/*
 * A profile for people: frames with the same name are one frame, an interpreter's own are left out,
 * and threads whose names differ only in the number at the end are a group. Another profile may be in
 * it to compare with: its threads have SW_PROFILE_VIEW_OLD in their pid.
 */
struct sw_profile_view {
	struct sw_profile
		*tables;  /* owned; file, line and module of a frame are those seen first */
	uint32_t *groups; /* owned; of each thread: a string, "worker-*" */
	uint64_t total, old_total; /* of sw_profile_view_value() */
	uint64_t n_rounds;         /* the profile's; 0 where it is not known */
	bool by_time;              /* the profile's */
};

static const uint32_t SW_PROFILE_VIEW_OLD = UINT32_C(1) << 31;

/* old: NULL for none. 0; -SW_E_NOMEM, after which deinit is allowed but not needed. */
int sw_profile_view_init(struct sw_profile_view *ret, const struct sw_profile *p,
			 const struct sw_profile *old);
void sw_profile_view_deinit(struct sw_profile_view *view);

/* Gives each row that is not on the CPU a frame that says so, as its innermost one: "[blocked: futex]".
 * For formats that know nothing but stacks. 0; -SW_E_NOMEM. */
int sw_profile_view_mark_states(struct sw_profile_view *view);

static inline bool sw_profile_view_is_old(const struct sw_profile_view *v,
					  const struct sw_profile_row *row)
{
	return sw_profile_thread_at(v->tables, row->thread)->pid & SW_PROFILE_VIEW_OLD;
}

static inline uint64_t sw_profile_view_value(const struct sw_profile_view *v,
					     const struct sw_profile_row *row)
{
	return v->by_time ? row->ns : row->count;
}

#endif
