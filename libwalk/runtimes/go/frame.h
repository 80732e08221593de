/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_FRAME_H
#define SW_GO_FRAME_H

#include "runtimes/go/go.h"
#include "unwind/unwinder.h"

/* The frame to step out of. */
struct sw_go_frame {
	struct sw_go *go;
	const struct sw_go_module *module;
	struct sw_cursor *cursor;
	struct sw_go_func func;
	const struct sw_go_thread *stacks;
	uint64_t delta; /* from sp to the return address, as the table says */
};

/* The caller to which a frame returns. */
struct sw_go_caller {
	uint64_t cfa_avma; /* the caller's sp; its return address is below */
	bool resumed;      /* pc_avma is where it goes on, and not the word below cfa_avma */
	uint64_t pc_avma;
	bool other_stack;
};

#endif
