/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_PENDING_H
#define SW_DAEMON_SHIP_PENDING_H

#include "ship/spool.h"

enum { SW_SHIP_PENDING_MAX = 1 << 16 };

/* A list of things that the daemon has and the spool has not yet, oldest first. Zero-initialised is empty. */
struct sw_ship_pending {
	struct sw_ship_wanted {
		struct sw_ship_id id;
		enum sw_ship_kind kind;
	} * items; /* owned; a ring */
	size_t first, n, capacity;
};

/* 0; -SW_E_LIMIT: there are too many; -SW_E_NOMEM. */
int sw_ship_pending_add(struct sw_ship_pending *pending, const char *id, enum sw_ship_kind kind);
/* Looks at an item; index is below n. Borrowed until the next call. */
const struct sw_ship_wanted *sw_ship_pending_at(const struct sw_ship_pending *pending,
						size_t index);
/* Takes one of the first few out; the others keep their order. */
void sw_ship_pending_drop(struct sw_ship_pending *pending, size_t index);
void sw_ship_pending_deinit(struct sw_ship_pending *pending);

#endif
