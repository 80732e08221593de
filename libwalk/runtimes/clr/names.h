/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_NAMES_H
#define SW_CLR_NAMES_H

#include "runtimes/clr/metadata/image.h"
#include "runtimes/clr/clr.h"
#include "unwind/unwinder.h"

/* Offsets of what names are made of; those that a runtime need not have are SW_CLR_ABSENT. */
struct sw_clr_name_layout {
	/* MethodDesc, MethodDescChunk and the kinds of MethodDesc */
	uint32_t method_chunk_index, method_flags3, method_flags, method_slot;
	uint32_t chunk_bytes, chunk_table, chunk_range;
	uint32_t dynamic_name, dynamic_flags;
	uint32_t instance_arguments, instance_n;
	/* MethodTable, its class, TypeDesc and its kinds */
	uint32_t table_flags, table_flags2, table_module, table_arguments, table_class,
		table_virtuals;
	uint32_t dict_n, dict_arguments, class_rank, class_table;
	uint32_t desc_kind, desc_param, desc_var_module, desc_var_token;
	/* Module, PEAssembly, PEImage, PEImageLayout */
	uint32_t module_path, module_base, module_flags, module_assembly, module_dynamic;
	uint32_t assembly_image, image_layout, layout_base, layout_flags;
	uint32_t dynamic_bytes, dynamic_data;

	uint64_t method_align;
	unsigned remainder_bits; /* of a method's row, in the MethodDesc itself */
	unsigned row_shift;      /* of a type's row, in table_flags2 */
	bool module_is_loader; /* table_module of a generic type may be another one than its own */
	bool usable;
};

enum {
	SW_CLR_ABSENT = UINT32_MAX,
	SW_CLR_METHOD_NAME_MAX = 4000, /* bytes; what is longer is cut */
};

struct sw_clr_image; /* runtimes/clr/entry_points.c */

/* A module of the runtime. */
struct sw_clr_module {
	const char *name; /* of its file, without the directory; "" when unknown */
	bool has_metadata, has_image;
	bool edited; /* what runs may not be what the image has */
	struct sw_clr_metadata metadata;
	struct sw_clr_pe image;
};

/* What was found so far. Belongs to sw_clr. */
struct sw_clr_names {
	struct sw_memory memory;
	struct sw_arena *arena; /* borrowed */
	struct sw_clr_name_layout at[SW_CLR_RUNTIMES_MAX];
	struct sw_map64 modules;            /* Module -> struct sw_clr_module */
	struct sw_map64 methods;            /* MethodDesc -> char * */
	struct sw_map64 pdbs;               /* Module -> struct sw_clr_pdb; 0: it has none */
	struct sw_clr_unpacked *unpacked;   /* owned: runtimes/clr/lines.c */
	struct sw_clr_r2r_debug *r2r_debug; /* owned: runtimes/clr/r2r_debug.c */
	struct sw_clr_image *images;        /* ReadyToRun images that were asked themselves */
};

/* From the runtime's descriptor; ret->usable says if it is enough. */
void sw_clr_name_layout_resolve(const struct sw_clr_contract *contract,
				struct sw_clr_name_layout *ret);

/* Of .NET 8, which does not describe itself; as seen in 8.0.31. */
struct sw_clr_name_layout sw_clr_name_layout_fixed(void);

/* NULL when there is no memory. */
const struct sw_clr_module *sw_clr_module_get(struct sw_clr_names *names,
					      const struct sw_clr_name_layout *at,
					      uint64_t module_avma);

/* A type that the runtime has loaded: Namespace.Type`1[int]. */
void sw_clr_type_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		      uint64_t handle, struct sw_text *text);

/* n types at avma: [int,string]. */
void sw_clr_type_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			   uint64_t avma, uint32_t n, struct sw_text *text);

/* Whether the module that a MethodTable names is the one that has its metadata. */
bool sw_clr_table_has_module(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			     uint64_t table_avma);

/* The type arguments of a MethodTable; nothing when it has none. */
void sw_clr_table_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			    uint64_t table_avma, struct sw_text *text);

/* The element type of an array's MethodTable and [], when it is one. */
bool sw_clr_array_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t table_avma, struct sw_text *text);

/* "T.dll!Namespace.Type.Method(int)": the arena's. NULL when there is nothing to say or no memory. */
const char *sw_clr_method_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			       uint64_t method_avma);

/* The module of a method and its row there. False: it was made at run time, or is that of an array. */
bool sw_clr_method_row(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t method_avma, uint64_t *ret_module_avma, uint32_t *ret_rid);

/* "Namespace.Type.Method(int)": a row of metadata alone. */
bool sw_clr_row_name(const struct sw_clr_metadata *m, uint32_t rid, struct sw_text *text);

/* ---- runtimes/clr/entry_points.c --------------------------------------------------------------------- */

/* Where the method of an address begins, and which of its functions the address is in. */
struct sw_clr_start {
	uint64_t start_avma;
	unsigned index; /* 0 the body, else a funclet */
};

/* The same of ReadyToRun code of which the runtime does not say what method it is. */
const char *sw_clr_entry_point_name(struct sw_clr_names *names, const struct sw_clr_code *code,
				    struct sw_clr_start *ret);
void sw_clr_images_deinit(struct sw_clr_image *images);

/* ---- of sw_clr ------------------------------------------------------------------------------ */

/* Made when first asked for; NULL when there is no memory. */
struct sw_clr_names *sw_clr_names_get(struct sw_clr *clr);

/* The name of code, for describe(). */
void sw_clr_describe(struct sw_clr *clr, const struct sw_clr_code *code,
		     struct sw_description *ret);
void sw_clr_names_destroy(struct sw_clr_names *names);

#endif
