/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TOUCH_H
#define SW_CPYTHON_TOUCH_H

#include "runtimes/cpython/tasks.h"
#include "unwind/capture.h"

#include <snapwalk/walk.h>

struct sw_cpython_touching;

/* The result of before(), for touch() and open(). */
struct sw_cpython_before {
	struct sw_cpython_at at;
	bool tasks;                           /* asyncio is set: its tasks may be asked for */
	struct sw_cpython_asyncio asyncio;    /* the sets are the reader's, which finds them */
	struct sw_cpython_touching *touching; /* the reader's own: the process ends with it */
};

void sw_cpython_touching_destroy(struct sw_cpython_touching *touching);

/* As sw_runtime_ops.before: before.c. */
int sw_cpython_before(struct sw_capture *capture);
/* As sw_runtime_ops.touch. */
void sw_cpython_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

#endif
