/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_LINKS_H
#define SW_SAMPLE_LINKS_H

#include "iterate/read.h"

#include <snapwalk/walk.h>

/* Passes over one thread each: for a few they cost less than one over all. */

enum {
	SW_SAMPLE_LINKS = 64, /* threads for which the iterator is kept: those that moved last */
	SW_SAMPLE_ONE_BY_ONE = 32, /* so many passes cost less than one over a thousand threads */
};

struct sw_sample_links {
	int program_fd, all_fd; /* borrowed: SW_ITERATE_THREADS, and that limited to the process */
	struct sw_sample_link {
		pid_t tid;
		int fd; /* owned; -EBADF: none */
		uint64_t used;
	} all[SW_SAMPLE_LINKS];
	uint64_t clock; /* of their use */
};

void sw_sample_links_init(struct sw_sample_links *links, int program_fd, int all_fd);
void sw_sample_links_deinit(struct sw_sample_links *links);

/* The record of a thread; *ret_n 0: it is gone. 0; -SW_E_*. */
int sw_sample_link_read(struct sw_sample_links *links, pid_t tid, struct sw_iterate_record *record,
			size_t *ret_n, struct sw_error *err);

/* Reads the records of all threads. */
int sw_sample_links_read_all(struct sw_sample_links *links, struct sw_iterate_record *records,
			     size_t max, struct sw_iterate_pass *ret_pass, struct sw_error *err);

#endif
