/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_file.h"

enum {
	FUNCTION_BYTES = 12, /* RUNTIME_FUNCTION */
	CHAIN_MAX = 32,      /* entries that lead to one another */
	UNWIND_CHAINED = 4,  /* a flag of UNWIND_INFO, which are in the upper 5 bits */
};

static uint32_t u32_at(struct sw_bytes bytes, uint64_t off)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(bytes, off, &value); /* not inside: 0 */
	return value;
}

/* Symbols and, right behind them, the strings. Images that Microsoft's linker made have none. */
static void symbols_init(struct sw_pe_file *pe)
{
	uint32_t off = pe->headers.symbols_off, strings_bytes;
	uint64_t bytes = (uint64_t) pe->headers.n_symbols * SW_PE_FILE_SYMBOL_BYTES;
	if (off == 0 || !sw_bytes_sub(pe->image, off, bytes, &pe->symbols))
		return;
	if (sw_bytes_u32(pe->image, off + bytes, &strings_bytes))
		(void) sw_bytes_sub(pe->image, off + bytes, strings_bytes,
				    &pe->strings); /* cut: no long names */
}

bool sw_pe_file_init(struct sw_pe_file *pe, struct sw_bytes image)
{
	*pe = (struct sw_pe_file){.image = image};
	if (!sw_pe_image_parse(image, &pe->headers) ||
	    pe->headers.machine == SW_PE_MACHINE_X86_64_LINUX)
		return false;
	symbols_init(pe);
	return true;
}

bool sw_pe_file_name(struct sw_bytes bytes, uint64_t off, const char **ret, size_t *ret_bytes)
{
	const char *name;
	if (off < bytes.size && bytes.size - off > SW_PE_FILE_NAME_MAX)
		bytes.size = (size_t) off + SW_PE_FILE_NAME_MAX;
	if (!sw_bytes_str(bytes, off, &name))
		return false;
	*ret = name;
	*ret_bytes = strlen(name);
	return true;
}

/* "/123": the name is at that offset of the strings (GNU ld, for .debug_info and the like). */
static bool section_name_off(const struct sw_pe_section *section, uint64_t *ret)
{
	uint64_t off = 0;
	if (section->name[0] != '/')
		return false;
	for (const char *c = section->name + 1; *c != '\0'; c++) {
		if (*c < '0' || *c > '9')
			return false;
		off = off * 10 + (uint64_t) (*c - '0');
	}
	*ret = off;
	return off >= sizeof(uint32_t); /* behind the strings' length */
}

const struct sw_pe_section *sw_pe_file_section_named(const struct sw_pe_file *pe, const char *name)
{
	for (size_t i = 0; i < pe->headers.n_sections; i++) {
		const struct sw_pe_section *section = &pe->headers.sections[i];
		const char *other = section->name;
		uint64_t off;
		size_t bytes;
		if (section_name_off(section, &off))
			(void) sw_pe_file_name(pe->strings, off, &other,
					       &bytes); /* none: it stays */
		if (strcmp(other, name) == 0)
			return section;
	}
	return NULL;
}

bool sw_pe_file_section_bytes(const struct sw_pe_file *pe, const struct sw_pe_section *section,
			      struct sw_bytes *ret)
{
	uint32_t bytes =
		section->bytes < section->file_bytes ? section->bytes : section->file_bytes;
	return section->file_off != 0 && bytes != 0 &&
	       sw_bytes_sub(pe->image, section->file_off, bytes, ret);
}

bool sw_pe_file_at(const struct sw_pe_file *pe, uint32_t rva, struct sw_bytes *ret)
{
	const struct sw_pe_section *section = sw_pe_image_section(&pe->headers, rva);
	struct sw_bytes bytes;
	if (section == NULL || !sw_pe_file_section_bytes(pe, section, &bytes) ||
	    rva - section->rva >= bytes.size)
		return false;
	uint32_t skip = rva - section->rva;
	return sw_bytes_sub(bytes, skip, bytes.size - skip, ret);
}

bool sw_pe_file_directory(const struct sw_pe_file *pe, struct sw_pe_directory directory,
			  struct sw_bytes *ret)
{
	struct sw_bytes bytes;
	return directory.bytes > 0 && sw_pe_file_at(pe, directory.rva, &bytes) &&
	       sw_bytes_sub(bytes, 0, directory.bytes, ret);
}

struct function {
	uint32_t begin_rva, end_rva, unwind_rva;
};

static bool function_at(struct sw_bytes bytes, uint64_t off, struct function *ret)
{
	return sw_bytes_u32(bytes, off, &ret->begin_rva) &&
	       sw_bytes_u32(bytes, off + 4, &ret->end_rva) &&
	       sw_bytes_u32(bytes, off + 8, &ret->unwind_rva);
}

/* The entry that this one's unwind information names as its parent, or that stands for it. */
static bool function_parent(const struct sw_pe_file *pe, const struct function *f,
			    struct function *ret)
{
	struct sw_bytes info;
	uint8_t head, slots;
	if (f->unwind_rva & 1)
		return sw_pe_file_at(pe, f->unwind_rva & ~1u, &info) && function_at(info, 0, ret);
	if (!sw_pe_file_at(pe, f->unwind_rva, &info) || !sw_bytes_u8(info, 0, &head) ||
	    !sw_bytes_u8(info, 2, &slots) || !((head >> 3) & UNWIND_CHAINED))
		return false;
	/* behind the codes of two bytes, of which there is an even number */
	return function_at(info, 4 + 2 * (((uint64_t) slots + 1) & ~UINT64_C(1)), ret);
}

struct sw_pe_file_extent sw_pe_file_extent(const struct sw_pe_file *pe, struct sw_bytes functions,
					   uint32_t rva)
{
	size_t low = 0, high = functions.size / FUNCTION_BYTES;
	struct function f = {0};
	while (low < high) { /* the last one that begins at or before rva is at low - 1 */
		size_t middle = low + (high - low) / 2;
		if (u32_at(functions, middle * FUNCTION_BYTES) <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !function_at(functions, (low - 1) * FUNCTION_BYTES, &f))
		return (struct sw_pe_file_extent){0};
	if (rva >= f.end_rva)
		return (struct sw_pe_file_extent){.begin_rva = f.end_rva, .primary_rva = f.end_rva};
	struct sw_pe_file_extent extent = {true, f.begin_rva, f.begin_rva};
	struct function parent;
	int left = CHAIN_MAX;
	for (; left > 0 && function_parent(pe, &f, &parent); left--)
		f = parent;
	if (left > 0) /* else it is a ring */
		extent.primary_rva = f.begin_rva;
	return extent;
}
