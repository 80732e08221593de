/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BEAM_WORLD_H
#define BEAM_WORLD_H

#include "fake.h"
#include "runtimes/beam/beam.h"

/* A small machine in one array: a list of two modules, one with two functions of chain:f1/1, f2/2,
 * each with two places in c.erl; and a table of four processes, which wait in f2, called by f1. */
enum {
	BEAM_WORLD = 0x200000, /* address of the array */
	BEAM_WORLD_BYTES = 0x4800,
	BEAM_ACTIVE = BEAM_WORLD + 0x10,
	BEAM_LISTS = BEAM_WORLD + 0x20,
	BEAM_PAIRS = BEAM_WORLD + 0x100,
	BEAM_MODULE = BEAM_WORLD + 0x1000, /* its header, then its code, up to BEAM_MODULE_END */
	BEAM_F1 = BEAM_MODULE + 0x100,     /* ErtsCodeInfo */
	BEAM_F2 = BEAM_MODULE + 0x200,
	BEAM_MODULE_END = BEAM_MODULE + 0x400,
	BEAM_ATOMS = BEAM_WORLD + 0x200, /* the table; its segment follows */
	BEAM_STACK = BEAM_WORLD + 0x2000,
	BEAM_LINES = BEAM_WORLD + 0x2800, /* the table; its lists follow */
	BEAM_ADDRESSES = BEAM_WORLD + 0x2880,
	BEAM_PLACES = BEAM_WORLD + 0x2900,
	BEAM_NAMES = BEAM_WORLD + 0x2940,
	BEAM_NAME = BEAM_WORLD + 0x2980,
	BEAM_TABLE = BEAM_WORLD + 0x3000, /* of processes: ErtsPTab */
	BEAM_SLOTS = BEAM_WORLD + 0x3100, /* its places */
	BEAM_N_SLOTS = 16,
	BEAM_N_PROCESSES = 4,
	BEAM_REGISTERED = BEAM_WORLD + 0x3180, /* RegProc of the first one: "f1" */
	BEAM_MFA = BEAM_WORLD + 0x31c0,        /* ErtsCodeMFA of chain:f2/2 */
	BEAM_PROCESSES = BEAM_WORLD + 0x3200,
	BEAM_PROCESS_STRIDE = 0x300,
	BEAM_SCHEDULERS = BEAM_WORLD + 0x3e00, /* the one of each kind, which runs none */
	BEAM_VARIABLES = BEAM_WORLD + 0x4100,  /* of each kind: its array, and how many there are */
	BEAM_STACKS = BEAM_WORLD + 0x4400,     /* of the processes */
	BEAM_STACK_STRIDE = 0x100,
	BEAM_STACK_WORDS = 5,
	BEAM_EXIT = 0x123400, /* where a process's first function returns to */
	BEAM_FS_BASE = 0x7000000,
};

struct beam_world {
	uint8_t data[BEAM_WORLD_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_place place;
	struct sw_map map; /* of the module's code */
	struct sw_snapshot_priv priv;
	struct sw_snapshot snap;
	struct sw_beam beam;
};

void beam_world_init(struct beam_world *w);
void beam_world_put(struct beam_world *w, uint64_t avma, const void *bytes, size_t n);
void beam_world_u64(struct beam_world *w, uint64_t avma, uint64_t value);
void beam_world_u32(struct beam_world *w, uint64_t avma, uint32_t value);

#endif
