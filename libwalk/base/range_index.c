/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "range_index.h"
#include "cleanup.h"
#include "errors.h"

#include <string.h>

enum { RANGES_FIRST = 256, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, ADDRESS_BITS = 64 };

void sw_jit_ranges_deinit(struct sw_jit_ranges *ranges)
{
	free(ranges->all);
	*ranges = (struct sw_jit_ranges){0};
}

int sw_jit_ranges_add(struct sw_jit_ranges *ranges, uint64_t start_avma, uint64_t bytes,
		      uint32_t value)
{
	uint64_t end;
	if (bytes == 0 || __builtin_add_overflow(start_avma, bytes, &end))
		return 0;
	if (ranges->n == ranges->capacity) {
		size_t capacity = ranges->capacity == 0 ? RANGES_FIRST : ranges->capacity * 2;
		struct sw_jit_range *grown =
			reallocarray(ranges->all, capacity, sizeof(*ranges->all));
		if (grown == NULL)
			return -SW_E_NOMEM;
		ranges->all = grown;
		ranges->capacity = capacity;
	}
	ranges->all[ranges->n++] = (struct sw_jit_range){start_avma, end, value};
	return 0;
}

/* By digits from the least one: a map of a large program has a million lines, and comparing them
 * would take several times longer than reading them. Digits that are the same in all are skipped. */
static int sort_by_start(struct sw_jit_range *all, size_t n)
{
	sw_cleanup(sw_free_p) struct sw_jit_range *other = malloc(n * sizeof(*all));
	uint64_t differ = 0;
	if (other == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 1; i < n; i++)
		differ |= all[i].start_avma ^ all[0].start_avma;
	struct sw_jit_range *from = all, *to = other;
	for (unsigned shift = 0; shift < ADDRESS_BITS; shift += DIGIT_BITS) {
		size_t at[DIGITS] = {0}, sum = 0;
		if ((differ >> shift) % DIGITS == 0)
			continue;
		for (size_t i = 0; i < n; i++)
			at[(from[i].start_avma >> shift) % DIGITS]++;
		for (size_t digit = 0; digit < DIGITS; digit++) {
			size_t count = at[digit];
			at[digit] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[(from[i].start_avma >> shift) % DIGITS]++] = from[i];
		struct sw_jit_range *swap = from;
		from = to;
		to = swap;
	}
	if (from != all)
		memcpy(all, from, n * sizeof(*all));
	return 0;
}

static bool any_overlap(const struct sw_jit_ranges *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->all[i].start_avma < r->all[i - 1].end_avma)
			return true;
	return false;
}

/* The ranges that hold a position, the greatest value on top. */
struct heap {
	struct sw_jit_range *all; /* owned */
	size_t n;
};

static void heap_push(struct heap *h, struct sw_jit_range range)
{
	size_t i = h->n++;
	for (; i > 0 && h->all[(i - 1) / 2].value < range.value; i = (i - 1) / 2)
		h->all[i] = h->all[(i - 1) / 2];
	h->all[i] = range;
}

static void heap_pop(struct heap *h)
{
	struct sw_jit_range last = h->all[--h->n];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= h->n)
			break;
		if (child + 1 < h->n && h->all[child + 1].value > h->all[child].value)
			child++;
		if (h->all[child].value <= last.value)
			break;
		h->all[i] = h->all[child];
		i = child;
	}
	if (h->n > 0)
		h->all[i] = last;
}

static void part_add(struct sw_jit_range *parts, size_t *n, uint64_t start, uint64_t end,
		     uint32_t value)
{
	if (*n > 0 && parts[*n - 1].end_avma == start && parts[*n - 1].value == value)
		parts[*n - 1].end_avma = end;
	else
		parts[(*n)++] = (struct sw_jit_range){start, end, value};
}

/* From one place where ranges begin or end to the next; each step adds one or takes one away. */
static size_t sweep(const struct sw_jit_ranges *r, struct heap *h, struct sw_jit_range *parts)
{
	size_t i = 0, n = 0;
	uint64_t at = 0;
	while (i < r->n || h->n > 0) {
		if (h->n == 0)
			at = r->all[i].start_avma;
		while (i < r->n && r->all[i].start_avma <= at)
			heap_push(h, r->all[i++]);
		while (h->n > 0 && h->all[0].end_avma <= at)
			heap_pop(h);
		if (h->n == 0)
			continue;
		uint64_t next = h->all[0].end_avma;
		if (i < r->n && r->all[i].start_avma < next)
			next = r->all[i].start_avma;
		part_add(parts, &n, at, next, h->all[0].value);
		at = next;
	}
	return n;
}

int sw_jit_ranges_finish(struct sw_jit_ranges *ranges)
{
	if (ranges->n == 0)
		return 0;
	if (sort_by_start(ranges->all, ranges->n) < 0)
		return -SW_E_NOMEM;
	if (!any_overlap(ranges))
		return 0;
	struct heap heap = {.all = reallocarray(NULL, ranges->n, sizeof(*heap.all))};
	/* A part ends where some range begins or ends. */
	struct sw_jit_range *parts = reallocarray(NULL, 2 * ranges->n, sizeof(*parts));
	if (heap.all == NULL || parts == NULL) {
		free(heap.all);
		free(parts);
		return -SW_E_NOMEM;
	}
	size_t n = sweep(ranges, &heap, parts);
	free(heap.all);
	free(ranges->all);
	*ranges = (struct sw_jit_ranges){.all = parts,
					 .n = n,
					 .capacity = 2 * ranges->n,
					 .overlap = true};
	return 0;
}

const struct sw_jit_range *sw_jit_ranges_find(const struct sw_jit_ranges *ranges, uint64_t avma)
{
	size_t low = 0, high = ranges->n;
	while (low < high) { /* the first one behind avma */
		size_t middle = low + (high - low) / 2;
		if (ranges->all[middle].start_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && avma < ranges->all[low - 1].end_avma ? &ranges->all[low - 1] : NULL;
}
