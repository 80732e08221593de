/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_BLOCKED_H
#define SW_SAMPLE_BLOCKED_H

#include "copies/execute.h"
#include "copies/recipe.h"
#include "copies/record.h"
#include "snapshot/snapshot.h"

/*
 * Copies by a recipe of threads that do not run. They are read from the running process; whether a thread has run
 * meanwhile its records say, before and after.
 */
struct sw_sample_blocked;

/* base: borrowed until the end, and its memory is read. recipe: copied. NULL: no memory. */
struct sw_sample_blocked *sw_sample_blocked_create(struct sw_snapshot *base,
						   const struct sw_recipe *recipe);
/* NULL is allowed. */
void sw_sample_blocked_destroy(struct sw_sample_blocked *blocked);

/* Drops the copies of the sample before. */
void sw_sample_blocked_reset(struct sw_sample_blocked *blocked);
/* Makes memory be read anew: what was read before is not of the window that begins. */
void sw_sample_blocked_window(struct sw_sample_blocked *blocked);

/* The copy of a thread with these registers, valid until sw_sample_blocked_reset(); NULL: no memory. */
const struct sw_copy *sw_sample_blocked_copy(struct sw_sample_blocked *blocked,
					     const struct sw_recipe_thread *thread);

/* The ranges of a snapshot with those of the copies of its threads. They are the snapshot's until
 * sw_sample_blocked_reset(). -SW_E_NOMEM. */
int sw_sample_blocked_give(struct sw_sample_blocked *blocked, struct sw_snapshot *snap);

#endif
