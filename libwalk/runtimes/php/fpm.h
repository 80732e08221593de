/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_FPM_H
#define SW_PHP_FPM_H

#include <snapwalk/walk.h>

#include "memory.h"

/*
 * The pool of php-fpm that a process is a worker of, or the first one that it is the master of: by memory that its processes
 * share, in which the master counts them about once a second. *ret is zeroed, and stays so where there is none.
 */
void sw_php_fpm_pool(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_thread_pool *ret);

#endif
