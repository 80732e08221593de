/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_UTF8_H
#define SW_BASE_UTF8_H

#include "text.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Names come from the target: a thread's name is 15 bytes of anything, a file name 255. Everything
 * that leaves is valid UTF-8, and what goes to a terminal cannot steer it.
 */

enum { SW_UTF8_REPLACEMENT = 0xfffd, SW_UTF8_BYTES_MAX = 4 };

/* Decodes the character at s, of which size > 0 bytes are there. Returns the bytes it takes; an
 * ill-formed part is one SW_UTF8_REPLACEMENT, as in Unicode 15.0 §3.9, table 3-7 and "maximal
 * subpart" (overlong forms, surrogates and what is above U+10FFFF are ill-formed). */
size_t sw_utf8_decode(const char *s, size_t size, uint32_t *ret_char);

/* Writes a character up to U+10FFFF that is no surrogate; returns its bytes. RFC 3629, section 3. */
size_t sw_utf8_encode(uint32_t value, char *ret);

/* Appends s with ill-formed parts as U+FFFD. */
void sw_utf8_append(struct sw_text *text, const char *s, size_t size);

/* The same for people: control characters, also C1 and those that turn the direction of writing,
 * become a visible \x1b or \u202e, so that a name neither breaks a line nor reaches the terminal
 * as a command. */
void sw_utf8_append_plain(struct sw_text *text, const char *s, size_t size);

/* Appends JSON: of what sw_utf8_append_plain() changes, what JSON lets stand unescaped becomes \u009b. It says the same
 * to every reader, and nothing to a terminal. */
void sw_utf8_append_json(struct sw_text *text, const char *json, size_t size);

/* Appends s as a string of JSON, in quotes: valid UTF-8, and what sw_utf8_append_plain() changes is escaped. */
void sw_utf8_append_json_string(struct sw_text *text, const char *s);

/* Bytes of the character at s, of which size > 0 are there; 0: it is ill-formed, or one of those that
 * sw_utf8_append_plain() changes. */
size_t sw_utf8_plain_length(const char *s, size_t size);

/* Where there is no space for more: of what sw_utf8_append_plain() changes each byte becomes '?'. */
void sw_utf8_make_plain(char *text);

/* Characters of a text as sw_utf8_append_plain() makes it: its columns, wide characters apart. */
size_t sw_utf8_columns(const char *s, size_t size);

#endif
