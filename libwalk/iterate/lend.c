/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The iterator for those who hand it on, and its check: the public side of iterate/tasks.h. */
#include "cleanup.h"
#include "iterate/pins.h"
#include "iterate/tasks.h"

#include <snapwalk/iterator.h>

int sw_iterator_check(struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	return sw_iterate_load(SW_ITERATE_THREADS, &fd, err);
}

int sw_iterator_load(int *ret_program_fd, struct sw_error *err)
{
	return sw_iterate_load(SW_ITERATE_THREADS, ret_program_fd, err);
}

int sw_iterator_load_moved(int *ret_program_fd, struct sw_error *err)
{
	enum {
		MAX_THREADS = 4096
	}; /* of which it keeps what it saw; there may be several programs */
	return sw_iterate_moved_program(MAX_THREADS, ret_program_fd, err);
}

int sw_iterator_load_returns(int *ret_program_fd, struct sw_error *err)
{
	return sw_iterate_load(SW_ITERATE_RETURNS, ret_program_fd, err);
}

int sw_iterator_limit(int program_fd, pid_t pid, int *ret_iterator_fd, struct sw_error *err)
{
	return sw_iterate_link_pid(program_fd, pid, ret_iterator_fd, err);
}

int sw_iterator_keep(struct sw_error *err)
{
	return sw_pins_make(SW_PINS_DIRECTORY, err);
}

int sw_iterator_drop(struct sw_error *err)
{
	return sw_pins_remove(SW_PINS_DIRECTORY, err);
}
