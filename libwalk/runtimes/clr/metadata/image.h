/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_IMAGE_H
#define SW_CLR_IMAGE_H

#include "runtimes/clr/metadata/tables.h"

/*
 * The PE image of an assembly in the target's memory: as it was loaded, or as its file.
 * Source: PE/COFF; ECMA-335 II.25.
 */
struct sw_clr_pe {
	struct sw_memory memory;
	uint64_t base_avma;
	uint32_t lfanew;
	bool mapped, plus;
};

/* False: there is none. */
bool sw_clr_pe_open(struct sw_memory memory, uint64_t base_avma, bool mapped,
		    struct sw_clr_pe *ret);

/* The address of an RVA. */
bool sw_clr_pe_address(const struct sw_clr_pe *pe, uint32_t rva, uint64_t *ret_avma);

/* The data directory with that number, 0 to 15. Returns false if it is empty. */
bool sw_clr_pe_directory(const struct sw_clr_pe *pe, unsigned number, uint32_t *ret_rva,
			 uint32_t *ret_bytes);

/* False: it has no metadata. */
bool sw_clr_pe_metadata(const struct sw_clr_pe *pe, struct sw_clr_metadata *ret);

/* Both of these. */
bool sw_clr_image_metadata(struct sw_memory memory, uint64_t base_avma, bool mapped,
			   struct sw_clr_metadata *ret);

/* The IL of a method: where, and how much. */
struct sw_clr_il {
	uint64_t avma;
	uint32_t bytes;
};
bool sw_clr_il_find(const struct sw_clr_pe *pe, const struct sw_clr_metadata *metadata,
		    uint32_t method_rid, struct sw_clr_il *ret);

/* Bytes of the IL of a method, which is a row of the image's metadata. False: it has none. */
bool sw_clr_il_bytes(const struct sw_clr_pe *pe, const struct sw_clr_metadata *metadata,
		     uint32_t method_rid, uint32_t *ret);

#endif
