/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/loading.h"
#include "cleanup.h"
#include "iterate/pins.h"
#include "urgent.h"

static void *load(void *arg)
{
	struct sw_iterate_loading *l = arg;
	l->status = sw_iterate_load(l->program, &l->fd, &l->err);
	return NULL;
}

void sw_iterate_loading_begin(struct sw_iterate_loading *l, enum sw_iterate_program program)
{
	if (l->begun)
		return;
	*l = (struct sw_iterate_loading){.program = program, .begun = true, .fd = -EBADF};
	if (sw_pins_open(SW_PINS_DIRECTORY, program, &l->fd) == 0)
		return;
	l->apart = sw_urgent_beside(&l->thread, load, l, true);
	l->begun = l->apart; /* else it is loaded when it is needed */
}

void sw_iterate_loading_wait(struct sw_iterate_loading *l)
{
	if (l->apart)
		(void) pthread_join(l->thread, NULL); /* ours and not yet joined: cannot fail */
	l->apart = false;
}

int sw_iterate_loading_end(struct sw_iterate_loading *l, enum sw_iterate_program program,
			   int *ret_program_fd, struct sw_error *err)
{
	if (l == NULL || !l->begun)
		return sw_iterate_load(program, ret_program_fd, err);
	sw_iterate_loading_wait(l);
	l->begun = false;
	if (l->status == 0)
		*ret_program_fd = sw_take_fd(l->fd);
	else if (err != NULL)
		*err = l->err;
	return l->status;
}

void sw_iterate_loading_deinit(struct sw_iterate_loading *l)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (l->begun)
		(void) sw_iterate_loading_end(l, l->program, &fd, NULL); /* nobody needs it */
}
