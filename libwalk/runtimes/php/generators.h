/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_GENERATORS_H
#define SW_PHP_GENERATORS_H

#include "runtimes/php/find.h"

#include <stddef.h>

enum {
	SW_PHP_GENERATORS_MAX = 1024, /* which yield from one another */
	SW_PHP_RESUMERS_MAX = 6,
};

/*
 * A call without a function stands for a generator that yields from another one, which may itself
 * yield from a third: only the last one of these is in the chain. Returns that generator, or 0.
 */
uint64_t sw_php_place_holder(uint64_t avma, uint64_t func_avma, uint64_t this_avma, uint32_t info);

/*
 * A generator's call is the innermost an instant before its caller is linked to it, in zend_generator_resume(), which
 * has the caller in a register then. How many candidates there are, 0 where the thread is not in that function.
 */
size_t sw_php_resumers(const struct sw_php_found *found, const struct sw_thread *thread,
		       uint64_t ret_avma[static SW_PHP_RESUMERS_MAX]);

#endif
