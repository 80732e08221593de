/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CFI_EXPR_H
#define SW_CFI_EXPR_H

#include "arena.h"
#include "memory.h"
#include "text.h"

#include <elfutils/libdw.h>
#include <snapwalk/walk.h>

/*
 * DWARF expressions of call frame information: compiled once from libdw's operations, which belong
 * to libdw, into our own, and evaluated with limits. Source: DWARF 5, §2.5 and §6.4.2.
 */
enum {
	SW_CFI_EXPR_OPS_MAX = 512,    /* operations in one expression; real ones have about 10 */
	SW_CFI_EXPR_STEPS_MAX = 1024, /* operations executed: branches can go back */
	SW_CFI_EXPR_STACK_MAX = 64,
};

enum sw_cfi_result {
	SW_CFI_OK,
	SW_CFI_END,         /* the return address is undefined: the first frame */
	SW_CFI_BAD,         /* malformed, or over a limit */
	SW_CFI_UNKNOWN_REG, /* needs a register whose value was lost */
	SW_CFI_UNREADABLE,  /* memory at fault_avma could not be read */
};

/* The environment in which an expression and a rule are evaluated. */
struct sw_cfi_env {
	const struct sw_regs *regs; /* borrowed; of the frame to step out of */
	struct sw_memory memory;
	uint64_t bias; /* for DW_OP_addr */
	uint64_t cfa;  /* valid when has_cfa */
	bool has_cfa;
	uint64_t fault_avma; /* out: SW_CFI_UNREADABLE */
};

struct sw_cfi_op {
	uint8_t code; /* DW_OP_*, many forms made one */
	uint8_t reg;
	uint16_t target; /* branches: index of the next operation */
	uint64_t value;
};

struct sw_cfi_expr {
	bool is_32bit; /* the stack's values have 4 bytes */
	size_t n_ops;
	struct sw_cfi_op ops[];
};

/* From libdw's operations; memory from the arena. 0; -SW_E_FORMAT for what is unknown or makes no
 * sense in call frame information; -SW_E_LIMIT; -SW_E_NOMEM. */
int sw_cfi_expr_compile(const Dwarf_Op *ops, size_t n_ops, bool is_32bit, struct sw_arena *arena,
			const struct sw_cfi_expr **ret);

/* SW_CFI_OK and the top of the stack. */
enum sw_cfi_result sw_cfi_expr_eval(const struct sw_cfi_expr *expr, struct sw_cfi_env *env,
				    uint64_t *ret);

/* The expression in words: "rsp+8 rip 15 and 11 ge 3 shl plus". */
void sw_cfi_expr_print(const struct sw_cfi_expr *expr, struct sw_text *text);

#endif
