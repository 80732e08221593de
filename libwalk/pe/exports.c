/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: PE format, ".edata section". */
#include "pe/exports.h"
#include "bytes.h"
#include "formats/pe_image.h"

#include <string.h>

enum {
	/* IMAGE_EXPORT_DIRECTORY */
	EXPORT_DIRECTORY_BYTES = 40,
	EXPORT_N_FUNCTIONS = 20,
	EXPORT_N_NAMES = 24,
	EXPORT_FUNCTIONS = 28,
	EXPORT_NAMES = 32,
	EXPORT_ORDINALS = 36,
	NAME_MAX_BYTES = 64, /* of the names that are looked for, with NUL */
};

bool sw_pe_exports_open(struct sw_memory memory, uint64_t base_avma, struct sw_pe_exports *ret)
{
	struct sw_pe_image image;
	uint8_t raw[EXPORT_DIRECTORY_BYTES];
	struct sw_bytes bytes = {raw, sizeof(raw)};
	if (!sw_pe_image_read(memory, base_avma, &image) || image.exports.rva == 0 ||
	    !sw_memory_read(memory, base_avma + image.exports.rva, raw, sizeof(raw)))
		return false;
	*ret = (struct sw_pe_exports){.memory = memory, .base_avma = base_avma};
	return sw_bytes_u32(bytes, EXPORT_N_FUNCTIONS, &ret->n_functions) &&
	       sw_bytes_u32(bytes, EXPORT_N_NAMES, &ret->n_names) &&
	       sw_bytes_u32(bytes, EXPORT_FUNCTIONS, &ret->functions_rva) &&
	       sw_bytes_u32(bytes, EXPORT_NAMES, &ret->names_rva) &&
	       sw_bytes_u32(bytes, EXPORT_ORDINALS, &ret->ordinals_rva) &&
	       ret->n_names <= SW_PE_EXPORTS_MAX;
}

/* Compares name with that of index; false when it cannot be read. */
static bool name_compare(const struct sw_pe_exports *e, const char *name, uint32_t index, int *ret)
{
	char at[NAME_MAX_BYTES];
	uint32_t rva;
	size_t length = strlen(name) + 1;
	if (length > sizeof(at) ||
	    !sw_memory_read(e->memory, e->base_avma + e->names_rva + 4 * (uint64_t) index, &rva,
			    sizeof(rva)) ||
	    !sw_memory_read(e->memory, e->base_avma + rva, at, length))
		return false;
	*ret = strncmp(name, at, length);
	return true;
}

/* Names are sorted (PE format, "Export name pointer table"). */
uint64_t sw_pe_export_find(const struct sw_pe_exports *e, const char *name)
{
	uint32_t low = 0, high = e->n_names, rva;
	uint16_t ordinal;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order;
		if (!name_compare(e, name, middle, &order))
			return 0;
		if (order < 0) {
			high = middle;
		} else if (order > 0) {
			low = middle + 1;
		} else {
			bool known = sw_memory_read(e->memory,
						    e->base_avma + e->ordinals_rva +
							    2 * (uint64_t) middle,
						    &ordinal, sizeof(ordinal)) &&
				     ordinal < e->n_functions &&
				     sw_memory_read(e->memory,
						    e->base_avma + e->functions_rva +
							    4 * (uint64_t) ordinal,
						    &rva, sizeof(rva));
			return known && rva != 0 ? e->base_avma + rva : 0;
		}
	}
	return 0;
}
