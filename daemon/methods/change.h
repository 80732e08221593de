/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_CHANGE_H
#define SW_DAEMON_METHODS_CHANGE_H

#include "rpc/call.h"
#include "store/dumps.h"

enum { SW_CHANGE_ID_MAX = 4096 }; /* longer ones are not even looked for */

/* A dump that the caller may delete and pin. NULL: refused, which frees the call. A dump that the
 * caller may not see is not there, as for Read. */
const struct sw_store_entry *sw_change_find(struct sw_call *call, const char *id);
/* Replies with what the store says of it: frees the call. */
void sw_change_reply(struct sw_call *call, const char *id, int r, const struct sw_error *err);

#endif
