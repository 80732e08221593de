/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SPLIT_H
#define SW_CLI_SPLIT_H

#include "run/deliver.h"

enum { SW_SPLIT_SUBJECTS = 24 }; /* of one part: as many as a child may read together */

/*
 * Dumps the subjects [first, end) into delivery.
 * @return SW_STATUS_*.
 */
struct sw_split_work {
	int (*dump)(void *arg, struct sw_delivery *delivery, size_t first, size_t end);
	void *arg;
	void (*progress)(size_t done, size_t all); /* NULL: none is shown */
};

/* Whether n subjects are worth several processes, and what is written of one does not depend on those before it. */
bool sw_split_is_worth_it(const struct sw_delivery *delivery, size_t n);

/*
 * Dumps n subjects by one process for each CPU, which take turns, so many subjects at a time. They
 * have our privileges and parse nothing. Results are written in the order of the subjects, as they
 * come. Subjects of a process that cannot be started, or that is killed, are dumped by us. @return
 * SW_STATUS_*; errors were printed.
 */
int sw_split(struct sw_delivery *delivery, size_t n, const struct sw_split_work *work);

#endif
