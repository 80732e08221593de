/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_PINS_H
#define SW_DAEMON_STORE_PINS_H

#include "store/dumps.h"

/*
 * STATE/ID.pin: the dump of that id is not removed by any limit. In it is the number of the user who
 * wanted that; what cannot be read is root's. A file of its own, because it is made and removed in an
 * instant whatever the dump's size, and works for dumps of earlier versions.
 */

/*
 * Keep a dump whatever the limits say. All that are pinned have at most half of MaxUse= and MaxFiles=; of
 * what one user asked for, an eighth (rounded up to one file), unless limited is false. -SW_E_LIMIT;
 * -SW_E_NOT_FOUND; -SW_E_IO.
 */
int sw_store_pin(struct sw_store *store, const char *id, uid_t by, bool limited,
		 struct sw_error *err);
int sw_store_unpin(struct sw_store *store, const char *id, struct sw_error *err);
size_t sw_store_count_pinned(const struct sw_store *store);

/* The store's own: what is pinned of the dumps in the index. */
void sw_store_pins_read(struct sw_store *store);
/* The file only. False with errno; one that is not there is fine. */
bool sw_store_pin_remove(struct sw_store *store, const char *id);

#endif
