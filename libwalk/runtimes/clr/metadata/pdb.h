/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_PDB_H
#define SW_CLR_PDB_H

#include "runtimes/clr/metadata/debug_directory.h"

/*
 * A portable PDB: metadata like an assembly's, with documents and, for each method, which IL comes
 * from which line. Source: dotnet/runtime v10.0.0, docs/design/specs/PortablePdb-Metadata.md.
 */
struct sw_clr_pdb {
	struct sw_bytes bytes;           /* borrowed */
	struct sw_clr_metadata metadata; /* of the bytes; its memory points into this structure */
};

/* Borrows bytes; pdb must not be moved. False: they are no portable PDB, or that of another build. */
bool sw_clr_pdb_open(struct sw_clr_pdb *pdb, struct sw_bytes bytes,
		     const uint8_t id[SW_CLR_PDB_ID_BYTES]);

#define SW_CLR_IL_UNKNOWN UINT32_MAX

/*
 * The line of a method's IL: the last one at or before il_off that is not hidden, as the runtime's
 * own stack traces have it. SW_CLR_IL_UNKNOWN: the line that all of the method is on. The document's name is appended to file; control characters become '?'.
 */
bool sw_clr_pdb_line(const struct sw_clr_pdb *pdb, uint32_t method_rid, uint32_t il_off,
		     struct sw_text *file, uint32_t *ret_line);

#endif
