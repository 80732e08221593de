/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_NAMES_H
#define SW_CLR_NAMES_H

#include "runtimes/clr/metadata/image.h"
#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"
#include "runtimes/clr/published/name_layout.h"
#include "runtimes/clr/code/r2r_debug.h"

struct sw_clr_image; /* runtimes/clr/code/entry_points.c */

/* A module of the runtime. */
struct sw_clr_module {
	const char *name; /* of its file, without the directory; "" when unknown */
	bool has_metadata, has_image;
	bool edited; /* what runs may not be what the image has */
	struct sw_clr_metadata metadata;
	struct sw_clr_pe image;
};

/* The names that were found so far. Belongs to sw_clr. */
struct sw_clr_names {
	struct sw_memory memory;
	struct sw_arena *arena; /* borrowed */
	struct sw_clr_name_layout at[SW_CLR_RUNTIMES_MAX];
	struct sw_map64 modules;            /* Module -> struct sw_clr_module */
	struct sw_map64 methods;            /* MethodDesc -> char * */
	struct sw_map64 pdbs;               /* Module -> struct sw_clr_pdb; 0: it has none */
	struct sw_clr_unpacked *unpacked;   /* owned: runtimes/clr/code/lines.c */
	struct sw_clr_r2r_debug *r2r_debug; /* owned: runtimes/clr/code/r2r_debug.c */
	struct sw_clr_image *images;        /* ReadyToRun images that were asked themselves */
};

/* NULL when there is no memory. */
const struct sw_clr_module *sw_clr_module_get(struct sw_clr_names *names,
					      const struct sw_clr_name_layout *at,
					      uint64_t module_avma);

/* "T.dll!Namespace.Type.Method(int)": the arena's. NULL when there is nothing to say or no memory. */
const char *sw_clr_method_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			       uint64_t method_avma);

/* Whether a method that was made at run time has this name in the memory now. True for all others. */
bool sw_clr_dynamic_name_holds(struct sw_memory now, const struct sw_clr_name_layout *at,
			       uint64_t method_avma, const char *name);

/* The module of a method and its row there. False: it was made at run time, or is that of an array. */
bool sw_clr_method_row(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t method_avma, uint64_t *ret_module_avma, uint32_t *ret_rid);

/* The MethodTable for which the code of a method was made. */
bool sw_clr_method_table(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			 uint64_t method_avma, uint64_t *ret_table_avma);

/* "Namespace.Type.Method(int)": a row of metadata alone. */
bool sw_clr_row_name(const struct sw_clr_metadata *m, uint32_t rid, struct sw_text *text);

/* ---- of sw_clr ------------------------------------------------------------------------------ */

/* The layout by which names of a runtime are read; not usable where it is not known. */
struct sw_clr_name_layout sw_clr_name_layout_of(const struct sw_clr_runtime *runtime);

/* Made when first asked for; NULL when there is no memory. */
struct sw_clr_names *sw_clr_names_get(struct sw_clr *clr);

/* The name of code, for describe(). */
void sw_clr_describe(struct sw_clr *clr, const struct sw_clr_code *code,
		     struct sw_description *ret);
void sw_clr_names_destroy(struct sw_clr_names *names);

#endif
