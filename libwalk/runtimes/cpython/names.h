/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_NAMES_H
#define SW_CPYTHON_NAMES_H

#include "runtimes/cpython/cpython.h"
#include "runtimes/cpython/structures/code.h"

/* As sw_runtime_ops.names. */
int sw_cpython_names(struct sw_cpython *c, const struct sw_frame *frame,
		     struct sw_description *ret);

/* As sw_runtime_ops.thread. */
bool sw_cpython_thread_note(struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_thread_info *ret);

/* Function, file and line of a code object that is in use, and was read just now. */
bool sw_cpython_code_describe(struct sw_cpython *c, const struct sw_cpython_code *code,
			      int64_t offset, struct sw_description *ret);

#endif
