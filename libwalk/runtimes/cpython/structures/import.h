/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_IMPORT_H
#define SW_CPYTHON_IMPORT_H

#include "runtimes/cpython/structures/chain.h"

/*
 * The lock of a module that is being imported. Its owner changes while the program runs, so that it is read with the registers.
 */
struct sw_cpython_import {
	uint64_t avma;
	uint64_t wakeup_avma; /* the Lock by which threads wait for it */
	uint64_t owner; /* who imports the module, as the C library calls the thread; 0: nobody */
	uint64_t name_avma; /* str: the module */
};

/* False: what the frame executes is not a method of such a lock, or cannot be read. */
bool sw_cpython_import_read(const struct sw_cpython_at *at, struct sw_memory memory,
			    const struct sw_cpython_frame *frame, struct sw_cpython_import *ret);

#endif
