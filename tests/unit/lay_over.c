/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lay_over.h"
#include "bytes.h"

#include <string.h>

void lay_over(uint8_t *to, size_t n, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, part;
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 0; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t begin = (size_t) offset * 4 % n;
		if (!sw_bytes_sub(b, at + 3, length, &part))
			return;
		if (length > n - begin)
			length = (uint8_t) (n - begin);
		memcpy(to + begin, part.data, length);
	}
}
