/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/common/parts.h"
#include "snapshot/live.h"

#include <stdlib.h>
#include <string.h>

enum {
	GAP_BYTES = 256,
	FREE_MIN = SW_JIT_PARTS_MAX / 4, /* by joining: so that it is not done for each part anew */
};

static int compare(const void *a, const void *b)
{
	const struct sw_jit_part *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

static uint64_t most_bytes(const struct sw_jit_parts *parts)
{
	return parts->most_bytes != 0 ? parts->most_bytes : SW_JIT_PARTS_BYTES;
}

/* Neighbours become one part, in the order of addresses. */
static void parts_join(struct sw_jit_parts *parts)
{
	struct sw_jit_part *p = parts->parts;
	size_t n = 0;
	if (parts->n > 1)
		qsort(p, parts->n, sizeof(*p), compare);
	parts->bytes = 0;
	for (size_t i = 0; i < parts->n;) {
		struct sw_jit_part whole = p[i++];
		for (; i < parts->n && p[i].start_avma - whole.start_avma <=
					       whole.end_avma - whole.start_avma + GAP_BYTES;
		     i++)
			if (p[i].end_avma > whole.end_avma)
				whole.end_avma = p[i].end_avma;
		parts->bytes += whole.end_avma - whole.start_avma;
		p[n++] = whole;
	}
	parts->n = n;
}

void sw_jit_parts_add(struct sw_jit_parts *parts, uint64_t avma, uint64_t bytes)
{
	struct sw_jit_part p = {.start_avma = avma};
	if (parts->too_many || bytes == 0)
		return;
	if (__builtin_add_overflow(avma, bytes, &p.end_avma) || parts->bytes > most_bytes(parts) ||
	    bytes > most_bytes(parts) - parts->bytes) {
		parts->too_many = true;
		return;
	}
	/* Readers go through memory upwards: the last part often goes on. */
	struct sw_jit_part *last = parts->n > 0 ? &parts->parts[parts->n - 1] : NULL;
	if (last != NULL && avma >= last->start_avma && avma <= last->end_avma) {
		if (p.end_avma > last->end_avma) {
			parts->bytes += p.end_avma - last->end_avma;
			last->end_avma = p.end_avma;
		}
		return;
	}
	for (size_t i = 0; parts->shared && i < parts->n; i++)
		if (avma >= parts->parts[i].start_avma && p.end_avma <= parts->parts[i].end_avma)
			return;
	if (parts->n == SW_JIT_PARTS_MAX) {
		if (parts->dense)
			parts_join(parts);
		parts->too_many = parts->n > SW_JIT_PARTS_MAX - FREE_MIN ||
				  parts->bytes > most_bytes(parts) - bytes;
		if (parts->too_many)
			return;
	}
	parts->bytes += bytes;
	parts->parts[parts->n++] = p;
}

int sw_jit_parts_want(struct sw_jit_parts *parts, struct sw_capture *capture)
{
	int r = 0;
	if (parts->too_many)
		return 0;
	parts_join(parts);
	for (size_t i = 0; r == 0 && i < parts->n; i++) {
		const struct sw_jit_part *p = &parts->parts[i];
		r = sw_capture_want(capture, p->start_avma, (size_t) (p->end_avma - p->start_avma));
	}
	return r;
}

static bool page_read(struct sw_jit_peek *p, uint64_t avma, void *buffer, size_t length)
{
	uint64_t page_avma = avma & -(uint64_t) SW_JIT_PARTS_PAGE;
	if (avma - page_avma + length > SW_JIT_PARTS_PAGE)
		return sw_live_peek(p->snap, avma, buffer, length);
	if (!p->has_page || p->page_avma != page_avma) {
		p->has_page = sw_live_peek(p->snap, page_avma, p->page, SW_JIT_PARTS_PAGE);
		p->page_avma = page_avma;
	}
	if (p->has_page)
		memcpy(buffer, p->page + (avma - page_avma), length);
	return p->has_page;
}

static bool peek_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_jit_peek *p = arg;
	if (!page_read(p, avma, buffer, length))
		return false;
	if (p->parts != NULL)
		sw_jit_parts_add(p->parts, avma, length);
	return true;
}

struct sw_memory sw_jit_peek_memory(struct sw_jit_peek *peek)
{
	static const struct sw_memory_ops ops = {.read = peek_read};
	return (struct sw_memory){&ops, peek};
}
