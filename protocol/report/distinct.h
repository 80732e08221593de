/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_DISTINCT_H
#define SW_REPORT_DISTINCT_H

#include "report/builder.h"

/* No entry, no group. */
static const uint32_t SW_NOTHING = UINT32_MAX;

/* A distinct frame, with what is reported of it: its inlined calls, then itself. */
struct sw_distinct_frame {
	const struct sw_frame *frame;         /* the first that was like it; the walks' */
	const char *managed_name;             /* the report's; NULL for native code */
	const struct sw_report_frame *frames; /* the report's */
	size_t n_frames;
	uint32_t same;       /* the entry that stands for all that are reported alike */
	uint32_t next_key;   /* next entry with the same hash of the frame */
	uint32_t next_alike; /* next entry with the same hash of what is reported */
};

/* All distinct frames of a report. Zero-initialised but for b is a valid empty set. */
struct sw_distinct_frames {
	struct sw_report_builder *b;
	struct sw_distinct_frame *distinct; /* owned */
	size_t n_distinct, capacity;
	struct sw_map64 by_key, by_alike; /* hash -> first entry */
};

void sw_distinct_frames_deinit(struct sw_distinct_frames *s);

/* The number of the entry that stands for a frame; named on first sight. Out of memory sets
 * b->failed. */
uint32_t sw_distinct_frames_get(struct sw_distinct_frames *s, const struct sw_frame *frame);

/* Names a frame. behind_lookup: its pc minus the address that it was looked up with. */
void sw_report_frame_name(struct sw_report_builder *b, const struct sw_symbol *symbol,
			  uint64_t behind_lookup, struct sw_report_frame *frame);

/* A file's code, or the kernel's: what its address is relative to is known. */
bool sw_place_is_image(const struct sw_place *place);

#endif
