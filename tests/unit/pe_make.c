/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_make.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Offsets of the PE format specification, from the signature. */
enum {
	N_SECTIONS = 6,
	SYMBOLS = 12,
	N_SYMBOLS = 16,
	OPTIONAL = 24,
	DIRECTORIES = OPTIONAL + 112,
	DIRECTORIES_32 = OPTIONAL + 96,
	DIRECTORIES_BYTES = 16 * 8,
	SECTION_BYTES = 40,
	FILE_ALIGNMENT = 0x200,
	FIRST_ORDINAL = 5,
	EXPORT_DIRECTORY_BYTES = 40,
};

static void put(struct pe_make *pe, size_t off, uint64_t value, size_t bytes)
{
	assert(off + bytes <= PE_MAKE_BYTES);
	memcpy(pe->bytes + off, &value, bytes);
}

static size_t directories(const struct pe_make *pe)
{
	return PE_MAKE_HEADER + (pe->is_32bit ? DIRECTORIES_32 : DIRECTORIES);
}

static void make_init(struct pe_make *pe, bool is_32bit)
{
	memset(pe, 0, sizeof(*pe));
	pe->is_32bit = is_32bit;
	pe->size = PE_MAKE_HEADERS;
	pe->strings_bytes = 4; /* of its own length */
	memcpy(pe->bytes, "MZ", 2);
	put(pe, 0x3c, PE_MAKE_HEADER, 4);
	memcpy(pe->bytes + PE_MAKE_HEADER, "PE\0\0", 4);
	put(pe, PE_MAKE_HEADER + 4, is_32bit ? 0x14c : 0x8664, 2);
	put(pe, PE_MAKE_HEADER + 20,
	    directories(pe) + DIRECTORIES_BYTES - PE_MAKE_HEADER - OPTIONAL, 2);
	put(pe, PE_MAKE_HEADER + 22, 0x2022, 2); /* executable, large addresses, DLL */
	put(pe, PE_MAKE_HEADER + OPTIONAL, is_32bit ? 0x10b : 0x20b, 2);
	if (is_32bit)
		put(pe, PE_MAKE_HEADER + OPTIONAL + 28, PE_MAKE_BASE_32, 4);
	else
		put(pe, PE_MAKE_HEADER + OPTIONAL + 24, PE_MAKE_BASE, 8);
	put(pe, PE_MAKE_HEADER + OPTIONAL + 32, 0x1000, 4);
	put(pe, PE_MAKE_HEADER + OPTIONAL + 36, FILE_ALIGNMENT, 4);
	put(pe, PE_MAKE_HEADER + OPTIONAL + 56, 0x300000, 4);
	put(pe, PE_MAKE_HEADER + OPTIONAL + 60, PE_MAKE_HEADERS, 4);
	put(pe, directories(pe) - 4, 16, 4);
}

void pe_make_init(struct pe_make *pe)
{
	make_init(pe, false);
}

void pe_make_init_32(struct pe_make *pe)
{
	make_init(pe, true);
}

static uint32_t string_add(struct pe_make *pe, const char *s)
{
	uint32_t at = pe->strings_bytes;
	assert(at + strlen(s) + 1 <= sizeof(pe->strings));
	memcpy(pe->strings + at, s, strlen(s) + 1);
	pe->strings_bytes += (uint32_t) strlen(s) + 1;
	return at;
}

static void directory_set(struct pe_make *pe, uint32_t index, uint32_t rva, uint32_t bytes)
{
	put(pe, directories(pe) + 8 * (size_t) index, rva, 4);
	put(pe, directories(pe) + 8 * (size_t) index + 4, bytes, 4);
}

void pe_make_section(struct pe_make *pe, const char *name, uint32_t rva, uint32_t flags,
		     const void *data, uint32_t size)
{
	size_t at = directories(pe) + DIRECTORIES_BYTES + (size_t) pe->n_sections * SECTION_BYTES;
	uint32_t padded = (size + FILE_ALIGNMENT - 1) / FILE_ALIGNMENT * FILE_ALIGNMENT;
	char field[16] = "";
	assert(pe->n_sections < PE_MAKE_SECTIONS && pe->size + padded <= PE_MAKE_BYTES);
	if (strlen(name) > 8)
		(void) snprintf(field, sizeof(field), "/%u", string_add(pe, name)); /* fits */
	else
		memcpy(field, name, strlen(name));
	memcpy(pe->bytes + at, field, 8);
	put(pe, at + 8, size, 4);
	put(pe, at + 12, rva, 4);
	put(pe, at + 16, padded, 4);
	put(pe, at + 20, pe->size, 4);
	put(pe, at + 36, flags, 4);
	if (data != NULL)
		memcpy(pe->bytes + pe->size, data, size);
	pe->size += padded;
	put(pe, PE_MAKE_HEADER + N_SECTIONS, ++pe->n_sections, 2);
}

void pe_make_function(struct pe_make *pe, uint32_t begin, uint32_t end, uint32_t unwind)
{
	assert(pe->n_functions < PE_MAKE_FUNCTIONS);
	uint32_t *f = pe->functions[pe->n_functions++];
	f[0] = begin;
	f[1] = end;
	f[2] = unwind;
}

void pe_make_symbol(struct pe_make *pe, const char *name, uint16_t section, uint32_t value,
		    uint16_t type, uint8_t class, uint8_t n_aux)
{
	assert(pe->n_symbols + n_aux < PE_MAKE_SYMBOLS);
	uint8_t *record = pe->symbols[pe->n_symbols];
	if (strlen(name) > 8) {
		uint32_t at = string_add(pe, name);
		memcpy(record + 4, &at, 4);
	} else {
		memcpy(record, name, strlen(name));
	}
	memcpy(record + 8, &value, 4);
	memcpy(record + 12, &section, 2);
	memcpy(record + 14, &type, 2);
	record[16] = class;
	record[17] = n_aux;
	/* what an auxiliary record holds must never be taken for a symbol */
	for (uint32_t i = 1; i <= n_aux; i++)
		memcpy(pe->symbols[pe->n_symbols + i], "aux\0\0\0\0\0\x10\0\0\0\1\0\x20\0\2", 17);
	pe->n_symbols += 1 + (uint32_t) n_aux;
}

void pe_make_export(struct pe_make *pe, const char *name, uint32_t rva)
{
	assert(pe->n_exports < PE_MAKE_EXPORTS && pe->forwarder == NULL);
	pe->exports[pe->n_exports].name = name;
	pe->exports[pe->n_exports++].rva = rva;
}

void pe_make_forward(struct pe_make *pe, const char *name, const char *to)
{
	pe_make_export(pe, name, 0);
	pe->forwarder = to;
}

static uint32_t text_add(uint8_t *data, uint32_t *used, const char *s)
{
	uint32_t at = *used;
	memcpy(data + at, s, strlen(s) + 1);
	*used += (uint32_t) strlen(s) + 1;
	return PE_MAKE_EDATA + at;
}

/* Directory, functions, names and ordinals as arrays of PE_MAKE_EXPORTS, then the texts. */
static void exports_write(struct pe_make *pe)
{
	uint8_t data[4096] = {0};
	uint32_t functions = EXPORT_DIRECTORY_BYTES, names = functions + 4 * PE_MAKE_EXPORTS;
	uint32_t ordinals = names + 4 * PE_MAKE_EXPORTS, n_names = 0;
	uint32_t used = ordinals + 2 * PE_MAKE_EXPORTS;
	for (uint32_t i = 0; i < pe->n_exports; i++) {
		uint32_t rva = pe->exports[i].rva;
		if (pe->forwarder != NULL && i == pe->n_exports - 1)
			rva = text_add(data, &used, pe->forwarder);
		memcpy(data + functions + (size_t) i * 4, &rva, 4);
		if (pe->exports[i].name == NULL)
			continue;
		uint32_t name = text_add(data, &used, pe->exports[i].name);
		memcpy(data + names + (size_t) n_names * 4, &name, 4);
		memcpy(data + ordinals + (size_t) n_names * 2, &i, 2);
		n_names++;
	}
	const uint32_t tail[] = {
		FIRST_ORDINAL,         pe->n_exports,           n_names, PE_MAKE_EDATA + functions,
		PE_MAKE_EDATA + names, PE_MAKE_EDATA + ordinals};
	memcpy(data + 16, tail, sizeof(tail));
	pe_make_section(pe, ".edata", PE_MAKE_EDATA, PE_MAKE_DATA, data, used);
	directory_set(pe, 0, PE_MAKE_EDATA, used);
}

void pe_make_finish(struct pe_make *pe)
{
	if (pe->n_functions > 0) {
		pe_make_section(pe, ".pdata", PE_MAKE_PDATA, PE_MAKE_DATA, pe->functions,
				pe->n_functions * 12);
		directory_set(pe, 3, PE_MAKE_PDATA, pe->n_functions * 12);
	}
	if (pe->n_exports > 0)
		exports_write(pe);
	assert(pe->size + sizeof(pe->symbols) + pe->strings_bytes <= PE_MAKE_BYTES);
	put(pe, PE_MAKE_HEADER + SYMBOLS, pe->size, 4);
	put(pe, PE_MAKE_HEADER + N_SYMBOLS, pe->n_symbols, 4);
	memcpy(pe->bytes + pe->size, pe->symbols, pe->n_symbols * sizeof(pe->symbols[0]));
	pe->size += pe->n_symbols * sizeof(pe->symbols[0]);
	memcpy(pe->strings, &pe->strings_bytes, 4);
	memcpy(pe->bytes + pe->size, pe->strings, pe->strings_bytes);
	pe->size += pe->strings_bytes;
}
