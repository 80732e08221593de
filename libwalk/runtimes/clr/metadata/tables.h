/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_METADATA_H
#define SW_CLR_METADATA_H

#include "bytes.h"
#include "memory.h"
#include "text.h"

/*
 * Metadata of an assembly, read where it lies in the target: tables of fixed rows, and heaps of
 * strings and blobs that the rows point into. Nothing of it is copied or trusted.
 * Source: ECMA-335 6th edition, partition II, 22 (tables) and 24 (physical layout).
 */
enum {
	SW_CLR_TABLES = 50,
	SW_CLR_TOKEN_RID = 0xffffff, /* the part of a token that is a row; the rest is the table */

	SW_CLR_TABLE_MODULE = 0x00,
	SW_CLR_TABLE_TYPE_REF = 0x01,
	SW_CLR_TABLE_TYPE_DEF = 0x02,
	SW_CLR_TABLE_METHOD_PTR = 0x05,
	SW_CLR_TABLE_METHOD = 0x06,
	SW_CLR_TABLE_TYPE_SPEC = 0x1b,
	SW_CLR_TABLE_NESTED = 0x29,
	SW_CLR_TABLE_GENERIC_PARAM = 0x2a,
	SW_CLR_TABLE_DOCUMENT = 0x30, /* of portable PDBs: runtimes/clr/metadata/pdb.h */
	SW_CLR_TABLE_METHOD_DEBUG = 0x31,

	SW_CLR_NAME_MAX = 1024,      /* bytes of one name; longer ones are cut */
	SW_CLR_NESTING_MAX = 32,     /* types in types */
	SW_CLR_ROWS_UNSORTED = 2048, /* rows looked at where a table is not sorted */
};

struct sw_clr_table {
	uint64_t avma;
	uint32_t rows;
	uint32_t row_bytes;
};

struct sw_clr_metadata {
	struct sw_memory memory;
	uint64_t strings_avma, blobs_avma, pdb_avma; /* 0: there is none */
	uint32_t strings_bytes, blobs_bytes, pdb_bytes;
	uint64_t sorted;    /* bit n: table n is */
	uint8_t heap_sizes; /* HeapSizes: which heaps' indices have four bytes */
	struct sw_clr_table tables[SW_CLR_TABLES];
};

/* Metadata of bytes bytes at avma. False: what is there is no metadata. */
bool sw_clr_metadata_open(struct sw_memory memory, uint64_t avma, uint64_t bytes,
			  struct sw_clr_metadata *ret);

/* The value of a column in a row; rows count from 1. */
bool sw_clr_metadata_get(const struct sw_clr_metadata *m, unsigned table, uint32_t rid,
			 unsigned column, uint32_t *ret);

/* Appends a string of the heap; control characters become '?'. */
bool sw_clr_metadata_string(const struct sw_clr_metadata *m, uint32_t index, struct sw_text *text);

/* Where a blob lies, without its length. */
bool sw_clr_metadata_blob_find(const struct sw_clr_metadata *m, uint32_t index, uint64_t *ret_avma,
			       uint32_t *ret_bytes);

/* At most max bytes of a blob are copied; *ret_bytes is how many. */
bool sw_clr_metadata_blob(const struct sw_clr_metadata *m, uint32_t index, uint8_t *to, size_t max,
			  size_t *ret_bytes);

/* A number of one, two or four bytes at *at, which is moved behind it: II.23.2. *ret_bytes, which may
 * be NULL, is how many bytes it has. */
bool sw_clr_number_read(struct sw_bytes b, uint64_t *at, uint32_t *ret, unsigned *ret_bytes);

#endif
