/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_NAMED_H
#define CLR_NAMED_H

#include "clr_make.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/published/name_layout.h"
#include "fake.h"

/*
 * The types and methods of a .NET runtime, in fake memory, with the offsets of .NET 10.0: a module
 * with the metadata of clr_make.h, types of all kinds, and one MethodDesc.
 */
enum {
	/* offsets in NAMED_DATA */
	NAMED_MODULE = 0x100,
	NAMED_MODULE_BARE = 0x600, /* neither image nor metadata */
	NAMED_PATH = 0xb00,
	NAMED_ASSEMBLY = 0xc00,
	NAMED_IMAGE = 0xd00,
	NAMED_LAYOUT = 0xe00,
	NAMED_OUTER = 0x1000, /* MethodTables */
	NAMED_INT = 0x1100,
	NAMED_INNER = 0x1200,  /* Inner`1<int> */
	NAMED_VECTOR = 0x1300, /* int[] */
	NAMED_MATRIX = 0x1400, /* int[,] */
	NAMED_LOOP = 0x1500,   /* an Inner`1 of itself */
	NAMED_BARE = 0x1600,
	NAMED_DICTS = 0x1800,
	NAMED_CLASS = 0x1a00,
	NAMED_REF = 0x1b00, /* TypeDescs */
	NAMED_VAR = 0x1b80,
	NAMED_ARGUMENTS = 0x1c00,
	NAMED_NAME = 0x1d00,
	NAMED_CHUNK = 0x2000,
	NAMED_DATA_BYTES = 0x4000,
	NAMED_CHUNK_BYTES = 24,
};

#define NAMED_DATA UINT64_C(0x7f0000000000)
#define NAMED_FILE UINT64_C(0x7f1000000000)

extern const char clr_named_descriptor[];

struct clr_named {
	uint8_t data[NAMED_DATA_BYTES], image[CLR_MAKE_IMAGE_BYTES];
	struct fake_region regions[2];
	struct fake_memory fake;
	struct sw_arena arena;
	struct sw_clr_names *names;
	struct sw_clr_name_layout at;
	struct sw_clr_contract contract;
};

struct clr_named *clr_named_create(void);
void clr_named_destroy(struct clr_named *w);

/* A little-endian value at an offset of NAMED_DATA. */
void clr_named_put(struct clr_named *w, size_t at, uint64_t value, size_t bytes);

/* A MethodDesc, the third of its chunk. */
uint64_t clr_named_method(struct clr_named *w, uint64_t table_avma, unsigned class, uint32_t rid);

#endif
