/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIER_READER_H
#define SW_COPIER_READER_H

#include "copier/serve.h"
#include "memory.h"

/*
 * The reader: a process that is forked before the window. It has no capability, no descriptor and no system call
 * but those for its own memory and for waiting, and none of our memory but as it was at its start. It ends with us.
 */
struct sw_copier_job {
	/* In the reader, once in each run. May allocate. */
	void (*run)(void *arg, struct sw_memory memory, const struct sw_copier_channel *told);
	void *arg;
	bool is_32bit;
};

/* threads_max: threads that a run can tell of. 0, -SW_E_*. */
int sw_copier_create(const struct sw_copier_job *job, size_t threads_max, struct sw_copier *ret,
		     struct sw_error *err);

/* Ends the reader. What keep() was given stays. */
void sw_copier_end(struct sw_copier *copier);
/* Gives the shared memory back. */
void sw_copier_destroy(struct sw_copier *copier);

#endif
