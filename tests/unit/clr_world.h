/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_WORLD_H
#define CLR_WORLD_H

#include "runtimes/clr/code/clr.h"
#include "fake.h"

/*
 * The structures of a .NET runtime in fake memory, with the offsets of .NET 10.0:
 *
 *	WORLD_DATA	range section map, range sections, nibble map, code headers, a module
 *	WORLD_CODE	a code heap of 128 KiB
 *	WORLD_IMAGE	a ReadyToRun image in the next 128 KiB
 */
enum {
	WORLD_DATA_BYTES = 0x8000,
	WORLD_CODE_BYTES = 0x4000,
	WORLD_IMAGE_BYTES = 0x2000,
	/* in WORLD_DATA */
	WORLD_JIT_FRAGMENT = 0x3000,
	WORLD_JIT_SECTION = 0x3040,
	WORLD_R2R_FRAGMENT = 0x3100,
	WORLD_R2R_SECTION = 0x3140,
	WORLD_HEAP = 0x3200,
	WORLD_NIBBLES = 0x3300,
	WORLD_HEADERS = 0x4000,
	WORLD_MODULE = 0x5000,
	WORLD_INFO = 0x5400,
	WORLD_THUNKS = 0x5700,
	WORLD_BUCKETS = 0x5800,
	WORLD_HOT_COLD = 0x7000,
	/* in WORLD_IMAGE */
	WORLD_TABLE = 0x1000,
};

#define WORLD_DATA  UINT64_C(0x600000000000)
#define WORLD_CODE  UINT64_C(0x7e0000000000)
#define WORLD_IMAGE (WORLD_CODE + 0x20000)

struct clr_world {
	uint8_t data[WORLD_DATA_BYTES];
	uint8_t code[WORLD_CODE_BYTES];
	uint8_t image[WORLD_IMAGE_BYTES];
	size_t n_headers;
	struct fake_region regions[3];
	struct fake_memory fake;
	struct sw_clr_runtime runtime; /* usable */
};

/* An empty code heap and an empty image; nibble_version 1 or 2. */
void clr_world_init(struct clr_world *w, unsigned nibble_version);

struct sw_memory clr_world_memory(struct clr_world *w);

/* Little-endian values at an address of the world. */
void clr_world_u32(struct clr_world *w, uint64_t avma, uint32_t value);
void clr_world_u64(struct clr_world *w, uint64_t avma, uint64_t value);
void clr_world_bytes(struct clr_world *w, uint64_t avma, const void *bytes, size_t n);

/* A method in the code heap at [start, start + bytes), offsets; RVAs count from the heap's start. */
void clr_world_method(struct clr_world *w, uint32_t start, uint32_t bytes, uint64_t method_avma,
		      const struct sw_pe_function *functions, size_t n);
/* A stub of that kind. */
void clr_world_stub(struct clr_world *w, uint32_t start, uint32_t bytes, uint64_t kind);

/* Functions of the image, in order. */
void clr_world_image(struct clr_world *w, const struct sw_pe_function *functions, size_t n);
/* Make code at rva the beginning of a method. */
void clr_world_entry(struct clr_world *w, uint32_t rva, uint64_t method_avma);

#endif
