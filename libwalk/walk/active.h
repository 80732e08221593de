/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_ACTIVE_H
#define SW_WALK_ACTIVE_H

#include "slots.h"
#include "unwind/tables.h"

/* Attaches all of tables that the snapshot's process has. Zeroed before; after a failure, too, it must be
 * detached. 0, or the error of the one that failed. */
int sw_active_attach(const struct sw_snapshot *snap, const struct sw_tables *tables,
		     struct sw_active_list *list, struct sw_error *err);
void sw_active_detach(struct sw_active_list *list);

/* The state that walks keep for a snapshot that is given the copy of one event after the other: who
 * takes part, and what they identify. */
struct sw_active_kept {
	struct sw_active_list list; /* states of runtimes that can be renewed are not owned by it */
	struct sw_runtime *runtimes; /* owned; NULL: nobody was asked yet */
	size_t n_runtimes;
	const struct sw_snapshot *snap; /* borrowed: it outlives them */
	bool absent; /* there may be a runtime that is not there yet: it is looked for now and then */
	size_t n_copies; /* since it was looked for */
};
/* NULL: nothing is kept for the snapshot. Borrowed. */
struct sw_active_kept *sw_active_kept(const struct sw_snapshot *snap,
				      const struct sw_tables *tables);

/* Opens the states that are kept, unless there are some: before there is a copy, so that what they read then is known
 * to be older than it. The caller may have privileges: what has a state for one copy only is not opened. */
void sw_active_open(const struct sw_snapshot *snap, const struct sw_tables *tables);

/* The snapshot that has these states (sw_snapshot_priv.kept) has the copy of another event now. False: one of
 * them was too large, or a runtime has come, and all are gone: cookies of frames begin anew. */
bool sw_active_renew(struct sw_slots *kept);

/* The wire name of what found a frame, by the source that the step named. */
const char *sw_active_by(const struct sw_active *active, unsigned source);

/* The optional functions that unwinders and runtimes have in common. */
size_t sw_active_identify(const struct sw_active *active, struct sw_runtime *ret, size_t max);
void sw_active_explain(const struct sw_active *active, const struct sw_snapshot *snap,
		       uint64_t avma, struct sw_text *text);

#endif
