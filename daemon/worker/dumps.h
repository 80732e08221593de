/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_DUMPS_H
#define SW_DAEMON_WORKER_DUMPS_H

#include "worker/target.h"

/*
 * Dumps are made one after the other, of a process with native code, as long as that is the same:
 * at most a minute. The worker captures, keeps its capabilities and parses nothing; a parser that
 * it forks after the first capture walks, names and writes each, without any right, and knows from
 * dump to dump what it has found out. Whether the caller may capture the process is asked for each.
 *
 *	broker to worker	struct sw_worker_next; closing the stream is the end
 *	worker to broker	SW_WORKER_RESUMED, SW_WORKER_DUMP; after a failure it ends
 *	worker to parser	SW_PARSER_NEXT, when what sw_snapshot_pack() made is in memory that both have;
 *				not for the first, which it has from the beginning
 *	parser to worker	SW_WORKER_DUMP or SW_WORKER_FAILED
 *
 * Other processes get one dump, as from any worker. 0: the broker has the last one.
 */
int sw_worker_dumps_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err);

#endif
