/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_PAGES_H
#define SW_HOTSPOT_VIRTUAL_PAGES_H

#include "memory.h"

enum {
	SW_HOTSPOT_PAGE_BYTES = 4096,
	SW_HOTSPOT_PAGES = 128, /* the latest ones */
};

/* Memory that is read by pages: what the VM has of classes lies close together. */
struct sw_hotspot_pages {
	struct sw_memory memory; /* borrowed */
	struct {
		uint64_t avma; /* 0: empty */
		uint8_t data[SW_HOTSPOT_PAGE_BYTES];
	} pages[SW_HOTSPOT_PAGES];
};

/* pages is zeroed, and must outlive what is returned. */
struct sw_memory sw_hotspot_pages_init(struct sw_hotspot_pages *pages, struct sw_memory memory);

#endif
