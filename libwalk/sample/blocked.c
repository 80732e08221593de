/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/blocked.h"
#include "arena.h"
#include "copies/execute.h"
#include "map.h"
#include "snapshot/live.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAGES_MAX = 16384 /* of one window */ };

struct sw_sample_blocked {
	struct sw_snapshot *base; /* borrowed */
	struct sw_sampled_recipe recipe;
	struct sw_arena arena; /* of one sample */
	struct sw_map64 pages; /* of one window: by address, in the arena */
	uint64_t record[SW_SAMPLED_BYTES_MAX / sizeof(uint64_t)];
	struct sw_copy_part parts[SW_COPY_PARTS_MAX];
};

struct sw_sample_blocked *sw_sample_blocked_create(struct sw_snapshot *base,
						   const struct sw_recipe *recipe)
{
	struct sw_sample_blocked *b = calloc(1, sizeof(*b));
	if (b == NULL)
		return NULL;
	b->base = base;
	b->recipe = recipe->steps;
	return b;
}

void sw_sample_blocked_destroy(struct sw_sample_blocked *b)
{
	if (b == NULL)
		return;
	sw_sample_blocked_reset(b);
	free(b);
}

void sw_sample_blocked_window(struct sw_sample_blocked *b)
{
	sw_map64_deinit(&b->pages);
}

void sw_sample_blocked_reset(struct sw_sample_blocked *b)
{
	sw_sample_blocked_window(b);
	sw_arena_deinit(&b->arena);
}

/* Threads of one interpreter share most of what they lead to. */
static const uint8_t *page_get(struct sw_sample_blocked *b, uint64_t avma)
{
	uint64_t known;
	if (sw_map64_get(&b->pages, avma, &known))
		return (const uint8_t *) (uintptr_t) known;
	uint8_t *page = b->pages.count < PAGES_MAX ? sw_arena_alloc(&b->arena, PAGE) : NULL;
	if (page == NULL || !sw_live_peek(b->base, avma, page, PAGE) ||
	    sw_map64_put(&b->pages, avma, (uintptr_t) page) < 0)
		return NULL;
	return page;
}

static bool pages_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	uint8_t *to = buffer;
	uint64_t end;
	if (__builtin_add_overflow(avma, length, &end))
		return false;
	while (length > 0) {
		size_t skip = avma % PAGE, n = PAGE - skip < length ? PAGE - skip : length;
		const uint8_t *page = page_get(arg, avma - skip);
		if (page == NULL)
			return false;
		memcpy(to, page + skip, n);
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

const struct sw_copy *sw_sample_blocked_copy(struct sw_sample_blocked *b,
					     const struct sw_recipe_thread *thread)
{
	static const struct sw_memory_ops ops = {.read = pages_read};
	size_t bytes = sw_recipe_execute(&b->recipe, (struct sw_memory){&ops, b}, thread,
					 (uint8_t *) b->record);
	uint8_t *record = sw_arena_alloc(&b->arena, bytes);
	struct sw_copy copy, *kept = sw_arena_alloc(&b->arena, sizeof(*kept));
	if (record == NULL || kept == NULL)
		return NULL;
	memcpy(record, b->record, bytes);
	if (!sw_copy_parse(record, bytes, b->parts, &copy))
		return NULL;
	struct sw_copy_part *parts = sw_arena_calloc(&b->arena, copy.n_parts + 1, sizeof(*parts));
	if (parts == NULL)
		return NULL;
	memcpy(parts, b->parts, copy.n_parts * sizeof(*parts));
	*kept = copy;
	kept->parts = parts;
	return kept;
}

int sw_sample_blocked_give(struct sw_sample_blocked *b, struct sw_snapshot *snap)
{
	size_t n = snap->n_ranges;
	for (size_t i = 0; i < snap->n_threads; i++)
		n += snap->threads[i].copy != NULL ? snap->threads[i].copy->n_parts : 0;
	struct sw_range *ranges = sw_arena_calloc(&b->arena, n + 1, sizeof(*ranges));
	if (ranges == NULL)
		return -SW_E_NOMEM;
	if (snap->n_ranges > 0)
		memcpy(ranges, snap->ranges, snap->n_ranges * sizeof(*ranges));
	struct sw_range *shared = sw_arena_calloc(&b->arena, snap->n_ranges + 1, sizeof(*shared));
	if (shared == NULL)
		return -SW_E_NOMEM;
	if (snap->n_ranges > 0)
		memcpy(shared, snap->ranges, snap->n_ranges * sizeof(*shared));
	snap->priv->shared = shared;
	snap->priv->n_shared = snap->n_ranges;
	snap->ranges = ranges;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_copy *copy = snap->threads[i].copy;
		for (size_t k = 0; copy != NULL && k < copy->n_parts; k++) {
			const struct sw_copy_part *part = &copy->parts[k];
			ranges[snap->n_ranges++] =
				(struct sw_range){part->avma, part->bytes, part->data};
		}
	}
	return 0;
}
