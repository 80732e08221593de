/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_RECIPE_H
#define SW_CPYTHON_RECIPE_H

#include "copies/recipe.h"
#include "runtimes/cpython/cpython.h"

/* The kind of the part that is a thread state. */
enum { SW_CPYTHON_STATE_KIND = 'c' << 8 | 'p' };

/* As sw_runtime_ops.recipe. */
bool sw_cpython_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		       struct sw_recipe *recipe, const char **ret_why);

/* As sw_cpython_thread_note(), of such a copy. The name is read from the running process, once a second. */
bool sw_cpython_copy_note(struct sw_cpython *c, const struct sw_thread *thread,
			  struct sw_thread_info *ret);

/* Adds what the copy of a thread at an event has of its frames. */
void sw_cpython_copy_add(struct sw_cpython *c, const struct sw_cursor *cursor);

#endif
