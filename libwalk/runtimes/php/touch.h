/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_TOUCH_H
#define SW_PHP_TOUCH_H

#include "runtimes/php/find.h"
#include "memory.h"

/* The result of before(), for touch(). */
struct sw_php_before {
	struct sw_php_found found;
	bool requests; /* are read, too */
};

/* As sw_runtime_ops.touch. */
void sw_php_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

#endif
