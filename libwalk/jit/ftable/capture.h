/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_CAPTURE_H
#define SW_FTABLE_CAPTURE_H

#include "jit/common/source.h"

/* Limits for all registries of a process together. Memory over a limit is read after the stop. */
enum {
	SW_FTABLE_COPIES_MAX = 1024,
	SW_FTABLE_COPIED_CHUNKS = 256,
	SW_FTABLE_RECORD_COPY_BYTES = 2 << 20,
	SW_FTABLE_PAYLOAD_COPY_BYTES = 1 << 20,
	SW_FTABLE_PART_COPY_BYTES = 256 << 10, /* of one part of a table */
	SW_FTABLE_LOOKS_MAX = 1 << 18,         /* a thread's pc compared with a table's range */
};

struct sw_ftable_chunk_copy {
	uint64_t tables_avma;
	uint8_t *tables;
	uint32_t n, table_bytes;
};

/* The state of the hook, set aside before the stop. */
struct sw_ftable_copying {
	struct sw_capture *capture;
	struct sw_ftable_chunk_copy chunks[SW_FTABLE_COPIED_CHUNKS];
	size_t n_chunks;
	size_t copies, record_bytes, payload_bytes, looks;
	uint8_t now[64 << 10]; /* tables, read once more */
};

/* The hook of jit/ftable/source.c: target STOPPED. *c->state is a struct sw_ftable_copying, or NULL. */
int sw_ftable_capture(struct sw_jit_capture *c);

#endif
