/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects and classes that anybody wrote. The input is laid over a small world that is right, in parts:
 * u16 offset / 8 | u8 length | bytes. Then all boxes are asked who awaits them, and what can be reached is followed.
 * The same is laid over the metadata of a library that has sockets, whose classes are looked for.
 */
#include "fuzz.h"
#include "clr_make.h"
#include "clr_objects.h"

#include "bytes.h"
#include "runtimes/clr/objects/find_classes.h"

#include <string.h>

enum { READS_MAX = 3000000, METADATA = 0x20000 };

static void lay_over(uint8_t *over, size_t over_bytes, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, part;
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 0; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t to = (size_t) offset * 8 % over_bytes;
		if (!sw_bytes_sub(b, at + 3, length, &part))
			return;
		if (length > over_bytes - to)
			length = (uint8_t) (over_bytes - to);
		memcpy(over + to, part.data, length);
	}
}

static bool metadata_open(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret)
{
	return sw_clr_metadata_open(fake_memory(arg), METADATA, CLR_MAKE_BYTES, ret);
}

static void sockets_look(struct clr_objects *w, const uint8_t *data, size_t size)
{
	static uint8_t bytes[CLR_MAKE_BYTES];
	struct fake_region region = {METADATA, bytes, sizeof(bytes)};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	memset(bytes, 0, sizeof(bytes));
	(void) clr_make_metadata(bytes, CLR_MAKE_SOCKET | (size % 2 == 0 ? CLR_MAKE_ENGINE : 0));
	lay_over(bytes, sizeof(bytes), data, size);
	for (uint64_t i = 0; i < 20; i++)
		sw_clr_part_find(w->memory, SW_CLR_SOCKETS, OBJECTS_DATA + i * 0x800, metadata_open,
				 &fake, &w->at);
	if (fake.reads > READS_MAX || w->at.n_known > SW_CLR_CLASSES_MAX)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct clr_objects w;
	uint64_t boxes[8], table, fields, stack[8];
	bool forks;
	uint32_t offset;
	clr_objects_init(&w);
	for (size_t i = 0; i < 8; i++)
		boxes[i] = clr_objects_box(&w, i > 0 ? boxes[i - 1] : 0);
	lay_over(w.data, sizeof(w.data), data, size);
	sockets_look(&w, data, size);
	memcpy(stack, boxes, sizeof(stack));
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_map(snap, OBJECTS_DATA, OBJECTS_DATA + OBJECTS_BYTES, "rw-p", "");
	fake_snapshot_stack(snap, 7, 0x1000, stack, 8);
	fake_snapshot_finish(snap);
	w.graph.snap = snap;
	struct fake_region regions[] = {w.region,
					{snap->threads[0].stack_avma, stack, sizeof(stack)}};
	struct fake_memory all = {.regions = regions, .n_regions = 2};
	sw_clr_graph_roots(&w.graph, fake_memory(&all));
	sw_clr_graph_close(&w.graph);
	for (size_t i = 0; i < w.graph.n && i < 64; i++) {
		uint64_t at = w.graph.nodes[i].avma;
		(void) sw_clr_chain_next(&w.chain, at, &forks);
		if (sw_clr_machine_find(&w.chain, at, &table, &fields))
			(void) sw_clr_field_find(&w.at, w.memory, table, 0, false, &offset);
	}
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	fake_snapshot_destroy(snap);
	return 0;
}
