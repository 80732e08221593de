/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_TOUCH_H
#define SW_CLR_TASKS_TOUCH_H

#include "runtimes/clr/objects/graph.h"
#include "runtimes/clr/objects/pal.h"

enum {
	SW_CLR_VERDICTS = 4096,     /* power of two */
	SW_CLR_WORDS_MAX = 1 << 14, /* of some stacks, that may be objects */
};

/* In the reader: what is known of objects in a run. */
struct sw_clr_tasks_touching {
	const struct sw_snapshot *snap; /* borrowed, as the next two */
	const struct sw_clr_classes *at;
	const struct sw_clr_pal *pal;
	struct sw_memory memory; /* what is read by it becomes the snapshot's */
	struct sw_memory looks;  /* what is read by it does not */
	struct sw_clr_class_cache classes;
	struct sw_clr_graph graph;
	/* By pages: whether objects, or classes, may be there. */
	struct {
		uint64_t page; /* 0: not in use */
		bool objects, classes, fetched;
	} verdicts[SW_CLR_VERDICTS];
	struct {
		uint64_t avma; /* what may be a class; 0: not in use */
		uint8_t kind;  /* enum sw_clr_kind */
	} tables[SW_CLR_VERDICTS];
	uint64_t words[SW_CLR_WORDS_MAX];
	size_t n_words;
	int64_t end_ns; /* the end of the time for looking through stacks */
	bool cut;       /* not all stacks were looked through: there was no time or space */
};

/* Reads all that leads to tasks; with running_only, awaits_touch.h. Objects are not moving meanwhile. */
void sw_clr_tasks_touch(struct sw_clr_tasks_touching *touching, bool running_only);

#endif
