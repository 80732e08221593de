/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_H
#define SW_PHP_H

#include "runtimes/php/chain.h"
#include "runtimes/php/copied.h"
#include "runtimes/php/engine.h"
#include "runtimes/php/find.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

/* The PHP of one snapshot. */
struct sw_php {
	const struct sw_snapshot *snap;   /* borrowed */
	struct sw_snapshot_memory source; /* what was copied; never the running process, which has
					      gone on: its frames and functions may be others */
	struct sw_memory memory;
	struct sw_php_found found;
	struct sw_php_engine engine; /* engine_known: it was looked for */
	bool engine_known;
	struct sw_php_chain chain;              /* of the thread that is being walked */
	bool by_copies;                         /* of sw_snapshot_priv */
	struct sw_snapshot_memory later_source; /* of later */
	struct sw_memory later;                 /* by_copies: with the running process */
	struct sw_php_copied copied;            /* by_copies: functions */
	bool asked;                             /* for requests */
	bool cut; /* a chain was longer than what is followed, or not readable */
};

#endif
