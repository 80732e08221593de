/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_RECORD_H
#define SW_FTABLE_RECORD_H

#include "bytes.h"

#define SNAPWALK_FTABLE_LAYOUT_ONLY
#include <snapwalk/ftable.h>

/* Registries as <snapwalk/ftable.h> lays them out, as bytes of another process: hostile. Nothing here
 * reads memory or allocates: it runs in the stop, too. */

/* Registries as <snapwalk/ftable.h> lays them out, in another process's memory. Hostile bytes. */
enum {
	SW_FTABLE_CHUNKS_MAX = 1024,        /* of one registry */
	SW_FTABLE_CHUNK_TABLES_MAX = 65536, /* of one chunk */
	SW_FTABLE_TABLE_BYTES_MAX =
		1024, /* of one record; later versions may have more than ours */
	SW_FTABLE_RECORDS_BYTES = 64 << 20,   /* of all records of a process */
	SW_FTABLE_PAYLOAD_MAX = 64 << 20,     /* of one part of a table */
	SW_FTABLE_PAYLOADS_BYTES = 256 << 20, /* of all that were needed */
	SW_FTABLE_TRIES = 16,                 /* to read a table that is being changed */
};

/* The head of a registry. */
struct sw_ftable_layout {
	uint32_t registry_bytes, chunk_bytes, table_bytes;
	uint64_t first_avma; /* chunk; 0: none */
};

enum { SW_FTABLE_HEAD_BYTES = offsetof(struct swft_registry, changes) };

/* NULL and *ret; or why it is no registry that we can read, static. */
const char *sw_ftable_head_parse(struct sw_bytes head, struct sw_ftable_layout *ret);

/* The head of a chunk. Reading it returns false when these bytes are not one. */
struct sw_ftable_chunk {
	uint64_t next_avma;
	uint32_t used;
};
bool sw_ftable_chunk_parse(struct sw_bytes head, struct sw_ftable_chunk *ret);

/* A table that may be used. */
struct sw_ftable {
	uint64_t record_avma, seq, id;
	uint32_t kind; /* enum swft_kind; of a deferred one that is there and known, what it is */
	bool deferred;
	bool live; /* read while the target ran */
	uint64_t start_avma, end_avma, base_avma;
	uint64_t data_avma, count;
	uint64_t info_avma, info_bytes;
	uint64_t symbols_avma, n_symbols;
	uint64_t names_avma, names_bytes;
	uint32_t cfa_offset;
	char format[SWFT_FORMAT_BYTES + 1];
};

enum sw_ftable_state {
	SW_FTABLE_USABLE,
	SW_FTABLE_DEAD,
	SW_FTABLE_BAD, /* not what a writer makes */
	SW_FTABLE_BUSY,
};

/* Our own mark in a copy of a record: it was changed while it was copied. */
enum { SW_FTABLE_STATE_BUSY = 0x59535542 };

enum sw_ftable_state sw_ftable_record_parse(struct sw_bytes record, uint64_t record_avma,
					    struct sw_ftable *ret);

/* Bytes of its data: call frame information, or entries. */
uint64_t sw_ftable_data_bytes(const struct sw_ftable *table);

#endif
