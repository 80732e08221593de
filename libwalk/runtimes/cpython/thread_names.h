/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_THREAD_NAMES_H
#define SW_CPYTHON_THREAD_NAMES_H

#include "runtimes/cpython/cpython.h"

/* The name that the program knows a thread by, threading.Thread.name; false when it is not known. */
bool sw_cpython_thread_name(struct sw_cpython *c, const struct sw_cpython_thread *thread, char *ret,
			    size_t size);

#endif
