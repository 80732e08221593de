/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_R2R_H
#define SW_CLR_R2R_H

#include "runtimes/clr/code/clr.h"

/* Tables of RUNTIME_FUNCTION as the runtime lays them out, and the code of ReadyToRun images. */
enum {
	SW_CLR_FUNCTIONS_MAX = 1 << 24,
	SW_CLR_FUNCLETS_MAX = 64, /* of one ReadyToRun method */
};

/* Entry i of the table. */
bool sw_clr_function_read(const struct sw_clr_layout *at, struct sw_memory memory,
			  uint64_t table_avma, uint64_t i, struct sw_pe_function *ret);

/* The last of n sorted entries that begins at or before rva; *ret_index is its place. */
bool sw_clr_function_search(const struct sw_clr_layout *at, struct sw_memory memory,
			    uint64_t table_avma, uint64_t n, uint32_t rva, uint64_t *ret_index,
			    struct sw_pe_function *ret);

/* A return address may be the end of a function whose last instruction is a call. */
static inline bool sw_clr_function_covers(const struct sw_pe_function *f, uint32_t rva)
{
	return rva >= f->begin_rva && rva <= f->end_rva;
}

/* Code of an image at base_avma, of ret->module_avma. Fills ret but for the runtime. */
bool sw_clr_r2r_find(const struct sw_clr_runtime *runtime, struct sw_memory memory,
		     uint64_t base_avma, uint64_t pc_avma, struct sw_clr_code *ret);

/* A section of the image's ReadyToRun header: its RVA and size. Source: dotnet/runtime v10.0.0,
 * docs/design/coreclr/botr/readytorun-format.md; ECMA-335 6th edition, II.25. */
bool sw_clr_r2r_section(struct sw_memory memory, uint64_t base_avma, uint32_t type,
			uint32_t *ret_rva, uint32_t *ret_bytes);

/* The major version of the image's format. */
bool sw_clr_r2r_major(struct sw_memory memory, uint64_t base_avma, uint16_t *ret);

#endif
