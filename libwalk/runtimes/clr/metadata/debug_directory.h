/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_DEBUG_DIRECTORY_H
#define SW_CLR_DEBUG_DIRECTORY_H

#include "runtimes/clr/metadata/image.h"

enum {
	SW_CLR_PDB_ID_BYTES = 20,
	SW_CLR_PDB_BYTES_MAX = 64 << 20, /* of one, also when it is unpacked */
};

/* The portable PDB that an image names. */
struct sw_clr_pdb_link {
	uint8_t id[SW_CLR_PDB_ID_BYTES]; /* which it must have, too */
	uint64_t embedded_avma;          /* 0: it is not in the image */
	uint32_t embedded_bytes;         /* packed */
	uint32_t unpacked_bytes;
};

/* False: it has none. Source: Microsoft, "PE/COFF Specification for portable PDB" (dotnet/runtime
 * docs/design/specs/PE-COFF.md, v10.0.0). */
bool sw_clr_pdb_link_find(const struct sw_clr_pe *pe, struct sw_clr_pdb_link *ret);

/* The embedded one, unpacked: unpacked_bytes, the caller's to free(); NULL when it cannot be had. */
uint8_t *sw_clr_pdb_unpack(struct sw_memory memory, const struct sw_clr_pdb_link *link);

#endif
