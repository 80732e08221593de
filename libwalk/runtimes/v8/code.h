/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_CODE_H
#define SW_V8_CODE_H

#include "runtimes/v8/objects/object.h"

enum sw_v8_kind { SW_V8_OTHER_CODE, SW_V8_BASELINE, SW_V8_MAGLEV, SW_V8_TURBOFAN };

enum {
	SW_V8_CODE_MAX = 512 << 10, /* bytes of one part of code */
	SW_V8_INLINED_MAX = 64,     /* levels at one place */
	SW_V8_POSITIONS_MAX = 1024, /* inlined calls in one part of code */
};

/* A Code object: what a compiler has made, with its instructions. */
struct sw_v8_code {
	uint64_t object;
	uint64_t start_avma, end_avma; /* of instructions */
	enum sw_v8_kind kind;
	bool is_regexp; /* OTHER_CODE: of a regular expression */
};

/* The code that has instructions at pc, a return address behind its last one included, and begins
 * at most so many bytes before it. */
bool sw_v8_code_find_near(struct sw_v8_heap heap, uint64_t pc, uint64_t bytes_max,
			  struct sw_v8_code *ret);

static inline bool sw_v8_code_find(struct sw_v8_heap heap, uint64_t pc, struct sw_v8_code *ret)
{
	return sw_v8_code_find_near(heap, pc, SW_V8_CODE_MAX, ret);
}

/* The function that MAGLEV and TURBOFAN code was compiled for. */
bool sw_v8_code_shared(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t *ret);

/* The offset at which it is entered in the middle of a loop, with the frame that is there; 0: it is entered
 * at its begin. */
uint64_t sw_v8_code_entered(struct sw_v8_heap heap, const struct sw_v8_code *code);

/* The number of the compilation that MAGLEV and TURBOFAN code is of, which is given once; 0: it has none. */
uint64_t sw_v8_code_number(struct sw_v8_heap heap, const struct sw_v8_code *code);

/* A function of those that a place of compiled code executes. */
struct sw_v8_level {
	uint64_t shared;
	int32_t position; /* in its source, see sw_v8_level_position(); -1: unknown */
};

/*
 * The functions that the call which returns to pc executes, innermost first. 0: they are not known,
 * and the code may have other functions in it.
 */
size_t sw_v8_code_levels(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc,
			 struct sw_v8_level ret[SW_V8_INLINED_MAX]);

/* The position of a level, if that is the position of a call; -1: it is not, or it is not known. */
int32_t sw_v8_level_position(struct sw_v8_heap heap, const struct sw_v8_code *code,
			     const struct sw_v8_level *level);

/* Whether other functions were compiled into it; true when that cannot be known. */
bool sw_v8_code_has_inlined(struct sw_v8_heap heap, const struct sw_v8_code *code);

/* Whether others were compiled into MAGLEV or TURBOFAN code, and nothing says which of them the call that returns to pc
 * is of. */
bool sw_v8_code_is_uncertain(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc);

/* The callbacks for the objects that code leads to, each as often as it does. */
struct sw_v8_code_visitor {
	void (*function)(void *arg, uint64_t shared); /* compiled into it */
	/* The bytecodes of an array and their positions say what the code executes. */
	void (*bytecode)(void *arg, uint64_t bytecode);
	void *arg;
};

/* Reads all of the code itself that sw_v8_code_levels() and sw_v8_baseline_offset() may need, for memory that
 * keeps what was read; tells what else they need. */
void sw_v8_code_touch(struct sw_v8_heap heap, const struct sw_v8_code *code,
		      const struct sw_v8_code_visitor *visitor);

/*
 * The bytecode that BASELINE code with a return address at pc executes, by sizes of bytecodes, for three
 * scales of operands; -1: it is not known. *ret_bytecode is the array that it is in.
 */
int32_t sw_v8_baseline_offset(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc,
			      struct sw_bytes sizes, uint64_t *ret_bytecode);

/* The position in the source of a bytecode; -1 when it is not known. */
int32_t sw_v8_bytecode_position(struct sw_v8_heap heap, uint64_t bytecode, int32_t offset);

#endif
