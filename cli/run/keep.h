/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_KEEP_H
#define SW_CLI_KEEP_H

#include "common/options.h"

#include <sys/types.h>

/*
 * The snapshot as a directory, where options->keep says so: dump --keep, and record. A temporary directory is made before
 * privileges are given up, for which it may lie in anybody's. A child that looks into nothing keeps these privileges: it
 * gives the directory its name in the end, or removes it when we end without a word.
 *
 *	prepare (before the target is touched) -> begin (before privileges are given up) -> sw_keep() -> end
 *
 * Without begin, as nothing is given up, sw_keep() does it all.
 */
struct sw_keeper {
	char *temporary; /* owned; NULL: not begun */
	int fd;          /* owned: that directory; meaningless without it, as all below */
	int store_fd;    /* owned; < 0: none */
	pid_t placer;
	int placer_fd;          /* owned: it is told there */
	struct sw_error failed; /* code 0: it did not */
};

/* Before the process is touched: whether the directory can be a new one. An exit status; what is wrong was said. */
int sw_keep_check(const struct sw_options *options);
/* Makes the store of modules. A failure here is told by sw_keep(). */
void sw_keep_prepare(const struct sw_options *options);
/* Zero-initialised is not begun. A failure is told by sw_keep(): a dump is there all the same. */
void sw_keeper_begin(struct sw_keeper *keeper, const struct sw_options *options);
/* Remove a snapshot that was not kept by then. */
void sw_keeper_end(struct sw_keeper *keeper);

/* After all was walked and named, so that what was read of the running process for that is kept, too. 0 also when
 * nothing is to be kept; -SW_E_IO, -SW_E_NOMEM. */
int sw_keep(const struct sw_options *options, const struct sw_snapshot *snap, struct sw_error *err);
/* The same beside a dump, which is there all the same: complains by itself, SW_STATUS_COMPLETE or
 * SW_STATUS_MISSING. */
int sw_keep_beside(const struct sw_options *options, const struct sw_snapshot *snap);

#endif
