/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_objects.h"

#include <string.h>

enum { TABLE_BYTES = 0x80, CLASS_BYTES = 0x40, FIELD_BYTES = 16, MACHINE_RID = 7, SOURCE_RID = 9 };

void clr_objects_put(struct clr_objects *w, uint64_t avma, uint64_t value, size_t bytes)
{
	memcpy(w->data + (avma - OBJECTS_DATA), &value, bytes);
}

static uint64_t take(struct clr_objects *w, size_t bytes)
{
	uint64_t avma = OBJECTS_DATA + w->used;
	w->used += (bytes + 15) & ~(size_t) 15;
	return avma;
}

/* A MethodTable with its class, which has no fields of its own. */
static uint64_t class_make(struct clr_objects *w, uint32_t rid, uint64_t parent, uint32_t bytes)
{
	uint64_t table = take(w, TABLE_BYTES), class = take(w, CLASS_BYTES);
	clr_objects_put(w, table + 4, bytes, 4);
	clr_objects_put(w, table + 8, rid << 8, 4);
	clr_objects_put(w, table + 16, parent, 8);
	clr_objects_put(w, table + 24, OBJECTS_DATA + OBJECTS_LIBRARY, 8);
	clr_objects_put(w, table + 40, class, 8);
	clr_objects_put(w, class + 16, table, 8);
	return table;
}

/* AsyncStateMachineBox`1, for the second of two classes: its one field is the state machine. */
static void box_make(struct clr_objects *w)
{
	uint64_t dicts = take(w, 32), arguments = take(w, 16), field = take(w, FIELD_BYTES), class;
	memcpy(&class, w->data + (w->box + 40 - OBJECTS_DATA), 8);
	clr_objects_put(w, w->box, 0x30, 4); /* generic */
	clr_objects_put(w, w->box + 48, dicts + 8, 8);
	clr_objects_put(w, dicts, 1, 2);
	clr_objects_put(w, dicts + 2, 2, 2);
	clr_objects_put(w, dicts + 8, arguments, 8);
	clr_objects_put(w, arguments, w->other, 8);
	clr_objects_put(w, arguments + 8, w->machine, 8);
	clr_objects_put(w, class + 24, field, 8);
	clr_objects_put(w, class + 50, 1, 2);
	clr_objects_put(w, field, w->box, 8);
	clr_objects_put(w, field + 8, MACHINE_RID, 4);
	clr_objects_put(w, field + 12, OBJECTS_STATE - 8, 4);
}

/* A pooled box, whose parent has one field: what awaits it. */
static void pooled_make(struct clr_objects *w)
{
	uint64_t base = class_make(w, OBJECTS_POOLED_BASE_RID, 0, 0x50), class,
		 field = take(w, FIELD_BYTES);
	w->pooled = class_make(w, OBJECTS_POOLED_RID, base, 0x60);
	memcpy(&class, w->data + (base + 40 - OBJECTS_DATA), 8);
	clr_objects_put(w, class + 24, field, 8);
	clr_objects_put(w, class + 50, 1, 2);
	clr_objects_put(w, field, base, 8);
	clr_objects_put(w, field + 8, SOURCE_RID, 4);
	clr_objects_put(w, field + 12, OBJECTS_SOURCE - 8, 4);
}

static bool go_on(void *arg)
{
	return true;
}

void clr_objects_init(struct clr_objects *w)
{
	memset(w, 0, sizeof(*w));
	w->used = 0x200;
	w->region = (struct fake_region){OBJECTS_DATA, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->memory = fake_memory(&w->fake);
	w->at = (struct sw_clr_classes){.usable = true,
					.table_base = 4,
					.table_flags2 = 8,
					.table_parent = 16,
					.table_module = 24,
					.table_aux = 32,
					.table_class = 40,
					.table_arguments = 48,
					.class_table = 16,
					.class_fields = 24,
					.class_n_fields = 50,
					.class_n_statics = 54,
					.row_shift = 8,
					.dict_n = 0,
					.dict_arguments = 2,
					.library_avma = OBJECTS_DATA + OBJECTS_LIBRARY,
					.known = {{OBJECTS_TASK_RID, SW_CLR_TASK},
						  {OBJECTS_BOX_RID, SW_CLR_BOX},
						  {OBJECTS_DELEGATE_RID, SW_CLR_DELEGATE},
						  {OBJECTS_LIST_RID, SW_CLR_LIST},
						  {OBJECTS_POOLED_RID, SW_CLR_POOLED},
						  {OBJECTS_EACH_RID, SW_CLR_EACH}},
					.n_known = 6,
					.task_flags = OBJECTS_FLAGS,
					.task_continuation = OBJECTS_CONTINUATION,
					.delegate_target = OBJECTS_TARGET,
					.list_items = 8,
					.list_size = 16,
					.box_rid = OBJECTS_BOX_RID,
					.box_machine_rid = MACHINE_RID,
					.pooled_rid = OBJECTS_POOLED_RID,
					.pooled_machine_rid = MACHINE_RID,
					.pooled_base_rid = OBJECTS_POOLED_BASE_RID,
					.pooled_source_rid = SOURCE_RID,
					.each_source = OBJECTS_SOURCE};
	w->cache.memory = w->memory;
	w->task = class_make(w, OBJECTS_TASK_RID, 0, 0x50);
	w->box = class_make(w, OBJECTS_BOX_RID, w->task, 0x70);
	w->delegate = class_make(w, OBJECTS_DELEGATE_RID, 0, 0x40);
	w->list = class_make(w, OBJECTS_LIST_RID, 0, 0x28);
	w->each = class_make(w, OBJECTS_EACH_RID, 0, 0x60);
	w->other = class_make(w, OBJECTS_OTHER_RID, 0, 0x28);
	w->machine = class_make(w, OBJECTS_OTHER_RID, 0, 0x28);
	w->array = class_make(w, OBJECTS_OTHER_RID, 0, 0x18);
	clr_objects_put(w, w->array, 0x80000008, 4);
	box_make(w);
	pooled_make(w);
	w->chain = (struct sw_clr_chain){.at = &w->at, .classes = &w->cache, .memory = w->memory};
	w->graph.at = &w->at;
	w->graph.classes = &w->cache;
	w->graph.memory = w->memory;
	w->graph.stack_maps = w->stack_maps;
	w->graph.n_stack_maps = sizeof(w->stack_maps);
	w->graph.go_on = go_on;
}

uint64_t clr_objects_new(struct clr_objects *w, uint64_t table_avma)
{
	uint64_t object = take(w, 0x80);
	clr_objects_put(w, object, table_avma, 8);
	return object;
}

uint64_t clr_objects_box(struct clr_objects *w, uint64_t continuation_avma)
{
	uint64_t box = clr_objects_new(w, w->box);
	clr_objects_put(w, box + OBJECTS_FLAGS, OBJECTS_BOX_FLAGS, 4);
	clr_objects_put(w, box + OBJECTS_CONTINUATION, continuation_avma, 8);
	return box;
}
