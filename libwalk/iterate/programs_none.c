/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of programs.c where clang or bpftool were not there when this was built (iterate.mk). */
#include "iterate/programs.h"

#include <errno.h>

bool sw_iterate_programs_built(void)
{
	return false;
}

int sw_iterate_program_load(enum sw_iterate_program program, int *ret_program_fd)
{
	(void) program;
	(void) ret_program_fd;
	return -EOPNOTSUPP;
}

int sw_iterate_moved_load(size_t max_threads, int *ret_program_fd)
{
	(void) max_threads;
	(void) ret_program_fd;
	return -EOPNOTSUPP;
}

const char *sw_iterate_program_identity(enum sw_iterate_program program)
{
	(void) program;
	return NULL;
}

int sw_iterate_sample_load(const struct sw_iterate_sample_sizes *sizes,
			   struct sw_iterate_sample *ret, struct sw_verifier_said *ret_said)
{
	(void) sizes;
	(void) ret;
	ret_said->text[0] = '\0';
	return -EOPNOTSUPP;
}

int sw_iterate_calls_load(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  struct sw_iterate_programs *ret, struct sw_verifier_said *ret_said)
{
	(void) which;
	(void) sizes;
	(void) ret;
	ret_said->text[0] = '\0';
	return -EOPNOTSUPP;
}
