/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: src/codegen/source-position-table.cc, source-position.h of V8 10.2 to 14.6. */
#include "runtimes/v8/objects/positions.h"

bool sw_v8_positions_open(struct sw_v8_heap heap, uint64_t avma, uint32_t n_bytes,
			  struct sw_v8_positions *ret)
{
	ret->heap = heap;
	ret->n_bytes = 0;
	ret->code = -1;
	ret->position = 0;
	ret->avma = avma;
	ret->end_avma = avma + n_bytes;
	return n_bytes <= SW_V8_TABLE_MAX && ret->end_avma >= avma;
}

static bool byte_read(struct sw_v8_positions *t, uint8_t *ret)
{
	if (t->avma >= t->end_avma)
		return false;
	if (t->n_bytes == 0 || t->avma - t->bytes_avma >= t->n_bytes) {
		size_t n = sizeof(t->bytes);
		if (n > t->end_avma - t->avma)
			n = (size_t) (t->end_avma - t->avma);
		if (!sw_memory_read(t->heap.memory, t->avma, t->bytes, n))
			return false;
		t->bytes_avma = t->avma;
		t->n_bytes = n;
	}
	*ret = t->bytes[t->avma++ - t->bytes_avma];
	return true;
}

bool sw_v8_positions_unsigned(struct sw_v8_positions *t, uint64_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned shift = 0;
	do {
		if (shift > 63 || !byte_read(t, &byte))
			return false;
		value |= (uint64_t) (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret = value;
	return true;
}

static int64_t with_sign(uint64_t value)
{
	return (int64_t) (value >> 1) ^ -(int64_t) (value & 1);
}

bool sw_v8_positions_next(struct sw_v8_positions *t)
{
	uint64_t code, position;
	if (!sw_v8_positions_unsigned(t, &code) || !sw_v8_positions_unsigned(t, &position))
		return false;
	/* The sign, or the flags, tell statements from expressions. */
	int64_t delta = with_sign(code);
	if (t->heap.at->positions_flagged)
		delta = (int64_t) (code >> 2);
	else if (delta < 0)
		delta = -(delta + 1);
	t->code += delta;
	t->position = (int64_t) ((uint64_t) t->position + (uint64_t) with_sign(position));
	return true;
}

bool sw_v8_positions_find(struct sw_v8_heap heap, uint64_t avma, uint32_t n_bytes, int64_t offset,
			  int64_t *ret_code, uint64_t *ret_position)
{
	struct sw_v8_positions t;
	bool found = false;
	if (!sw_v8_positions_open(heap, avma, n_bytes, &t))
		return false;
	for (size_t n = 0;
	     n < SW_V8_POSITION_STEPS_MAX && sw_v8_positions_next(&t) && t.code <= offset; n++) {
		*ret_code = t.code;
		*ret_position = (uint64_t) t.position;
		found = true;
	}
	return found;
}
