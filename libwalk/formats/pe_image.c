/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_image.h"

enum {
	DOS_BYTES = 64,
	DOS_LFANEW = 60,       /* where the rest of the headers is */
	LFANEW_MAX = 16 << 20, /* ld and link put it below 4096; hostile headers anywhere */
	SIGNATURE_BYTES = 4,
	COFF_BYTES = 20,
	/* Up to the data directories; their number is before them. */
	OPTIONAL_MIN = 112,
	OPTIONAL_MIN_32 = 96,
	DIRECTORY_BYTES = 8,
	DIRECTORY_EXPORT = 0,
	DIRECTORY_EXCEPTION = 3,
	DIRECTORY_DEBUG = 6,
	DIRECTORIES_MAX = 16,
	NT_BYTES = SIGNATURE_BYTES + COFF_BYTES + OPTIONAL_MIN + DIRECTORIES_MAX * DIRECTORY_BYTES,
	SECTION_BYTES = 40,
	SECTION_NAME = 8,
	MAGIC_PE32 = 0x10b,
	MAGIC_PE32_PLUS = 0x20b,
	DEBUG_BYTES = 28, /* of an entry of the debug directory */
	DEBUG_ENTRIES_MAX = 64,
	DEBUG_CODEVIEW = 2,
	RSDS_BYTES = 24, /* "RSDS", GUID, age; the path follows */
	GUID_BYTES = 16,
};

static uint16_t u16_at(struct sw_bytes b, uint64_t offset)
{
	uint16_t value = 0;
	(void) sw_bytes_u16(b, offset, &value); /* 0 for what is not there */
	return value;
}

static uint32_t u32_at(struct sw_bytes b, uint64_t offset)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(b, offset, &value); /* the same */
	return value;
}

/* Directory number index, when the image has it and it lies inside. */
static struct sw_pe_directory directory_at(struct sw_bytes optional, unsigned index,
					   const struct sw_pe_image *image)
{
	struct sw_pe_directory none = {0}, d;
	uint64_t start = image->is_32bit ? OPTIONAL_MIN_32 : OPTIONAL_MIN;
	uint64_t at = start + (uint64_t) index * DIRECTORY_BYTES;
	if (index >= u32_at(optional, start - 4)) /* NumberOfRvaAndSizes */
		return none;
	d = (struct sw_pe_directory){u32_at(optional, at), u32_at(optional, at + 4)};
	return d.rva != 0 && d.rva < image->image_bytes && d.bytes <= image->image_bytes - d.rva
		       ? d
		       : none;
}

static void section_parse(struct sw_bytes b, struct sw_pe_section *ret)
{
	*ret = (struct sw_pe_section){.bytes = u32_at(b, 8),
				      .rva = u32_at(b, 12),
				      .file_bytes = u32_at(b, 16),
				      .file_off = u32_at(b, 20),
				      .flags = u32_at(b, 36)};
	(void) sw_bytes_copy(b, 0, ret->name, SECTION_NAME); /* NUL stays behind it */
	/* Old linkers leave VirtualSize 0: the size in the file stands for both then. */
	if (ret->bytes == 0)
		ret->bytes = ret->file_bytes;
}

static bool sections_read(struct sw_memory memory, uint64_t at_avma, struct sw_pe_image *image)
{
	uint8_t raw[SW_PE_SECTIONS_MAX * SECTION_BYTES];
	if (!sw_memory_read(memory, at_avma, raw, image->n_sections * SECTION_BYTES))
		return false;
	for (size_t i = 0; i < image->n_sections; i++)
		section_parse((struct sw_bytes){raw + i * SECTION_BYTES, SECTION_BYTES},
			      &image->sections[i]);
	return true;
}

static bool is_for_us(const struct sw_pe_image *image, uint16_t magic)
{
	switch (image->machine) {
	case SW_PE_MACHINE_I386: return magic == MAGIC_PE32;
	case SW_PE_MACHINE_X86_64:
	case SW_PE_MACHINE_X86_64_LINUX: return magic == MAGIC_PE32_PLUS;
	default: return false;
	}
}

/* The fixed part: signature, COFF header, optional header. False: not an image for us. */
static bool nt_parse(struct sw_bytes nt, struct sw_pe_image *ret, uint64_t *ret_sections_at)
{
	struct sw_bytes optional;
	uint32_t coff = SIGNATURE_BYTES, optional_bytes = u16_at(nt, coff + 16);
	if (!sw_bytes_has(nt, 0, NT_BYTES) || memcmp(nt.data, "PE\0", SIGNATURE_BYTES) != 0)
		return false;
	ret->machine = u16_at(nt, coff);
	ret->is_32bit = ret->machine == SW_PE_MACHINE_I386;
	if (optional_bytes < (ret->is_32bit ? OPTIONAL_MIN_32 : OPTIONAL_MIN))
		return false;
	if (!sw_bytes_sub(nt, coff + COFF_BYTES,
			  optional_bytes < NT_BYTES - SIGNATURE_BYTES - COFF_BYTES
				  ? optional_bytes
				  : NT_BYTES - SIGNATURE_BYTES - COFF_BYTES,
			  &optional))
		return false;
	ret->n_sections = u16_at(nt, coff + 2);
	ret->timestamp = u32_at(nt, coff + 4);
	ret->symbols_off = u32_at(nt, coff + 8);
	ret->n_symbols = u32_at(nt, coff + 12);
	ret->image_bytes = u32_at(optional, 56);
	ret->header_bytes = u32_at(optional, 60);
	ret->checksum = u32_at(optional, 64);
	ret->preferred_avma = u32_at(optional, 28);
	if (!ret->is_32bit)
		(void) sw_bytes_u64(optional, 24, &ret->preferred_avma); /* inside OPTIONAL_MIN */
	if (!is_for_us(ret, u16_at(optional, 0)) || ret->n_sections > SW_PE_SECTIONS_MAX ||
	    ret->image_bytes == 0 || ret->image_bytes > SW_PE_IMAGE_BYTES_MAX)
		return false;
	ret->exports = directory_at(optional, DIRECTORY_EXPORT, ret);
	ret->exception = directory_at(optional, DIRECTORY_EXCEPTION, ret);
	ret->debug = directory_at(optional, DIRECTORY_DEBUG, ret);
	*ret_sections_at = coff + COFF_BYTES + optional_bytes;
	return true;
}

static bool image_read(struct sw_memory memory, uint64_t base_avma, struct sw_pe_image *ret)
{
	uint8_t dos[DOS_BYTES], nt[NT_BYTES];
	uint64_t nt_avma, sections_at, sections_avma;
	if (!sw_memory_read(memory, base_avma, dos, sizeof(dos)) || dos[0] != 'M' || dos[1] != 'Z')
		return false;
	uint32_t lfanew = u32_at((struct sw_bytes){dos, sizeof(dos)}, DOS_LFANEW);
	struct sw_pe_image image = {0};
	if (lfanew > LFANEW_MAX || __builtin_add_overflow(base_avma, lfanew, &nt_avma) ||
	    !sw_memory_read(memory, nt_avma, nt, sizeof(nt)) ||
	    !nt_parse((struct sw_bytes){nt, sizeof(nt)}, &image, &sections_at) ||
	    __builtin_add_overflow(nt_avma, sections_at, &sections_avma) ||
	    !sections_read(memory, sections_avma, &image))
		return false;
	*ret = image;
	return true;
}

bool sw_pe_image_read(struct sw_memory memory, uint64_t base_avma, struct sw_pe_image *ret)
{
	struct sw_pe_image image;
	if (!image_read(memory, base_avma, &image) || image.is_32bit != sw_memory_is_32bit(memory))
		return false;
	*ret = image;
	return true;
}

static bool bytes_read(void *arg, uint64_t off, void *buffer, size_t length)
{
	const struct sw_bytes *b = arg;
	return sw_bytes_copy(*b, off, buffer, length);
}

bool sw_pe_image_parse(struct sw_bytes file, struct sw_pe_image *ret)
{
	static const struct sw_memory_ops ops = {.read = bytes_read};
	return image_read((struct sw_memory){&ops, &file}, 0, ret);
}

const struct sw_pe_section *sw_pe_image_section(const struct sw_pe_image *image, uint32_t rva)
{
	for (size_t i = 0; i < image->n_sections; i++)
		if (rva >= image->sections[i].rva &&
		    rva - image->sections[i].rva < image->sections[i].bytes)
			return &image->sections[i];
	return NULL;
}

bool sw_pe_image_file_off(const struct sw_pe_image *image, uint32_t rva, uint32_t length,
			  uint32_t *ret_off)
{
	const struct sw_pe_section *s = sw_pe_image_section(image, rva);
	if (s == NULL)
		return false;
	uint32_t skip = rva - s->rva;
	if (skip > s->file_bytes || length > s->file_bytes - skip ||
	    __builtin_add_overflow(s->file_off, skip, ret_off))
		return false;
	return true;
}

static void put_u32_be(uint8_t *to, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(to, &value, sizeof(value));
}

/* A GUID is stored as a 32-bit, two 16-bit little-endian numbers and 8 bytes, and printed with the
 * most significant byte first. */
static void guid_print_order(const uint8_t guid[GUID_BYTES], uint8_t to[GUID_BYTES])
{
	static const uint8_t order[GUID_BYTES] = {3, 2, 1,  0,  5,  4,  7,  6,
						  8, 9, 10, 11, 12, 13, 14, 15};
	for (size_t i = 0; i < GUID_BYTES; i++)
		to[i] = guid[order[i]];
}

/* LLVM 17 llvm/include/llvm/DebugInfo/CodeView/CVDebugRecord.h, PDB70DebugInfo. */
size_t sw_pe_codeview_id(struct sw_bytes record, uint8_t id[SW_BUILD_ID_MAX])
{
	if (!sw_bytes_has(record, 0, RSDS_BYTES) || memcmp(record.data, "RSDS", 4) != 0)
		return 0;
	guid_print_order(record.data + 4, id);
	put_u32_be(id + GUID_BYTES, u32_at(record, 4 + GUID_BYTES));
	return GUID_BYTES + sizeof(uint32_t);
}

static size_t codeview_find(const struct sw_pe_image *image, struct sw_bytes file,
			    uint8_t id[SW_BUILD_ID_MAX])
{
	uint32_t off, n = image->debug.bytes / DEBUG_BYTES;
	struct sw_bytes entries;
	if (n > DEBUG_ENTRIES_MAX)
		n = DEBUG_ENTRIES_MAX; /* real images have less than ten */
	if (!sw_pe_image_file_off(image, image->debug.rva, n * DEBUG_BYTES, &off) ||
	    !sw_bytes_sub(file, off, n * DEBUG_BYTES, &entries))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t) i * DEBUG_BYTES;
		struct sw_bytes record;
		if (u32_at(entries, at + 12) != DEBUG_CODEVIEW ||
		    !sw_bytes_sub(file, u32_at(entries, at + 24), u32_at(entries, at + 16),
				  &record))
			continue;
		size_t bytes = sw_pe_codeview_id(record, id);
		if (bytes > 0)
			return bytes;
	}
	return 0;
}

size_t sw_pe_time_id(uint32_t timestamp, uint32_t image_bytes, uint32_t checksum,
		     uint8_t id[SW_BUILD_ID_MAX])
{
	if (timestamp == 0 && checksum == 0)
		return 0;
	put_u32_be(id, timestamp);
	put_u32_be(id + 4, image_bytes);
	put_u32_be(id + 8, checksum);
	return 12;
}

size_t sw_pe_image_build_id(const struct sw_pe_image *image, struct sw_bytes file,
			    uint8_t id[SW_BUILD_ID_MAX])
{
	size_t bytes = codeview_find(image, file, id);
	return bytes > 0 ? bytes
			 : sw_pe_time_id(image->timestamp, image->image_bytes, image->checksum, id);
}
