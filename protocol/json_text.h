/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JSON_TEXT_H
#define SW_JSON_TEXT_H

#include <snapwalk/error.h>

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * JSON that somebody else wrote, as trees of json-c. Its own parser (0.16), at its strictest, takes
 * NaN, Infinity, 'single quotes', "1.", control characters and lone surrogates in strings, makes
 * 2^64 - 1 of a larger integer, and without memory leaves members out or crashes. So text is checked
 * here by the grammar and by what we can keep: RFC 8259 as valid UTF-8, no \u0000 (our strings end
 * there), integers of 64 bits with sign, other numbers finite; in a tree no two members of one
 * object have the same name. Then the tree is simple to make.
 */

enum { SW_JSON_DEPTH_MAX = 64 };

/* The whole text is one value of at most depth_max <= SW_JSON_DEPTH_MAX objects and arrays within
 * one another. 0; -SW_E_FORMAT. */
int sw_json_check(const char *text, size_t size, unsigned depth_max, struct sw_error *err);

/* The same, and the value is an object, which is the caller's; json_object_put().
 * 0; -SW_E_FORMAT, also above 2^31 - 1 bytes; -SW_E_NOMEM. */
int sw_json_parse(const char *text, size_t size, unsigned depth_max, struct json_object **ret,
		  struct sw_error *err);

/* A part of a text. */
struct sw_json_part {
	const char *data; /* borrowed */
	size_t size;
};

/* The members or elements, in their order, of an object or array that sw_json_check() passed. */
struct sw_json_walk {
	const char *at, *end; /* borrowed */
	char close;           /* the bracket that ends it; '\0': neither object nor array */
};

struct sw_json_walk sw_json_walk_begin(struct sw_json_part container);
/* The name is as it is written between its quotes; of an element it is empty. False: no more. */
bool sw_json_walk_next(struct sw_json_walk *walk, struct sw_json_part *ret_name,
		       struct sw_json_part *ret_value);

#endif
