/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_memory.h"
#include "clr_metadata.h"

enum {
	/* PE/COFF; ECMA-335 II.25.2 and II.25.3.3 */
	PE_LFANEW = 0x3c,
	PE_N_SECTIONS = 6,
	PE_OPTIONAL_BYTES = 20,
	PE_OPTIONAL = 24,
	PE_MAGIC_32 = 0x10b,
	PE_MAGIC_PLUS = 0x20b,
	PE_DIRECTORIES_32 = 96,
	PE_DIRECTORIES_PLUS = 112,
	PE_DIRECTORY_CLI = 14,
	PE_SECTION_BYTES = 40,
	PE_SECTIONS_MAX = 96, /* the loader of Windows takes no more */
	CLI_METADATA = 8,
};

/* A PE image in memory: as it was loaded, or as its file. */
struct image {
	struct sw_memory memory;
	uint64_t base_avma;
	uint32_t lfanew;
	bool mapped;
};

/* The address of an RVA. */
static bool image_address(const struct image *image, uint32_t rva, uint64_t *ret_avma)
{
	struct sw_memory m = image->memory;
	uint64_t coff = (uint64_t) image->lfanew;
	uint16_t n, optional;
	if (image->mapped) {
		*ret_avma = image->base_avma + rva;
		return true;
	}
	if (!sw_clr_u16(m, image->base_avma, coff + PE_N_SECTIONS, &n) ||
	    !sw_clr_u16(m, image->base_avma, coff + PE_OPTIONAL_BYTES, &optional))
		return false;
	for (unsigned i = 0; i < n && i < PE_SECTIONS_MAX; i++) {
		/* VirtualSize, VirtualAddress, SizeOfRawData, PointerToRawData */
		uint32_t section[4];
		if (!sw_clr_read(m, image->base_avma,
				 coff + PE_OPTIONAL + optional + i * PE_SECTION_BYTES + 8, section,
				 sizeof(section)))
			return false;
		if (rva >= section[1] && rva - section[1] < section[2]) {
			*ret_avma = image->base_avma + section[3] + (rva - section[1]);
			return true;
		}
	}
	return false;
}

bool sw_clr_image_metadata(struct sw_memory memory, uint64_t base_avma, bool mapped,
			   struct sw_clr_metadata *ret)
{
	struct image image = {.memory = memory, .base_avma = base_avma, .mapped = mapped};
	uint64_t cli_avma, avma;
	uint32_t cli_rva, rva, bytes;
	uint16_t magic;
	if (!sw_clr_u32(memory, base_avma, PE_LFANEW, &image.lfanew) ||
	    !sw_clr_u16(memory, base_avma, (uint64_t) image.lfanew + PE_OPTIONAL, &magic) ||
	    (magic != PE_MAGIC_32 && magic != PE_MAGIC_PLUS))
		return false;
	uint64_t directories = PE_OPTIONAL +
			       (magic == PE_MAGIC_32 ? PE_DIRECTORIES_32 : PE_DIRECTORIES_PLUS) +
			       8 * PE_DIRECTORY_CLI;
	return sw_clr_u32(memory, base_avma, (uint64_t) image.lfanew + directories, &cli_rva) &&
	       cli_rva != 0 && image_address(&image, cli_rva, &cli_avma) &&
	       sw_clr_u32(memory, cli_avma, CLI_METADATA, &rva) &&
	       sw_clr_u32(memory, cli_avma, CLI_METADATA + 4, &bytes) &&
	       image_address(&image, rva, &avma) && sw_clr_metadata_open(memory, avma, bytes, ret);
}
