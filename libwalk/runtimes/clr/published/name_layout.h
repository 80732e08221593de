/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_NAME_LAYOUT_H
#define SW_CLR_NAME_LAYOUT_H

#include "runtimes/clr/published/contract.h"

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

/* .NET 8 keeps a type's row in 16 bits; a larger one stands elsewhere: METHODTABLE_TOKEN_OVERFLOW in methodtable.h. */
static inline bool sw_clr_row_overflows(uint32_t row, unsigned row_shift)
{
	return row_shift == 16 && row == UINT16_MAX;
}

/* From the runtime's descriptor; ret->usable says if it is enough. */
void sw_clr_name_layout_resolve(const struct sw_clr_contract *contract,
				struct sw_clr_name_layout *ret);

/* The layout of .NET 8, which does not describe itself; as seen in 8.0.31. */
struct sw_clr_name_layout sw_clr_name_layout_fixed(void);

#endif
