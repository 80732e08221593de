/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_BORROWED_H
#define SW_SAMPLE_BORROWED_H

#include "snapshot/snapshot.h"

/*
 * A snapshot without threads whose process, maps, modules, and what hooks keep are another one's, which
 * must outlive it. It is of a process that runs on: nothing is read from that later.
 */

/* Destroyed only by sw_borrowed_destroy(). -SW_E_NOMEM. */
int sw_borrowed_create(const struct sw_snapshot *base, struct sw_snapshot **ret,
		       struct sw_error *err);

/* left_behind: a reader that was given up may write to the snapshot's memory, so that it is not freed. */
void sw_borrowed_destroy(struct sw_snapshot *snap, bool left_behind);

#endif
