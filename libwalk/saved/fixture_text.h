/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FIXTURE_TEXT_H
#define SW_FIXTURE_TEXT_H

#include "arena.h"
#include "text.h"

#include <stdint.h>

/* The words of a fixture's text; what they mean is in saved/fixture_records.c. */

#define SW_FIXTURE_FIRST_LINE   "snapwalk-fixture 1"
#define SW_FIXTURE_TEXT_NAME    "snapshot"
#define SW_FIXTURE_MEMORY_NAME  "memory"
#define SW_FIXTURE_MODULES_NAME "modules"

/* Appends " " and s as one word: bytes outside '!'..'~', '%' and a lone "-" as %XX, the empty string
 * as "-". */
void sw_fixture_put_string(struct sw_text *text, const char *s);

/* The rest of a line. bad stays set once a word was missing or of another kind. */
struct sw_fixture_line {
	const char *p, *end;
	bool bad;
};

/* The next word, borrowed; size 0 when there is none. */
const char *sw_fixture_word(struct sw_fixture_line *line, size_t *ret_size);

/* A number in decimal or, after 0x, in hexadecimal; at most max. 0 when bad. */
uint64_t sw_fixture_u64(struct sw_fixture_line *line, uint64_t max);

/* The same with a sign before a decimal number. */
int64_t sw_fixture_i64(struct sw_fixture_line *line, int64_t min, int64_t max);

/* The next word decoded into buffer; bad when it does not fit with its NUL. */
void sw_fixture_string(struct sw_fixture_line *line, char *buffer, size_t size);

/* The same from the arena; "" when bad. A NUL inside is bad. *ret_nomem is set when there is no
 * memory. */
const char *sw_fixture_strdup(struct sw_fixture_line *line, struct sw_arena *arena,
			      bool *ret_nomem);

#endif
