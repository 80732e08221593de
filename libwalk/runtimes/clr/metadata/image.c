/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/image.h"
#include "runtimes/clr/metadata/remote.h"

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
	/* II.22.26, II.25.4 */
	METHOD_RVA = 0, /* column */
	IL_FORMAT = 3,
	IL_TINY = 2,
	IL_FAT = 3,
	IL_TINY_SHIFT = 2,
	IL_FAT_HEADER_SHIFT = 12, /* of the flags: its own length, in words of four bytes */
	IL_FAT_BYTES = 4,         /* where its size is */
};

bool sw_clr_pe_address(const struct sw_clr_pe *pe, uint32_t rva, uint64_t *ret_avma)
{
	struct sw_memory m = pe->memory;
	uint64_t coff = (uint64_t) pe->lfanew;
	uint16_t n, optional;
	if (pe->mapped) {
		*ret_avma = pe->base_avma + rva;
		return true;
	}
	if (!sw_clr_u16(m, pe->base_avma, coff + PE_N_SECTIONS, &n) ||
	    !sw_clr_u16(m, pe->base_avma, coff + PE_OPTIONAL_BYTES, &optional))
		return false;
	for (unsigned i = 0; i < n && i < PE_SECTIONS_MAX; i++) {
		/* VirtualSize, VirtualAddress, SizeOfRawData, PointerToRawData */
		uint32_t section[4];
		if (!sw_clr_read(m, pe->base_avma,
				 coff + PE_OPTIONAL + optional + i * PE_SECTION_BYTES + 8, section,
				 sizeof(section)))
			return false;
		if (rva >= section[1] && rva - section[1] < section[2]) {
			*ret_avma = pe->base_avma + section[3] + (rva - section[1]);
			return true;
		}
	}
	return false;
}

bool sw_clr_pe_open(struct sw_memory memory, uint64_t base_avma, bool mapped, struct sw_clr_pe *ret)
{
	struct sw_clr_pe pe = {.memory = memory, .base_avma = base_avma, .mapped = mapped};
	uint16_t magic;
	if (!sw_clr_u32(memory, base_avma, PE_LFANEW, &pe.lfanew) ||
	    !sw_clr_u16(memory, base_avma, (uint64_t) pe.lfanew + PE_OPTIONAL, &magic) ||
	    (magic != PE_MAGIC_32 && magic != PE_MAGIC_PLUS))
		return false;
	pe.plus = magic == PE_MAGIC_PLUS;
	*ret = pe;
	return true;
}

bool sw_clr_pe_directory(const struct sw_clr_pe *pe, unsigned number, uint32_t *ret_rva,
			 uint32_t *ret_bytes)
{
	uint64_t at = (uint64_t) pe->lfanew + PE_OPTIONAL +
		      (pe->plus ? PE_DIRECTORIES_PLUS : PE_DIRECTORIES_32);
	uint32_t rva, bytes;
	if (!sw_clr_u32(pe->memory, pe->base_avma, at + 8 * number, &rva) ||
	    !sw_clr_u32(pe->memory, pe->base_avma, at + 8 * number + 4, &bytes) || rva == 0)
		return false;
	*ret_rva = rva;
	*ret_bytes = bytes;
	return true;
}

bool sw_clr_pe_metadata(const struct sw_clr_pe *pe, struct sw_clr_metadata *ret)
{
	uint64_t cli_avma, avma;
	uint32_t rva, bytes;
	return sw_clr_pe_directory(pe, PE_DIRECTORY_CLI, &rva, &bytes) &&
	       sw_clr_pe_address(pe, rva, &cli_avma) &&
	       sw_clr_u32(pe->memory, cli_avma, CLI_METADATA, &rva) &&
	       sw_clr_u32(pe->memory, cli_avma, CLI_METADATA + 4, &bytes) &&
	       sw_clr_pe_address(pe, rva, &avma) &&
	       sw_clr_metadata_open(pe->memory, avma, bytes, ret);
}

bool sw_clr_il_find(const struct sw_clr_pe *pe, const struct sw_clr_metadata *metadata,
		    uint32_t method_rid, struct sw_clr_il *ret)
{
	uint32_t rva;
	uint64_t avma;
	uint8_t first;
	uint16_t flags;
	if (!sw_clr_metadata_get(metadata, SW_CLR_TABLE_METHOD, method_rid, METHOD_RVA, &rva) ||
	    rva == 0 || !sw_clr_pe_address(pe, rva, &avma) ||
	    !sw_clr_u8(pe->memory, avma, 0, &first))
		return false;
	if ((first & IL_FORMAT) == IL_TINY) {
		*ret = (struct sw_clr_il){avma + 1, first >> IL_TINY_SHIFT};
		return true;
	}
	if ((first & IL_FORMAT) != IL_FAT || !sw_clr_u16(pe->memory, avma, 0, &flags) ||
	    !sw_clr_u32(pe->memory, avma, IL_FAT_BYTES, &ret->bytes))
		return false;
	ret->avma = avma + 4 * (uint64_t) (flags >> IL_FAT_HEADER_SHIFT);
	return true;
}

bool sw_clr_il_bytes(const struct sw_clr_pe *pe, const struct sw_clr_metadata *metadata,
		     uint32_t method_rid, uint32_t *ret)
{
	struct sw_clr_il il;
	if (!sw_clr_il_find(pe, metadata, method_rid, &il))
		return false;
	*ret = il.bytes;
	return true;
}

bool sw_clr_image_metadata(struct sw_memory memory, uint64_t base_avma, bool mapped,
			   struct sw_clr_metadata *ret)
{
	struct sw_clr_pe pe;
	return sw_clr_pe_open(memory, base_avma, mapped, &pe) && sw_clr_pe_metadata(&pe, ret);
}
