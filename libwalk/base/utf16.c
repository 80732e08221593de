/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "utf16.h"

/* RFC 3629; at most 4 bytes. */
static size_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char) c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char) (0x80 | (c & 0x3f));
	to[0] = (char) (lead[n] | c);
	return n;
}

void sw_utf16_convert(struct sw_bytes units, char *name)
{
	size_t n = 0;
	uint16_t unit, low;
	/* Each turn takes a unit at least; units.size bounds what name must hold. */
	for (uint64_t at = 0; sw_bytes_u16(units, at, &unit); at += sizeof(unit)) {
		uint32_t c = unit;
		if ((unit & 0xfc00) == 0xd800 && sw_bytes_u16(units, at + sizeof(unit), &low) &&
		    (low & 0xfc00) == 0xdc00) {
			c = 0x10000 + ((uint32_t) (unit & 0x3ff) << 10 | (low & 0x3ff));
			at += sizeof(low);
		} else if ((unit & 0xf800) == 0xd800 || unit < 0x20) {
			c = 0xfffd;
		}
		n += utf8_put(name + n, c);
	}
	name[n] = '\0';
}
