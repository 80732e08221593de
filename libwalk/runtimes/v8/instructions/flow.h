/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_FLOW_H
#define SW_V8_FLOW_H

#include "bytes.h"

/* Where the return address of a function is, before one of its instructions is executed. */
enum sw_v8_place {
	SW_V8_PLACE_UNKNOWN,
	SW_V8_PLACE_STACK,    /* [sp + offset]; rbp is the caller's */
	SW_V8_PLACE_PUSHED,   /* the same, and the caller's rbp lies below it */
	SW_V8_PLACE_FRAME,    /* [rbp + 8], the caller's rbp at [rbp] */
	SW_V8_PLACE_REGISTER, /* reg: it was popped, to be pushed again */
	SW_V8_PLACE_COPYING,  /* [reg] while index, a register, is 0, or there is none; [sp] then */
};

struct sw_v8_state {
	enum sw_v8_place place;
	bool framed;        /* STACK, REGISTER: rbp was set up meanwhile, for the caller */
	uint8_t reg, index; /* DWARF numbers */
	uint8_t old_sp;     /* STACK: what has sp as it is where offset was 0; 0: nothing */
	int64_t offset;
};

enum { SW_V8_FLOW_BYTES = 64 << 10 };

struct sw_v8_function_code {
	struct sw_bytes code;
	bool prologue; /* it calls another one first, which sets up its frame */
	bool framed; /* what no way leads to is entered with its frame: catch blocks, tables of jumps */
	bool begins_framed;  /* it is jumped to in the frame of the code that does so */
	uint8_t entry_words; /* above the return address when it is entered */
	uint64_t entered;    /* where it is entered in the middle, with its frame; 0: nowhere */
};

/* Follows a function's instructions from its entries to the one at offset pc. State UNKNOWN when no way
 * was found. */
struct sw_v8_state sw_v8_flow(const struct sw_v8_function_code *function, uint64_t pc);

#endif
