/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALKER_H
#define SW_WALKER_H

#include "arena.h"
#include "cleanup.h"
#include "unwinder.h"

struct sw_walks_priv {
	struct sw_arena arena;          /* frames, reasons */
	void *states[SW_UNWINDERS_MAX]; /* per unwinder, from attach; freed by its detach */
};

SW_DEFINE_CLEANUP(struct sw_walks *, sw_walks_destroy);

#endif
