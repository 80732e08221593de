/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/put.h"
#include "utc.h"

#include <inttypes.h>
#include <string.h>

/* RFC 8259, section 7; U+2028 and U+2029 end a line of a script (ECMA-262, before its 10th edition
 * also within a string). */
static const char *must_escape(const char *s)
{
	for (;; s++) {
		unsigned char c = (unsigned char) *s;
		if (c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
			return s;
		if (c == 0xe2 && (unsigned char) s[1] == 0x80 &&
		    ((unsigned char) s[2] == 0xa8 || (unsigned char) s[2] == 0xa9))
			return s;
	}
}

void sw_put_json(struct sw_text *text, const char *s)
{
	sw_text_append(text, "\"", 1);
	for (;;) {
		const char *end = must_escape(s);
		sw_text_append(text, s, (size_t) (end - s));
		if (*end == '\0')
			break;
		bool line = (unsigned char) *end == 0xe2;
		sw_text_printf(text, "\\u%04x",
			       line ? 0x2000u + ((unsigned char) end[2] & 0x3fu)
				    : (unsigned char) *end);
		s = end + (line ? 3 : 1);
	}
	sw_text_append(text, "\"", 1);
}

void sw_put_ms(struct sw_text *text, uint64_t ns)
{
	sw_text_printf(text, "%" PRIu64 ".%03u", ns / 1000000, (unsigned) (ns / 1000 % 1000));
}

void sw_put_time(struct sw_text *text, int64_t time_ns)
{
	char formatted[40];
	sw_utc_format(formatted, sizeof(formatted), "%Y-%m-%dT%H:%M:%SZ", time_ns);
	sw_text_append(text, formatted, strlen(formatted));
}
