/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_INSN_H
#define SW_ARCH_INSN_H

#include "memory.h"

#include <stdbool.h>
#include <stdint.h>

enum { SW_INSN_BYTES_MAX = 15, SW_INSN_NO_REG = 0xff };

/* The effect of an instruction on the stack and on the flow of control; any other instruction is
 * PLAIN. */
enum sw_insn_op {
	SW_INSN_PLAIN,
	SW_INSN_JUMP,     /* to target */
	SW_INSN_BRANCH,   /* to target, or on */
	SW_INSN_CALL,     /* to target when it is direct (target_known), and on when that returns */
	SW_INSN_RETURN,   /* RET: and value bytes more are taken from the stack */
	SW_INSN_JUMP_FAR, /* through a register or memory */
	SW_INSN_STOP,     /* HLT, UD2, INT3 */
	SW_INSN_PUSH,     /* one word, of reg */
	SW_INSN_POP,      /* one word, into reg */
	SW_INSN_SP_ADD,   /* sp += value */
	SW_INSN_SP_AND,   /* sp &= value */
	SW_INSN_SP_FROM_FP, /* sp = fp + value */
	SW_INSN_FP_FROM_SP, /* fp = sp + value */
	SW_INSN_LEAVE,      /* sp = fp, pop fp */
	SW_INSN_LOAD_SP,    /* reg = [sp + value] */
	SW_INSN_LOAD_FP,    /* reg = [fp + value] */
	SW_INSN_SP_FROM_REG, /* sp = reg + value: main() for i386 aligns its stack so; assembly ends so */
	SW_INSN_SP_LOST, /* sp = something else */
};

struct sw_insn {
	enum sw_insn_op op;
	uint8_t length; /* in bytes */
	/* DWARF number of what PUSH reads and of what POP, LOAD_* and MOV (PLAIN) write, else
	 * SW_INSN_NO_REG. */
	uint8_t reg;
	bool target_known;
	bool of_stack; /* PUSH: of the word value bytes above sp, as that was before */
	int64_t value;
	uint64_t target; /* address */
};

/* The bytes of an instruction: fewer at the end of what can be read. How many; 0: none. */
static inline size_t sw_insn_read(struct sw_memory memory, uint64_t avma,
				  uint8_t code[SW_INSN_BYTES_MAX])
{
	size_t n = SW_INSN_BYTES_MAX;
	while (n > 0 && !sw_memory_read(memory, avma, code, n))
		n--;
	return n;
}

/*
 * Decodes the instruction at avma, of which n bytes are in code. False: not an instruction of that mode,
 * not one that we know, or it does not end within n bytes.
 */
bool sw_arch_insn(bool is_32bit, const uint8_t *code, size_t n, uint64_t avma, struct sw_insn *ret);

/* Instructions of which all that they do to general registers and memory is known. */
enum sw_move_op {
	SW_MOVE_NOTHING, /* to them */
	SW_MOVE_FORGET,  /* to = something */
	SW_MOVE_COPY,    /* to = from + value */
	SW_MOVE_LOAD,    /* to = [from + value] */
	SW_MOVE_STORE,   /* [to + value] = from */
	SW_MOVE_CLOBBER, /* [to + value] = something, of stored bytes */
	SW_MOVE_PUSH,    /* of from */
	SW_MOVE_POP,     /* into to */
	SW_MOVE_JUMP,    /* to the address in from */
	SW_MOVE_RETURN,
};

struct sw_move {
	enum sw_move_op op;
	uint8_t length;   /* in bytes */
	uint8_t stored;   /* likewise: at most; of SW_MOVE_CLOBBER only */
	uint8_t to, from; /* DWARF numbers */
	int64_t value;
};

/* As sw_arch_insn(). False: also when it is another instruction. */
bool sw_arch_move(const uint8_t *code, size_t n, uint64_t avma, struct sw_move *ret);

#endif
