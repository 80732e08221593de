/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_TEXTS_H
#define SW_COPIES_TEXTS_H

#include "arena.h"
#include "map.h"

/*
 * Names of functions and files that stay from copy to copy, each kept once.
 *
 * @param arena    Has the text that is returned.
 * @param by_hash  The texts in the arena.
 * @return The text, as it was kept; NULL: no memory.
 */
const char *sw_copy_text_keep(struct sw_arena *arena, struct sw_map64 *by_hash, const char *text);

#endif
