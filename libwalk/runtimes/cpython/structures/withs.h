/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_WITHS_H
#define SW_CPYTHON_WITHS_H

#include "runtimes/cpython/structures/code.h"

enum { SW_CPYTHON_WITHS_MAX = 20 }; /* of one frame: as deep as blocks may be nested */

/*
 * The with statements in whose body a frame is: what it entered, and has not begun to leave. Calls each
 * for each, from the innermost one on, with the object that was entered, if the statement's exit is a
 * function in C that is bound to it; exit_avma is that, and 0 from 3.14 on, where the object itself is kept.
 * False: not all could be read.
 */
bool sw_cpython_withs_each(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame,
			   void (*each)(void *arg, uint64_t object_avma, uint64_t exit_avma),
			   void *arg);

/* Whether what each() was called with is the __exit__ of a class in C. memory: what does not change. */
bool sw_cpython_is_exit(const struct sw_cpython_at *at, struct sw_memory copied,
			struct sw_memory memory, uint64_t exit_avma);

#endif
