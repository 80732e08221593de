/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The outer objects of calls and answers: names, flags, parameters, and nothing else. */
#include "varlink_message.h"
#include "cleanup.h"
#include "errors.h"
#include "utf8.h"
#include "json_object.h"

#include <string.h>

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_letter_or_digit(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

/* [A-Za-z]([-]*[A-Za-z0-9])*(\.[A-Za-z0-9]([-]*[A-Za-z0-9])*)+ : no part of it begins or ends with a
 * hyphen, there are two at least, and the first begins with a letter (UAPI.20, "Grammar"). */
static bool interface_valid(const char *name, size_t size)
{
	size_t dots = 0;
	char before = '.';
	for (size_t i = 0; i < size; before = name[i++]) {
		bool edge = before == '.' || i + 1 == size || name[i + 1] == '.';
		if (name[i] == '.' ? before == '.' : !is_letter_or_digit(name[i]))
			if (name[i] != '-' || edge)
				return false;
		dots += name[i] == '.';
	}
	return dots > 0 && is_letter(name[0]) && before != '.';
}

/* [A-Z][A-Za-z0-9]* */
static bool member_valid(const char *name)
{
	if (!is_letter(name[0]) || name[0] > 'Z')
		return false;
	while (is_letter_or_digit(*name))
		name++;
	return *name == '\0';
}

bool sw_varlink_name_valid(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot != NULL && strlen(name) <= SW_VARLINK_METHOD_MAX && member_valid(dot + 1) &&
	       interface_valid(name, (size_t) (dot - name));
}

/* json-c 0.16 does not look whether it could copy a name: so it does not copy it. */
bool sw_varlink_member_add(struct json_object *message, const char *name, struct json_object *value)
{
	if (message != NULL && value != NULL &&
	    json_object_object_add_ex(message, name, value,
				      JSON_C_OBJECT_ADD_KEY_IS_NEW |
					      JSON_C_OBJECT_ADD_CONSTANT_KEY) == 0)
		return true;
	(void) json_object_put(value); /* NULL is legal */
	return false;
}

struct json_object *sw_varlink_member_take(struct json_object *message, const char *name)
{
	struct json_object *member = NULL;
	if (!json_object_object_get_ex(message, name, &member))
		return NULL;
	(void) json_object_get(member); /* NULL, which is null, stays NULL */
	json_object_object_del(message, name);
	return member;
}

int sw_varlink_parameters_take(struct json_object *message, struct json_object **ret,
			       struct sw_error *err)
{
	struct json_object *parameters = sw_varlink_member_take(message, "parameters");
	if (parameters == NULL)
		parameters = json_object_new_object();
	if (parameters == NULL)
		return sw_fail_nomem(err);
	if (!json_object_is_type(parameters, json_type_object)) {
		(void) json_object_put(parameters); /* whether it was the last reference */
		return sw_fail(err, SW_E_FORMAT, "'parameters' is not an object");
	}
	*ret = parameters;
	return 0;
}

int sw_varlink_flag_take(struct json_object *message, const char *name, bool *ret,
			 struct sw_error *err)
{
	struct json_object *flag = sw_varlink_member_take(message, name);
	bool good = flag == NULL || json_object_is_type(flag, json_type_boolean);
	*ret = good && flag != NULL && json_object_get_boolean(flag);
	(void) json_object_put(flag); /* NULL is legal */
	return good ? 0 : sw_fail(err, SW_E_FORMAT, "'%s' is not a boolean", name);
}

int sw_varlink_name_take(struct json_object *message, const char *name, char **ret,
			 struct sw_error *err)
{
	struct json_object *member = sw_varlink_member_take(message, name);
	if (member == NULL)
		return -SW_E_NOT_FOUND;
	int r = 0;
	if (!json_object_is_type(member, json_type_string) ||
	    !sw_varlink_name_valid(json_object_get_string(member)))
		r = sw_fail(err, SW_E_FORMAT, "'%s' is not a name like interface.Name", name);
	char *copy = r == 0 ? strdup(json_object_get_string(member)) : NULL;
	(void) json_object_put(member); /* whether it was the last reference */
	if (r == 0 && copy == NULL)
		r = sw_fail_nomem(err);
	if (r == 0)
		*ret = copy;
	return r;
}

int sw_varlink_rest_check(struct json_object *message, struct sw_error *err)
{
	json_object_object_foreach(message, name, value)
	{
		(void) value; /* of an extension: not for us */
		if (strchr(name, '.') == NULL)
			return sw_fail(err, SW_E_FORMAT, "a member that is not known: '%.64s'",
				       name);
	}
	return 0;
}

/* Strings in parameters may come from a target; clients fail on what is not UTF-8. */
static void make_valid(struct sw_text *text)
{
	struct sw_text clean = {0};
	if (text->failed)
		return;
	sw_utf8_append(&clean, text->data, text->size);
	sw_text_deinit(text);
	*text = clean;
}

int sw_varlink_message_text(struct json_object *message, char **ret_message, size_t *ret_size)
{
	struct sw_text text = {0};
	sw_json_object_append(&text, message);
	make_valid(&text);
	int r = text.failed ? -SW_E_NOMEM : 0;
	if (r == 0 && text.size > SW_VARLINK_MESSAGE_MAX)
		r = -SW_E_LIMIT;
	if (r < 0) {
		sw_text_deinit(&text);
		return r;
	}
	*ret_message = text.data;
	*ret_size = text.size + 1; /* sw_text keeps a NUL there */
	return 0;
}
