/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/common/pieces.h"
#include "snapshot/live.h"

#include <stdlib.h>
#include <string.h>

enum {
	GAP_BYTES = 256,
	FREE_MIN =
		SW_JIT_PIECES_MAX / 4, /* by joining: so that it is not done for each piece anew */
};

static int compare(const void *a, const void *b)
{
	const struct sw_jit_piece *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

static uint64_t most_bytes(const struct sw_jit_pieces *pieces)
{
	return pieces->most_bytes != 0 ? pieces->most_bytes : SW_JIT_PIECES_BYTES;
}

/* Neighbours become one piece, in the order of addresses. */
static void pieces_join(struct sw_jit_pieces *pieces)
{
	struct sw_jit_piece *p = pieces->pieces;
	size_t n = 0;
	if (pieces->n > 1)
		qsort(p, pieces->n, sizeof(*p), compare);
	pieces->bytes = 0;
	for (size_t i = 0; i < pieces->n;) {
		struct sw_jit_piece whole = p[i++];
		for (; i < pieces->n && p[i].start_avma - whole.start_avma <=
						whole.end_avma - whole.start_avma + GAP_BYTES;
		     i++)
			if (p[i].end_avma > whole.end_avma)
				whole.end_avma = p[i].end_avma;
		pieces->bytes += whole.end_avma - whole.start_avma;
		p[n++] = whole;
	}
	pieces->n = n;
}

void sw_jit_pieces_add(struct sw_jit_pieces *pieces, uint64_t avma, uint64_t bytes)
{
	struct sw_jit_piece p = {.start_avma = avma};
	if (pieces->too_many || bytes == 0)
		return;
	if (__builtin_add_overflow(avma, bytes, &p.end_avma) ||
	    pieces->bytes > most_bytes(pieces) || bytes > most_bytes(pieces) - pieces->bytes) {
		pieces->too_many = true;
		return;
	}
	/* Readers go through memory upwards: the last piece often goes on. */
	struct sw_jit_piece *last = pieces->n > 0 ? &pieces->pieces[pieces->n - 1] : NULL;
	if (last != NULL && avma >= last->start_avma && avma <= last->end_avma) {
		if (p.end_avma > last->end_avma) {
			pieces->bytes += p.end_avma - last->end_avma;
			last->end_avma = p.end_avma;
		}
		return;
	}
	for (size_t i = 0; pieces->shared && i < pieces->n; i++)
		if (avma >= pieces->pieces[i].start_avma &&
		    p.end_avma <= pieces->pieces[i].end_avma)
			return;
	if (pieces->n == SW_JIT_PIECES_MAX) {
		if (pieces->dense)
			pieces_join(pieces);
		pieces->too_many = pieces->n > SW_JIT_PIECES_MAX - FREE_MIN ||
				   pieces->bytes > most_bytes(pieces) - bytes;
		if (pieces->too_many)
			return;
	}
	pieces->bytes += bytes;
	pieces->pieces[pieces->n++] = p;
}

int sw_jit_pieces_want(struct sw_jit_pieces *pieces, struct sw_capture *capture)
{
	int r = 0;
	if (pieces->too_many)
		return 0;
	pieces_join(pieces);
	for (size_t i = 0; r == 0 && i < pieces->n; i++) {
		const struct sw_jit_piece *p = &pieces->pieces[i];
		r = sw_capture_want(capture, p->start_avma, (size_t) (p->end_avma - p->start_avma));
	}
	return r;
}

static bool page_read(struct sw_jit_peek *p, uint64_t avma, void *buffer, size_t length)
{
	uint64_t page_avma = avma & -(uint64_t) SW_JIT_PIECES_PAGE;
	if (avma - page_avma + length > SW_JIT_PIECES_PAGE)
		return sw_live_peek(p->snap, avma, buffer, length);
	if (!p->has_page || p->page_avma != page_avma) {
		p->has_page = sw_live_peek(p->snap, page_avma, p->page, SW_JIT_PIECES_PAGE);
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
	if (p->pieces != NULL)
		sw_jit_pieces_add(p->pieces, avma, length);
	return true;
}

struct sw_memory sw_jit_peek_memory(struct sw_jit_peek *peek)
{
	static const struct sw_memory_ops ops = {.read = peek_read};
	return (struct sw_memory){&ops, peek};
}
