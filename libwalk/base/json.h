/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_JSON_H
#define SW_BASE_JSON_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads JSON that somebody else wrote: RFC 8259 and nothing beyond it, as valid UTF-8. Three ways:
 * a check of a text, a scan of one object's members without a tree, and a tree. They take the same
 * but for two rules that are written at them: of numbers and of names that come twice.
 *
 * Never taken: \u0000 (our strings end there), half a surrogate pair, more objects and arrays within
 * one another than the caller's depth_max. Nothing recurses; the time is linear in the text but for
 * a sort of the names of large objects.
 */
enum {
	SW_JSON_DEPTH_MAX = 64,             /* depth_max above this is this */
	SW_JSON_TREE_BYTES_MAX = INT32_MAX, /* of a text that becomes a tree */
	SW_JSON_TREE_VALUES_MAX = 1 << 21,  /* in it: 64 MiB. A stack of SW_MAX_FRAMES has fewer */
	SW_JSON_NUMBER_BYTES_MAX = 40,      /* what sw_json_check() takes of one with a fraction */
	SW_JSON_EXPONENT_DIGITS_MAX = 2,    /* so that it is a finite double */
};

/* ---- check ----------------------------------------------------------------------------------- */

/* The whole text is one value that any reader keeps: integers have 64 bits with sign, other numbers
 * are short and finite. Names may come twice. 0; -SW_E_FORMAT. */
int sw_json_check(const char *text, size_t size, unsigned depth_max, struct sw_error *err);

/* ---- scan ------------------------------------------------------------------------------------ */

/* A part of a text: a value as it is written, without white space around. */
struct sw_json_part {
	const char *data; /* borrowed: the text's */
	size_t size;
	size_t n; /* values directly in it, of an object or array */
};

/* Reads the members of an object, or the elements of an array, in their order, and allocates nothing:
 *	struct sw_json_scan scan = sw_json_scan_begin(text, size, DEPTH_MAX);
 *	while ((r = sw_json_scan_next(&scan, &name, &value, err)) > 0)
 */
struct sw_json_scan {
	const char *begin, *at, *end; /* borrowed; after the last, at is behind the bracket */
	unsigned depth_max;
	char close; /* '}' or ']'; '\0': neither object nor array, and there is no next */
	bool first, ended;
};

struct sw_json_scan sw_json_scan_begin(const char *text, size_t size, unsigned depth_max);

/* The name is as it is written between its quotes; of an element it is empty. Names may come twice,
 * and numbers be of any size. 1; 0: no more, and only white space follows; -SW_E_FORMAT. */
int sw_json_scan_next(struct sw_json_scan *scan, struct sw_json_part *ret_name,
		      struct sw_json_part *ret_value, struct sw_error *err);

/* The first member of an object that is written with this name. 0; -SW_E_NOT_FOUND; -SW_E_FORMAT. */
int sw_json_scan_find(const char *text, size_t size, unsigned depth_max, const char *name,
		      struct sw_json_part *ret, struct sw_error *err);

/* ---- tree ------------------------------------------------------------------------------------ */

enum sw_json_type {
	SW_JSON_NULL,
	SW_JSON_BOOLEAN,
	SW_JSON_INTEGER, /* fits into an int64_t */
	SW_JSON_NUMBER,  /* any other: its text, for callers that can use it */
	SW_JSON_STRING,
	SW_JSON_ARRAY,
	SW_JSON_OBJECT,
};

/* A value. Its elements or members follow it, each with all that is within it. */
struct sw_json {
	const char *name; /* borrowed from the tree, as string; NULL: not a member */
	union {
		const char *string; /* of STRING, decoded, no NUL inside; of NUMBER */
		int64_t integer;
		bool boolean;
	};
	uint32_t n;         /* elements or members; bytes of a string */
	uint32_t span;      /* values: this and all within it */
	uint32_t name_size; /* bytes */
	enum sw_json_type type;
};

/* Zero-initialised is a valid empty one. May be parsed into again, which keeps its memory. */
struct sw_json_tree {
	struct sw_json *values; /* owned; the first is the root; NULL before the first text */
	size_t n, capacity;
	char *strings; /* owned */
	size_t strings_capacity;
};

/*
 * The whole text is one value. No two members of one object have the same name. Takes 32 bytes a value
 * and at most the text's size for strings: 33 times the text of "[0,0,...]", of a dump 3 times. More than
 * SW_JSON_TREE_VALUES_MAX values are refused.
 * 0; -SW_E_FORMAT; -SW_E_NOMEM. After a failure there are no values to look at.
 */
int sw_json_parse(struct sw_json_tree *tree, const char *text, size_t size, unsigned depth_max,
		  struct sw_error *err);
void sw_json_tree_deinit(struct sw_json_tree *tree);

/* NULL: there is none of this name; also when object is NULL or none. */
const struct sw_json *sw_json_member(const struct sw_json *object, const char *name);
/* The same, and NULL when it is of another type. */
const struct sw_json *sw_json_member_of(const struct sw_json *object, const char *name,
					enum sw_json_type type);

/* Elements or members in their order:
 *	for (const struct sw_json *v = sw_json_first(array); v != NULL; v = sw_json_next(array, v)) */
static inline const struct sw_json *sw_json_first(const struct sw_json *container)
{
	return container->span > 1 ? container + 1 : NULL;
}

static inline const struct sw_json *sw_json_next(const struct sw_json *container,
						 const struct sw_json *value)
{
	return value + value->span < container + container->span ? value + value->span : NULL;
}

#endif
