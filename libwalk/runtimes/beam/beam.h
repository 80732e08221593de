/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_H
#define SW_BEAM_H

#include "memory.h"
#include "runtimes/beam/find.h"
#include "runtimes/beam/processes.h"
#include "runtimes/beam/schedulers.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

struct sw_beam_all_processes;
struct sw_beam_window;

/* The Erlang machine of one snapshot. */
struct sw_beam {
	const struct sw_snapshot *snap; /* borrowed */
	/* The copied memory; never the running process, which has gone on: code may be another by
	 * now. */
	struct sw_snapshot_memory source;
	struct sw_memory memory;
	/* The running process, too: for atoms, which stay what and where they are. */
	struct sw_snapshot_memory live_source;
	struct sw_memory live;
	struct sw_beam_found found;
	struct sw_beam_ids ids;
	uint64_t exit_avma;                  /* where a process's first function returns */
	uint64_t main_avma;                  /* process_main() as the JIT made it; 0: not found */
	const struct sw_thread *thread;      /* whose scheduler was looked for last */
	struct sw_beam_scheduler scheduler;  /* of it; not known: it has none */
	const struct sw_beam_window *window; /* borrowed; NULL: nothing was copied in one */
	struct sw_beam_all_processes *processes; /* owned; NULL: they were not asked for */
};

#endif
