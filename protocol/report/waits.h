/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_WAITS_H
#define SW_REPORT_WAITS_H

#include "report/builder.h"

/* Fill in the waits of all threads. Needs threads and stacks, and names for futexes. */
void sw_report_build_waits(struct sw_report_builder *builder);

/* Decides what a thread's futex is, by the functions that are on its stack now. */
void sw_report_decide_futex(struct sw_report_builder *builder, struct sw_report_thread *thread,
			    const struct sw_report_futex *futex);

/* When a thread waited for what blocked_on says. */
struct sw_wait_proof {
	bool proven; /* else it may have changed meanwhile, or will end after some time */
	bool stayed; /* as in struct sw_thread */
	uint32_t
		instant; /* likewise: when it was read who the owner is; 0: at another one, or unknown */
};

/* Deadlocks and root holders, from blocked_on and peers. proofs: of each thread; NULL: of the deadlocks that the report has, those
 * stay that are still some. */
void sw_report_build_wait_graph(struct sw_report_builder *builder,
				const struct sw_wait_proof *proofs);

#endif
