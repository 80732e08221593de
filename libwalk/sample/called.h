/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CALLED_H
#define SW_SAMPLE_CALLED_H

#include "copies/copies.h"

#include <snapwalk/event.h>

/* Events at system calls, for the kernel's program and from it. */

/* Which calls are meant, by the kind of code that makes them. 0; -SW_E_INVALID: it has no such call. */
int sw_called_prepare(const struct sw_event_options *options, bool is_32bit,
		      struct sw_called_setup *ret, enum sw_iterate_calls *ret_calls,
		      struct sw_error *err);

/* Reads the event of a copy. False: the record says nothing of it. *ret points into the copy. */
bool sw_called_read(const struct sw_copy *copy, struct sw_event *ret);

/* Puts the return addresses that the kernel has replaced back into a copied stack, [stack_avma, stack_avma + bytes). How
 * many; those outside of it are left. */
size_t sw_called_put_back(const struct sw_copy *copy, uint64_t stack_avma, uint8_t *stack,
			  size_t bytes);

#endif
