/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_FIFO_H
#define SW_WAITS_FIFO_H

#include "waits/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* FIFOs (named pipes): their links in /proc/PID/fd are paths, which differ from process to process. */

struct sw_fifo {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

/* The fdinfo of an open file. */
struct sw_fd_info {
	uint64_t mount, inode;
	unsigned flags; /* of open(2) */
};

bool sw_fd_info_parse(const char *text, struct sw_fd_info *ret);

/* Whether that descriptor of the process is a FIFO on a file system that nobody else answers for. The file
 * is not opened. False, too, when it cannot be known (before Linux 5.14). */
bool sw_fifo_of(int proc_fd, int64_t fd, struct sw_fifo *ret);

struct sw_fifo_ends {
	pid_t owner;     /* one that has it open so */
	size_t distinct; /* processes that do: 0, 1, or 2 for more */
	bool complete;   /* every process, and each of its files, could be looked at */
	bool cut;        /* not all were, for want of time */
};

/* The processes that have the FIFO open for writing, or for reading. link is the link in /proc of
 * such a descriptor. */
struct sw_fifo_ends sw_fifo_ends_find(const struct sw_fifo *fifo, const char *link, bool written,
				      const struct sw_budget *budget);

#endif
