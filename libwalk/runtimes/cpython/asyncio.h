/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_ASYNCIO_H
#define SW_CPYTHON_ASYNCIO_H

#include "runtimes/cpython/tasks.h"

/* Reads what files say: the interpreter's symbols, and the layout of tasks. at is borrowed. of_file: only where the C part is a
 * file of its own, which the process has mapped. */
void sw_cpython_asyncio_open(const struct sw_cpython_at *at, const struct sw_snapshot *snap,
			     bool of_file, struct sw_cpython_asyncio *ret);
/* After it, if why is NULL: finds the sets, by the modules of all interpreters. why says what is missing. */
void sw_cpython_asyncio_find(struct sw_cpython_asyncio *asyncio, struct sw_memory memory);

#endif
