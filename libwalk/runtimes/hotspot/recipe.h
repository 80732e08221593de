/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_RECIPE_H
#define SW_HOTSPOT_RECIPE_H

#include "copies/recipe.h"

#include <snapwalk/walk.h>

struct sw_memory;

/* As sw_runtime_ops.recipe. */
bool sw_hotspot_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		       struct sw_recipe *recipe, const char **ret_why);

#endif
