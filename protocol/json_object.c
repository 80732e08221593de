/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON that somebody else wrote, as trees of json-c, which are what calls and answers are made of.
 * Its own parser (0.16), at its strictest, takes NaN, Infinity, 'single quotes', "1.", control
 * characters and lone surrogates in strings, makes 2^64 - 1 of a larger integer, and without memory
 * leaves members out or crashes: so our own reads the text.
 */
#include "json_object.h"
#include "cleanup.h"
#include "errors.h"
#include "json.h"
#include "utf8.h"

#include <errno.h>
#include <json-c/linkhash.h>
#include <locale.h>
#include <math.h>
#include <string.h>

/* A number that is no integer of 64 bits. */
static int number_make(const struct sw_json *number, bool large, struct json_object **ret,
		       struct sw_error *err)
{
	if (!large && strpbrk(number->string, ".eE") == NULL)
		return sw_fail(err, SW_E_FORMAT, "a number is too large");
	/* the program's locale may have a decimal comma */
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", NULL);
	if (plain == NULL)
		return sw_fail_nomem(err);
	double value = strtod_l(number->string, NULL, plain);
	freelocale(plain);
	if (!isfinite(value))
		return sw_fail(err, SW_E_FORMAT, "a number is too large");
	*ret = json_object_new_double(value);
	return *ret != NULL ? 0 : sw_fail_nomem(err);
}

static struct json_object *scalar_make(const struct sw_json *value)
{
	switch (value->type) {
	case SW_JSON_BOOLEAN: return json_object_new_boolean(value->boolean);
	case SW_JSON_INTEGER: return json_object_new_int64(value->integer);
	case SW_JSON_STRING: return json_object_new_string_len(value->string, (int) value->n);
	case SW_JSON_ARRAY: return json_object_new_array();
	default: return json_object_new_object();
	}
}

/* Consumes the value, also on failure. json-c 0.16 does not look whether it could copy the name: that
 * shows in its entry, the last one. */
static bool child_add(struct json_object *container, const char *name, struct json_object *value)
{
	if (name == NULL ? json_object_array_add(container, value) < 0
			 : json_object_object_add_ex(container, name, value,
						     JSON_C_OBJECT_ADD_KEY_IS_NEW) < 0) {
		(void) json_object_put(value); /* NULL is legal */
		return false;
	}
	return name == NULL || json_object_get_object(container)->tail->k != NULL;
}

/* NULL is null. The recursion is as deep as the text, which is SW_JSON_DEPTH_MAX at most. */
static int value_make(const struct sw_json *from, bool large, struct json_object **ret,
		      struct sw_error *err)
{
	struct json_object *made = NULL, *child;
	if (from->type == SW_JSON_NUMBER)
		return number_make(from, large, ret, err);
	if (from->type != SW_JSON_NULL && (made = scalar_make(from)) == NULL)
		return sw_fail_nomem(err);
	int r = 0;
	if (from->type == SW_JSON_ARRAY || from->type == SW_JSON_OBJECT)
		for (const struct sw_json *v = sw_json_first(from); r == 0 && v != NULL;
		     v = sw_json_next(from, v)) {
			r = value_make(v, large, &child, err);
			if (r == 0 && !child_add(made, v->name, child))
				r = sw_fail_nomem(err);
		}
	if (r < 0)
		(void) json_object_put(made); /* whether it was the last reference */
	else
		*ret = made;
	return r;
}

int sw_json_object_read(const char *text, size_t size, unsigned depth_max, bool large,
			struct json_object **ret, struct sw_error *err)
{
	struct sw_json_tree tree = {0};
	int r = sw_json_parse(&tree, text, size, depth_max, err);
	if (r == 0 && tree.values->type != SW_JSON_OBJECT)
		r = sw_fail(err, SW_E_FORMAT, "this is JSON, but not an object");
	if (r == 0)
		r = value_make(tree.values, large, ret, err);
	sw_json_tree_deinit(&tree);
	return r;
}

int sw_json_object_parse(const char *text, size_t size, unsigned depth_max,
			 struct json_object **ret, struct sw_error *err)
{
	return sw_json_object_read(text, size, depth_max, false, ret, err);
}

/*
 * json-c 0.16 to 0.19 does not look whether its buffer could grow (json_object.c, json_escape_str()
 * and json_object_object_to_json_string()): what does not fit is left out and the text given as
 * good. All that tells is errno, which realloc() sets when it fails. It may also be left from an
 * attempt inside a malloc() that succeeded in the end, hence the second try: the buffer is kept, so
 * that one which was large enough does not grow again.
 */
static const char *serialise(struct json_object *element, size_t *ret_size)
{
	for (int tries = 0; tries < 2; tries++) {
		errno = 0;
		const char *text = json_object_to_json_string_length(
			element, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, ret_size);
		if (text != NULL && errno == 0)
			return text;
	}
	return NULL;
}

void sw_json_object_append(struct sw_text *text, struct json_object *element)
{
	size_t size;
	const char *line = element == NULL ? NULL : serialise(element, &size);
	if (line != NULL)
		sw_utf8_append_json(text, line, size);
	else
		text->failed = true;
	(void) json_object_put(element); /* NULL is legal */
}
