/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PARSE_FIELDS_H
#define SW_PARSE_FIELDS_H

#include "arena.h"
#include "json.h"
#include "map.h"

#include <snapwalk/protocol.h>
#include <stdint.h>

/* A report that is read from its JSON. The first error is remembered; all getters may be called on,
 * and their results then are of no use, but harmless. */
struct sw_report_parser {
	struct sw_report *report;
	struct sw_arena *arena;     /* the report's */
	struct sw_map64 strings;    /* owned; copies by their hash: frames share most */
	struct sw_map64 by_tid;     /* owned; index into threads[] */
	const struct sw_json *from; /* borrowed; the element that is read */
	const char *what;           /* static; what it is: "thread" */
	struct sw_error *err;
	int status; /* 0, or -SW_E_* */
};

/* 'name' is missing or not as the schema has it. Null and absent are the same everywhere. */
void sw_parse_fail(struct sw_report_parser *p, const char *name);
void sw_parse_fail_nomem(struct sw_report_parser *p);

/* Zeroed, of the report's; NULL: p failed. */
void *sw_parse_calloc(struct sw_report_parser *p, size_t count, size_t size);

/* Never NULL, unless p failed. */
const char *sw_parse_string(struct sw_report_parser *p, const char *name);
/* NULL: null. */
const char *sw_parse_string_or_null(struct sw_report_parser *p, const char *name);
/* A name of an enumeration, which may grow: [a-z][a-z0-9_-]*. Text that is written without a look
 * at it is a word like this, or lower case hex digits of which there is an even number, or a
 * sentence of ASCII. */
const char *sw_parse_word(struct sw_report_parser *p, const char *name);
const char *sw_parse_hex_text_or_null(struct sw_report_parser *p, const char *name);
const char *sw_parse_sentence(struct sw_report_parser *p, const char *name);

int64_t sw_parse_int(struct sw_report_parser *p, const char *name, int64_t min, int64_t max);
/* -1: null. */
int64_t sw_parse_known(struct sw_report_parser *p, const char *name, int64_t max);
bool sw_parse_bool(struct sw_report_parser *p, const char *name);
/* Absent: false. */
bool sw_parse_flag(struct sw_report_parser *p, const char *name);
/* "0x1f"; false: null. */
bool sw_parse_address_or_null(struct sw_report_parser *p, const char *name, uint64_t *ret);
uint64_t sw_parse_address(struct sw_report_parser *p, const char *name);
/* 16 hex digits. */
uint64_t sw_parse_stack_id(struct sw_report_parser *p, const char *name);
/* RFC 3339 with six digits of a second, UTC. */
int64_t sw_parse_time_ns(struct sw_report_parser *p, const char *name);
const char *sw_parse_dump_id(struct sw_report_parser *p, const char *name);

#endif
