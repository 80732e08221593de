/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/json_text.h"
#include "utf8.h"

#include <json-c/json.h>
#include <string.h>

void sw_json_text_string(struct sw_text *text, const char *s)
{
	struct sw_text clean = {0};
	sw_utf8_append(&clean, s, strlen(s));
	struct json_object *string =
		clean.failed ? NULL : json_object_new_string(clean.size > 0 ? clean.data : "");
	const char *json = NULL;
	size_t size = 0;
	if (string != NULL)
		json = json_object_to_json_string_length(
			string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	if (json != NULL)
		sw_utf8_append_json(text, json, size);
	else
		text->failed = true;
	(void) json_object_put(string); /* NULL is legal */
	sw_text_deinit(&clean);
}

void sw_json_text_member(struct sw_text *text, const char *name, const char *s)
{
	if (s == NULL)
		return;
	sw_text_printf(text, ",\"%s\":", name);
	sw_json_text_string(text, s);
}
