/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_EPILOG_H
#define SW_PE_EPILOG_H

#include "pe/info.h"
#include "pe/rule.h"

/*
 * Whether the instruction at rva is in an epilogue, where the prologue is undone in part. True, and
 * the rule for it in *draft; false: it is not, *draft is as it was.
 *
 * Version 2 lists epilogues; version 1 says nothing of them, and the instructions are decoded. An
 * "add" or "lea" to rsp that begins an epilogue counts as body: nothing is undone before it, so what
 * the prologue's codes say holds there.
 */
bool sw_pe_epilog(struct sw_pe_env *env, const struct sw_pe_function *function,
		  const struct sw_pe_info *info, uint32_t rva, struct sw_pe_draft *draft);

#endif
