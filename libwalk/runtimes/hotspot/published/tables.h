/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_TABLES_H
#define SW_HOTSPOT_TABLES_H

#include "formats/elf_symbol.h"
#include "memory.h"

/* The tables gHotSpotVM* that libjvm.so exports for debuggers: variables in its data, filled when the
 * VM starts. */
struct sw_hotspot_tables {
	struct sw_memory memory;       /* of the process */
	struct sw_elf_symbols symbols; /* of libjvm.so's file, which has the strings, too */
	uint64_t bias;
};

enum sw_hotspot_row_kind {
	SW_HOTSPOT_STATIC,   /* value: address of the variable */
	SW_HOTSPOT_FIELD,    /* value: offset */
	SW_HOTSPOT_TYPE,     /* value: size; no name */
	SW_HOTSPOT_CONSTANT, /* value: 32 bits; no type */
};

enum { SW_HOTSPOT_NAME_MAX = 96, SW_HOTSPOT_ROWS_MAX = 8192, SW_HOTSPOT_STRIDE_MAX = 256 };

struct sw_hotspot_row {
	enum sw_hotspot_row_kind kind;
	char type[SW_HOTSPOT_NAME_MAX], name[SW_HOTSPOT_NAME_MAX];
	uint64_t value;
};

/* Whether the file exports them. */
bool sw_hotspot_tables_exported(const struct sw_elf_symbols *symbols);

/* Calls each for every row. False when one of the tables cannot be read, or has no end. */
bool sw_hotspot_tables_each(const struct sw_hotspot_tables *tables,
			    void (*each)(void *arg, const struct sw_hotspot_row *row), void *arg);

#endif
