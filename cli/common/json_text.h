/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_JSON_TEXT_H
#define SW_CLI_JSON_TEXT_H

#include "text.h"

/* Appends a member: a comma, the name, the string as sw_utf8_append_json_string() writes it; nothing when s is NULL. */
void sw_json_text_member(struct sw_text *text, const char *name, const char *s);

#endif
