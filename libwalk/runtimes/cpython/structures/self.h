/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_SELF_H
#define SW_CPYTHON_SELF_H

#include "runtimes/cpython/structures/chain.h"

/* A method's object: the first variable of the frame that executes it. False: it cannot be read, or there is none. */
bool sw_cpython_self_read(const struct sw_cpython_at *at, struct sw_memory memory,
			  const struct sw_cpython_frame *frame, uint64_t *ret);

/* The variable of a frame with that number: parameters come first, in their order. False: it cannot be read, or has no value.
 * */
bool sw_cpython_local_read(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame, unsigned n, uint64_t *ret);

/* The name of an object's class. False: it cannot be read, or has no space. */
bool sw_cpython_class_name(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   char *ret, size_t bytes);

/* Whether an object is of the class of that name. */
bool sw_cpython_is_class(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 const char *name);

#endif
