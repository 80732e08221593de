/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_RECIPE_H
#define SW_V8_RECIPE_H

#include "copies/recipe.h"

#include <snapwalk/walk.h>

struct sw_memory;

/* As sw_runtime_ops.recipe. */
bool sw_v8_recipe(const struct sw_snapshot *snap, struct sw_memory memory, struct sw_recipe *recipe,
		  const char **ret_why);

struct sw_v8_program;

/* The same for a program that is known, at that bias. False: where a thread has its isolate cannot be said. */
bool sw_v8_recipe_make(const struct sw_v8_program *p, struct sw_memory memory, uint64_t bias,
		       struct sw_recipe *recipe);

#endif
