/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RULE_STEP_H
#define SW_RULE_STEP_H

#include "cfi/rule.h"
#include "pe/unwind.h"
#include "unwind/unwinder.h"

/* The walker's steps for results of following a rule: the same for ELF files and generated code,
 * for PE images and tables that a program registers. */

/* Applies a rule to the cursor's registers; bias is that of its module, 0 for none. */
enum sw_step sw_step_by_cfi(const struct sw_cfi_rule *rule, uint64_t bias, struct sw_cursor *cursor,
			    struct sw_stepped *ret);

/* After sw_pe_step() and its like, which have put the caller's registers into ret->regs. */
enum sw_step sw_step_of_pe(enum sw_pe_result result, const struct sw_pe_env *env,
			   const struct sw_cursor *cursor, struct sw_stepped *ret);

/* After a step from code without an entry, taken for a leaf. Assembly that pushes something and has no
 * entry is none: what it has at rsp is no return address, of which this fails. */
enum sw_step sw_step_leaf_check(const struct sw_cursor *cursor, struct sw_stepped *ret);

#endif
