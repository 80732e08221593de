/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_KNOWN_CODE_H
#define SW_PE_KNOWN_CODE_H

#include "pe/unwind.h"

/* Code of Wine's DLLs of which the function tables do not tell all, known by its bytes. Only for
 * exact pcs. */

/*
 * RtlCaptureContext() pushes the flags, and its entry does not say so (Wine 8.0,
 * dlls/ntdll/signal_x86_64.c): "pushf; movl $CONTEXT_..., 0x30(%rcx)" until "pop 0x44(%rcx)", which
 * are ContextFlags and EFlags of a CONTEXT. begin_avma is the function's.
 */
bool sw_pe_has_pushed_flags(struct sw_memory memory, uint64_t begin_avma, uint64_t pc_avma);

/*
 * The last instruction of switch_fiber() (Wine 8.0 and 10.0, dlls/kernelbase/thread.c): "mov
 * 0x98(%rdx),%rsp; jmp *0xf8(%rdx)", Rsp and Rip of the other fiber's CONTEXT. All registers are the
 * other fiber's already; its return address is not on its stack any more.
 */
bool sw_pe_is_fiber_jump(struct sw_memory memory, uint64_t pc_avma);
enum sw_pe_result sw_pe_fiber_jump_step(struct sw_pe_env *env, const struct sw_regs *regs,
					struct sw_regs *ret);

#endif
