/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_DYNAMIC_H
#define SW_CLR_DYNAMIC_H

#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"

/*
 * By copies: code that may be freed (dynamic methods, assemblies that can be unloaded) and made anew at the same address while
 * the process goes on. It is named where the same method was known there before the copy was made, and is there still; else
 * the frame has no name, and is marked.
 */

/* There is another copy. */
void sw_clr_dynamic_renew(struct sw_clr *clr);

/* Whether the code at the cursor is such code, and *ret_cookie: which method it is, 0 if that is not proven. */
bool sw_clr_dynamic_find(struct sw_clr *clr, const struct sw_cursor *cursor,
			 const struct sw_clr_code *code, uint64_t *ret_cookie);

/* The name of a method by its cookie; NULL: it is not proven. */
const char *sw_clr_dynamic_name(const struct sw_clr *clr, uint64_t cookie);

#endif
