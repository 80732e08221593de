/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RECIPE_H
#define SW_CLR_RECIPE_H

#include "copies/recipe.h"

#include <snapwalk/walk.h>

struct sw_clr_layout;
struct sw_memory;

/* As sw_runtime_ops.recipe. */
bool sw_clr_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		   struct sw_recipe *recipe, const char **ret_why);

/* The steps for a runtime that has its threads where the layout says. */
void sw_clr_recipe_make(const struct sw_clr_layout *at, struct sw_recipe *recipe);

#endif
