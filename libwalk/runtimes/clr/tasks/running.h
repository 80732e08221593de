/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_RUNNING_H
#define SW_CLR_TASKS_RUNNING_H

#include "runtimes/clr/tasks/state.h"
#include "unwind/unwinder.h"

/* Which async methods threads run: by the frames of their boxes' methods, see all_tasks.c. */

/* A frame of managed code was stepped out of, to the stack pointer of its caller. */
void sw_clr_tasks_note(struct sw_clr *clr, const struct sw_clr_code *code,
		       const struct sw_cursor *cursor, uint64_t caller_sp_avma);

/* clr->tasks, made when it is not there, with classes looked for; NULL: there is no memory. */
struct sw_clr_all_tasks *sw_clr_tasks_get(struct sw_clr *clr);

/* How many frames are those of a box that was to be told. */
size_t sw_clr_tasks_noted(struct sw_clr *clr);

/* Adds an entry for each that can be told, but those that are done. exclude: of several that could be, those that other
 * threads run are not. Returns how many cannot be told. */
size_t sw_clr_running_find(struct sw_clr *clr, bool exclude);

bool sw_clr_task_entry_add(struct sw_clr_all_tasks *all, uint64_t box_avma, pid_t tid);

/* The machine of a box and its state; NULL: it cannot be read. */
const struct sw_clr_machine *sw_clr_task_machine(struct sw_clr *clr, uint64_t box_avma,
						 int32_t *ret_state, uint64_t *ret_fields_avma);

/* As sw_clr_chain.promised and pooled, with clr. */
uint64_t sw_clr_task_promised(void *clr, uint64_t box_avma);
bool sw_clr_task_pooled(void *clr, uint64_t box_avma, bool *ret_done);
bool sw_clr_task_awaits(void *clr, uint64_t box_avma);

#endif
