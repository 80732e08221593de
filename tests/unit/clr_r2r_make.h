/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_R2R_MAKE_H
#define CLR_R2R_MAKE_H

#include "clr_make.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/code/entry_points.h"
#include "fake.h"

/*
 * A ReadyToRun image around the metadata of clr_make.h, in fake memory: RVA 0x1000 has the CLI header
 * and metadata, 0x1800 the ReadyToRun header, 0x1900 the functions, 0x1a00 the entry points.
 */
enum {
	R2R_CLI = 0x1008,
	R2R_HEADER = 0x1800,
	R2R_FUNCTIONS = 0x1900,
	R2R_ENTRIES = 0x1a00,
	R2R_INSTANCES = 0x1c00, /* CLR_MAKE_IMAGE_BYTES is where the image ends */
	R2R_INSTANCES_MAX = 0x400,
};

#define R2R_BASE UINT64_C(0x7e0000000000)

struct clr_r2r {
	uint8_t image[CLR_MAKE_IMAGE_BYTES];
	uint32_t n_sections;
	struct fake_region region;
	struct fake_memory fake;
	struct sw_arena arena;
	struct sw_clr_names *names;
	struct sw_clr_runtime runtime; /* without a description of its images */
	struct sw_clr_start start;     /* of the last name */
};

/* Functions at [begin, end), without unwind information. */
struct clr_r2r *clr_r2r_create(const uint32_t (*functions)[2], size_t n);
void clr_r2r_destroy(struct clr_r2r *w);

void clr_r2r_put(struct clr_r2r *w, size_t at, uint64_t value, size_t bytes);

/* Add a section, at that RVA. */
void clr_r2r_section(struct clr_r2r *w, uint32_t type, uint32_t rva, const void *bytes, size_t n);

/* The name of the function that begins there. */
const char *clr_r2r_name(struct clr_r2r *w, uint32_t begin_rva);

#endif
