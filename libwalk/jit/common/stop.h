/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_STOP_H
#define SW_JIT_STOP_H

#include "memory.h"
#include "unwind/capture.h"

/* Memory in the stop: what was wanted, which is here already; else a copy, of which left are made at
 * most. */
struct sw_jit_stop {
	struct sw_capture *capture; /* borrowed */
	size_t left;
};
struct sw_memory sw_jit_stop_memory(struct sw_jit_stop *stop);

#endif
