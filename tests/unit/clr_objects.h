/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_OBJECTS_H
#define CLR_OBJECTS_H

#include "fake.h"
#include "runtimes/clr/objects/chain.h"
#include "runtimes/clr/objects/graph.h"

/* Objects of a .NET runtime with their classes, in fake memory, with the offsets of .NET 10.0. */
enum {
	OBJECTS_BYTES = 0x8000,
	OBJECTS_LIBRARY = 0x100, /* Module */
	OBJECTS_TASK_RID = 1,
	OBJECTS_BOX_RID,
	OBJECTS_DELEGATE_RID,
	OBJECTS_LIST_RID,
	OBJECTS_POOLED_RID,
	OBJECTS_POOLED_BASE_RID,
	OBJECTS_EACH_RID,
	OBJECTS_OTHER_RID,
	OBJECTS_CONTINUATION = 0x20, /* in a Task */
	OBJECTS_FLAGS = 0x34,
	OBJECTS_TARGET = 8, /* in a delegate */
	OBJECTS_BOX_FLAGS = 0x2000400,
	OBJECTS_DONE = 0x1000000,
	OBJECTS_STATE = 0x48,  /* of the state machine in a box */
	OBJECTS_SOURCE = 0x18, /* what awaits it, in a pooled box, or in what WhenEach() has */
};

#define OBJECTS_DATA UINT64_C(0x7e0000000000)

struct clr_objects {
	uint8_t data[OBJECTS_BYTES];
	size_t used;
	struct fake_region region;
	struct fake_memory fake;
	struct sw_memory memory;
	struct sw_clr_classes at;
	struct sw_clr_class_cache cache;
	struct sw_clr_chain chain;
	struct sw_clr_graph graph;
	uint8_t stack_maps[8];
	uint64_t task, box, machine, delegate, list, each, array, other, pooled; /* MethodTables */
};

void clr_objects_init(struct clr_objects *w);
void clr_objects_put(struct clr_objects *w, uint64_t avma, uint64_t value, size_t bytes);
/* An object of that class, all zero. */
uint64_t clr_objects_new(struct clr_objects *w, uint64_t table_avma);
/* A box that is not done, with what awaits it. */
uint64_t clr_objects_box(struct clr_objects *w, uint64_t continuation_avma);

#endif
