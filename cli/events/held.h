/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_H
#define SW_CLI_HELD_H

#include "events/event_run.h"

/*
 * Descriptors that a process gets and gives up, paired by number and file, and added up by the stack that got them.
 *
 *	begin	what was open before, read when events have begun already
 *	event	in the order in which they happened
 *	check	what is open in the end, read before events end
 *	finish	when all events were read: each open descriptor is accounted for, or is a figure of its own
 */
enum { SW_HELD_FDS_MAX = 1 << 20 };

struct sw_held_row {
	uint64_t acquired, released, unseen; /* unseen: closed, and nobody saw how */
	uint64_t first, last;                /* numbers of events */
	/* Of sw_held_finish(). */
	uint64_t outstanding, first_half, second_half;
	int64_t oldest_ns, median_ns; /* ages; -1: none is outstanding */
	uint32_t row;                 /* of the stacks; SW_RECORDER_NO_ROW: without a stack */
};

enum sw_held_state { SW_HELD_NOT, SW_HELD_BEFORE, SW_HELD_ACQUIRED };

struct sw_held {
	struct sw_event_run *run; /* borrowed */
	struct sw_held_slot {
		enum sw_held_state state;
		uint32_t row; /* index of rows */
		uint64_t inode, file;
		int64_t acquired_ns, changed_ns; /* CLOCK_MONOTONIC */
	} * slots;                               /* owned; by number of the descriptor */
	size_t n_slots, slots_max;
	struct sw_held_row *rows; /* owned; the first one: without a stack */
	size_t n_rows, rows_max;
	int64_t listed_ns; /* when the list of what was open before was complete */
	struct sw_held_open {
		uint32_t fd;
	} * open; /* owned: the list of the end */
	size_t n_open, open_max;
	int64_t check_ns;            /* when it was begun; 0: there is none */
	struct sw_error not_checked; /* why there is none, if the process has not ended */
	uint64_t acquired, released;
	uint64_t before_released; /* opened before, closed meanwhile */
	uint64_t before;          /* still open */
	uint64_t unknown_origin;  /* open, and nobody saw how */
	uint64_t closed_unseen;
	uint64_t without_stack; /* outstanding */
	uint64_t outstanding;
};

/* 0; -SW_E_NOMEM; -SW_E_IO. It can be deinitialised either way. run: with an fd_directory. */
int sw_held_begin(struct sw_held *held, struct sw_event_run *run, struct sw_error *err);
void sw_held_deinit(struct sw_held *held);

/* As sw_event_run.event and before_end, of a struct sw_held. */
int sw_held_event(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err);
int sw_held_check(void *arg, struct sw_error *err);

/* The rows are sorted then: most outstanding first. -SW_E_NOMEM. */
int sw_held_finish(struct sw_held *held);

#endif
