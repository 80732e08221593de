/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_LANDING_PAD_H
#define SW_LANDING_PAD_H

#include "cfi/find.h"
#include "unwind/unwinder.h"

/* Whether the rule may be that of a function of libgcc which goes on in the handler of an exception. exact_pc: it is of the
 * next instruction, and not of a return address. */
bool sw_may_lead_to_handler(const struct sw_cfi_rule *rule, bool exact_pc);

/*
 * Out of such a function, when it has begun to put the handler's registers into the places that its table
 * names for its caller's: to where the handler begins. rule is that of the cursor's frame.
 * @return OK; DECLINE, also when anything is not as it must be.
 */
enum sw_step sw_handler_step(struct sw_elf_cfi *cfi, const struct sw_cfi_rule *rule,
			     const struct sw_cursor *cursor, struct sw_stepped *ret);

#endif
