/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/hotspot/share/runtime/vmStructs.hpp and vmStructs.cpp, jdk-17.0.15 and jdk-25.0.3: each
 * table is a pointer to an array, with a variable for its stride and one for each column's offset. It
 * ends with a row whose name is NULL.
 */
#include "runtimes/hotspot/published/tables.h"
#include "cleanup.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 8192 };

/* Columns by the end of the names of their variables; the first one is the row's name. */
struct table {
	const char *array;  /* "gHotSpotVM" + it */
	const char *prefix; /* of the variables */
	const char *columns[5];
};

static const struct table structs = {"Structs",
				     "StructEntry",
				     {"TypeName", "FieldName", "IsStatic", "Offset", "Address"}};
static const struct table types = {"Types", "TypeEntry", {"TypeName", "Size", "IsOopType"}};
static const struct table constants = {"IntConstants", "IntConstantEntry", {"Name", "Value"}};

/* A table of the process. */
struct opened {
	const struct sw_hotspot_tables *tables;
	uint64_t rows_avma, stride;
	uint64_t column[5]; /* offsets */
	uint8_t chunk[CHUNK_BYTES];
	size_t chunk_first, chunk_rows; /* those in chunk */
};

static bool variable(const struct sw_hotspot_tables *t, const char *prefix, const char *name,
		     const char *end, uint64_t *ret)
{
	char full[128];
	struct sw_elf_symbol symbol;
	(void) snprintf(full, sizeof(full), "gHotSpotVM%s%s%s", prefix, name, end); /* fits */
	return sw_elf_symbols_find(&t->symbols, full, &symbol) &&
	       sw_memory_u64(t->memory, symbol.svma + t->bias, ret);
}

static bool table_open(const struct sw_hotspot_tables *t, const struct table *table,
		       struct opened *ret)
{
	*ret = (struct opened){.tables = t};
	if (!variable(t, table->array, "", "", &ret->rows_avma) ||
	    !variable(t, table->prefix, "ArrayStride", "", &ret->stride) || ret->stride < 8 ||
	    ret->stride > SW_HOTSPOT_STRIDE_MAX)
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(table->columns) && table->columns[i] != NULL; i++)
		if (!variable(t, table->prefix, table->columns[i], "Offset", &ret->column[i]) ||
		    ret->column[i] > ret->stride - 4)
			return false;
	return true;
}

/* Row i, by chunks; the last ones may be read one by one, when the mapping ends behind them. */
static bool row_read(struct opened *o, size_t i, struct sw_bytes *ret)
{
	if (i < o->chunk_first || i - o->chunk_first >= o->chunk_rows) {
		uint64_t at = o->rows_avma + i * o->stride;
		o->chunk_first = i;
		o->chunk_rows = CHUNK_BYTES / o->stride;
		if (!sw_memory_read(o->tables->memory, at, o->chunk, o->chunk_rows * o->stride)) {
			o->chunk_rows = 1;
			if (!sw_memory_read(o->tables->memory, at, o->chunk, o->stride))
				return false;
		}
	}
	*ret = (struct sw_bytes){o->chunk + (i - o->chunk_first) * o->stride, o->stride};
	return true;
}

/* A string of the file; what is not there, or too long to be of interest, is "". */
static void string_read(const struct opened *o, uint64_t avma, char ret[SW_HOTSPOT_NAME_MAX])
{
	struct sw_bytes bytes;
	ret[0] = '\0';
	if (!sw_elf_loaded(o->tables->symbols.elf, avma - o->tables->bias, &bytes))
		return;
	size_t length = strnlen((const char *) bytes.data, bytes.size);
	if (length < bytes.size && length < SW_HOTSPOT_NAME_MAX)
		memcpy(ret, bytes.data, length + 1);
}

static bool struct_fill(struct opened *o, struct sw_bytes b, struct sw_hotspot_row *row)
{
	uint64_t name;
	uint32_t is_static;
	if (!sw_bytes_u64(b, o->column[1], &name) || !sw_bytes_u32(b, o->column[2], &is_static) ||
	    !sw_bytes_u64(b, o->column[is_static ? 4 : 3], &row->value))
		return false;
	row->kind = is_static ? SW_HOTSPOT_STATIC : SW_HOTSPOT_FIELD;
	string_read(o, name, row->name);
	return true;
}

static bool rows_each(struct opened *o, enum sw_hotspot_row_kind kind,
		      void (*each)(void *arg, const struct sw_hotspot_row *row), void *arg)
{
	for (size_t i = 0; i < SW_HOTSPOT_ROWS_MAX; i++) {
		struct sw_bytes b;
		uint64_t first;
		uint32_t value;
		struct sw_hotspot_row row = {.kind = kind};
		if (!row_read(o, i, &b) || !sw_bytes_u64(b, o->column[0], &first))
			return false;
		if (first == 0)
			return true;
		if (kind == SW_HOTSPOT_CONSTANT) {
			string_read(o, first, row.name);
			if (!sw_bytes_u32(b, o->column[1], &value))
				return false;
			row.value = value;
		} else {
			string_read(o, first, row.type);
			bool ok = kind == SW_HOTSPOT_TYPE
					  ? sw_bytes_u64(b, o->column[1], &row.value)
					  : struct_fill(o, b, &row);
			if (!ok)
				return false;
		}
		each(arg, &row);
	}
	return false;
}

bool sw_hotspot_tables_exported(const struct sw_elf_symbols *symbols)
{
	struct sw_elf_symbol symbol;
	return sw_elf_symbols_find(symbols, "gHotSpotVMStructs", &symbol);
}

bool sw_hotspot_tables_each(const struct sw_hotspot_tables *tables,
			    void (*each)(void *arg, const struct sw_hotspot_row *row), void *arg)
{
	struct opened o;
	return table_open(tables, &structs, &o) && rows_each(&o, SW_HOTSPOT_FIELD, each, arg) &&
	       table_open(tables, &types, &o) && rows_each(&o, SW_HOTSPOT_TYPE, each, arg) &&
	       table_open(tables, &constants, &o) && rows_each(&o, SW_HOTSPOT_CONSTANT, each, arg);
}
