/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PE_MAKE_H
#define PE_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PE files made in memory, for unit tests:
 *
 *	struct pe_make pe;
 *	pe_make_init(&pe);	PE32+ for x86-64; pe_make_init_32(): PE32 for i386
 *	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 0x1000);	NULL: zeros
 *	pe_make_function(&pe, 0x1000, 0x1040, 0x3000);	entry of the exception directory
 *	pe_make_symbol(&pe, "main", 1, 0x0, 0x20, 2, 0);	section from 1, value, type, class, aux
 *	pe_make_export(&pe, "run", 0x1000);	NULL: only an ordinal; they count from 5
 *	pe_make_finish(&pe);	pe.bytes, pe.size are the file
 *
 * The exception directory is at PE_MAKE_PDATA, exports are at PE_MAKE_EDATA, when there are any.
 */

enum {
	PE_MAKE_BYTES = 1 << 16,
	PE_MAKE_SECTIONS = 16,
	PE_MAKE_FUNCTIONS = 64,
	PE_MAKE_SYMBOLS = 64,
	PE_MAKE_EXPORTS = 32,
	PE_MAKE_HEADER = 0x80, /* the signature's offset */
	PE_MAKE_HEADERS = 0x400,
	PE_MAKE_PDATA = 0x100000,
	PE_MAKE_EDATA = 0x200000,
	PE_MAKE_CODE = 0x60000020,
	PE_MAKE_DATA = 0x40000040,
};
static const uint64_t PE_MAKE_BASE = UINT64_C(0x180000000), PE_MAKE_BASE_32 = 0x400000;

struct pe_make {
	bool is_32bit;
	uint8_t bytes[PE_MAKE_BYTES];
	size_t size;
	uint32_t n_sections;
	uint32_t functions[PE_MAKE_FUNCTIONS][3], n_functions;
	uint8_t symbols[PE_MAKE_SYMBOLS][18];
	uint32_t n_symbols;
	char strings[4096];
	uint32_t strings_bytes;
	struct {
		const char *name; /* borrowed */
		uint32_t rva;
	} exports[PE_MAKE_EXPORTS];
	uint32_t n_exports;
	const char *forwarder; /* borrowed; the last export's target */
};

void pe_make_init(struct pe_make *pe);
void pe_make_init_32(struct pe_make *pe);
void pe_make_section(struct pe_make *pe, const char *name, uint32_t rva, uint32_t flags,
		     const void *data, uint32_t size);
void pe_make_function(struct pe_make *pe, uint32_t begin, uint32_t end, uint32_t unwind);
void pe_make_symbol(struct pe_make *pe, const char *name, uint16_t section, uint32_t value,
		    uint16_t type, uint8_t class, uint8_t n_aux);
void pe_make_export(struct pe_make *pe, const char *name, uint32_t rva);
/* An export that is another DLL's: "OTHER.run". */
void pe_make_forward(struct pe_make *pe, const char *name, const char *to);
void pe_make_finish(struct pe_make *pe);

#endif
