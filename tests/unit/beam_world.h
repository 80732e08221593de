/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BEAM_WORLD_H
#define BEAM_WORLD_H

#include "fake.h"
#include "runtimes/beam/beam.h"

/* A small machine in one array: a list of two modules, one with two functions of chain:f1/1, f2/2,
 * each with two places in c.erl. */
enum {
	BEAM_WORLD = 0x200000, /* address of the array */
	BEAM_WORLD_BYTES = 0x3000,
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

#endif
