/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copier/pages.h"
#include "map.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t page_of(uint64_t avma)
{
	return avma & -(uint64_t) SW_COPIER_PAGE_BYTES;
}

/* The slot of a page, or the free one for it. */
static uint16_t *slot_of(struct sw_copier_pages *p, uint64_t page_avma)
{
	size_t i = (size_t) sw_mix64(page_avma) & (p->n_slots - 1);
	while (p->slots[i] != 0 && p->known[p->slots[i] - 1].avma != page_avma)
		i = (i + 1) & (p->n_slots - 1);
	return &p->slots[i];
}

/* Few pages have few slots: each page of the table that is written to costs a fault. */
static void slots_grow(struct sw_copier_pages *p)
{
	enum { FEW = 512 };
	if (p->n_slots != 0 && (p->n < p->n_slots / 2 || p->n_slots == SW_COPIER_SLOTS))
		return;
	for (size_t i = 0; i < p->n; i++)
		p->slots[p->known[i].slot] = 0;
	p->n_slots = p->n_slots != 0 ? 2 * p->n_slots : FEW;
	for (size_t i = 0; i < p->n; i++) {
		uint16_t *slot = slot_of(p, p->known[i].avma);
		p->known[i].slot = (uint32_t) (slot - p->slots);
		*slot = (uint16_t) (i + 1);
	}
}

static void page_add(struct sw_copier_pages *p, uint64_t page_avma, const uint8_t *data)
{
	slots_grow(p);
	uint16_t *slot = slot_of(p, page_avma);
	if (*slot != 0 || p->n == SW_COPIER_KNOWN_MAX)
		return;
	static_assert(SW_COPIER_KNOWN_MAX <= UINT16_MAX, "a slot has its place");
	p->known[p->n] = (struct sw_copier_page){.avma = page_avma,
						 .data = data,
						 .slot = (uint32_t) (slot - p->slots)};
	*slot = (uint16_t) ++p->n;
}

/* The pages of the ranges that the copier has answered. */
static void answers_add(struct sw_copier_pages *p, size_t n)
{
	const struct sw_copier_channel *c = p->channel;
	p->over = atomic_load(&c->over) != 0;
	for (size_t i = 0; i < n; i++) {
		const struct sw_copier_range *r = &c->ranges[i];
		if (r->ok || !p->over)
			page_add(p, r->avma, r->ok ? c->pool + r->at : NULL);
	}
}

static struct sw_copier_page *page_get(struct sw_copier_pages *p, uint64_t page_avma)
{
	if (p->gathers && p->stuck)
		return NULL;
	slots_grow(p);
	const uint16_t *slot = slot_of(p, page_avma);
	if (p->gathers && (*slot == 0 || *slot > p->gathered_from)) {
		page_add(p, page_avma, NULL); /* no space: it is not there */
		p->stuck = true;
		return NULL;
	}
	if (*slot == 0 && p->n == SW_COPIER_KNOWN_MAX) {
		p->over = true;
		return NULL;
	}
	if (*slot == 0 && !p->over) {
		p->channel->ranges[0] =
			(struct sw_copier_range){.avma = page_avma, .bytes = SW_COPIER_PAGE_BYTES};
		p->channel->n_ranges = 1;
		p->ask(p->arg);
		answers_add(p, 1);
	}
	struct sw_copier_page *page = *slot != 0 ? &p->known[*slot - 1] : NULL;
	return page != NULL && page->data != NULL ? page : NULL;
}

static void read_note(struct sw_copier_pages *p, const uint8_t *data, size_t bytes)
{
	size_t off = (size_t) (data - p->channel->pool), end = off + bytes;
	for (off /= SW_COPIER_GRANULE_BYTES; off * SW_COPIER_GRANULE_BYTES < end; off++)
		p->channel->read[off / 64] |= UINT64_C(1) << off % 64;
}

static bool copy(struct sw_copier_pages *p, uint64_t avma, uint8_t *to, size_t length,
		 bool foresees, bool keeps)
{
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
		page->read |= foresees;
		if (keeps)
			read_note(p, page->data + skip, part);
		avma += part;
		to += part;
		length -= part;
	}
	return true;
}

static bool pages_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return copy(arg, avma, buffer, length, true, true);
}

/* The page is one that a rehearsal has read; the snapshot does not get the bytes. */
static bool pages_look(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return copy(arg, avma, buffer, length, true, false);
}

/* The page is not even foreseen. */
static bool pages_peek(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return copy(arg, avma, buffer, length, false, false);
}

static bool pages_part(void *arg)
{
	struct sw_copier_pages *p = arg;
	bool whole = !p->gathers || !p->stuck;
	if (!p->gathers)
		p->gathered_from = p->n;
	p->gathers = true;
	p->stuck = false;
	return whole;
}

static bool pages_fetch(void *arg)
{
	struct sw_copier_pages *p = arg;
	struct sw_copier_channel *c = p->channel;
	size_t from = p->gathered_from, n = p->gathers ? p->n - from : 0;
	p->gathers = false;
	if (n == 0 || p->over)
		return false;
	static_assert((int) SW_COPIER_KNOWN_MAX <= (int) SW_COPIER_RANGES_MAX, "a range for each");
	for (size_t i = 0; i < n; i++)
		c->ranges[i] = (struct sw_copier_range){.avma = p->known[from + i].avma,
							.bytes = SW_COPIER_PAGE_BYTES};
	c->n_ranges = (uint32_t) n;
	p->ask(p->arg);
	p->over = atomic_load(&c->over) != 0;
	for (size_t i = 0; i < n; i++)
		p->known[from + i].data = c->ranges[i].ok ? c->pool + c->ranges[i].at : NULL;
	return true;
}

struct sw_memory sw_copier_pages_memory(struct sw_copier_pages *pages, bool is_32bit)
{
	static const struct sw_memory_ops ops[2] = {{.read = pages_read,
						     .look = pages_look,
						     .part = pages_part,
						     .fetch = pages_fetch,
						     .peek = pages_peek},
						    {.read = pages_read,
						     .look = pages_look,
						     .part = pages_part,
						     .fetch = pages_fetch,
						     .peek = pages_peek,
						     .is_32bit = true}};
	return (struct sw_memory){&ops[is_32bit], pages};
}

void sw_copier_pages_begin(struct sw_copier_pages *p)
{
	while (p->n > 0)
		p->slots[p->known[--p->n].slot] = 0;
	p->gathers = false;
	answers_add(p, p->channel->n_ranges);
}

static int compare_pages(const void *a, const void *b)
{
	const struct sw_copier_foreseen *x = a, *y = b;
	return (x->avma > y->avma) - (x->avma < y->avma);
}

void sw_copier_pages_list(struct sw_copier_pages *p)
{
	struct sw_copier_channel *c = p->channel;
	c->n_foreseen = 0;
	for (size_t i = 0; i < p->n && c->n_foreseen < SW_COPIER_PAGES_MAX; i++) {
		const struct sw_copier_page *k = &p->known[i];
		if (!k->read)
			continue;
		size_t page = (size_t) (k->data - c->pool) / SW_COPIER_PAGE_BYTES;
		c->foreseen[c->n_foreseen++] = (struct sw_copier_foreseen){k->avma, c->read[page]};
	}
	if (c->n_foreseen > 1)
		qsort(c->foreseen, c->n_foreseen, sizeof(*c->foreseen), compare_pages);
}
