/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_PERFMAP_TEXT_H
#define SW_JIT_PERFMAP_TEXT_H

#include "jit/perf/perfmap.h"

/*
 * A perf map that is looked at again and again while its process runs. Lines are only ever appended, so that a look reads what
 * has come since the one before. Places count bytes of the file. A file that was written anew has greater places than before.
 */
struct sw_perfmap_text;

/* fd: borrowed until the text is freed; below 0: there is no map. NULL: no memory. It has one user. */
struct sw_perfmap_text *sw_perfmap_text_create(int fd);
/* Adds a user. */
struct sw_perfmap_text *sw_perfmap_text_share(struct sw_perfmap_text *text);
/* The last user frees it. NULL is allowed. */
void sw_perfmap_text_drop(struct sw_perfmap_text *text);

/*
 * Read what was appended.
 *
 * @param ret_end  The place behind the last whole line: each line before it is there now. Without memory for it, or where the
 *                 file has more than 256 MiB, there are no lines from now on.
 * @return 0; -SW_E_NOMEM.
 */
int sw_perfmap_text_look(struct sw_perfmap_text *text, uint64_t *ret_end);

/* The newest line about an address, as of the last look, and its place. Borrowed until the next look. */
bool sw_perfmap_text_find(const struct sw_perfmap_text *text, uint64_t avma,
			  struct sw_perfmap_line *ret, uint64_t *ret_place);

#endif
