/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_PASSES_H
#define SW_SAMPLE_PASSES_H

#include "iterate/read.h"
#include "process/target.h"
#include "sample/links.h"

#include <snapwalk/sampler.h>

/* Passes of the task iterator over a process: which of its threads may have run since the last one. */
struct sw_sample_passes {
	int program_fd, link_fd; /* owned: of the program that shows who moved; -EBADF: none */
	int all_link_fd;         /* owned: of the context's program, all threads */
	struct sw_sample_links links;
	struct sw_iterate_moved moved;
	struct sw_iterate_record *records; /* owned: of the last pass */
	size_t n_records, records_max;
	size_t n_listed; /* threads that the last pass counted */
	bool all_wanted; /* the next pass is of all threads */
};

/* Then it can be deinitialised. */
void sw_sample_passes_init(struct sw_sample_passes *p);
void sw_sample_passes_deinit(struct sw_sample_passes *p);

/* As sw_sample_passes_deinit(), but what was read stays. */
void sw_sample_passes_close(struct sw_sample_passes *p);

/* The programs that others loaded, for p and for the context. 0; -SW_E_LIMIT. */
int sw_sample_passes_lend(struct sw_sample_passes *p, struct sw_context *ctx,
			  const struct sw_sampler_programs *programs, struct sw_error *err);

/* Loads what was not lent, and limits it to the process. 0; -SW_E_*: there are no passes. */
int sw_sample_passes_open(struct sw_sample_passes *p, struct sw_context *ctx,
			  const struct sw_target *target, struct sw_error *err);

/* The records of those that moved are in p->records then; *ret_whole: all threads were listed. */
int sw_sample_passes_read(struct sw_sample_passes *p, const struct sw_target *target,
			  bool *ret_whole, struct sw_error *err);

#endif
