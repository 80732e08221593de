/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May run while threads of the target are STOPPED: nothing here allocates, opens or parses, and every loop is
 * bounded by what was set aside before. tests/held.sh looks at what it calls.
 */
#include "unwind/copied.h"
#include "map.h"

#include <string.h>

static bool plain_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_capture *capture = arg;
	const uint8_t *copy;
	if (!sw_capture_copy(capture, avma, length, &copy))
		return false;
	memcpy(buffer, copy, length);
	return true;
}

struct sw_memory sw_copied_memory(struct sw_capture *capture)
{
	static const struct sw_memory_ops ops = {.read = plain_read};
	return (struct sw_memory){&ops, capture};
}

/* The copy of a block; NULL: it cannot be read, or there is no space for more. */
static const uint8_t *block_get(struct sw_copied_blocks *b, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % b->n_slots;
	while (b->slots[i].avma != 0 && b->slots[i].avma != avma)
		i = (i + 1) % b->n_slots;
	if (b->slots[i].avma == avma)
		return b->slots[i].data;
	const uint8_t *data = NULL;
	if (!sw_copied_blocks_has_space(b) || (b->until_late && sw_capture_is_late(b->capture)) ||
	    (!sw_capture_copy(b->capture, avma, b->block_bytes, &data) && !b->once))
		return NULL;
	b->n++;
	b->slots[i] = (struct sw_copied_block){avma, data};
	return data;
}

static bool blocks_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_copied_blocks *b = arg;
	uint8_t *to = buffer;
	uint64_t end;
	if (__builtin_add_overflow(avma, length, &end))
		return false;
	while (length > 0) {
		size_t skip = avma % b->block_bytes, n = b->block_bytes - skip;
		if (n > length)
			n = length;
		const uint8_t *block = avma - skip != 0 ? block_get(b, avma - skip) : NULL;
		if (block == NULL)
			return false;
		memcpy(to, block + skip, n);
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

void sw_copied_blocks_begin(struct sw_copied_blocks *b, struct sw_capture *capture)
{
	if (b->n > 0)
		memset(b->slots, 0, b->n_slots * sizeof(*b->slots));
	b->n = 0;
	b->capture = capture;
}

bool sw_copied_blocks_has_space(const struct sw_copied_blocks *b)
{
	return b->n < b->max;
}

struct sw_memory sw_copied_blocks_memory(struct sw_copied_blocks *b)
{
	static const struct sw_memory_ops ops = {.read = blocks_read};
	return (struct sw_memory){&ops, b};
}
