/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_BUILDER_H
#define SW_MINIDUMP_BUILDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A minidump in the making: bytes, and streams of its directory, which is at its start. */
enum { MD_BYTES = 65536, MD_STREAMS = 16, MD_DIRECTORY = 32, MD_CONTEXT = 1232 };

struct minidump_builder {
	uint8_t bytes[MD_BYTES];
	size_t size, n_streams;
};

static inline void md_u32(struct minidump_builder *b, size_t at, uint32_t value)
{
	memcpy(b->bytes + at, &value, sizeof(value));
}

static inline void md_u64(struct minidump_builder *b, size_t at, uint64_t value)
{
	memcpy(b->bytes + at, &value, sizeof(value));
}

/* Bytes of zeros; their offset. */
static inline uint32_t md_space(struct minidump_builder *b, size_t bytes)
{
	uint32_t at = (uint32_t) b->size;
	b->size += bytes;
	return at;
}

static inline void md_begin(struct minidump_builder *b)
{
	memset(b, 0, sizeof(*b));
	md_u32(b, 0, 0x504d444d);
	md_u32(b, 4, 0xa793);
	md_u32(b, 8, MD_STREAMS);
	md_u32(b, 12, MD_DIRECTORY);
	md_u32(b, 20, 1000); /* seconds */
	b->size = MD_DIRECTORY + MD_STREAMS * 12;
}

/* A stream of so many zeros; its offset. */
static inline uint32_t md_stream(struct minidump_builder *b, uint32_t type, size_t bytes)
{
	size_t entry = MD_DIRECTORY + b->n_streams++ * 12;
	uint32_t at = md_space(b, bytes);
	md_u32(b, entry, type);
	md_u32(b, entry + 4, (uint32_t) bytes);
	md_u32(b, entry + 8, at);
	return at;
}

static inline uint32_t md_string(struct minidump_builder *b, const char *ascii)
{
	size_t n = strlen(ascii);
	uint32_t at = md_space(b, 4 + 2 * n + 2);
	md_u32(b, at, (uint32_t) (2 * n));
	for (size_t i = 0; i < n; i++)
		b->bytes[at + 4 + 2 * i] = (uint8_t) ascii[i];
	return at;
}

/* A stream that is a text. */
static inline void md_text(struct minidump_builder *b, uint32_t type, const char *text)
{
	uint32_t at = md_stream(b, type, strlen(text));
	memcpy(b->bytes + at, text, strlen(text));
}

/* The 16 registers from rax on have the values first, first + 1 ...; but rsp and rip. */
static inline uint32_t md_context(struct minidump_builder *b, uint64_t first, uint64_t rsp,
				  uint64_t rip)
{
	uint32_t at = md_space(b, MD_CONTEXT);
	for (unsigned i = 0; i < 16; i++)
		md_u64(b, at + 0x78 + 8 * i, first + i);
	md_u64(b, at + 0x98, rsp);
	md_u64(b, at + 0xf8, rip);
	return at;
}

#endif
