/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/reply.h"
#include "cleanup.h"
#include "text.h"

void sw_gate_reply_json(struct sw_gate_reply *ret, unsigned code, struct json_object *object)
{
	size_t size = 0;
	const char *text =
		object == NULL
			? NULL
			: json_object_to_json_string_length(object,
							    JSON_C_TO_STRING_PLAIN |
								    JSON_C_TO_STRING_NOSLASHESCAPE,
							    &size);
	struct sw_text body = {0};
	if (text != NULL)
		sw_text_printf(&body, "%s\n", text);
	(void) json_object_put(object); /* NULL is legal */
	if (body.failed)
		sw_text_deinit(&body);
	*ret = (struct sw_gate_reply){.code = code,
				      .type = "application/json",
				      .body = body.data,
				      .size = body.size};
}

void sw_gate_reply_error(struct sw_gate_reply *ret, unsigned code, const char *message)
{
	struct json_object *object = json_object_new_object();
	struct json_object *text = json_object_new_string(message);
	if (object == NULL || text == NULL || json_object_object_add(object, "error", text) < 0) {
		(void) json_object_put(text);
		(void) json_object_put(sw_take_ptr(object));
	}
	sw_gate_reply_json(ret, code, object);
}
