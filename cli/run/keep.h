/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_KEEP_H
#define SW_CLI_KEEP_H

#include "common/options.h"

/*
 * The snapshot as a directory, where options->keep says so: dump --keep, and record.
 */

/* Before the target is touched and privileges are given up: makes the store of modules. What fails here
 * sw_keep() says. */
void sw_keep_prepare(const struct sw_options *options);

/* After all was walked and named, so that what was read of the running process for that is kept, too. 0 also when
 * nothing is to be kept; -SW_E_IO, -SW_E_NOMEM. */
int sw_keep(const struct sw_options *options, const struct sw_snapshot *snap, struct sw_error *err);
/* The same beside a dump, which is there all the same: complains by itself, SW_STATUS_COMPLETE or
 * SW_STATUS_MISSING. */
int sw_keep_beside(const struct sw_options *options, const struct sw_snapshot *snap);

#endif
