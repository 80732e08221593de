/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_ASCII_H
#define SW_CLI_ASCII_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether that descriptor is a terminal, and the locale (LC_ALL, LC_CTYPE, LANG) is not of UTF-8: the terminal would show
 * other characters than those that are meant. */
bool sw_ascii_only(int fd);

/* Appends s, which is valid UTF-8, in ASCII: "..." for "…", "|" for "·", "->" for "→"; '?' for what it has no word for. */
void sw_ascii_append(struct sw_text *text, const char *s, size_t size);

#endif
