/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_AWAITS_TOUCH_H
#define SW_CLR_AWAITS_TOUCH_H

#include "runtimes/clr/objects/tasks_touch.h"

/*
 * Part of sw_clr_tasks_touch(): the boxes that words on threads' stacks lead to, and those that lead on from there to
 * who awaits them; and objects that say who has what a thread waits for (library_locks.c). Nothing else is looked at: no
 * timers, no queues, no other objects.
 */
void sw_clr_awaits_touch(struct sw_clr_tasks_touching *touching);

enum {
	SW_CLR_WAITED_STACK_BYTES =
		16
		<< 10 /* from the stack pointer on: where what a thread waits for is looked for */
};

/* Fetches the stacks of all threads, so that their pages are not missed one by one. */
void sw_clr_stacks_fetch(struct sw_clr_tasks_touching *touching);

/* The same as sw_clr_awaits_touch(), but only objects that say who has what a thread waits for: where all tasks are read in another way. */
void sw_clr_waited_touch(struct sw_clr_tasks_touching *touching);

#endif
