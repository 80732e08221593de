/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_SPACE_H
#define SW_DAEMON_STORE_SPACE_H

#include "store/directory.h"

/* next: the dump that space is made for, with its size; NULL: none. The user who has most gives it. */

/*
 * KeepFree=: old dumps go when that helps. When all of them together would not make the space,
 * somebody else has filled the disk; throwing dumps away would lose them for nothing.
 * -SW_E_LIMIT: there would be less than KeepFree=; -SW_E_IO: a file cannot be removed.
 */
int sw_store_make_free(struct sw_store *store, uint64_t more, const struct sw_store_entry *next);

/* MaxUse= and MaxFiles=, with space for what is to come. -SW_E_IO as above. */
int sw_store_make_space(struct sw_store *store, uint64_t more_bytes, size_t more_files,
			const struct sw_store_entry *next);

/* Drops what is too old or too much now; the others do it too: open, reconfigure, put. */
void sw_store_vacuum(struct sw_store *store, int64_t now_ns); /* CLOCK_REALTIME */

#endif
