/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_file.h"

enum {
	/* Offsets in the headers, from the signature "PE\0\0" where not said otherwise. */
	DOS_NEW_HEADER = 0x3c, /* from the file's start: where the signature is */
	COFF_MACHINE = 4,
	COFF_N_SECTIONS = 6,
	COFF_SYMBOLS = 12,
	COFF_N_SYMBOLS = 16,
	COFF_OPTIONAL_BYTES = 20,
	OPTIONAL = 24,
	OPTIONAL_BASE = OPTIONAL + 24,
	OPTIONAL_N_DIRECTORIES = OPTIONAL + 108,
	OPTIONAL_DIRECTORIES = OPTIONAL + 112,

	MACHINE_X86_64 = 0x8664,
	MAGIC_PE32_PLUS = 0x20b,
	SECTION_BYTES = 40,
	SHORT_NAME_BYTES = 8,
	DIRECTORIES_MAX = 16,
	DIRECTORY_BYTES = 8,

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

static uint16_t u16_at(struct sw_bytes bytes, uint64_t off)
{
	uint16_t value = 0;
	(void) sw_bytes_u16(bytes, off, &value); /* not inside: 0 */
	return value;
}

/* Symbols and, right behind them, the strings. Images that Microsoft's linker made have none. */
static void symbols_init(struct sw_pefile *pe, uint64_t header)
{
	uint32_t off = u32_at(pe->image, header + COFF_SYMBOLS);
	uint64_t bytes =
		(uint64_t) u32_at(pe->image, header + COFF_N_SYMBOLS) * SW_PEFILE_SYMBOL_BYTES;
	uint32_t strings_bytes;
	struct sw_bytes symbols;
	if (off == 0 || !sw_bytes_sub(pe->image, off, bytes, &symbols))
		return;
	pe->symbols = symbols;
	if (sw_bytes_u32(pe->image, off + bytes, &strings_bytes))
		(void) sw_bytes_sub(pe->image, off + bytes, strings_bytes,
				    &pe->strings); /* cut: no long names */
}

bool sw_pefile_init(struct sw_pefile *pe, struct sw_bytes image)
{
	*pe = (struct sw_pefile){.image = image};
	uint32_t header = u32_at(image, DOS_NEW_HEADER);
	if (image.data == NULL || !sw_bytes_has(image, header, OPTIONAL_DIRECTORIES) ||
	    memcmp(image.data, "MZ", 2) != 0 || memcmp(image.data + header, "PE\0\0", 4) != 0 ||
	    u16_at(image, (uint64_t) header + COFF_MACHINE) != MACHINE_X86_64 ||
	    u16_at(image, (uint64_t) header + OPTIONAL) != MAGIC_PE32_PLUS ||
	    !sw_bytes_u64(image, (uint64_t) header + OPTIONAL_BASE, &pe->base_avma))
		return false;
	uint64_t optional_bytes = u16_at(image, (uint64_t) header + COFF_OPTIONAL_BYTES);
	pe->n_sections = u16_at(image, (uint64_t) header + COFF_N_SECTIONS);
	pe->sections_off = header + OPTIONAL + optional_bytes;
	if (pe->n_sections > SW_PEFILE_SECTIONS_MAX ||
	    !sw_bytes_has(image, pe->sections_off, (uint64_t) pe->n_sections * SECTION_BYTES))
		pe->n_sections = 0;
	pe->n_directories = u32_at(image, (uint64_t) header + OPTIONAL_N_DIRECTORIES);
	if (pe->n_directories > DIRECTORIES_MAX)
		pe->n_directories = DIRECTORIES_MAX;
	pe->directories_off = (uint64_t) header + OPTIONAL_DIRECTORIES;
	if (pe->directories_off + (uint64_t) pe->n_directories * DIRECTORY_BYTES > pe->sections_off)
		pe->n_directories = 0;
	symbols_init(pe, header);
	return true;
}

bool sw_pefile_name(struct sw_bytes bytes, uint64_t off, const char **ret, size_t *ret_bytes)
{
	const char *name;
	if (off < bytes.size && bytes.size - off > SW_PEFILE_NAME_MAX)
		bytes.size = (size_t) off + SW_PEFILE_NAME_MAX;
	if (!sw_bytes_str(bytes, off, &name))
		return false;
	*ret = name;
	*ret_bytes = strlen(name);
	return true;
}

/* "/123": the name is at that offset of the strings (GNU ld, for .debug_info and the like). */
static bool section_name_off(const struct sw_pefile_section *section, uint64_t *ret)
{
	uint64_t off = 0;
	if (section->name_bytes == 0 || section->name[0] != '/')
		return false;
	for (size_t i = 1; i < section->name_bytes; i++) {
		if (section->name[i] < '0' || section->name[i] > '9')
			return false;
		off = off * 10 + (uint64_t) (section->name[i] - '0');
	}
	*ret = off;
	return off >= sizeof(uint32_t); /* behind the strings' length */
}

static bool section_is(const struct sw_pefile *pe, const struct sw_pefile_section *section,
		       const char *name)
{
	uint64_t off;
	const char *other = section->name;
	size_t bytes = section->name_bytes;
	if (section_name_off(section, &off))
		(void) sw_pefile_name(pe->strings, off, &other, &bytes); /* none: it stays */
	return bytes == strlen(name) && memcmp(other, name, bytes) == 0;
}

bool sw_pefile_section(const struct sw_pefile *pe, uint32_t index, struct sw_pefile_section *ret)
{
	struct sw_bytes header;
	if (index >= pe->n_sections ||
	    !sw_bytes_sub(pe->image, pe->sections_off + (uint64_t) index * SECTION_BYTES,
			  SECTION_BYTES, &header))
		return false;
	*ret = (struct sw_pefile_section){
		.name = (const char *) header.data,
		.name_bytes = strnlen((const char *) header.data, SHORT_NAME_BYTES),
		.memory_bytes = u32_at(header, 8),
		.rva = u32_at(header, 12),
		.file_bytes = u32_at(header, 16),
		.off = u32_at(header, 20),
		.flags = u32_at(header, 36),
	};
	return true;
}

bool sw_pefile_section_named(const struct sw_pefile *pe, const char *name,
			     struct sw_pefile_section *ret)
{
	struct sw_pefile_section section;
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		if (sw_pefile_section(pe, i, &section) && section_is(pe, &section, name)) {
			*ret = section;
			return true;
		}
	}
	return false;
}

bool sw_pefile_section_bytes(const struct sw_pefile *pe, const struct sw_pefile_section *section,
			     struct sw_bytes *ret)
{
	uint32_t bytes = section->file_bytes;
	if (section->memory_bytes != 0 && section->memory_bytes < bytes)
		bytes = section->memory_bytes;
	return section->off != 0 && bytes != 0 && sw_bytes_sub(pe->image, section->off, bytes, ret);
}

bool sw_pefile_at(const struct sw_pefile *pe, uint32_t rva, struct sw_bytes *ret)
{
	struct sw_pefile_section section;
	struct sw_bytes bytes;
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		if (!sw_pefile_section(pe, i, &section) || rva < section.rva ||
		    !sw_pefile_section_bytes(pe, &section, &bytes) ||
		    rva - section.rva >= bytes.size)
			continue;
		uint32_t skip = rva - section.rva;
		return sw_bytes_sub(bytes, skip, bytes.size - skip, ret);
	}
	return false;
}

bool sw_pefile_directory(const struct sw_pefile *pe, uint32_t index, uint32_t *ret_rva,
			 struct sw_bytes *ret)
{
	uint64_t at = pe->directories_off + (uint64_t) index * DIRECTORY_BYTES;
	uint32_t rva, size;
	struct sw_bytes bytes;
	if (index >= pe->n_directories || !sw_bytes_u32(pe->image, at, &rva) ||
	    !sw_bytes_u32(pe->image, at + 4, &size) || rva == 0 || size == 0 ||
	    !sw_pefile_at(pe, rva, &bytes) || size > bytes.size)
		return false;
	*ret_rva = rva;
	return sw_bytes_sub(bytes, 0, size, ret);
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
static bool function_parent(const struct sw_pefile *pe, const struct function *f,
			    struct function *ret)
{
	struct sw_bytes info;
	uint8_t head, slots;
	if (f->unwind_rva & 1)
		return sw_pefile_at(pe, f->unwind_rva & ~1u, &info) && function_at(info, 0, ret);
	if (!sw_pefile_at(pe, f->unwind_rva, &info) || !sw_bytes_u8(info, 0, &head) ||
	    !sw_bytes_u8(info, 2, &slots) || !((head >> 3) & UNWIND_CHAINED))
		return false;
	/* behind the codes of two bytes, of which there is an even number */
	return function_at(info, 4 + 2 * (((uint64_t) slots + 1) & ~UINT64_C(1)), ret);
}

struct sw_pefile_extent sw_pefile_extent(const struct sw_pefile *pe, struct sw_bytes functions,
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
		return (struct sw_pefile_extent){0};
	if (rva >= f.end_rva)
		return (struct sw_pefile_extent){.begin_rva = f.end_rva, .primary_rva = f.end_rva};
	struct sw_pefile_extent extent = {true, f.begin_rva, f.begin_rva};
	struct function parent;
	int left = CHAIN_MAX;
	for (; left > 0 && function_parent(pe, &f, &parent); left--)
		f = parent;
	if (left > 0) /* else it is a ring */
		extent.primary_rva = f.begin_rva;
	return extent;
}
