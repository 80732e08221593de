/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_SUBSCRIBE_H
#define SW_DAEMON_METHODS_SUBSCRIBE_H

#include "jobs/dump.h"
#include "jobs/found.h"

/* Tells subscribers that may see it: dump, or the failure in words. */
void sw_subscribers_tell(struct sw_broker *broker, uid_t owner, const struct sw_dump *dump,
			 const char *failure);

#endif
