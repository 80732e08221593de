/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CFI_RULE_H
#define SW_CFI_RULE_H

#include "arch/arch.h"
#include "cfi/expr.h"

/*
 * A row of call frame information as a small rule: how to get from a frame's registers to its
 * caller's. Registers have the numbers of struct sw_regs, also those of i386, whose tables number
 * them differently. Compiled once per code address from what libdw found, then needs libdw no more.
 *
 *	CFA  = cfa_reg + cfa_offset | value of an expression
 *	reg  = lost, unless: in same_mask (unchanged) | one of regs[]
 *	sp   = CFA, unless in regs[]
 *	pc   = value of the return address column
 */
enum sw_cfi_how {
	SW_CFI_AT_CFA,     /* [CFA + offset] */
	SW_CFI_CFA_PLUS,   /* CFA + offset */
	SW_CFI_REGISTER,   /* the register with number offset */
	SW_CFI_EXPR,       /* [value of exprs[offset]] */
	SW_CFI_VALUE_EXPR, /* value of exprs[offset] */
};

struct sw_cfi_reg_rule {
	uint8_t reg;
	uint8_t how; /* enum sw_cfi_how */
	int32_t offset;
};

struct sw_cfi_rule {
	const struct sw_cfi_expr *cfa_expr; /* NULL: cfa_reg + cfa_offset */
	const struct sw_cfi_expr **exprs;   /* those of regs[] */
	uint64_t start_svma, end_svma;      /* [start, end) of the row; 0, 0: known code */
	uint32_t same_mask;
	int32_t cfa_offset;
	uint8_t cfa_reg;
	uint8_t n_regs;
	bool signal;                        /* the frame is a signal trampoline */
	bool ra_undefined;                  /* nothing called this: the first frame */
	bool is_32bit;                      /* of i386: all values have 4 bytes */
	bool for_debuggers;                 /* of .debug_frame, which may be right at calls alone */
	const struct sw_cfi_reg_rule *regs; /* n_regs of them */
};

/*
 * From the row that libdw found; memory comes from the arena. for_debuggers: of .debug_frame.
 * @return 0; -SW_E_NOT_FOUND when the row says nothing of the CFA (registered but empty, as
 *         LuaJIT's); -SW_E_FORMAT; -SW_E_LIMIT; -SW_E_NOMEM.
 */
int sw_cfi_rule_compile(Dwarf_Frame *frame, bool is_32bit, bool for_debuggers,
			struct sw_arena *arena, const struct sw_cfi_rule **ret);

/* The rule of a kernel signal frame, which needs no table; code is which. 0; -SW_E_NOMEM. */
int sw_cfi_rule_sigreturn(enum sw_known_code code, bool is_32bit, struct sw_arena *arena,
			  const struct sw_cfi_rule **ret);

/* SW_CFI_OK and the caller's registers. A register whose memory cannot be read is lost; when it is
 * the return address the result is SW_CFI_UNREADABLE. */
enum sw_cfi_result sw_cfi_rule_apply(const struct sw_cfi_rule *rule, struct sw_cfi_env *env,
				     struct sw_regs *ret);

/* In words, one line without its end: "CFA = rsp+16, rbp = [CFA-16], ra = [CFA-8]". */
void sw_cfi_rule_print(const struct sw_cfi_rule *rule, struct sw_text *text);

#endif
