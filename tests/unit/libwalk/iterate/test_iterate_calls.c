/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When programs are at their trace points, of programs that are none: each attempt to have one there fails. */
#include "iterate/calls.h"
#include "errors.h"
#include "test.h"

static struct sw_iterate_programs programs_of(int fd)
{
	return (struct sw_iterate_programs){
		.sample = {-EBADF, -EBADF, -EBADF, -EBADF, -EBADF, -EBADF},
		.called_fd = -EBADF,
		.program_fds = {fd, -EBADF},
		.link_fds = {-EBADF, -EBADF},
		.trace_points = {"sys_enter"},
	};
}

/* A recipe that changes while the last events are read attaches nothing: no call of bpf(2) is allowed then. */
TEST(test_ended)
{
	struct sw_iterate_programs p = programs_of(open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_true(p.program_fds[0] >= 0);
	assert_true(sw_iterate_calls_begin(&p, NULL) < 0);
	sw_iterate_calls_end(&p);
	assert_int_equal(sw_iterate_calls_begin(&p, NULL), 0);
	assert_int_equal(p.link_fds[0], -EBADF);
	sw_iterate_calls_close(&p);
	assert_int_equal(p.program_fds[0], -EBADF);
}
