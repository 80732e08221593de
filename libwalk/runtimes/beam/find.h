/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_FIND_H
#define SW_BEAM_FIND_H

#include "runtimes/beam/layout.h"

#include <snapwalk/walk.h>
#include <stdbool.h>

/* The kinds of schedulers, each with its array. */
enum sw_beam_kind { SW_BEAM_NORMAL, SW_BEAM_DIRTY_CPU, SW_BEAM_DIRTY_IO, SW_BEAM_KINDS };

/* Where the machine is in a process, and where its variables are. */
struct sw_beam_found {
	struct sw_place *place;              /* the snapshot's */
	const struct sw_beam_layout *layout; /* NULL: it cannot be read */
	const char *missing; /* what is not there then; static. NULL: the version is not known */
	bool interprets;     /* it is the one without JIT, which is not read */
	char release[8], erts[16];
	uint64_t schedulers_svma[SW_BEAM_KINDS], counts_svma[SW_BEAM_KINDS];
	uint64_t ranges_svma;       /* three lists of the code that is loaded */
	uint64_t active_svma;       /* u32: which of them is used */
	uint64_t exit_svma;         /* of the pointer to where a process's first function returns */
	uint64_t process_main_svma; /* what a scheduler's thread calls */
	uint64_t atoms_svma;
	uint64_t processes_svma; /* the table of processes; 0: not known */
};

/* Whether a file is the machine by its name: that with the JIT, or one of its other flavours. */
bool sw_beam_file_probe(const char *path);

/* Whether a module is. A look-up, no more. */
bool sw_beam_probe(const struct sw_snapshot *snap);

/* False: it is not there. Parses symbols of the module. */
bool sw_beam_find(const struct sw_snapshot *snap, struct sw_beam_found *ret);

/* Whether it may be code that the machine made: executable memory of no module. */
bool sw_beam_is_code(const struct sw_snapshot *snap, uint64_t avma);

#endif
