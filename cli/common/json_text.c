/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/json_text.h"
#include "utf8.h"

void sw_json_text_member(struct sw_text *text, const char *name, const char *s)
{
	if (s == NULL)
		return;
	sw_text_printf(text, ",\"%s\":", name);
	sw_utf8_append_json_string(text, s);
}
