/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees of json-c from JSON text that sw_json_check() passed: the only thing that can go wrong is
 * memory, and names that come twice. */
#include "errors.h"
#include "json_text.h"
#include "text.h"

#include <json-c/linkhash.h>
#include <limits.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at;      /* never behind the end: the text is whole */
	struct sw_text text; /* the string that was read last */
	bool no_memory, twice;
};

static void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
		r->at++;
}

static uint32_t hex4(const char *s)
{
	uint32_t value = 0;
	for (int i = 0; i < 4; i++)
		value = value << 4 |
			(uint32_t) (s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
	return value;
}

/* Behind "\u"; the second half of a pair is there. RFC 3629, section 3. */
static void read_unicode(struct reader *r)
{
	uint32_t c = hex4(r->at);
	r->at += 4;
	if (c >= 0xd800 && c <= 0xdfff) {
		c = 0x10000 + ((c - 0xd800) << 10) + (hex4(r->at + 2) - 0xdc00);
		r->at += 6;
	}
	if (c < 0x80)
		sw_text_printf(&r->text, "%c", (int) c);
	else if (c < 0x800)
		sw_text_printf(&r->text, "%c%c", (int) (0xc0 | c >> 6), (int) (0x80 | (c & 63)));
	else if (c < 0x10000)
		sw_text_printf(&r->text, "%c%c%c", (int) (0xe0 | c >> 12),
			       (int) (0x80 | (c >> 6 & 63)), (int) (0x80 | (c & 63)));
	else
		sw_text_printf(&r->text, "%c%c%c%c", (int) (0xf0 | c >> 18),
			       (int) (0x80 | (c >> 12 & 63)), (int) (0x80 | (c >> 6 & 63)),
			       (int) (0x80 | (c & 63)));
}

static void read_escape(struct reader *r)
{
	static const char names[] = "bfnrt", meanings[] = "\b\f\n\r\t";
	char kind = *r->at++;
	const char *name = strchr(names, kind);
	if (kind == 'u')
		read_unicode(r);
	else
		sw_text_append(&r->text, name != NULL ? &meanings[name - names] : &kind, 1);
}

/* Into r->text. */
static bool read_string(struct reader *r)
{
	r->text.size = 0;
	for (r->at++; *r->at != '"';) {
		size_t plain = strcspn(r->at, "\"\\"); /* a quote is there */
		sw_text_append(&r->text, r->at, plain);
		r->at += plain;
		if (*r->at == '\\') {
			r->at++;
			read_escape(r);
		}
	}
	r->at++;
	sw_text_append(&r->text, "", 0); /* r->text.data exists, also for nothing */
	r->no_memory |= r->text.failed;
	return !r->text.failed;
}

/* NULL was for want of memory. */
static struct json_object *made(struct reader *r, struct json_object *value)
{
	r->no_memory |= value == NULL;
	return value;
}

/* What follows a number is none of it: at the least the brace that ends the object around. */
static struct json_object *read_number(struct reader *r)
{
	char *end;
	size_t size = strspn(r->at, "+-.0123456789Ee");
	if (memchr(r->at, '.', size) == NULL && memchr(r->at, 'e', size) == NULL &&
	    memchr(r->at, 'E', size) == NULL) {
		int64_t value = strtoll(r->at, &end, 10);
		r->at = end;
		return made(r, json_object_new_int64(value));
	}
	/* the program's locale may have a decimal comma */
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", NULL);
	if (plain == NULL)
		return made(r, NULL);
	double value = strtod_l(r->at, &end, plain);
	freelocale(plain);
	r->at += size;
	return made(r, json_object_new_double(value));
}

static struct json_object *read_value(struct reader *r);

static struct json_object *read_array(struct reader *r)
{
	struct json_object *array = made(r, json_object_new_array());
	r->at++;
	for (skip_space(r); array != NULL && *r->at != ']'; skip_space(r)) {
		struct json_object *element = read_value(r);
		if (r->no_memory || r->twice || json_object_array_add(array, element) < 0) {
			r->no_memory |= !r->twice;
			(void) json_object_put(element); /* NULL is legal */
			break;
		}
		skip_space(r);
		r->at += *r->at == ',';
	}
	r->at++;
	return array;
}

/* The member "name: value" whose name is in r->text. Consumes the value, also on failure. json-c
 * 0.16 does not look whether it could copy the name: that shows in its entry, the last one. */
static bool member_add(struct reader *r, struct json_object *object, const char *name,
		       struct json_object *value)
{
	if (json_object_object_get_ex(object, name, NULL)) {
		r->twice = true;
	} else if (json_object_object_add_ex(object, name, value, JSON_C_OBJECT_ADD_KEY_IS_NEW) ==
		   0) {
		r->no_memory |= json_object_get_object(object)->tail->k == NULL;
		return !r->no_memory;
	} else {
		r->no_memory = true;
	}
	(void) json_object_put(value); /* NULL is legal */
	return false;
}

static bool read_member(struct reader *r, struct json_object *object)
{
	if (!read_string(r))
		return false;
	char *name = strdup(r->text.data); /* the value uses r->text, too */
	r->no_memory |= name == NULL;
	if (name == NULL)
		return false;
	skip_space(r);
	r->at++; /* the colon */
	struct json_object *value = read_value(r);
	bool good = !r->no_memory && !r->twice;
	if (good)
		good = member_add(r, object, name, value);
	else
		(void) json_object_put(value); /* NULL is legal */
	free(name);
	return good;
}

static struct json_object *read_object(struct reader *r)
{
	struct json_object *object = made(r, json_object_new_object());
	r->at++;
	for (skip_space(r); object != NULL && *r->at != '}'; skip_space(r)) {
		if (!read_member(r, object))
			break;
		skip_space(r);
		r->at += *r->at == ',';
		skip_space(r);
	}
	r->at++;
	return object;
}

/* NULL is null, or one of r's flags is set: then r->at is anywhere in the text and not used again.
 * The recursion is as deep as the text, which is SW_JSON_DEPTH_MAX at most. */
static struct json_object *read_value(struct reader *r)
{
	skip_space(r);
	switch (*r->at) {
	case '{': return read_object(r);
	case '[': return read_array(r);
	case '"':
		if (!read_string(r))
			return NULL;
		return made(r, json_object_new_string_len(r->text.data, (int) r->text.size));
	case 't': r->at += 4; return made(r, json_object_new_boolean(true));
	case 'f': r->at += 5; return made(r, json_object_new_boolean(false));
	case 'n': r->at += 4; return NULL;
	default: return read_number(r);
	}
}

int sw_json_parse(const char *text, size_t size, unsigned depth_max, struct json_object **ret,
		  struct sw_error *err)
{
	if (size > INT_MAX) /* the length of a string in json-c */
		return sw_fail(err, SW_E_FORMAT, "%zu bytes of JSON are too many", size);
	int status = sw_json_check(text, size, depth_max, err);
	if (status < 0)
		return status;
	struct reader r = {.at = text};
	skip_space(&r);
	if (*r.at != '{')
		return sw_fail(err, SW_E_FORMAT, "this is JSON, but not an object");
	struct json_object *object = read_value(&r);
	sw_text_deinit(&r.text);
	if (!r.no_memory && !r.twice) {
		*ret = object;
		return 0;
	}
	(void) json_object_put(object); /* NULL is legal */
	return r.no_memory ? sw_fail_nomem(err)
			   : sw_fail(err, SW_E_FORMAT, "two members have the same name");
}
