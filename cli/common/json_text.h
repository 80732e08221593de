/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_JSON_TEXT_H
#define SW_CLI_JSON_TEXT_H

#include "text.h"

/* Appends a string as JSON has it, with quotes. Bytes that are not UTF-8 are replaced, characters
 * that steer a terminal escaped. */
void sw_json_text_string(struct sw_text *text, const char *s);
/* Appends a member: a comma, the name, the string; nothing when s is NULL. */
void sw_json_text_member(struct sw_text *text, const char *name, const char *s);

#endif
