/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_OWN_HANDLER_H
#define SW_PE_OWN_HANDLER_H

#include "pe/unwind.h"

/*
 * Whether the table says nothing of a function whose code does change the stack pointer: assembly may leave unwinding
 * to a handler of its own, which finds the caller's registers where only it knows (OpenSSL's "x86_64-xlate" assembly,
 * .byte 9,0,0,0 and the handler's RVA). function is resolved; pc_avma is in it.
 */
bool sw_pe_has_own_handler(struct sw_pe_env *env, const struct sw_pe_function *function,
			   uint64_t pc_avma);

#endif
