/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_RECIPE_H
#define SW_PHP_RECIPE_H

#include "copies/recipe.h"

#include <snapwalk/walk.h>

struct sw_memory;

enum { SW_PHP_COPIED_STRING_BYTES = 96 /* of a zend_string, its head among them */ };

/* As sw_runtime_ops.recipe. */
bool sw_php_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		   struct sw_recipe *recipe, const char **ret_why);

#endif
