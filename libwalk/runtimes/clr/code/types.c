/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Types that the runtime has loaded. A handle is a MethodTable, or, with bit 1 set, a TypeDesc
 * (pointers, references, generic parameters).
 * Source: dotnet/runtime v10.0.0, docs/design/datacontracts/RuntimeTypeSystem.md.
 */
#include "runtimes/clr/code/types.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/published/name_layout.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/objects/classes.h"

#include <string.h>

enum {
	HANDLE_TYPE_DESC = 2,
	DEPTH_MAX = 16,     /* types in types */
	ARGUMENTS_MAX = 64, /* of one type; its number has 16 bits */
	RANK_MAX = 32,

	/* MethodTable.MTFlags, src/coreclr/vm/methodtable.h */
	FLAGS_COMPONENT_SIZE = (int) 0x80000000, /* the lower half is a size */
	FLAGS_GENERIC = 0x30,
	FLAGS_ARRAY_MASK = 0xc0000,
	FLAGS_ARRAY = 0x80000,
	FLAGS_VECTOR = 0x20000, /* of an array: one dimension from 0 */
	CLASS_IS_TABLE = 1,     /* EEClassOrCanonMT: it is the MethodTable that has the class */
	DICT_INFO_BYTES = 8,    /* GenericsDictInfo lies before what PerInstInfo points to */
	DICTS_MAX = 1024,

	/* CorElementType */
	KIND_PTR = 0x0f,
	KIND_BYREF = 0x10,
	KIND_VAR = 0x13,
	KIND_MVAR = 0x1e,
	KIND_FNPTR = 0x1b,
	PARAM_NAME = 3, /* column of GenericParam */
};

struct namer {
	struct sw_clr_names *names;
	const struct sw_clr_name_layout *at;
	struct sw_text *text;
	unsigned depth;
};

static void handle_name(struct namer *n, uint64_t handle);

static bool field_u64(const struct namer *n, uint64_t avma, uint32_t offset, uint64_t *ret)
{
	return offset != SW_CLR_ABSENT && sw_clr_u64(n->names->memory, avma, offset, ret) &&
	       *ret != 0;
}

static bool field_u32(const struct namer *n, uint64_t avma, uint32_t offset, uint32_t *ret)
{
	return offset != SW_CLR_ABSENT && sw_clr_u32(n->names->memory, avma, offset, ret);
}

static bool field_u16(const struct namer *n, uint64_t avma, uint32_t offset, uint16_t *ret)
{
	return offset != SW_CLR_ABSENT && sw_clr_u16(n->names->memory, avma, offset, ret);
}

static void unknown(struct namer *n)
{
	sw_text_append(n->text, "?", 1);
}

static void arguments(struct namer *n, uint64_t avma, uint32_t count)
{
	if (count == 0)
		return;
	sw_text_append(n->text, "[", 1);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t handle;
		if (i > 0)
			sw_text_append(n->text, ",", 1);
		if (i == ARGUMENTS_MAX || n->text->size > SW_CLR_METHOD_NAME_MAX) {
			sw_text_append(n->text, "...", 3);
			break;
		}
		if (sw_clr_u64(n->names->memory, avma, 8 * (uint64_t) i, &handle))
			handle_name(n, handle);
		else
			unknown(n);
	}
	sw_text_append(n->text, "]", 1);
}

/* C# has words for the types that are everywhere. */
static void keyword_use(struct sw_text *text, size_t before)
{
	static const struct {
		const char *name, *keyword;
	} words[] = {
		{"Boolean", "bool"},  {"Char", "char"},     {"SByte", "sbyte"},
		{"Byte", "byte"},     {"Int16", "short"},   {"UInt16", "ushort"},
		{"Int32", "int"},     {"UInt32", "uint"},   {"Int64", "long"},
		{"UInt64", "ulong"},  {"Single", "float"},  {"Double", "double"},
		{"IntPtr", "nint"},   {"UIntPtr", "nuint"}, {"String", "string"},
		{"Object", "object"}, {"Void", "void"},
	};
	static const char prefix[] = "System.";
	if (text->failed || text->size <= before || text->size - before > 16 ||
	    strncmp(text->data + before, prefix, sizeof(prefix) - 1) != 0)
		return;
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++)
		if (strcmp(text->data + before + sizeof(prefix) - 1, words[i].name) == 0) {
			text->size = before;
			sw_text_append(text, words[i].keyword, strlen(words[i].keyword));
			return;
		}
}

/* Append a type's own arguments, after those of the types that it derives from. */
static void table_arguments(struct namer *n, uint64_t table_avma)
{
	uint64_t dicts, own;
	uint32_t flags;
	uint16_t n_dicts, count;
	if (!field_u32(n, table_avma, n->at->table_flags, &flags) ||
	    flags & (uint32_t) FLAGS_COMPONENT_SIZE || !(flags & FLAGS_GENERIC) ||
	    !field_u64(n, table_avma, n->at->table_arguments, &dicts) || dicts < DICT_INFO_BYTES ||
	    !field_u16(n, dicts - DICT_INFO_BYTES, n->at->dict_n, &n_dicts) ||
	    !field_u16(n, dicts - DICT_INFO_BYTES, n->at->dict_arguments, &count) || n_dicts == 0 ||
	    n_dicts > DICTS_MAX ||
	    !sw_clr_u64(n->names->memory, dicts, 8 * ((uint64_t) n_dicts - 1), &own))
		return;
	arguments(n, own, count);
}

static void rank_name(struct namer *n, uint64_t table_avma, uint32_t flags)
{
	uint64_t class_avma;
	uint8_t rank = 0;
	if (flags & FLAGS_VECTOR) {
		sw_text_append(n->text, "[]", 2);
		return;
	}
	if (field_u64(n, table_avma, n->at->table_class, &class_avma) &&
	    class_avma & CLASS_IS_TABLE &&
	    !field_u64(n, class_avma & ~(uint64_t) CLASS_IS_TABLE, n->at->table_class, &class_avma))
		class_avma = 0;
	if (n->at->class_rank == SW_CLR_ABSENT || class_avma & CLASS_IS_TABLE ||
	    !sw_clr_u8(n->names->memory, class_avma, n->at->class_rank, &rank) || rank > RANK_MAX)
		rank = 0;
	sw_text_append(n->text, "[", 1);
	if (rank <= 1)
		sw_text_append(n->text, rank == 0 ? "?" : "*", 1);
	for (unsigned i = 1; i < rank; i++)
		sw_text_append(n->text, ",", 1);
	sw_text_append(n->text, "]", 1);
}

/* An array has its element type where others have their arguments. */
static bool array_name(struct namer *n, uint64_t table_avma)
{
	uint32_t flags;
	uint64_t element;
	if (!field_u32(n, table_avma, n->at->table_flags, &flags) ||
	    (flags & FLAGS_ARRAY_MASK) != FLAGS_ARRAY ||
	    !field_u64(n, table_avma, n->at->table_arguments, &element))
		return false;
	handle_name(n, element);
	rank_name(n, table_avma, flags);
	return true;
}

static void table_name(struct namer *n, uint64_t table_avma)
{
	uint64_t module_avma;
	uint32_t flags2;
	size_t before = n->text->size;
	if (array_name(n, table_avma))
		return;
	if (!sw_clr_type_module(n->names, n->at, table_avma, &module_avma) ||
	    !field_u32(n, table_avma, n->at->table_flags2, &flags2) ||
	    sw_clr_row_overflows(flags2 >> n->at->row_shift, n->at->row_shift)) {
		unknown(n);
		return;
	}
	const struct sw_clr_module *module = sw_clr_module_get(n->names, n->at, module_avma);
	if (module == NULL || !module->has_metadata ||
	    !sw_clr_type_def_name(&module->metadata, flags2 >> n->at->row_shift, false, n->text))
		sw_text_printf(n->text, "0x02%06x", flags2 >> n->at->row_shift);
	keyword_use(n->text, before);
	table_arguments(n, table_avma);
}

/* A generic parameter: its name stands in the table of its module. */
static void parameter_name(struct namer *n, uint64_t desc_avma)
{
	uint64_t module_avma;
	uint32_t token, index;
	if (field_u64(n, desc_avma, n->at->desc_var_module, &module_avma) &&
	    field_u32(n, desc_avma, n->at->desc_var_token, &token)) {
		const struct sw_clr_module *module =
			sw_clr_module_get(n->names, n->at, module_avma);
		if (module != NULL && module->has_metadata &&
		    sw_clr_metadata_get(&module->metadata, SW_CLR_TABLE_GENERIC_PARAM,
					token & SW_CLR_TOKEN_RID, PARAM_NAME, &index) &&
		    sw_clr_metadata_string(&module->metadata, index, n->text))
			return;
	}
	unknown(n);
}

static void desc_name(struct namer *n, uint64_t desc_avma)
{
	uint32_t kind;
	uint64_t param;
	if (!field_u32(n, desc_avma, n->at->desc_kind, &kind)) {
		unknown(n);
		return;
	}
	switch (kind & 0xff) {
	case KIND_PTR:
	case KIND_BYREF:
		if (field_u64(n, desc_avma, n->at->desc_param, &param))
			handle_name(n, param);
		else
			unknown(n);
		sw_text_append(n->text, (kind & 0xff) == KIND_PTR ? "*" : "&", 1);
		break;
	case KIND_VAR:
	case KIND_MVAR: parameter_name(n, desc_avma); break;
	case KIND_FNPTR: sw_text_printf(n->text, "delegate*"); break;
	default: unknown(n);
	}
}

static void handle_name(struct namer *n, uint64_t handle)
{
	if (n->depth >= DEPTH_MAX || n->text->size > SW_CLR_METHOD_NAME_MAX) {
		sw_text_append(n->text, "...", 3);
		return;
	}
	n->depth++;
	if (handle & HANDLE_TYPE_DESC)
		desc_name(n, handle & ~(uint64_t) HANDLE_TYPE_DESC);
	else
		table_name(n, handle);
	n->depth--;
}

bool sw_clr_type_module(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			uint64_t table_avma, uint64_t *ret_module_avma)
{
	const struct sw_clr_classes classes = {
		.table_flags = at->table_flags,
		.table_flags2 = at->table_flags2,
		.table_module = at->table_module,
		.table_class = at->table_class,
		.class_table = at->class_table,
		.module_may_differ = true,
	};
	if (!at->module_is_loader)
		return sw_clr_u64(names->memory, table_avma, at->table_module, ret_module_avma);
	*ret_module_avma = sw_clr_table_module(&classes, names->memory, table_avma);
	return *ret_module_avma != 0;
}

void sw_clr_type_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		      uint64_t handle, struct sw_text *text)
{
	struct namer n = {.names = names, .at = at, .text = text};
	handle_name(&n, handle);
}

void sw_clr_type_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			   uint64_t avma, uint32_t count, struct sw_text *text)
{
	struct namer n = {.names = names, .at = at, .text = text};
	arguments(&n, avma, count);
}

void sw_clr_table_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			    uint64_t table_avma, struct sw_text *text)
{
	struct namer n = {.names = names, .at = at, .text = text};
	table_arguments(&n, table_avma);
}

bool sw_clr_array_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t table_avma, struct sw_text *text)
{
	struct namer n = {.names = names, .at = at, .text = text};
	return array_name(&n, table_avma);
}
