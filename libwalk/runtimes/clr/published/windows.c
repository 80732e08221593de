/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same contract as that of libcoreclr.so, in an export of the same name. All is read from the
 * process's memory, as the loader laid it out.
 *
 *	resource directory: type RT_VERSION -> name -> language -> VS_VERSIONINFO
 *
 * Source: PE format, ".rsrc section"; Microsoft, "VS_VERSIONINFO structure" and "VS_FIXEDFILEINFO
 * structure"; dotnet/runtime v10.0.0, src/coreclr/dlls/mscoree/mscorwks_ntdef.src.
 */
#include "runtimes/clr/published/windows.h"
#include "pe/exports.h"
#include "runtimes/clr/metadata/image.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>
#include <strings.h>

enum {
	PROGRAM_BYTES_MIN = 1 << 20, /* in memory: every runtime has more than 3 MiB */
	PE_DIRECTORY_RESOURCE = 2,
	/* IMAGE_RESOURCE_DIRECTORY and its entries */
	RESOURCE_N_NAMED = 12,
	RESOURCE_N_IDS = 14,
	RESOURCE_ENTRIES = 16,
	RESOURCE_ENTRY_BYTES = 8,
	RESOURCE_ENTRIES_MAX = 256, /* that are looked at */
	RT_VERSION = 16,
	/* VS_VERSIONINFO: three u16, L"VS_VERSION_INFO", padding, VS_FIXEDFILEINFO */
	FIXED_INFO = 40,
};

#define RESOURCE_IS_DIRECTORY UINT32_C(0x80000000)
#define FIXED_SIGNATURE       UINT32_C(0xfeef04bd)

bool sw_clr_pe_is_candidate(const struct sw_place *place)
{
	const char *path = sw_module_path(place->module), *name = path;
	for (const char *c = path; *c != '\0'; c++)
		if (*c == '/' || *c == '\\')
			name = c + 1;
	size_t n = strlen(name);
	return strcasecmp(name, "coreclr.dll") == 0 ||
	       (n > 4 && strcasecmp(name + n - 4, ".exe") == 0 &&
		place->end_avma - place->start_avma >= PROGRAM_BYTES_MIN);
}

uint64_t sw_clr_pe_contract(struct sw_memory memory, uint64_t base_avma)
{
	struct sw_pe_exports e;
	return sw_pe_exports_open(memory, base_avma, &e)
		       ? sw_pe_export_find(&e, "DotNetRuntimeContractDescriptor")
		       : 0;
}

/* The entry of that type, or the first one when type is 0; where it leads, from the directory's start. */
static bool resource_entry(struct sw_memory m, uint64_t root_avma, uint32_t directory,
			   uint32_t type, uint32_t *ret)
{
	uint16_t named, ids;
	if (!sw_clr_u16(m, root_avma, (uint64_t) directory + RESOURCE_N_NAMED, &named) ||
	    !sw_clr_u16(m, root_avma, (uint64_t) directory + RESOURCE_N_IDS, &ids))
		return false;
	for (uint32_t i = 0; i < (uint32_t) named + ids && i < RESOURCE_ENTRIES_MAX; i++) {
		uint64_t at = (uint64_t) directory + RESOURCE_ENTRIES + i * RESOURCE_ENTRY_BYTES;
		uint32_t id;
		if (!sw_clr_u32(m, root_avma, at, &id) || !sw_clr_u32(m, root_avma, at + 4, ret))
			return false;
		if (type == 0 || id == type)
			return true;
	}
	return false;
}

/* The RVA of the image's VS_VERSIONINFO. */
static bool version_info_find(struct sw_memory m, uint64_t base_avma, uint32_t *ret_rva)
{
	static const uint32_t types[] = {RT_VERSION, 0, 0};
	struct sw_clr_pe pe;
	uint32_t rva, bytes, at = RESOURCE_IS_DIRECTORY;
	if (!sw_clr_pe_open(m, base_avma, true, &pe) ||
	    !sw_clr_pe_directory(&pe, PE_DIRECTORY_RESOURCE, &rva, &bytes))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!(at & RESOURCE_IS_DIRECTORY) ||
		    !resource_entry(m, base_avma + rva, at & ~RESOURCE_IS_DIRECTORY, types[i], &at))
			return false;
	return !(at & RESOURCE_IS_DIRECTORY) && sw_clr_u32(m, base_avma + rva, at, ret_rva);
}

bool sw_clr_pe_version(struct sw_memory memory, uint64_t base_avma, struct sw_text *text)
{
	uint32_t rva, info[4]; /* signature, version of the structure, version of the file */
	if (!version_info_find(memory, base_avma, &rva) ||
	    !sw_clr_read(memory, base_avma, (uint64_t) rva + FIXED_INFO, info, sizeof(info)) ||
	    info[0] != FIXED_SIGNATURE)
		return false;
	sw_text_printf(text, "%u.%u.%u.%u", info[2] >> 16, info[2] & 0xffff, info[3] >> 16,
		       info[3] & 0xffff);
	return !text->failed;
}
