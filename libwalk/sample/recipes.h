/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_RECIPES_H
#define SW_SAMPLE_RECIPES_H

#include "copies/recipe.h"
#include "unwind/tables.h"

/*
 * Whether stacks of a process can be walked by what the kernel copies of a thread at an event, and what it has
 * to copy for that. base: maps and modules of the process as it runs; its memory is read.
 *
 * @return 0; -SW_E_INVALID with the reason in words: it has code or a runtime that needs more.
 */
int sw_sample_recipe(const struct sw_snapshot *base, const struct sw_tables *tables,
		     struct sw_recipe *ret, struct sw_error *err);

/* Whether there is a runtime that has frames of its own. */
bool sw_sample_has_runtime(const struct sw_snapshot *base, const struct sw_tables *tables);

/* Whether no code that the process makes publishes anything. */
bool sw_sample_is_unpublished(const struct sw_snapshot *base, const struct sw_tables *tables);

#endif
