/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EXPLAIN_H
#define SW_EXPLAIN_H

#include "unwind/tables.h"

/* sw_explain() with other tables than the project's. deadline_ns: until then threads are walked, for what they
 * execute at the address. */
int sw_explain_with(const struct sw_snapshot *snap, const struct sw_tables *tables,
		    int64_t deadline_ns, uint64_t avma, char **ret_text, struct sw_error *err);

#endif
