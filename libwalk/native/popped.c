/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/popped.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "native/call_site.h"

enum {
	INSNS_MAX = 2048, /* of all ways */
	BLOCKS_MAX = 128,
	WAYS_MAX = 32,
};

struct follower {
	const struct sw_snapshot *snap;
	struct sw_memory memory;
	uint64_t ways[WAYS_MAX], blocks[BLOCKS_MAX];
	size_t n_ways, n_blocks, n_insns;
	size_t *insns_left;
	bool found, unknown;
	uint64_t bytes;
};

/* Where a jump or branch leads to, if that was not looked at before. */
static void way_add(struct follower *f, uint64_t avma)
{
	for (size_t i = 0; i < f->n_blocks; i++)
		if (f->blocks[i] == avma)
			return;
	if (f->n_blocks == BLOCKS_MAX || f->n_ways == WAYS_MAX) {
		f->unknown = true;
		return;
	}
	f->blocks[f->n_blocks++] = avma;
	f->ways[f->n_ways++] = avma;
}

static void returned(struct follower *f, uint64_t bytes)
{
	f->unknown |= f->found && f->bytes != bytes;
	f->found = true;
	f->bytes = bytes;
}

/* To another function, which returns in the place of this one. */
static void jumped_far(struct follower *f, uint64_t pc_avma)
{
	uint64_t slot_avma, target_avma;
	if (sw_arch_jump_slot(f->memory, pc_avma, &slot_avma) &&
	    sw_memory_word(f->memory, slot_avma, &target_avma))
		way_add(f, target_avma);
	else
		f->unknown = true;
}

/* A way is followed to its end. */
static void follow(struct follower *f, uint64_t pc)
{
	while (!f->unknown) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t n = sw_is_executable(f->snap, pc) ? sw_insn_read(f->memory, pc, code) : 0;
		if (f->n_insns++ == INSNS_MAX || *f->insns_left == 0 ||
		    !sw_arch_insn(sw_memory_is_32bit(f->memory), code, n, pc, &insn)) {
			f->unknown = true;
			return;
		}
		--*f->insns_left;
		switch (insn.op) {
		case SW_INSN_RETURN: returned(f, (uint64_t) insn.value); return;
		case SW_INSN_JUMP: way_add(f, insn.target); return;
		case SW_INSN_JUMP_FAR: jumped_far(f, pc); return;
		case SW_INSN_STOP: return; /* it does not return this way */
		case SW_INSN_BRANCH: way_add(f, insn.target); break;
		case SW_INSN_CALL:
			/* The last thing that a function does: its callee does not return. */
			if (sw_function_ends(f->snap, pc, pc + insn.length))
				return;
			break;
		default: break;
		}
		pc += insn.length;
	}
}

bool sw_popped_bytes(const struct sw_snapshot *snap, struct sw_memory memory, uint64_t avma,
		     size_t *insns_left, uint64_t *ret)
{
	struct follower f = {.snap = snap, .memory = memory, .insns_left = insns_left};
	way_add(&f, avma);
	while (f.n_ways > 0 && !f.unknown)
		follow(&f, f.ways[--f.n_ways]);
	if (!f.found || f.unknown)
		return false;
	*ret = f.bytes;
	return true;
}
