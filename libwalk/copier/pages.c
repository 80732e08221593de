/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copier/pages.h"
#include "map.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t page_of(uint64_t avma)
{
	return avma & -(uint64_t) SW_COPIER_PAGE_BYTES;
}

/* The slot of a page, or a free one; NULL: there is none. */
static struct sw_copier_page *slot_of(struct sw_copier_pages *p, uint64_t page_avma)
{
	size_t i = (size_t) sw_mix64(page_avma) % SW_COPIER_SLOTS;
	while (p->slots[i].used && p->slots[i].avma != page_avma)
		i = (i + 1) % SW_COPIER_SLOTS;
	return p->slots[i].used || p->n < SW_COPIER_SLOTS / 2 ? &p->slots[i] : NULL;
}

static void page_add(struct sw_copier_pages *p, uint64_t page_avma, const uint8_t *data)
{
	struct sw_copier_page *slot = slot_of(p, page_avma);
	if (slot == NULL || slot->used)
		return;
	*slot = (struct sw_copier_page){.avma = page_avma, .data = data, .used = true};
	p->n++;
}

/* The pages of the ranges that the copier has answered. */
static void ranges_fetch(struct sw_copier_pages *p, size_t n)
{
	struct sw_copier_channel *c = p->channel;
	c->n_ranges = (uint32_t) n;
	p->ask(p->arg);
	p->over = atomic_load(&c->over) != 0;
	for (size_t i = 0; i < n; i++) {
		const struct sw_copier_range *r = &c->ranges[i];
		for (uint32_t off = 0; off < r->bytes; off += SW_COPIER_PAGE_BYTES) {
			/* What failed as a whole is tried by pages, when it is missed. */
			if (r->ok)
				page_add(p, r->avma + off, c->pool + r->at + off);
			else if (r->bytes == SW_COPIER_PAGE_BYTES && !p->over)
				page_add(p, r->avma, NULL);
		}
	}
}

static struct sw_copier_page *page_get(struct sw_copier_pages *p, uint64_t page_avma)
{
	struct sw_copier_page *slot = slot_of(p, page_avma);
	if (slot == NULL) {
		p->over = true;
		return NULL;
	}
	if (!slot->used && !p->over) {
		p->channel->ranges[0] =
			(struct sw_copier_range){.avma = page_avma, .bytes = SW_COPIER_PAGE_BYTES};
		ranges_fetch(p, 1);
	}
	return slot->used && slot->data != NULL ? slot : NULL;
}

static void read_note(struct sw_copier_pages *p, const uint8_t *data, size_t bytes)
{
	size_t off = (size_t) (data - p->channel->pool), end = off + bytes;
	for (off /= SW_COPIER_GRANULE_BYTES; off * SW_COPIER_GRANULE_BYTES < end; off++)
		p->channel->read[off / 64] |= UINT64_C(1) << off % 64;
}

static bool pages_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_copier_pages *p = arg;
	uint8_t *to = buffer;
	uint64_t end;
	if (__builtin_add_overflow(avma, length, &end))
		return false;
	while (length > 0) {
		struct sw_copier_page *page = page_get(p, page_of(avma));
		if (page == NULL)
			return false;
		size_t skip = (size_t) (avma - page->avma);
		size_t part = SW_COPIER_PAGE_BYTES - skip;
		if (part > length)
			part = length;
		memcpy(to, page->data + skip, part);
		page->read = true;
		read_note(p, page->data + skip, part);
		avma += part;
		to += part;
		length -= part;
	}
	return true;
}

struct sw_memory sw_copier_pages_memory(struct sw_copier_pages *pages, bool is_32bit)
{
	static const struct sw_memory_ops ops[2] = {{.read = pages_read},
						    {.read = pages_read, .is_32bit = true}};
	return (struct sw_memory){&ops[is_32bit], pages};
}

/* Neighbours are one range. */
static size_t foreseen_ranges(const struct sw_copier_pages *p, struct sw_copier_range *ranges)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_foreseen; i++) {
		struct sw_copier_range *last = n > 0 ? &ranges[n - 1] : NULL;
		if (last != NULL && last->avma + last->bytes == p->foreseen[i]) {
			last->bytes += SW_COPIER_PAGE_BYTES;
			continue;
		}
		if (n == SW_COPIER_RANGES_MAX)
			break;
		ranges[n++] = (struct sw_copier_range){.avma = p->foreseen[i],
						       .bytes = SW_COPIER_PAGE_BYTES};
	}
	return n;
}

void sw_copier_pages_begin(struct sw_copier_pages *p)
{
	memset(p->slots, 0, sizeof(p->slots));
	p->n = 0;
	p->over = false;
	memset(p->channel->read, 0, sizeof(p->channel->read));
	size_t n = foreseen_ranges(p, p->channel->ranges);
	if (n > 0)
		ranges_fetch(p, n);
}

static int compare_pages(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

void sw_copier_pages_end(struct sw_copier_pages *p)
{
	p->n_foreseen = 0;
	for (size_t i = 0; i < SW_COPIER_SLOTS; i++)
		if (p->slots[i].used && p->slots[i].read && p->n_foreseen < SW_COPIER_PAGES_MAX)
			p->foreseen[p->n_foreseen++] = p->slots[i].avma;
	if (p->n_foreseen > 1)
		qsort(p->foreseen, p->n_foreseen, sizeof(*p->foreseen), compare_pages);
}
