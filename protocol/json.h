/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JSON_H
#define SW_JSON_H

#include "text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes JSON (RFC 8259) into a text as it comes, on one line. No tree is built: a dump has half a
 * million values, and a tree's "out of memory" would be a null that looks like data. Running out of
 * memory is text->failed, checked once at the end.
 *
 * Keys are our own constants and are not escaped; NULL for elements of arrays and for the top.
 */
struct sw_json {
	struct sw_text *text; /* borrowed */
	bool comma;           /* a value came before on this level */
};

void sw_json_object_begin(struct sw_json *json, const char *key);
void sw_json_object_end(struct sw_json *json);
void sw_json_array_begin(struct sw_json *json, const char *key);
void sw_json_array_end(struct sw_json *json);

/* Ill-formed UTF-8 becomes U+FFFD. NULL is written as null. */
void sw_json_string(struct sw_json *json, const char *key, const char *value);
void sw_json_int(struct sw_json *json, const char *key, int64_t value);
/* Above 2^63 - 1 it is written as that: readers take integers as int64 at most. */
void sw_json_uint(struct sw_json *json, const char *key, uint64_t value);
/* "0x1f": addresses are strings, because many readers keep 53 bits of a number. */
void sw_json_hex(struct sw_json *json, const char *key, uint64_t value);
void sw_json_bool(struct sw_json *json, const char *key, bool value);
void sw_json_null(struct sw_json *json, const char *key);
/* Text that is one JSON value already. */
void sw_json_raw(struct sw_json *json, const char *key, const char *value, size_t size);

#endif
