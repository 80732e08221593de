/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tail_jump.h"
#include "arch/arch.h"
#include "arch/insn.h"

enum {
	WAYS_MAX = 16,
	BLOCKS_MAX = 64,
	INSNS_MAX = 1024, /* of one function and those it jumps to */
	CHUNK_BYTES = 64,
};

struct way {
	uint64_t pc_avma;
	int64_t depth; /* of sp below the return address */
	int64_t fp_depth;
	bool fp_known;
};

struct follower {
	const struct sw_tail_jump *to;
	struct way ways[WAYS_MAX];
	size_t n_ways;
	uint64_t blocks[BLOCKS_MAX]; /* that jumps led to */
	size_t n_blocks, n_insns;
	uint8_t chunk[CHUNK_BYTES];
	uint64_t chunk_avma;
	size_t chunk_bytes;
};

static size_t code_read(struct follower *f, uint64_t avma, const uint8_t **ret)
{
	uint64_t off = avma - f->chunk_avma;
	if (avma < f->chunk_avma || off + SW_INSN_BYTES_MAX > f->chunk_bytes) {
		f->chunk_avma = avma;
		for (f->chunk_bytes = CHUNK_BYTES; f->chunk_bytes > 0; f->chunk_bytes /= 2)
			if (sw_memory_read(f->to->memory, avma, f->chunk, f->chunk_bytes))
				break;
		off = 0;
	}
	*ret = f->chunk + off;
	return f->chunk_bytes - (size_t) off;
}

static void way_add(struct follower *f, const struct way *way, uint64_t pc_avma)
{
	for (size_t i = 0; i < f->n_blocks; i++)
		if (f->blocks[i] == pc_avma)
			return;
	if (f->n_blocks == BLOCKS_MAX || f->n_ways == WAYS_MAX)
		return; /* others are left */
	f->blocks[f->n_blocks++] = pc_avma;
	f->ways[f->n_ways] = *way;
	f->ways[f->n_ways++].pc_avma = pc_avma;
}

/* A jump on the way: true when it ends the search. */
static bool jumped(struct follower *f, const struct way *way, uint64_t target_avma)
{
	if (way->depth == 0 && target_avma >= f->to->start_avma && target_avma <= f->to->pc_avma)
		return true;
	way_add(f, way, target_avma);
	return false;
}

static bool jumped_by_slot(struct follower *f, const struct way *way, uint64_t pc_avma)
{
	uint64_t slot_avma, target_avma;
	return way->depth == 0 && sw_arch_jump_slot(f->to->memory, pc_avma, &slot_avma) &&
	       sw_memory_word(f->to->memory, slot_avma, &target_avma) &&
	       jumped(f, way, target_avma);
}

/* The effect on sp and fp of an instruction that goes on behind itself. Returns false if it cannot
 * be followed. */
static bool effect(struct way *way, const struct sw_insn *insn, unsigned word_bytes)
{
	switch (insn->op) {
	case SW_INSN_PUSH: way->depth += word_bytes; return true;
	case SW_INSN_POP:
		way->depth -= word_bytes;
		way->fp_known &= insn->reg != SW_ARCH_FP;
		return true;
	case SW_INSN_SP_ADD: way->depth -= insn->value; return true;
	case SW_INSN_FP_FROM_SP:
		way->fp_known = true;
		way->fp_depth = way->depth - insn->value;
		return true;
	case SW_INSN_SP_FROM_FP: way->depth = way->fp_depth - insn->value; return way->fp_known;
	case SW_INSN_LEAVE: {
		bool known = way->fp_known;
		way->depth = way->fp_depth - word_bytes;
		way->fp_known = false;
		return known;
	}
	case SW_INSN_PLAIN:
	case SW_INSN_LOAD_SP:
	case SW_INSN_LOAD_FP: way->fp_known &= insn->reg != SW_ARCH_FP; return true;
	case SW_INSN_CALL: return true;
	default: return false;
	}
}

static bool way_follow(struct follower *f, struct way way)
{
	while (way.depth >= 0 && f->n_insns<INSNS_MAX && * f->to->insns_left> 0) {
		const uint8_t *code;
		struct sw_insn insn;
		uint64_t pc = way.pc_avma;
		f->n_insns++;
		--*f->to->insns_left;
		size_t n = code_read(f, pc, &code);
		if (!sw_arch_insn(sw_memory_is_32bit(f->to->memory), code, n, pc, &insn))
			return false;
		switch (insn.op) {
		case SW_INSN_JUMP: return jumped(f, &way, insn.target);
		case SW_INSN_JUMP_FAR: return jumped_by_slot(f, &way, pc);
		case SW_INSN_BRANCH:
			if (jumped(f, &way, insn.target))
				return true;
			break;
		default:
			if (!effect(&way, &insn, sw_memory_word_bytes(f->to->memory)))
				return false;
		}
		way.pc_avma = pc + insn.length;
	}
	return false;
}

bool sw_tail_jump_leads(const struct sw_tail_jump *to, uint64_t from_avma)
{
	struct follower f = {.to = to};
	const struct way start = {0};
	way_add(&f, &start, from_avma);
	while (f.n_ways > 0)
		if (way_follow(&f, f.ways[--f.n_ways]))
			return true;
	return false;
}
