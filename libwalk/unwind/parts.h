/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNWIND_PARTS_H
#define SW_UNWIND_PARTS_H

#include "memory.h"

enum { SW_PARTS_ROUNDS_MAX = 16 };

/*
 * Calls each for 0 to n - 1, whose reads do not depend on each other's, as parts (memory.h): all that they miss is fetched in one
 * turn, then those that have missed something are called again, up to SW_PARTS_ROUNDS_MAX times, and at last without parts. So
 * each must not remember that a read failed. Memory that has no parts, or none left for our own list: each is called once.
 */
void sw_parts_do(struct sw_memory memory, size_t n, void (*each)(void *arg, size_t i), void *arg);

#endif
