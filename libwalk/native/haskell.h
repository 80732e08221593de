/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HASKELL_H
#define SW_HASKELL_H

#include "cfi/find.h"
#include "unwind/unwinder.h"

/* Code that GHC compiled, which has no tables: the caller on the C stack, who runs Haskell; DECLINE: it is
 * none, or was called in another way. */
enum sw_step sw_haskell_step(struct sw_cursor *cursor, struct sw_stepped *ret);

/* The way into that code and out of it, at instructions of which the table that rule is from does not tell. */
bool sw_haskell_edge(const struct sw_cfi_rule *rule, const struct sw_cursor *cursor,
		     struct sw_stepped *ret);

#endif
