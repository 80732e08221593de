/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of PE code: the file's COFF symbols, else its exports. Which one: pe_target.h.
 */
#include "pe_target.h"
#include "symtab.h"
#include "providers.h"

enum {
	EXPORTS_MAX = 1 << 16, /* ordinals have 16 bits */

	/* COFF symbol records (PE format, "COFF symbol table"). */
	SYMBOL_VALUE = 8,
	SYMBOL_SECTION = 12,
	SYMBOL_TYPE = 14,
	SYMBOL_CLASS = 16,
	SYMBOL_N_AUX = 17,
	SHORT_NAME_BYTES = 8,
	TYPE_FUNCTION = 2, /* in bits 4 and 5 of the type */
	CLASS_EXTERNAL = 2,
	CLASS_STATIC = 3,
	CLASS_LABEL = 6,
	CLASS_WEAK = 105,

	/* The export directory (PE format, "Export directory table"). */
	EXPORT_BASE = 16,
	EXPORT_N_FUNCTIONS = 20,
	EXPORT_N_NAMES = 24,
	EXPORT_FUNCTIONS = 28,
	EXPORT_NAMES = 32,
	EXPORT_ORDINALS = 36,
};

/*
 * Symbols of i386 tell the calling convention: _f (cdecl), _f@8 (stdcall), @f@8 (fastcall); Microsoft, "Decorated
 * names". Without it they are as in the source, and as an export is named.
 */
static void undecorate(struct sw_pe_candidate *c)
{
	if (c->name[0] != '_' && c->name[0] != '@')
		return;
	c->name++;
	c->name_bytes--;
	size_t end = c->name_bytes;
	while (end > 0 && c->name[end - 1] >= '0' && c->name[end - 1] <= '9')
		end--;
	if (end > 1 && end < c->name_bytes && c->name[end - 1] == '@')
		c->name_bytes = end - 1;
}

/* The name of a section that has one function: ".text$f" of GCC and MinGW. Returns false if it is
 * another section's. */
static bool section_name(struct sw_pe_candidate *c)
{
	static const char prefix[] = ".text$";
	size_t size = sizeof(prefix) - 1;
	if (c->name_bytes <= size || memcmp(c->name, prefix, size) != 0)
		return false;
	c->name += size;
	c->name_bytes -= size;
	return true;
}

/* Up to eight bytes in the record, or an offset of the strings behind their length. False: none, or a section's that
 * says nothing. */
static bool symbol_name(const struct sw_pe_file *pe, struct sw_bytes record,
			struct sw_pe_candidate *c)
{
	uint32_t zero = 0, off = 0;
	(void) sw_bytes_u32(record, 0, &zero); /* the record is whole: cannot fail */
	(void) sw_bytes_u32(record, 4, &off);
	c->name = (const char *) record.data;
	c->name_bytes = strnlen(c->name, SHORT_NAME_BYTES);
	if (zero == 0 &&
	    (off < sizeof(off) || !sw_pe_file_name(pe->strings, off, &c->name, &c->name_bytes)))
		return false;
	if (c->rank == SW_PE_RANK_SECTION && !section_name(c))
		return false;
	if (pe->headers.is_32bit && c->name_bytes > 0)
		undecorate(c);
	return c->name_bytes > 0 && c->name[0] != '.';
}

/* The fields of a record, but for its name. Returns false if it starts no code. */
static bool symbol_read(struct sw_bytes record, const struct sw_pe_image *headers,
			struct sw_pe_candidate *ret, uint8_t *ret_n_aux)
{
	uint32_t value = 0;
	uint16_t number = 0, type = 0;
	uint8_t class = 0;
	/* The record is whole: none of these can fail. */
	(void) sw_bytes_u32(record, SYMBOL_VALUE, &value);
	(void) sw_bytes_u16(record, SYMBOL_SECTION, &number); /* 0 and negative ones: no section */
	(void) sw_bytes_u16(record, SYMBOL_TYPE, &type);
	(void) sw_bytes_u8(record, SYMBOL_CLASS, &class);
	(void) sw_bytes_u8(record, SYMBOL_N_AUX, ret_n_aux);
	if (number == 0 || number > headers->n_sections ||
	    !(headers->sections[number - 1].flags & SW_PE_SECTION_EXECUTE) ||
	    __builtin_add_overflow(headers->sections[number - 1].rva, value, &ret->start_rva))
		return false;
	bool function = (type >> 4 & 3) == TYPE_FUNCTION;
	ret->found = true;
	switch (class) {
	case CLASS_EXTERNAL:
	case CLASS_WEAK: ret->rank = function ? 0 : SW_PE_RANK_EXTERNAL; return true;
	case CLASS_STATIC:
	case CLASS_LABEL:
		ret->rank = function ? SW_PE_RANK_STATIC : SW_PE_RANK_NO_FUNCTION;
		/* a section's own symbol has more records, which tell of the section */
		if (!function && *ret_n_aux > 0)
			ret->rank = SW_PE_RANK_SECTION;
		return true;
	default: return false;
	}
}

static void symbols_scan(struct sw_pe_scan *scan)
{
	const struct sw_pe_file *pe = scan->pe;
	struct sw_bytes record;
	for (size_t i = 0, seen = 0; sw_bytes_sub(pe->symbols, i * SW_PE_FILE_SYMBOL_BYTES,
						  SW_PE_FILE_SYMBOL_BYTES, &record) &&
				     !sw_pe_scan_late(scan, seen);
	     i++, seen++) {
		struct sw_pe_candidate c = {0};
		uint8_t n_aux;
		size_t first;
		if (symbol_read(record, &pe->headers, &c, &n_aux) &&
		    sw_pe_scan_wants(scan, c.start_rva, &first) && symbol_name(pe, record, &c))
			sw_pe_scan_consider(scan, first, &c);
		i += n_aux;
	}
}

struct exports {
	uint32_t rva;
	struct sw_bytes directory, functions, names, ordinals;
	uint32_t base;
};

/* An array of the directory: as much of it as is there. */
static struct sw_bytes exports_array(const struct sw_pe_file *pe, struct sw_bytes directory,
				     uint32_t field, uint32_t n, uint32_t entry_bytes)
{
	uint32_t rva = 0;
	struct sw_bytes bytes = {0};
	(void) sw_bytes_u32(directory, field, &rva); /* 0: nothing is there */
	if (n > EXPORTS_MAX)
		n = EXPORTS_MAX;
	if (!sw_pe_file_at(pe, rva, &bytes))
		return (struct sw_bytes){0};
	if (bytes.size > (size_t) n * entry_bytes)
		bytes.size = (size_t) n * entry_bytes;
	return bytes;
}

static bool exports_open(const struct sw_pe_file *pe, struct exports *ret)
{
	uint32_t n_functions, n_names;
	struct exports e = {.rva = pe->headers.exports.rva};
	if (!sw_pe_file_directory(pe, pe->headers.exports, &e.directory) ||
	    !sw_bytes_u32(e.directory, EXPORT_BASE, &e.base) ||
	    !sw_bytes_u32(e.directory, EXPORT_N_FUNCTIONS, &n_functions) ||
	    !sw_bytes_u32(e.directory, EXPORT_N_NAMES, &n_names))
		return false;
	e.functions = exports_array(pe, e.directory, EXPORT_FUNCTIONS, n_functions, 4);
	e.names = exports_array(pe, e.directory, EXPORT_NAMES, n_names, 4);
	e.ordinals = exports_array(pe, e.directory, EXPORT_ORDINALS, n_names, 2);
	*ret = e;
	return true;
}

/* A forwarder's address is that of a name in the directory, which is no code. */
static bool export_start(const struct exports *e, uint32_t index, uint32_t *ret)
{
	return sw_bytes_u32(e->functions, (uint64_t) index * 4, ret) && *ret != 0 &&
	       (*ret < e->rva || *ret - e->rva >= e->directory.size);
}

static void exports_scan(struct sw_pe_scan *scan, const struct exports *e)
{
	struct sw_pe_candidate c = {.found = true, .rank = SW_PE_RANK_ORDINAL};
	uint32_t name_rva;
	uint16_t index;
	size_t first;
	for (uint32_t i = 0; (size_t) i * 4 < e->functions.size && !sw_pe_scan_late(scan, i); i++) {
		c.ordinal = e->base + i;
		if (export_start(e, i, &c.start_rva) && sw_pe_scan_wants(scan, c.start_rva, &first))
			sw_pe_scan_consider(scan, first, &c);
	}
	c.rank = 0;
	for (size_t i = 0; sw_bytes_u32(e->names, i * 4, &name_rva) &&
			   sw_bytes_u16(e->ordinals, i * 2, &index) && !sw_pe_scan_late(scan, i);
	     i++) {
		struct sw_bytes bytes;
		if (!export_start(e, index, &c.start_rva) ||
		    !sw_pe_scan_wants(scan, c.start_rva, &first) ||
		    !sw_pe_file_at(scan->pe, name_rva, &bytes) ||
		    !sw_pe_file_name(bytes, 0, &c.name, &c.name_bytes))
			continue;
		if (c.name_bytes > 0)
			sw_pe_scan_consider(scan, first, &c);
	}
}

static int coff_names(const struct sw_pe_file *pe, struct sw_want *wants, size_t n,
		      const struct sw_request *request)
{
	struct sw_pe_scan scan;
	int r = sw_pe_scan_init(&scan, pe, wants, n, request->deadline_ns);
	if (r < 0)
		return r;
	symbols_scan(&scan);
	r = sw_pe_scan_settle(&scan, SW_SOURCE_SYMTAB, wants, request);
	sw_pe_scan_deinit(&scan);
	return r;
}

static int export_names(const struct sw_pe_file *pe, struct sw_want *wants, size_t n,
			const struct sw_request *request)
{
	struct exports exports;
	struct sw_pe_scan scan;
	if (!exports_open(pe, &exports))
		return 0;
	int r = sw_pe_scan_init(&scan, pe, wants, n, request->deadline_ns);
	if (r < 0)
		return r;
	exports_scan(&scan, &exports);
	r = sw_pe_scan_settle(&scan, SW_SOURCE_EXPORTS, wants, request);
	sw_pe_scan_deinit(&scan);
	return r;
}

static int pe_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
		    const struct sw_request *request)
{
	(void) slot; /* nothing to keep: the image is mapped anyway */
	const struct sw_pe_file *pe = sw_unit_pe(unit);
	if (pe == NULL)
		return 0;
	int r = pe->symbols.size > 0 ? coff_names(pe, wants, n, request) : 0;
	return r == 0 && !sw_wants_settled(wants, n) ? export_names(pe, wants, n, request) : r;
}

const struct sw_provider_ops sw_prov_pe = {
	.name = "pe",
	.kinds = 1 << SW_MODULE_PE,
	.names = pe_names,
};
