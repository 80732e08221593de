/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/hotspot/virtual/pages.h"

#include <string.h>

enum { PAGE = SW_HOTSPOT_PAGE_BYTES };

static const uint8_t *page_get(struct sw_hotspot_pages *p, uint64_t avma)
{
	size_t i = (size_t) (avma / PAGE % SW_HOTSPOT_PAGES);
	if (p->pages[i].avma != avma) {
		p->pages[i].avma = 0;
		if (avma == 0 || !sw_memory_read(p->memory, avma, p->pages[i].data, PAGE))
			return NULL;
		p->pages[i].avma = avma;
	}
	return p->pages[i].data;
}

static bool pages_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_hotspot_pages *p = arg;
	uint8_t *to = buffer;
	while (length > 0) {
		size_t skip = avma % PAGE, n = PAGE - skip < length ? PAGE - skip : length;
		const uint8_t *page = page_get(p, avma - skip);
		if (page == NULL)
			return sw_memory_read(p->memory, avma, to, length);
		memcpy(to, page + skip, n);
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

struct sw_memory sw_hotspot_pages_init(struct sw_hotspot_pages *pages, struct sw_memory memory)
{
	static const struct sw_memory_ops ops = {.read = pages_read};
	pages->memory = memory;
	return (struct sw_memory){&ops, pages};
}
