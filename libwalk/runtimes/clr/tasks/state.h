/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_STATE_H
#define SW_CLR_TASKS_STATE_H

#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/objects/chain.h"
#include "runtimes/clr/objects/graph.h"
#include "runtimes/clr/tasks/machines.h"

/* The state of async methods after the window: shared by the files of this folder. */
enum {
	SW_CLR_NOTE_REGS = 6,
	SW_CLR_TASK_NAME_BYTES = 40,
};

/* A frame of a method of AsyncStateMachineBox, or of another one. */
struct sw_clr_note {
	const struct sw_thread *thread;
	const struct sw_clr_code *code;
	uint64_t sp_avma, end_avma;
	uint64_t regs[SW_CLR_NOTE_REGS]; /* 0: not known */
};

struct sw_clr_task_entry {
	uint64_t box_avma;
	pid_t tid; /* of the thread that runs it; 0 */
};

/* The place in the program that a frame of a task stands for. */
struct sw_clr_task_spot {
	const struct sw_clr_machine *machine;
	int32_t state;
};

struct sw_clr_all_tasks {
	struct sw_clr_note *notes; /* owned */
	size_t n_notes, notes_capacity;
	size_t n_notes_kept; /* up to the last one that has a box; those behind it may be forgotten */
	bool notes_lost;
	bool prepared, readable; /* at and runtime were looked for, and found */
	const char *why;         /* static; with readable false */
	bool tried;
	size_t runtime;
	struct sw_clr_classes at;
	struct sw_clr_class_cache classes;
	struct sw_clr_chain chain;
	struct sw_clr_graph *graph; /* owned */
	struct sw_snapshot_memory source;
	struct sw_memory memory; /* what was copied, no more */
	struct sw_map64 machines, is_box_method, box_arguments, spot_of, runs, awaits;
	struct sw_clr_task_entry *entries; /* owned */
	size_t n, capacity;
	struct sw_clr_task_spot *spots; /* owned */
	size_t n_spots, spots_capacity;
	bool failed_nomem;
	char name[SW_CLR_TASK_NAME_BYTES]; /* of the last one shown */
};

#endif
