/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_CHUNK_BYTES = 16 * 1024, ARENA_ALIGN = 16 };

struct sw_arena_chunk {
	struct sw_arena_chunk *next;
	size_t used;
	size_t size;
	size_t padding; /* keeps data[] 16-byte aligned */
	char data[];
};

_Static_assert(sizeof(struct sw_arena_chunk) % ARENA_ALIGN == 0, "data[] must stay aligned");

void sw_arena_deinit(struct sw_arena *arena)
{
	for (struct sw_arena_chunk *c = arena->chunks; c != NULL;) {
		struct sw_arena_chunk *next = c->next;
		free(c);
		c = next;
	}
	arena->chunks = NULL;
}

static struct sw_arena_chunk *chunk_create(size_t size)
{
	size_t bytes;
	if (__builtin_add_overflow(sizeof(struct sw_arena_chunk), size, &bytes))
		return NULL;
	struct sw_arena_chunk *c = malloc(bytes);
	if (c == NULL)
		return NULL;
	*c = (struct sw_arena_chunk){.size = size};
	return c;
}

void *sw_arena_alloc(struct sw_arena *arena, size_t size)
{
	size_t rounded;
	if (__builtin_add_overflow(size, ARENA_ALIGN - 1, &rounded))
		return NULL;
	rounded &= ~(size_t) (ARENA_ALIGN - 1);

	struct sw_arena_chunk *c = arena->chunks;
	if (c == NULL || c->size - c->used < rounded) {
		bool large = rounded > ARENA_CHUNK_BYTES / 4;
		c = chunk_create(large ? rounded : ARENA_CHUNK_BYTES);
		if (c == NULL)
			return NULL;
		if (large && arena->chunks != NULL) {
			/* A large block goes behind the current chunk, whose rest stays usable. */
			c->next = arena->chunks->next;
			arena->chunks->next = c;
		} else {
			c->next = arena->chunks;
			arena->chunks = c;
		}
	}
	void *p = c->data + c->used;
	c->used += rounded;
	return p;
}

void *sw_arena_calloc(struct sw_arena *arena, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	void *p = sw_arena_alloc(arena, bytes);
	if (p != NULL)
		memset(p, 0, bytes);
	return p;
}

char *sw_arena_strndup(struct sw_arena *arena, const char *s, size_t size)
{
	if (size == SIZE_MAX)
		return NULL;
	char *p = sw_arena_alloc(arena, size + 1);
	if (p == NULL)
		return NULL;
	memcpy(p, s, size);
	p[size] = '\0';
	return p;
}

char *sw_arena_strdup(struct sw_arena *arena, const char *s)
{
	return sw_arena_strndup(arena, s, strlen(s));
}

char *sw_arena_printf(struct sw_arena *arena, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : sw_arena_alloc(arena, (size_t) n + 1);
	if (p != NULL)
		(void) vsnprintf(p, (size_t) n + 1, fmt, again); /* cannot be cut: measured above */
	va_end(again);
	return p;
}
