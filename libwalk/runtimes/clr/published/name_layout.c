/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/published/name_layout.h"
#include "cleanup.h"

#include <stddef.h>

struct row {
	struct sw_clr_row number;
	bool optional;
};

#define NEED(type, field, member)                                                 \
	{                                                                         \
		{type, field, offsetof(struct sw_clr_name_layout, member)}, false \
	}
#define MAY(type, field, member)                                                 \
	{                                                                        \
		{type, field, offsetof(struct sw_clr_name_layout, member)}, true \
	}

static const struct row rows[] = {
	NEED("MethodDesc", "ChunkIndex", method_chunk_index),
	NEED("MethodDesc", "Flags3AndTokenRemainder", method_flags3),
	NEED("MethodDesc", "Flags", method_flags),
	MAY("MethodDesc", "Slot", method_slot),
	NEED("MethodDescChunk", NULL, chunk_bytes),
	NEED("MethodDescChunk", "MethodTable", chunk_table),
	NEED("MethodDescChunk", "FlagsAndTokenRange", chunk_range),
	MAY("DynamicMethodDesc", "MethodName", dynamic_name),
	MAY("StoredSigMethodDesc", "ExtendedFlags", dynamic_flags),
	MAY("InstantiatedMethodDesc", "PerInstInfo", instance_arguments),
	MAY("InstantiatedMethodDesc", "NumGenericArgs", instance_n),
	MAY("MethodTable", "MTFlags", table_flags),
	MAY("MethodTable", "MTFlags2", table_flags2),
	NEED("MethodTable", "Module", table_module),
	MAY("MethodTable", "PerInstInfo", table_arguments),
	MAY("MethodTable", "EEClassOrCanonMT", table_class),
	MAY("MethodTable", "NumVirtuals", table_virtuals),
	MAY("GenericsDictInfo", "NumDicts", dict_n),
	MAY("GenericsDictInfo", "NumTypeArgs", dict_arguments),
	MAY("ArrayClass", "Rank", class_rank),
	MAY("EEClass", "MethodTable", class_table),
	MAY("TypeDesc", "TypeAndFlags", desc_kind),
	MAY("ParamTypeDesc", "TypeArg", desc_param),
	MAY("TypeVarTypeDesc", "Module", desc_var_module),
	MAY("TypeVarTypeDesc", "Token", desc_var_token),
	NEED("Module", "Path", module_path),
	MAY("Module", "Base", module_base),
	MAY("Module", "Flags", module_flags),
	MAY("Module", "PEAssembly", module_assembly),
	MAY("Module", "DynamicMetadata", module_dynamic),
	MAY("PEAssembly", "PEImage", assembly_image),
	MAY("PEImage", "LoadedImageLayout", image_layout),
	MAY("PEImageLayout", "Base", layout_base),
	MAY("PEImageLayout", "Flags", layout_flags),
	MAY("DynamicMetadata", "Size", dynamic_bytes),
	MAY("DynamicMetadata", "Data", dynamic_data),
};

enum {
	REMAINDER_BITS_MAX = 16,
	ROW_SHIFT = 8, /* MethodTable.MTFlags2: RuntimeTypeSystem.md, v10.0.0 and v9.0.0 */
};

void sw_clr_name_layout_resolve(const struct sw_clr_contract *contract,
				struct sw_clr_name_layout *ret)
{
	uint64_t bits, version;
	*ret = (struct sw_clr_name_layout){0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		if (sw_clr_row_resolve(contract, &row->number, ret))
			continue;
		if (!row->optional)
			return;
		*sw_clr_row_at(&row->number, ret) = SW_CLR_ABSENT;
	}
	if (!sw_clr_version(contract, "RuntimeTypeSystem", &version) || version != 1 ||
	    !sw_clr_global(contract, "MethodDescAlignment", &ret->method_align) ||
	    !sw_clr_global(contract, "MethodDescTokenRemainderBitCount", &bits) || bits == 0 ||
	    bits >= REMAINDER_BITS_MAX || ret->method_align > SW_CLR_OFFSET_MAX)
		return;
	ret->remainder_bits = (unsigned) bits;
	ret->row_shift = ROW_SHIFT;
	ret->usable = true;
}

struct sw_clr_name_layout sw_clr_name_layout_fixed(void)
{
	struct sw_clr_name_layout l = {
		.method_chunk_index = 2,
		.method_slot = 4,
		.method_flags = 6,
		.chunk_bytes = 24,
		.chunk_range = 18,
		.dynamic_name = 24,
		.dynamic_flags = 20,
		.instance_arguments = 16,
		.instance_n = 26,
		.table_flags2 = 8,
		.table_virtuals = 12,
		.table_module = 24,
		.table_class = 40,
		.table_arguments = 48,
		.dict_n = 4,
		.dict_arguments = 6,
		.class_rank = SW_CLR_ABSENT,
		.class_table = 16,
		.desc_kind = SW_CLR_ABSENT,
		.desc_param = SW_CLR_ABSENT,
		.desc_var_module = SW_CLR_ABSENT,
		.desc_var_token = SW_CLR_ABSENT,
		.module_path = SW_CLR_ABSENT,
		.module_base = SW_CLR_ABSENT,
		.module_flags = SW_CLR_ABSENT,
		.module_assembly = 272,
		.module_dynamic = SW_CLR_ABSENT,
		.assembly_image = 8,
		.image_layout = 120,
		.layout_base = 8,
		.layout_flags = 20,
		.dynamic_bytes = SW_CLR_ABSENT,
		.dynamic_data = SW_CLR_ABSENT,
		.method_align = 8,
		.remainder_bits = 12,
		.row_shift = 16,
		.module_is_loader = true,
		.usable = true,
	};
	return l;
}
