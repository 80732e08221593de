/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LINES_H
#define SW_CLR_LINES_H

#include "unwind/capture.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/metadata/pdb.h"

/*
 * From managed code to a line:
 *
 *	code -> debug information that the JIT compiler left -> IL offset	runtimes/clr/published/debug_info.h
 *	method's row, IL offset -> portable PDB -> file and line		runtimes/clr/metadata/pdb.h
 *
 * The PDB is in the assembly, or a file beside it with the assembly's own name; either must have the
 * id that the assembly says. A path that the assembly names is not followed.
 */

/* File and line of the code at lookup_avma; nothing is set when they are not known. */
void sw_clr_line_describe(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t lookup_avma,
			  struct sw_description *ret);

/* The same of a place in the IL of a method of a module. */
void sw_clr_row_line(struct sw_clr *clr, uint64_t module_avma, const struct sw_clr_module *module,
		     uint32_t rid, uint32_t il_off, struct sw_description *ret);

/* Module, token, IL offset and line, for explain(). */
void sw_clr_il_explain(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t avma,
		       struct sw_text *text);

struct sw_clr_unpacked;
void sw_clr_unpacked_free(struct sw_clr_unpacked *list);

#endif
