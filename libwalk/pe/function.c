/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/function.h"
#include "formats/pe_image.h"
#include "pe/unwind.h"

/* The last entry that begins at or before rva; false: it cannot be read. No entry: a range of 0. */
static bool entry_before(struct sw_memory memory, uint64_t table_avma, size_t n, uint32_t rva,
			 struct sw_pe_function *ret)
{
	struct sw_pe_function found = {0};
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct sw_pe_function f;
		if (!sw_memory_read(memory, table_avma + middle * SW_PE_FUNCTION_BYTES, &f,
				    sizeof(f)))
			return false;
		if (f.begin_rva > rva) {
			high = middle;
		} else {
			low = middle + 1;
			found = f;
		}
	}
	*ret = found;
	return true;
}

bool sw_pe_code_at(struct sw_memory memory, const struct sw_place *place, uint64_t avma,
		   struct sw_pe_code *ret)
{
	struct sw_pe_image image;
	struct sw_pe_function entry;
	uint64_t base = place->start_avma;
	if (avma < base || avma >= place->end_avma || !sw_pe_image_read(memory, base, &image))
		return false;
	uint32_t rva = (uint32_t) (avma - base);
	if (!entry_before(memory, base + image.exception.rva,
			  image.exception.bytes / SW_PE_FUNCTION_BYTES, rva, &entry))
		return false;
	ret->has_entry = rva < entry.end_rva;
	ret->start_avma = base + (ret->has_entry ? entry.begin_rva : entry.end_rva);
	return true;
}
