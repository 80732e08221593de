/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_make.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

struct buffer {
	uint8_t bytes[2048];
	size_t n;
};

struct maker {
	struct buffer strings, blobs, tables;
	bool wide;
};

static void put(struct buffer *b, const void *bytes, size_t n)
{
	assert_true(n <= sizeof(b->bytes) - b->n);
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

static void put_number(struct buffer *b, uint64_t value, size_t n)
{
	put(b, &value, n);
}

static void u2(struct maker *m, uint32_t value)
{
	put_number(&m->tables, value, 2);
}

static void u4(struct maker *m, uint32_t value)
{
	put_number(&m->tables, value, 4);
}

static void heap_index(struct maker *m, size_t value)
{
	put_number(&m->tables, value, m->wide ? 4 : 2);
}

static void string(struct maker *m, const char *s)
{
	heap_index(m, *s == '\0' ? 0 : m->strings.n);
	if (*s != '\0')
		put(&m->strings, s, strlen(s) + 1);
}

static void blob(struct maker *m, const char *bytes, size_t n)
{
	heap_index(m, n == 0 ? 0 : m->blobs.n);
	if (n > 0) {
		put_number(&m->blobs, n, 1);
		put(&m->blobs, bytes, n);
	}
}

static void type_def(struct maker *m, const char *space, const char *name, uint32_t methods)
{
	u4(m, 0);
	string(m, name);
	string(m, space);
	u2(m, 0);
	u2(m, 1);
	u2(m, methods);
}

static void method(struct maker *m, unsigned which)
{
	static const struct {
		const char *name, *signature;
		size_t n;
	} methods[] = {
		{"Main", "\x00\x01\x01\x1d\x0e", 5},
		{".ctor", "\x20\x00\x01", 3},
		{"Call", "\x30\x01\x03\x08\x13\x00\x10\x1e\x00\x15\x12\x05\x01\x08", 14},
		{"Shapes",
		 "\x20\x05\x01\x14\x08\x02\x00\x00\x0f\x05\x10\x1f\x09\x0a\x1b\x00\x00\x08\x12\x08",
		 20},
		{"<Start>b__0", "\x00\x00\x01", 3},
	};
	u4(m, 0);
	u2(m, 0);
	u2(m, 0);
	string(m, methods[which].name);
	blob(m, methods[which].signature, methods[which].n);
	u2(m, 1);
}

static void rows_make(struct maker *m, bool edited, bool socket, bool engine)
{
	const char sockets[] = "System.Net.Sockets";
	u2(m, 0); /* Module */
	string(m, "T.dll");
	heap_index(m, 0);
	heap_index(m, 0);
	heap_index(m, 0);
	u2(m, 1 << 2 | 2); /* TypeRef: in AssemblyRef 1 */
	string(m, "List`1");
	string(m, "System.Collections.Generic");
	u2(m, 1 << 2 | 3); /* in TypeRef 1 */
	string(m, "Enumerator");
	string(m, "");
	type_def(m, "", "<Module>", 1);
	type_def(m, socket ? sockets : "N", socket ? "SocketAsyncContext" : "Outer", 1);
	type_def(m, "System", "Int32", 3); /* without methods */
	type_def(m, "", "Inner`1", 3);
	type_def(m, engine ? sockets : "", engine ? "SocketAsyncEngine" : "Last", 5);
	for (unsigned i = 0; edited && i < 5; i++)
		u2(m, 5 - i); /* MethodPtr */
	for (unsigned i = 0; i < 5; i++)
		method(m, edited ? 4 - i : i);
	for (int i = 0; i < 4; i++)
		u2(m, 1); /* AssemblyRef: version */
	u4(m, 0);
	blob(m, "", 0);
	string(m, "System.Runtime");
	string(m, "");
	blob(m, "", 0);
	u2(m, 4); /* NestedClass */
	u2(m, 2);
	/* GenericParam, by owner: of method 3 (edited: still its row), of type 4 */
	u2(m, 0);
	u2(m, 0);
	u2(m, 3 << 1 | 1);
	string(m, "U");
	u2(m, 0);
	u2(m, 0);
	u2(m, 4 << 1);
	string(m, "T");
}

/* #~ or #-: header, row counts, rows. */
static void stream_make(const struct maker *m, bool edited, struct buffer *ret)
{
	static const uint32_t rows[] = {1, 2, 5, 5, 5, 1, 1, 2};
	static const unsigned tables[] = {0, 1, 2, 5, 6, 0x23, 0x29, 0x2a};
	uint64_t valid = 0;
	for (int i = 0; i < 8; i++)
		if (edited || tables[i] != 5)
			valid |= UINT64_C(1) << tables[i];
	put_number(ret, 0, 4);
	put_number(ret, 2, 1);
	put_number(ret, 0, 1);
	put_number(ret, m->wide ? 7 : 0, 1);
	put_number(ret, 1, 1);
	put_number(ret, valid, 8);
	put_number(ret, edited ? 0 : UINT64_C(0x16003301fa00), 8);
	for (int i = 0; i < 8; i++)
		if (valid >> tables[i] & 1)
			put_number(ret, rows[i], 4);
	put(ret, m->tables.bytes, m->tables.n);
}

size_t clr_make_metadata(uint8_t *to, unsigned options)
{
	struct maker m = {.wide = options & CLR_MAKE_WIDE};
	struct buffer tables = {0}, root = {0};
	bool edited = options & CLR_MAKE_EDITED;
	put_number(&m.strings, 0, 1);
	put_number(&m.blobs, 0, 1);
	rows_make(&m, edited, options & CLR_MAKE_SOCKET, options & CLR_MAKE_ENGINE);
	stream_make(&m, edited, &tables);
	const struct {
		const char *name;
		size_t name_bytes;
		const struct buffer *data;
	} streams[] = {{edited ? "#-" : "#~", 4, &tables},
		       {"#Strings", 12, &m.strings},
		       {"#Blob", 8, &m.blobs}};
	put(&root, "BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0v4.0.30319\0\0\0\0\3\0", 32);
	size_t at = 32 + 3 * 8 + 4 + 12 + 8;
	for (int i = 0; i < 3; i++) {
		char name[12] = {0};
		strcpy(name, streams[i].name);
		put_number(&root, at, 4);
		put_number(&root, streams[i].data->n, 4);
		put(&root, name, streams[i].name_bytes);
		at += streams[i].data->n;
	}
	assert_true(at <= CLR_MAKE_BYTES);
	memcpy(to, root.bytes, root.n);
	at = root.n;
	for (int i = 0; i < 3; i++) {
		memcpy(to + at, streams[i].data->bytes, streams[i].data->n);
		at += streams[i].data->n;
	}
	return at;
}

size_t clr_make_image(uint8_t *to, int mapped, int plus)
{
	/* The image has one section: RVA 0x1000, in the file at 0x400. */
	uint8_t *section = to + (mapped ? 0x1000 : 0x400);
	const uint32_t lfanew = 0x80, cli = 0x1008, metadata = 0x1060, optional = plus ? 240 : 224;
	const uint32_t header[] = {0xc00, 0x1000, 0xc00, 0x400};
	memset(to, 0, CLR_MAKE_IMAGE_BYTES);
	uint32_t n = (uint32_t) clr_make_metadata(section + 0x60, 0);
	memcpy(to + 0x3c, &lfanew, 4);
	memcpy(to + lfanew, "PE\0\0\x64\x86\x01", 7);
	memcpy(to + lfanew + 20, &optional, 2);
	memcpy(to + lfanew + 24, plus ? "\x0b\x02" : "\x0b\x01", 2);
	memcpy(to + lfanew + 24 + (plus ? 112 : 96) + 8 * 14, &cli, 4);
	memcpy(to + lfanew + 24 + optional, ".text", 5);
	memcpy(to + lfanew + 24 + optional + 8, header, sizeof(header));
	memcpy(section + 8 + 8, &metadata, 4);
	memcpy(section + 8 + 12, &n, 4);
	return (size_t) (section - to) + 0xc00;
}
