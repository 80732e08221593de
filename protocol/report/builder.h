/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_BUILDER_H
#define SW_REPORT_BUILDER_H

#include "arena.h"
#include "map.h"

#include <snapwalk/protocol.h>
#include <string.h>

struct sw_report_priv {
	struct sw_arena arena; /* everything the report points to */
};

/* An empty one; NULL: out of memory. */
struct sw_report *sw_report_create(void);

/* A report in the making. */
struct sw_report_builder {
	const struct sw_walks *walks;
	const struct sw_symbols *symbols; /* NULL: names were not asked for */
	struct sw_report *report;
	struct sw_arena *arena; /* the report's */
	struct sw_map64 copies; /* owned; our copy of a string by the address it was copied from */
	int32_t *
		modules_by_place; /* owned; index into report->modules, -1 when no frame is there */
	const struct sw_walk **ends; /* owned; the walk each stack was made from */
	bool failed;                 /* out of memory; asked once at the end */
};

/* Arena copies. NULL gives NULL; no memory sets failed and gives NULL. */
const char *sw_report_copy(struct sw_report_builder *b, const char *s);
/* The same, "" gives NULL, too. */
const char *sw_report_copy_known(struct sw_report_builder *b, const char *s);
/* The same for strings that many frames share, and that live as long as the walks and symbols. */
const char *sw_report_copy_shared(struct sw_report_builder *b, const char *s);
/* Zeroed, or NULL with failed set. Never asked for 0 elements in vain: gives a valid pointer. */
void *sw_report_calloc(struct sw_report_builder *b, size_t count, size_t size);

/* A thread's own walk; NULL: it was not captured. Threads with the same frames share a stack of the report. */
const struct sw_walk *sw_report_walk_of(const struct sw_walks *walks,
					const struct sw_thread *thread);

/* The index into modules[] of the place a frame is in; -1 for none. */
int32_t sw_report_module_index(const struct sw_report_builder *b, const struct sw_place *place);

static inline bool sw_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

#endif
