/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_INSN_H
#define SW_V8_INSN_H

#include "bytes.h"

/*
 * How long an instruction is, and what it does to rsp, rbp and the flow: enough to follow a function
 * from its entry and to know at each instruction where its return address is. arch/insn.h does not say
 * which register is pushed, nor tells a jump through a register from a trap: V8's builtins need both.
 * Source: Intel SDM volume 2 (2023), chapter 2 and appendix A (opcode maps).
 */
enum sw_v8_insn_kind {
	SW_V8_INSN_OTHER, /* leaves rsp and rbp alone */
	SW_V8_INSN_PUSH,  /* reg: which one; SW_V8_INSN_NO_REG: memory or a constant */
	SW_V8_INSN_POP,
	SW_V8_INSN_FRAME,    /* mov %rsp, %rbp */
	SW_V8_INSN_UNFRAME,  /* mov %rbp, %rsp */
	SW_V8_INSN_LEAVE,    /* both: mov %rbp, %rsp; pop %rbp */
	SW_V8_INSN_ADD_SP,   /* value is added to rsp */
	SW_V8_INSN_SET_SP,   /* rsp becomes something else */
	SW_V8_INSN_SET_FP,   /* rbp becomes something else */
	SW_V8_INSN_JUMP,     /* to value, from the begin of the instruction on */
	SW_V8_INSN_BRANCH,   /* there, or on */
	SW_V8_INSN_JUMP_FAR, /* nobody knows where: through a register or memory */
	SW_V8_INSN_CALL,     /* to value */
	SW_V8_INSN_CALL_FAR, /* through a register or memory */
	SW_V8_INSN_RETURN,
	SW_V8_INSN_TRAP, /* nothing goes on behind it */
};

enum { SW_V8_INSN_NO_REG = 0xff, SW_V8_INSN_MAX = 15 };

struct sw_v8_insn {
	enum sw_v8_insn_kind kind;
	uint8_t length;
	uint8_t reg; /* in the numbers of instructions: rsp is 4, rbp 5 */
	int64_t value;
};

/* The instruction at the begin of code. False when it is none, or not whole. */
bool sw_v8_insn_decode(struct sw_bytes code, struct sw_v8_insn *ret);

#endif
