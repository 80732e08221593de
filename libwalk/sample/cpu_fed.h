/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CPU_FED_H
#define SW_SAMPLE_CPU_FED_H

#include "copies/copies.h"
#include "sample/rests.h"

#include <snapwalk/sampler.h>

/*
 * A sampler of CPU time that opens no events: whoever samples all processes hands it the copies of its own one
 * (sample/host.c). It looks at the process when it has the first copy.
 */
struct sw_cpu_feed {
	struct sw_copies *copies; /* borrowed: for the recipe */
	/* Reads what the kernel has recorded of all processes by now, and tells each sampler. */
	void (*drain)(void *arg);
	void *arg;
	size_t stack_bytes;         /* of each copy */
	struct sw_rests_all *rests; /* borrowed: of all who are fed by it */
};

/* feed: copied. As sw_cpu_sampler_create(). */
int sw_cpu_sampler_create_fed(struct sw_context *ctx, struct sw_target *target,
			      const struct sw_cpu_feed *feed, struct sw_cpu_sampler **ret,
			      struct sw_error *err);

/* The next sample is this one. Borrowed until then. */
void sw_cpu_sampler_feed(struct sw_cpu_sampler *sampler, const struct sw_copy *copy);

/*
 * Takes the maps of the process before its first copy, which is of the program with that number. 0, -SW_E_EXITED, -SW_E_NOMEM;
 * other failures wait for the first copy.
 */
int sw_cpu_sampler_look(struct sw_cpu_sampler *sampler, uint64_t exec_id, struct sw_error *err);

/* Code was mapped; program: by execve(). */
void sw_cpu_sampler_note_code(struct sw_cpu_sampler *sampler, bool program);

/* The copy that was handed over, unless it is of a program whose maps are gone. */
int sw_cpu_fed_take(struct sw_cpu_sampler *s, bool *ret_new_program, struct sw_error *err);

#endif
