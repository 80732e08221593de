/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_STACKS_H
#define SW_CLI_EVENT_STACKS_H

#include "series/tally.h"

#include <snapwalk/recorder.h>

/* The distinct stacks of events, whatever thread they are of. Zero-initialised is a valid empty one. */
struct sw_event_stacks {
	struct sw_tally
		labels; /* the whole of each stack in one line: what they are told apart by */
	struct sw_event_stack {
		const char *label; /* the arena's, as the following */
		const char *json;  /* {"id": ..., "frames": [...]}; NULL: not asked for */
		size_t json_size;
		const char *
			own; /* the first frame of the program's own, or the outermost one; "": there is no frame */
		bool incomplete; /* the walk did not come to the end */
	} * stacks;              /* owned; by row of labels */
	size_t n, capacity;
	struct sw_arena arena;
	bool with_json;
	bool by_function; /* the first frame is that of a function which was asked for */
};

void sw_event_stacks_deinit(struct sw_event_stacks *stacks);

/*
 * The stack of a thread of a report.
 * @param call     The system call that it makes, which is the first word of the label in place of the frames of the C
 *                 library that make it; NULL: none.
 * @param ret_row  SW_TALLY_NO_ROW: there is no space for it.
 * @return 0; -SW_E_NOMEM.
 */
int sw_event_stacks_add(struct sw_event_stacks *stacks, const struct sw_report *report,
			size_t thread, const char *call, uint32_t *ret_row, struct sw_error *err);

/* Appends so many frames of a label; 0: all. */
void sw_event_label(const char *label, size_t n_frames, struct sw_text *ret);

#endif
