/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_pdb_make.h"
#include "cleanup.h"
#include "clr_make.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

const uint8_t clr_pdb_make_id[20] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
				     0xbb, 0xcc, 0xdd, 0xee, 0xf0, 0x0f, 0xca, 0xfe, 0xba, 0xbe};

struct part {
	const char *bytes;
	size_t n;
};

#define PART(s)                  \
	{                        \
		s, sizeof(s) - 1 \
	}

/* Blobs, each behind its length; their places are what rows and names say. */
static const struct part blobs[] = {
	PART("\0"),        /* 0: the empty one */
	PART("\3src"),     /* 1 */
	PART("\4a.cs"),    /* 5 */
	PART("\5b\1.cs"),  /* 10 */
	PART("\4/\0\1\5"), /* 16: "/", "src", "a.cs" */
	PART("\2\0\12"),   /* 21 */
	/* 24: no local variables; IL +0, 0 lines 10 columns, line 10 column 5; +4 hidden; +5, 1 line
	 * -3 columns, line -2 column +0; +3, 0 lines 1 column, line +292 column -64 */
	PART("\24\0\0\0\12\12\5\4\0\0\5\1\x7b\x7d\0\3\0\1\x82\x48\1"),
	/* 45: ..., document 2; IL +0, line 20; document 1; +5, line -13 */
	PART("\16\0\2\0\0\1\24\1\0\1\5\0\1\x67\0"),
	/* 60: ..., +0 hidden; +3, line 2 */
	PART("\11\0\0\0\0\3\0\1\2\1"),
	/* 70: ..., +0, line 1; a number of four bytes, of which there are two */
	PART("\10\0\0\0\1\1\1\xc0\0"),
};

/* Document and points of each method. */
static const uint16_t methods[CLR_PDB_MAKE_METHODS][2] = {
	{1, 24}, {0, 0}, {0, 45}, {1, 60}, {1, 70}};

static size_t put(uint8_t *to, size_t at, const void *bytes, size_t n)
{
	assert_true(at + n <= CLR_PDB_MAKE_BYTES);
	memcpy(to + at, bytes, n);
	return at + n;
}

static size_t put_u32(uint8_t *to, size_t at, uint32_t value)
{
	return put(to, at, &value, 4);
}

static size_t put_u16(uint8_t *to, size_t at, uint32_t value)
{
	return put(to, at, &value, 2);
}

static size_t tables_put(uint8_t *to, size_t at)
{
	static const uint16_t documents[] = {16, 21};
	at = put(to, at, "\0\0\0\0\2\0\0\1", 8); /* heaps are small */
	at = put(to, at, "\0\0\0\0\0\0\3\0", 8); /* tables 0x30 and 0x31 */
	at = put(to, at, "\0\0\0\0\0\0\0\0", 8);
	at = put_u32(to, at, 2);
	at = put_u32(to, at, CLR_PDB_MAKE_METHODS);
	for (size_t i = 0; i < 2; i++) {
		at = put_u16(to, at, documents[i]);
		at = put(to, at, "\0\0\0\0\0\0", 6); /* hash algorithm, hash, language */
	}
	for (size_t i = 0; i < CLR_PDB_MAKE_METHODS; i++)
		at = put_u16(to, put_u16(to, at, methods[i][0]), methods[i][1]);
	return at;
}

size_t clr_pdb_make(uint8_t *to)
{
	enum { ROOT_BYTES = 76, PDB_BYTES = 32, TABLES_BYTES = 32 + 2 * 8 + 5 * 4 };
	size_t n_blobs = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(blobs); i++)
		n_blobs += blobs[i].n;
	size_t at = put(to, 0, "BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0PDB v1.0\0\0\0\0\0\0\3\0", 32);
	at = put_u32(to, put_u32(to, at, ROOT_BYTES), PDB_BYTES);
	at = put(to, at, "#Pdb\0\0\0", 8);
	at = put_u32(to, put_u32(to, at, ROOT_BYTES + PDB_BYTES), TABLES_BYTES);
	at = put(to, at, "#~\0", 4);
	at = put_u32(to, put_u32(to, at, ROOT_BYTES + PDB_BYTES + TABLES_BYTES),
		     (uint32_t) n_blobs);
	at = put(to, at, "#Blob\0\0", 8);
	assert_int_equal(at, ROOT_BYTES);
	at = put(to, at, clr_pdb_make_id, sizeof(clr_pdb_make_id));
	at = put(to, at, "\0\0\0\0\0\0\0\0\0\0\0", 12); /* no entry point, no tables elsewhere */
	at = tables_put(to, at);
	assert_int_equal(at, ROOT_BYTES + PDB_BYTES + TABLES_BYTES);
	for (size_t i = 0; i < SW_ARRAY_SIZE(blobs); i++)
		at = put(to, at, blobs[i].bytes, blobs[i].n);
	return at;
}

/* ---- images ------------------------------------------------------------------------------------ */

enum {
	SECTION_RVA = 0x1000,
	SECTION_OFFSET = 0x400,
	DIRECTORY = 0x600, /* all of these in the section */
	CODEVIEW = 0x680,
	EMBEDDED = 0x700,
	TINY_IL = 0xa00,
	FAT_IL = 0xa20,
	LFANEW = 0x80,
};

size_t clr_pdb_make_directory(int mapped)
{
	return (size_t) (mapped ? SECTION_RVA : SECTION_OFFSET) + DIRECTORY;
}

static void entry_put(uint8_t *to, uint32_t stamp, uint32_t minor, uint32_t type, uint32_t bytes,
		      uint32_t at)
{
	const uint32_t entry[7] = {
		0, stamp, 0x100 | minor << 16, type, bytes, SECTION_RVA + at, SECTION_OFFSET + at};
	memcpy(to, entry, sizeof(entry));
}

/* RFC 1951, 3.2.4: one block that is stored. */
static size_t packed_put(uint8_t *to)
{
	uint8_t pdb[CLR_PDB_MAKE_BYTES];
	size_t n = clr_pdb_make(pdb);
	const uint32_t unpacked = (uint32_t) n;
	const uint16_t lengths[] = {(uint16_t) n, (uint16_t) ~n};
	memcpy(to, "MPDB", 4);
	memcpy(to + 4, &unpacked, 4);
	to[8] = 1;
	memcpy(to + 9, lengths, 4);
	memcpy(to + 13, pdb, n);
	return 13 + n;
}

size_t clr_pdb_make_image(uint8_t *to, int mapped, int plus, int embedded)
{
	size_t n = clr_make_image(to, mapped, plus);
	uint8_t *section = to + (mapped ? SECTION_RVA : SECTION_OFFSET);
	const uint32_t directory[] = {SECTION_RVA + DIRECTORY, embedded ? 3 * 28 : 2 * 28};
	const uint32_t rvas[] = {SECTION_RVA + TINY_IL, SECTION_RVA + FAT_IL};
	uint32_t stamp;
	for (size_t i = DIRECTORY; i < FAT_IL + 16; i++)
		assert_int_equal(section[i], 0); /* metadata does not reach so far */
	memcpy(&stamp, clr_pdb_make_id + 16, 4);
	memcpy(to + LFANEW + 24 + (plus ? 112 : 96) + 8 * 6, directory, 8);
	entry_put(section + DIRECTORY, 0, 0, 16, 0, 0); /* "reproducible": without data */
	entry_put(section + DIRECTORY + 28, stamp, 0x504d, 2, 30, CODEVIEW);
	memcpy(section + CODEVIEW, "RSDS", 4);
	memcpy(section + CODEVIEW + 4, clr_pdb_make_id, 16);
	memcpy(section + CODEVIEW + 20, "\1\0\0\0T.pdb", 10);
	size_t packed = embedded ? packed_put(section + EMBEDDED) : 0;
	entry_put(section + DIRECTORY + 2 * 28, 0, 0x100, 17, (uint32_t) packed, EMBEDDED);
	section[TINY_IL] = 13 << 2 | 2;
	memcpy(section + FAT_IL, "\3\x30\x08\0\x2c\1\0\0", 8);
	/* Rows of MethodDef, of 14 bytes, lie behind those of Module, TypeRef and TypeDef. */
	uint8_t *rows = section + 0x60 + 80 + 24 + 7 * 4 + 10 + 2 * 6 + 5 * 14;
	memcpy(rows, &rvas[0], 4);
	memcpy(rows + 14, &rvas[1], 4);
	return n;
}
