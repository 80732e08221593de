/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .NET 10 says where its MethodTables and what belongs to them have what. .NET 9 says half of it, and .NET 8 nothing: what
 * they do not say was the same in all of their releases that were looked at (8.0.31, 9.0.20).
 * Source: dotnet/runtime v8.0.0 and v9.0.0, src/coreclr/vm/{methodtable,class,ceeload,appdomain}.h.
 */
#include "runtimes/clr/objects/class_layout.h"
#include "cleanup.h"

#include <stddef.h>

enum {
	UNKNOWN = -1,
	ROW_SHIFT = 8,
	ROW_SHIFT_8 = 16,
	/* .NET 8: Module -> DomainLocalModule, which has its types' static fields that are references */
	MODULE_STATICS_8 = 1224,
	/* System.String, from an object's beginning on */
	STRING_LENGTH = 8,
	STRING_FIRST = 12,
};

struct row {
	struct sw_clr_row row;
	int nine, eight; /* what it is in these versions, or UNKNOWN */
};

#define ROW(type, field, member, nine, eight)                                           \
	{                                                                               \
		{type, field, offsetof(struct sw_clr_classes, member)}, (nine), (eight) \
	}

static const struct row rows[] = {
	ROW("MethodTable", NULL, table_bytes, 64, 64),
	ROW("MethodTable", "MTFlags", table_flags, UNKNOWN, 0),
	ROW("MethodTable", "BaseSize", table_base, UNKNOWN, 4),
	ROW("MethodTable", "MTFlags2", table_flags2, UNKNOWN, 8),
	ROW("MethodTable", "ParentMethodTable", table_parent, UNKNOWN, 16),
	ROW("MethodTable", "Module", table_module, UNKNOWN, 24),
	ROW("MethodTable", "EEClassOrCanonMT", table_class, UNKNOWN, 40),
	ROW("MethodTable", "PerInstInfo", table_arguments, UNKNOWN, 48),
	ROW("MethodTable", "AuxiliaryData", table_aux, 32, 32),
	ROW("EEClass", "MethodTable", class_table, UNKNOWN, 16),
	ROW("EEClass", "FieldDescList", class_fields, 24, 24),
	ROW("EEClass", "NumInstanceFields", class_n_fields, 50, 0),
	ROW("EEClass", "NumStaticFields", class_n_statics, 54, 8),
	ROW("GenericsDictInfo", "NumDicts", dict_n, 4, 4),
	ROW("GenericsDictInfo", "NumTypeArgs", dict_arguments, UNKNOWN, 6),
	ROW("ModuleLookupMap", "Next", map_next, 0, 0),
	ROW("ModuleLookupMap", "TableData", map_data, UNKNOWN, 8),
	ROW("ModuleLookupMap", "Count", map_count, 16, 16),
	ROW("ModuleLookupMap", "SupportedFlagsMask", map_mask, 24, 24),
	ROW("Module", "TypeDefToMethodTableMap", module_types, UNKNOWN, 752),
	ROW("DynamicStaticsInfo", NULL, statics_bytes, 24, 0),
	ROW("DynamicStaticsInfo", "GCStatics", statics_gc, 0, 32),
};

bool sw_clr_class_layout(const struct sw_clr_contract *contract, const struct sw_clr_layout *layout,
			 struct sw_clr_classes *ret)
{
	bool described = contract->json.values != NULL;
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		if (described && sw_clr_row_resolve(contract, &rows[i].row, ret))
			continue;
		int known = layout->fixed_version == 9   ? rows[i].nine
			    : layout->fixed_version == 8 ? rows[i].eight
							 : UNKNOWN;
		if (known == UNKNOWN)
			return false;
		*sw_clr_row_at(&rows[i].row, ret) = (uint32_t) known;
	}
	ret->row_shift = ROW_SHIFT;
	if (layout->fixed_version == 8) {
		ret->row_shift = ROW_SHIFT_8;
		ret->class_counts_behind = true;
		ret->module_may_differ = true;
		ret->module_statics = MODULE_STATICS_8;
	}
	return true;
}

static bool is_at(const struct sw_clr_classes *at, struct sw_memory memory, uint64_t table,
		  uint32_t rid, uint32_t wanted)
{
	uint32_t offset;
	return rid != 0 && sw_clr_field_find(at, memory, table, rid, false, &offset) &&
	       offset + SW_CLR_OBJECT_HEAD == wanted;
}

bool sw_clr_class_layout_holds(const struct sw_clr_classes *at, struct sw_memory memory,
			       uint64_t string_table_avma, uint32_t length_rid, uint32_t first_rid)
{
	return is_at(at, memory, string_table_avma, length_rid, STRING_LENGTH) &&
	       is_at(at, memory, string_table_avma, first_rid, STRING_FIRST);
}
