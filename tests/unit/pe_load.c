/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_load.h"
#include "bytes.h"

#include <assert.h>
#include <stdlib.h>

enum {
	SECTION_TABLE = PE_MAKE_HEADER + 24 + 240,
	SECTION_TABLE_32 = SECTION_TABLE - 16,
	SECTION_BYTES = 40
};

static uint32_t u32_at(const struct pe_make *pe, size_t offset)
{
	uint32_t value = 0;
	assert(sw_bytes_u32((struct sw_bytes){pe->bytes, pe->size}, offset, &value));
	return value;
}

uint8_t *pe_load(const struct pe_make *pe)
{
	uint8_t *image = calloc(1, PE_LOAD_BYTES);
	assert(image != NULL);
	memcpy(image, pe->bytes, PE_MAKE_HEADERS);
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		size_t at = (pe->is_32bit ? SECTION_TABLE_32 : SECTION_TABLE) +
			    (size_t) i * SECTION_BYTES;
		uint32_t bytes = u32_at(pe, at + 8), rva = u32_at(pe, at + 12);
		assert(rva < PE_LOAD_BYTES && bytes <= PE_LOAD_BYTES - rva);
		memcpy(image + rva, pe->bytes + u32_at(pe, at + 20), bytes);
	}
	return image;
}

void pe_make_patch(struct pe_make *pe, int32_t offset, uint64_t value, size_t bytes)
{
	assert(PE_MAKE_HEADER + offset >= 0 &&
	       PE_MAKE_HEADER + offset + (int32_t) bytes <= PE_MAKE_HEADERS);
	memcpy(pe->bytes + PE_MAKE_HEADER + offset, &value, bytes);
}
