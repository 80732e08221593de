/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replies and errors: what a service writes, what a client reads. */
#include "varlink_reply.h"
#include "errors.h"
#include "json.h"
#include "text.h"
#include "varlink_message.h"

#include <stdlib.h>
#include <string.h>

int sw_varlink_reply(struct json_object *parameters, bool continues, char **ret_message,
		     size_t *ret_size)
{
	struct json_object *message = json_object_new_object();
	bool good =
		sw_varlink_member_add(message, "parameters",
				      parameters != NULL ? parameters : json_object_new_object());
	if (good && continues)
		good = sw_varlink_member_add(message, "continues", json_object_new_boolean(true));
	if (good)
		return sw_varlink_message_text(message, ret_message, ret_size);
	(void) json_object_put(message); /* NULL is legal */
	return -SW_E_NOMEM;
}

int sw_varlink_reply_text(const char *key, const char *text, size_t text_size, bool continues,
			  char **ret_message, size_t *ret_size)
{
	struct sw_text message = {0};
	while (text_size > 0 && text[text_size - 1] == '\n')
		text_size--; /* a dump is a line */
	if (text_size > SW_VARLINK_MESSAGE_MAX)
		return -SW_E_LIMIT;
	sw_text_printf(&message, "{\"parameters\":{\"%s\":", key);
	sw_text_append(&message, text, text_size);
	sw_text_printf(&message, continues ? "},\"continues\":true}" : "}}");
	int r = message.failed ? -SW_E_NOMEM : 0;
	if (r == 0 && message.size > SW_VARLINK_MESSAGE_MAX)
		r = -SW_E_LIMIT;
	if (r < 0) {
		sw_text_deinit(&message);
		return r;
	}
	*ret_message = message.data;
	*ret_size = message.size + 1; /* sw_text keeps a NUL there */
	return 0;
}

int sw_varlink_error(const char *name, struct json_object *parameters, char **ret_message,
		     size_t *ret_size)
{
	struct json_object *message = json_object_new_object();
	bool good = sw_varlink_member_add(message, "error", json_object_new_string(name));
	if (parameters == NULL)
		parameters = json_object_new_object();
	good = sw_varlink_member_add(good ? message : NULL, "parameters", parameters);
	if (good)
		return sw_varlink_message_text(message, ret_message, ret_size);
	(void) json_object_put(message); /* NULL is legal */
	return -SW_E_NOMEM;
}

void sw_varlink_answer_deinit(struct sw_varlink_answer *answer)
{
	free(answer->error);
	(void) json_object_put(answer->parameters); /* NULL is legal */
	*answer = (struct sw_varlink_answer){0};
}

static int answer_fill(struct json_object *message, struct sw_varlink_answer *answer,
		       struct sw_error *err)
{
	int r = sw_varlink_name_take(message, "error", &answer->error, err);
	if (r == -SW_E_NOT_FOUND)
		r = 0;
	if (r == 0)
		r = sw_varlink_parameters_take(message, &answer->parameters, err);
	if (r == 0)
		r = sw_varlink_flag_take(message, "continues", &answer->continues, err);
	if (r == 0)
		r = sw_varlink_rest_check(message, err);
	if (r == 0 && answer->error != NULL && answer->continues)
		r = sw_fail(err, SW_E_FORMAT, "an error that continues");
	return r;
}

int sw_varlink_answer_parse(const char *message, size_t size, struct sw_varlink_answer *ret,
			    struct sw_error *err)
{
	struct json_object *object = NULL;
	int r = sw_json_object_parse(message, size, SW_JSON_DEPTH_MAX, &object, err);
	if (r < 0)
		return r;
	struct sw_varlink_answer answer = {0};
	r = answer_fill(object, &answer, err);
	(void) json_object_put(object); /* the rest of it */
	if (r < 0)
		sw_varlink_answer_deinit(&answer);
	else
		*ret = answer;
	return r;
}

static bool part_is(struct sw_json_part part, const char *text)
{
	return part.size == strlen(text) && memcmp(part.data, text, part.size) == 0;
}

/* A member of a reply. */
static int member_cut(struct sw_json_part name, struct sw_json_part value, bool *continues,
		      struct sw_json_part *parameters, struct sw_error *err)
{
	bool is_null = part_is(value, "null");
	if (part_is(name, "parameters")) {
		if (value.data[0] != '{' && !is_null)
			return sw_fail(err, SW_E_FORMAT, "'parameters' is not an object");
		if (!is_null)
			*parameters = value;
	} else if (part_is(name, "continues")) {
		*continues = part_is(value, "true");
		if (!*continues && !is_null && !part_is(value, "false"))
			return sw_fail(err, SW_E_FORMAT, "'continues' is not a boolean");
	} else if (memchr(name.data, '.', name.size) == NULL && !is_null)
		return sw_fail(err, SW_E_FORMAT, "a member that is not known: '%.*s'",
			       name.size < 64 ? (int) name.size : 64, name.data);
	return 0;
}

int sw_varlink_answer_cut(const char *message, size_t size, struct sw_varlink_answer *ret,
			  struct sw_json_part *ret_parameters, struct sw_error *err)
{
	struct sw_json_scan scan = sw_json_scan_begin(message, size, SW_JSON_DEPTH_MAX);
	struct sw_json_part name, value, parameters = {.data = "{}", .size = 2};
	bool is_error = false, continues = false;
	int r = scan.close == '}' ? 0 : sw_fail(err, SW_E_FORMAT, "the answer is not an object");
	while (r == 0 && (r = sw_json_scan_next(&scan, &name, &value, err)) > 0) {
		is_error |= part_is(name, "error") && !part_is(value, "null");
		r = part_is(name, "error") ? 0
					   : member_cut(name, value, &continues, &parameters, err);
	}
	if (r < 0)
		return r;
	if (is_error && size > SW_VARLINK_ERROR_MAX)
		return sw_fail(err, SW_E_FORMAT, "an error is above %d KiB",
			       SW_VARLINK_ERROR_MAX >> 10);
	if (is_error) {
		*ret_parameters = (struct sw_json_part){0};
		return sw_varlink_answer_parse(message, size, ret, err);
	}
	*ret = (struct sw_varlink_answer){.continues = continues};
	*ret_parameters = parameters;
	return 0;
}
