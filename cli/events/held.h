/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_H
#define SW_CLI_HELD_H

#include "events/event_run.h"

/*
 * Things that a process gets and gives up, added up by the stack that got them: rows, sums, and what the check in the end
 * has found. What the things are, and how they are paired, knows a struct sw_held_kind.
 */
struct sw_held;

struct sw_held_row {
	uint64_t acquired, released, unseen; /* unseen: given up, and nobody saw how */
	uint64_t not_joined;                 /* threads that have ended */
	uint64_t acquired_bytes;             /* of a kind with bytes, as the following */
	uint64_t first, last;                /* numbers of events */
	/* Figures of sw_held_finish(). */
	uint64_t outstanding, first_half, second_half;
	uint64_t outstanding_bytes;
	int64_t oldest_ns, median_ns; /* ages; -1: nothing is outstanding */
	uint32_t row;                 /* of the stacks; SW_RECORDER_NO_ROW: without a stack */
};

/*
 * A kind of things that are held. The order of the calls:
 *
 *	create	what was there before, read when events have begun already
 *	event	in the order in which they happened; as sw_event_run.event
 *	read	what is there in the end, read by sw_held_check() before events end. NULL: nothing is read
 *	list	when all events were read: each thing that is there is accounted for, or is a figure of its own
 *
 * create is called before the sandbox is entered, the others in it. All are given the struct sw_held that create made.
 */
struct sw_held_kind {
	const char *name; /* that of --of */
	const char *noun; /* of one thing */
	const char *
		file; /* below /proc/PID: what the end is compared with; NULL: the table of the kernel's program */
	const char *
		more_files; /* with which it is compared, too, as the sentence goes on; NULL: none */
	enum sw_event_what events; /* that are needed */
	const char *got, *there,
		*unseen; /* "opened" before; that many are "open"; "closed unseen" */
	bool has_bytes;  /* each has a size, and bytes matter more than how many there are */
	/* 0; -SW_E_NOMEM; -SW_E_IO. Free with destroy. */
	int (*create)(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err);
	void (*destroy)(struct sw_held *held);
	int (*event)(void *held, const struct sw_event *event, uint32_t row, struct sw_error *err);
	/* Reads the list of what is there now; held->n_there is how many. 0; -SW_E_NOMEM; -SW_E_*. */
	int (*read)(struct sw_held *held, struct sw_error *err);
	/* Compares, if held->check_ns says that there is a check, and tells sw_held_put() of each that is outstanding.
	 * 0; -SW_E_NOMEM. */
	int (*list)(struct sw_held *held);
};

struct sw_held {
	const struct sw_held_kind *kind; /* static */
	struct sw_event_run *run;        /* borrowed */
	struct sw_held_row *rows;        /* owned; the first one: without a stack */
	size_t n_rows, rows_max;
	struct sw_held_thing {
		uint32_t index; /* of rows */
		int64_t acquired_ns;
		uint64_t bytes;
	} * things; /* owned: what is outstanding in the end */
	size_t n_things, things_max;
	int64_t listed_ns;           /* when the list of what was there before was complete */
	int64_t check_ns;            /* when it was begun; 0: there is none */
	struct sw_error not_checked; /* why there is none, if the process has not ended */
	size_t n_there;              /* in the end, by the check */
	uint64_t acquired, released;
	uint64_t before_released; /* got before, given up meanwhile */
	uint64_t before;          /* still there */
	uint64_t unknown_origin;  /* there, and nobody saw how */
	uint64_t acquired_bytes, outstanding_bytes, before_bytes, unknown_bytes, unseen_bytes;
	uint64_t closed_unseen;
	uint64_t not_joined; /* of outstanding threads: they have ended */
	uint64_t
		joins_unknown; /* threads that have ended, and nobody knows whether they were joined */
	uint64_t without_stack; /* outstanding */
	uint64_t outstanding;
};

/* For kinds: *ret gets its first row. -SW_E_NOMEM. It can be deinitialised either way. */
int sw_held_init(struct sw_held *ret, const struct sw_held_kind *kind, struct sw_event_run *run);
void sw_held_deinit(struct sw_held *held);
/* The index of a row of the stacks. -SW_E_NOMEM. */
int sw_held_index(struct sw_held *held, uint32_t row, uint32_t *ret);
/* An event has got one for a row, or given one of it up. */
void sw_held_acquired(struct sw_held *held, uint32_t index, const struct sw_event *event);
void sw_held_released(struct sw_held *held, uint32_t index);
/* A thing of that row is outstanding in the end. -SW_E_NOMEM. */
int sw_held_put(struct sw_held *held, uint32_t index, int64_t acquired_ns, uint64_t bytes);

/* As sw_event_run.before_end, of a kind that reads what is there in the end. Why there is no list is in held->not_checked.
 * 0; -SW_E_NOMEM. */
int sw_held_check(void *held, struct sw_error *err);

/* The rows are sorted then: most outstanding first. -SW_E_NOMEM. */
int sw_held_finish(struct sw_held *held);

#endif
