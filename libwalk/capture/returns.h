/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_RETURNS_H
#define SW_CAPTURE_RETURNS_H

#include "capture/take.h"

struct sw_iterate_return;

/*
 * While a tool probes the returns of functions (uretprobes), the kernel has replaced their return addresses by
 * that of a page of its own, [uprobes], and keeps them. It tells them by a pass of the task iterator in each
 * window: those of threads that are held then, or are proven not to have run, are what their stacks had. A
 * process without that page has none of this.
 */
struct sw_returns {
	uint64_t page_avma;
	int link_fd;                   /* owned: of the process */
	int fd;                        /* owned: of the next window; -EBADF: none */
	struct sw_iterate_return *all; /* the snapshot's arena's */
	size_t n, max;
	bool told; /* of this window: n is how many there are */
};

/* Loads the program for it, once: for those who will not be allowed to. */
void sw_returns_load(struct sw_context *ctx);

/* The kernel's page; NULL: nothing is probed in the process. */
const struct sw_map *sw_returns_page(const struct sw_snapshot *snap);

/* Called once the maps are known. Return addresses that the kernel does not tell are said to be
 * missing by the walk. */
void sw_returns_prepare(struct sw_take *take);
void sw_returns_deinit(struct sw_returns *returns);

/* Before each window, and after it, when the process runs again: the copies of those who are taken in it
 * get their addresses. returns: NULL: there are none. */
void sw_returns_begin(struct sw_returns *returns);
void sw_returns_put_back(struct sw_capture_space *space);

#endif
