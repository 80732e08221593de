/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text for terminals that show no UTF-8. Files and pipes get UTF-8 whatever the locale is. */
#include "common/ascii.h"
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The one that decides, as setlocale(3) looks for it. */
static const char *locale_name(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		if (value != NULL && value[0] != '\0')
			return value;
	}
	return "C";
}

bool sw_ascii_only(int fd)
{
	const char *name = locale_name();
	return strcasestr(name, "utf-8") == NULL && strcasestr(name, "utf8") == NULL && isatty(fd);
}

static const char *word_of(uint32_t mark)
{
	switch (mark) {
	case 0x2026: /* … */ return "...";
	case 0xb7: /* · */ return "|";
	case 0x2192: /* → */ return "->";
	case 0xb1: /* ± */ return "+-";
	case 0xb5: /* µ */ return "u";
	case 0x2013: /* – */ return "-";
	case 0xd7: /* × */ return "x";
	default: return "?";
	}
}

void sw_ascii_append(struct sw_text *text, const char *s, size_t size)
{
	while (size > 0) {
		uint32_t mark;
		size_t n = sw_utf8_decode(s, size, &mark);
		const char *word = word_of(mark);
		if (mark < 0x80)
			sw_text_append(text, s, n);
		else
			sw_text_append(text, word, strlen(word));
		s += n;
		size -= n;
	}
}
