/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_AWAITS_WINDOW_H
#define SW_CLR_AWAITS_WINDOW_H

#include "runtimes/clr/objects/tasks_window.h"

/*
 * In the window, part of sw_clr_tasks_copy(): the boxes that words on threads' stacks lead to, and those that lead on from
 * there to who awaits them; and objects that say who has what a thread waits for (library_locks.c). Nothing else is looked at: no
 * timers, no queues, no other objects.
 */
void sw_clr_awaits_copy(struct sw_clr_tasks_window *w);

enum {
	SW_CLR_WAITED_STACK_BYTES =
		16
		<< 10 /* from the stack pointer on: where what a thread waits for is looked for */
};

/* The same, but only objects that say who has what a thread waits for: where all tasks are copied in another way. */
void sw_clr_waited_copy(struct sw_clr_tasks_window *w);

#endif
