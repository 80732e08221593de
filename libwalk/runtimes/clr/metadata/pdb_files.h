/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_PDB_FILES_H
#define SW_CLR_PDB_FILES_H

#include "runtimes/clr/metadata/pdb.h"
#include "unwind/capture.h"

/* prepare(): opens what lies beside assemblies and has the name of a PDB. */
void sw_clr_pdb_files_prepare(struct sw_capture *capture);

/* Why some were not opened; static. NULL: all were. */
const char *sw_clr_pdb_files_problem(const struct sw_snapshot *snap);

/* Opens the one that belongs to a module of that file name. False: there is none. */
bool sw_clr_pdb_file_open(const struct sw_snapshot *snap, const char *module_name,
			  const uint8_t id[SW_CLR_PDB_ID_BYTES], struct sw_clr_pdb *ret);

#endif
