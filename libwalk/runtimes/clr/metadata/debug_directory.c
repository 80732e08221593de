/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/debug_directory.h"
#include "runtimes/clr/metadata/image.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"

#include <libdeflate.h>
#include <string.h>

enum {
	DIRECTORY_DEBUG = 6,
	ENTRY_BYTES = 28,
	ENTRIES_MAX = 64,
	/* IMAGE_DEBUG_DIRECTORY */
	ENTRY_STAMP = 4,
	ENTRY_MINOR = 10,
	ENTRY_TYPE = 12,
	ENTRY_SIZE = 16,
	ENTRY_RVA = 20,
	ENTRY_OFFSET = 24,
	TYPE_CODEVIEW = 2,
	TYPE_EMBEDDED = 17,
	MINOR_PORTABLE = 0x504d,
	GUID_BYTES = 16,
	CODEVIEW_GUID = 4, /* behind "RSDS" */
	EMBEDDED_HEAD = 8, /* "MPDB", unpacked size */
};

/* An entry of the debug directory; where its data lies. */
struct entry {
	uint32_t stamp, type, bytes;
	uint16_t minor;
	uint64_t avma; /* 0: not in memory */
};

static bool entry_read(const struct sw_clr_pe *pe, uint64_t at, struct entry *ret)
{
	uint32_t where;
	struct sw_memory m = pe->memory;
	if (!sw_clr_u32(m, at, ENTRY_STAMP, &ret->stamp) ||
	    !sw_clr_u16(m, at, ENTRY_MINOR, &ret->minor) ||
	    !sw_clr_u32(m, at, ENTRY_TYPE, &ret->type) ||
	    !sw_clr_u32(m, at, ENTRY_SIZE, &ret->bytes) ||
	    !sw_clr_u32(m, at, pe->mapped ? ENTRY_RVA : ENTRY_OFFSET, &where))
		return false;
	ret->avma = where != 0 ? pe->base_avma + where : 0;
	return true;
}

/* A PDB is known by the GUID and the entry's time stamp together. */
static bool id_read(const struct sw_clr_pe *pe, const struct entry *e, uint8_t *to)
{
	char magic[4];
	if (e->minor != MINOR_PORTABLE || e->bytes < CODEVIEW_GUID + GUID_BYTES ||
	    !sw_clr_read(pe->memory, e->avma, 0, magic, sizeof(magic)) ||
	    memcmp(magic, "RSDS", sizeof(magic)) != 0 ||
	    !sw_clr_read(pe->memory, e->avma, CODEVIEW_GUID, to, GUID_BYTES))
		return false;
	memcpy(to + GUID_BYTES, &e->stamp, sizeof(e->stamp));
	return true;
}

static void embedded_read(const struct sw_clr_pe *pe, const struct entry *e,
			  struct sw_clr_pdb_link *link)
{
	char magic[4];
	uint32_t unpacked;
	if (e->bytes <= EMBEDDED_HEAD || e->bytes > SW_CLR_PDB_BYTES_MAX ||
	    !sw_clr_read(pe->memory, e->avma, 0, magic, sizeof(magic)) ||
	    memcmp(magic, "MPDB", sizeof(magic)) != 0 ||
	    !sw_clr_u32(pe->memory, e->avma, sizeof(magic), &unpacked) || unpacked == 0 ||
	    unpacked > SW_CLR_PDB_BYTES_MAX)
		return;
	link->embedded_avma = e->avma + EMBEDDED_HEAD;
	link->embedded_bytes = e->bytes - EMBEDDED_HEAD;
	link->unpacked_bytes = unpacked;
}

bool sw_clr_pdb_link_find(const struct sw_clr_pe *pe, struct sw_clr_pdb_link *ret)
{
	struct sw_clr_pdb_link link = {0};
	uint32_t rva, bytes;
	uint64_t avma;
	bool found = false;
	if (!sw_clr_pe_directory(pe, DIRECTORY_DEBUG, &rva, &bytes) ||
	    !sw_clr_pe_address(pe, rva, &avma))
		return false;
	for (uint32_t i = 0; i < bytes / ENTRY_BYTES && i < ENTRIES_MAX; i++) {
		struct entry e;
		if (!entry_read(pe, avma + (uint64_t) i * ENTRY_BYTES, &e))
			return false;
		if (e.type == TYPE_CODEVIEW && !found)
			found = id_read(pe, &e, link.id);
		else if (e.type == TYPE_EMBEDDED && link.embedded_avma == 0)
			embedded_read(pe, &e, &link);
	}
	if (found)
		*ret = link;
	return found;
}

uint8_t *sw_clr_pdb_unpack(struct sw_memory memory, const struct sw_clr_pdb_link *link)
{
	sw_cleanup(sw_free_p) uint8_t *packed = malloc(link->embedded_bytes);
	sw_cleanup(sw_free_p) uint8_t *to = malloc(link->unpacked_bytes);
	if (packed == NULL || to == NULL ||
	    !sw_memory_read(memory, link->embedded_avma, packed, link->embedded_bytes))
		return NULL;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (d == NULL)
		return NULL;
	/* Without space for a size: all of it, not less. */
	enum libdeflate_result r = libdeflate_deflate_decompress(d, packed, link->embedded_bytes,
								 to, link->unpacked_bytes, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS ? sw_take_ptr(to) : NULL;
}
