/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FINDER_PLAIN_H
#define SW_FINDER_PLAIN_H

#include "arena.h"
#include "bytes.h"

/* The kinds of a file, as it is looked for. */
enum sw_plain_kind {
	SW_PLAIN_CODE,  /* ELF */
	SW_PLAIN_DEBUG, /* ELF without code */
	SW_PLAIN_PE,
};

/* All ELF and PE files below a directory, by the build-ids that are read from them. Zero-initialised is an empty index. */
struct sw_plain_index {
	struct sw_arena arena;
	struct sw_plain_file *files; /* owned */
	size_t n, capacity;
	bool built;
};

void sw_plain_index_deinit(struct sw_plain_index *index);

/*
 * Reads the directory, once. Links are not followed. What is left out at a limit, or because it cannot be opened, is not
 * found.
 *
 * @param deadline_ns  CLOCK_MONOTONIC; 0: none.
 */
void sw_plain_index_build(struct sw_plain_index *index, const char *directory, int64_t deadline_ns);

/* The build-id of the ELF files with this name, or with it and ".debug". False: there are none, or their build-ids differ. */
bool sw_plain_index_named(const struct sw_plain_index *index, const char *name,
			  struct sw_bytes *ret);

/* The path of a file with that build-id, below the directory; NULL: there is none. */
const char *sw_plain_index_find(const struct sw_plain_index *index, struct sw_bytes id,
				enum sw_plain_kind kind);

#endif
