/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_PROGRAMS_H
#define SW_ITERATE_PROGRAMS_H

#include "iterate/calls.h"
#include "iterate/sample.h"
#include "iterate/tasks.h"
#include "iterate/verifier.h"

/* False: this build has no programs, as clang or bpftool were not there. */
bool sw_iterate_programs_built(void);

/* 0 and the program's descriptor, or a negative errno. */
int sw_iterate_program_load(enum sw_iterate_program program, int *ret_program_fd);

/* The same for that which writes only who may have run since its last pass: it keeps max_threads, more are
 * always written. */
int sw_iterate_moved_load(size_t max_threads, int *ret_program_fd);

/* The program's name and the build that it is of, "tasks-DIGEST"; NULL: this build has no programs. */
const char *sw_iterate_program_identity(enum sw_iterate_program program);

/* The same for that which copies threads at events. *ret: only on success. *ret_said: what the verifier said of a program
 * that it refused, or "". */
int sw_iterate_sample_load(const struct sw_iterate_sample_sizes *sizes,
			   struct sw_iterate_sample *ret, struct sw_verifier_said *ret_said);

/* The same for those at system calls. */
int sw_iterate_calls_load(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  struct sw_iterate_programs *ret, struct sw_verifier_said *ret_said);

#endif
