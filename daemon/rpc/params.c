/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/params.h"

#include <string.h>

static bool read_string(const struct sw_param *param, struct json_object *value, const char **ret)
{
	if (!json_object_is_type(value, json_type_string))
		return false;
	const char *s = json_object_get_string(value);
	size_t length = (size_t) json_object_get_string_len(value);
	if (length == 0 || length > (size_t) param->max || strlen(s) != length)
		return false;
	*ret = s;
	return true;
}

static bool read_choice(const struct sw_param *param, struct json_object *value, int *ret)
{
	if (!json_object_is_type(value, json_type_string))
		return false;
	for (int i = 0; param->choices[i] != NULL; i++) {
		if (strcmp(param->choices[i], json_object_get_string(value)) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool read_value(const struct sw_param *param, struct json_object *value, char *field)
{
	switch (param->kind) {
	case SW_PARAM_INT:
		if (!json_object_is_type(value, json_type_int))
			return false;
		/* json-c 0.16 cuts what is beyond int64_t to its limits: outside every range */
		int64_t number = json_object_get_int64(value);
		if (number < param->min || number > param->max)
			return false;
		*(int64_t *) field = number;
		return true;
	case SW_PARAM_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return false;
		*(bool *) field = json_object_get_boolean(value);
		return true;
	case SW_PARAM_STRING: return read_string(param, value, (const char **) field);
	case SW_PARAM_CHOICE: return read_choice(param, value, (int *) field);
	case SW_PARAM_OBJECT:
		if (!json_object_is_type(value, json_type_object))
			return false;
		*(struct json_object **) field = value;
		return true;
	}
	return false;
}

static const struct sw_param *param_find(const struct sw_param *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

bool sw_params_read(struct json_object *object, const struct sw_param *table, size_t n, void *ret,
		    const char **ret_bad)
{
	json_object_object_foreach(object, name, value)
	{
		const struct sw_param *param = param_find(table, n, name);
		if (param == NULL ||
		    (value != NULL && !read_value(param, value, (char *) ret + param->offset))) {
			*ret_bad = param != NULL ? param->name : name;
			return false;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (table[i].required && json_object_object_get(object, table[i].name) == NULL) {
			*ret_bad = table[i].name;
			return false;
		}
	}
	return true;
}
