/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_OPERANDS_H
#define SW_EVENTS_OPERANDS_H

#include "copies/record.h"

#include <snapwalk/event.h>

/* Arguments of probes that a program declares, as GNU assembler writes operands: "8@%rdi -4@-20(%rbp) 4@$5". */

/* At most max of them; how many. What is not understood is SW_EVENT_OPERAND_UNKNOWN. */
size_t sw_operands_parse(const char *text, struct sw_event_operand *ret, size_t max);

/* The value at an event; false: it is not known. */
bool sw_operand_value(const struct sw_event_operand *operand, const struct sw_copy *copy,
		      uint64_t *ret);

#endif
