/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MERGE_NEWEST_H
#define SW_MERGE_NEWEST_H

#include "merge/tables.h"

/* Several dumps of one process: the newest one counts, and each other one is noted. */

/*
 * Notes that a process was added from a report, and finds the one that was added before from another dump of the same
 * process: *ret; SW_MERGE_NONE: there is none. Processes are the same by host, process id and start time; a process whose
 * dump lacks the host or the start time is a process of its own. process: the index that a new one will have. -SW_E_NOMEM.
 */
int sw_merge_same_find(struct sw_merge *m, const struct sw_report *report, uint32_t process,
		       uint32_t *ret);

/* Notes that a dump does not count, as the process has a newer one. -SW_E_NOMEM. */
int sw_merge_older_add(struct sw_merge *m, const char *name, uint32_t process);

/* Takes the threads of a process out of all places, as if it had not been added; it keeps its index. */
void sw_merge_process_clear(struct sw_merge *m, uint32_t process);

#endif
