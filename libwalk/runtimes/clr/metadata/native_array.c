/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/native_array.h"

enum { BLOCK = 16 }; /* elements of the array below one entry of its index */

/* The lowest bits of a number say how many bytes there are. */
bool sw_clr_native_number(struct sw_bytes b, uint64_t *at, uint32_t *ret)
{
	uint8_t first;
	uint32_t value = 0;
	if (!sw_bytes_u8(b, *at, &first))
		return false;
	if ((first & 0xf) == 0xf) {
		if (!sw_bytes_u32(b, *at + 1, ret))
			return false;
		*at += 5;
		return true;
	}
	unsigned bytes = !(first & 1) ? 1 : !(first & 2) ? 2 : !(first & 4) ? 3 : 4;
	if (!sw_bytes_copy(b, *at, &value, bytes))
		return false;
	*at += bytes;
	*ret = value >> bytes;
	return true;
}

bool sw_clr_native_array_open(struct sw_bytes bytes, struct sw_clr_native_array *ret)
{
	struct sw_clr_native_array array = {.bytes = bytes};
	uint32_t header;
	if (!sw_clr_native_number(bytes, &array.base, &header) || (header & 3) == 3)
		return false;
	array.index_bytes = 1u << (header & 3);
	array.n = header >> 2;
	*ret = array;
	return true;
}

/* Sixteen elements are the leaves of a tree. */
bool sw_clr_native_array_find(const struct sw_clr_native_array *array, uint32_t i, uint64_t *ret_at)
{
	uint32_t block = 0, value;
	uint64_t index = array->base + (uint64_t) (i / BLOCK) * array->index_bytes;
	if (i >= array->n || !sw_bytes_copy(array->bytes, index, &block, array->index_bytes))
		return false;
	uint64_t at = array->base + block;
	for (uint32_t bit = BLOCK / 2; bit > 0; bit >>= 1) {
		uint64_t behind = at;
		if (!sw_clr_native_number(array->bytes, &behind, &value))
			return false;
		if (i & bit) {
			if (value & 2) {
				at += value >> 2;
				continue;
			}
		} else if (value & 1) {
			at = behind;
			continue;
		}
		/* Not a special leaf: one element is all that is left below. */
		if ((value & 3) != 0 || value >> 2 != (i & (BLOCK - 1)))
			return false;
		at = behind;
		break;
	}
	*ret_at = at;
	return true;
}
