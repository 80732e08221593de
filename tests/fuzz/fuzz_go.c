/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Go program whose file and memory anybody wrote. The input is laid over a small one that is right, in
 * parts: u16 offset / 4 | u8 length | bytes. Offsets from the file's size on are in the structures and
 * stacks of the process. Then its thread is walked and named, from each of the runtime's functions, and all
 * goroutines.
 */
#include "fuzz.h"
#include "go_world.h"
#include "arch/arch.h"
#include "bytes.h"

#include <string.h>

static void lay_over(struct go_world *w, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, part;
	const size_t first = offsetof(struct go_world, pc);
	const size_t all = first + sizeof(*w) - offsetof(struct go_world, curg_more);
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 1; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t to = (size_t) offset * 4 % all;
		if (!sw_bytes_sub(b, at + 3, length, &part))
			return;
		/* pc, sp and the registers are not its own. */
		size_t end = to < first ? first : sizeof(*w);
		if (to >= first)
			to += offsetof(struct go_world, curg_more) - first;
		if (length > end - to)
			length = (uint8_t) (end - to);
		memcpy((uint8_t *) w + to, part.data, length);
	}
}

static void walk(const struct go_world *w)
{
	static struct sw_description d;
	struct sw_snapshot *snap = go_world_snapshot(w);
	struct sw_walks *walks = NULL;
	static const struct sw_walk_options options = {.goroutines = true};
	if (sw_walk_all(snap, &options, &walks, NULL) < 0)
		abort();
	for (size_t i = 0; i < walks->walks[0].n_frames && i < 32; i++)
		for (size_t level = 0; level < 4; level++)
			(void) sw_walk_describe_inlined(walks, &walks->walks[0].frames[i], level,
							&d);
	char *text = NULL;
	if (sw_explain(snap, w->pc, &text, NULL) == 0)
		free(text);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct go_world w;
	if (size == 0)
		return 0;
	go_world_init(&w, data[0] & 1);
	sw_regs_set(&w.regs, SW_X86_64_R12, go_world_stack(4));
	sw_regs_set(&w.regs, SW_X86_64_RDX, go_world_stack(4));
	lay_over(&w, data, size);
	w.pc = go_world_pc(data[0] / 8 % GO_N_FUNCS, data[0] & 2 ? 0x22 : 4);
	w.sp = data[0] & 4 ? go_world_stack(2) : go_world_system(2);
	walk(&w);
	w.pc = go_world_pc(GO_LEAF, 0);
	walk(&w);
	return 0;
}
