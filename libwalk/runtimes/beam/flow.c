/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How far above the stack pointer the return address is, by what the instructions from pc to the
 * function's end do to it. A process's stack has no other word that tells: what a function has not
 * written yet may hold anything, return addresses of old calls too.
 *
 * Source: erts/emulator/beam/jit/x86/beam_asm.hpp of OTP 25. While Erlang code runs rsp is the process's
 * stack. For a call of a C function it is kept in rbp, or in the process, and rsp is set to the
 * scheduler's registers, which lie on the thread's stack:
 *
 *	48 8d 63 xx	lea rsp, [rbx - registers_off]
 *	48 89 ec	mov rsp, rbp
 *	49 8b 65 58	mov rsp, [r13 + stop]
 */
#include "runtimes/beam/flow.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "runtimes/beam/functions.h"

#include <string.h>

enum {
	INSNS_MAX = 4096, /* of all ways */
	BLOCKS_MAX = 256, /* each is gone through once */
	WAYS_MAX = 64,    /* that wait to be tried */
	CHUNK_BYTES = 64,
};

struct way {
	uint64_t pc_avma, sp_avma;
	bool in_c, sp_known;
	bool saved_known;
	uint64_t saved_avma, stop_avma;
};

struct follower {
	const struct sw_beam_flow *flow;
	struct way ways[WAYS_MAX];
	size_t n_ways, n_blocks, n_insns;
	uint64_t blocks[BLOCKS_MAX];
	uint64_t now_avma; /* the process's sp at the beginning; 0: not known yet */
	uint64_t slot_avma;
};

enum next { NEXT_ON, NEXT_END, NEXT_FOUND };

bool sw_beam_is_return(struct sw_beam *beam, struct sw_memory memory, uint64_t word)
{
	uint64_t target;
	if (beam->exit_avma != 0 && word == beam->exit_avma)
		return true;
	return sw_beam_is_code(beam->snap, word) &&
	       sw_arch_call_before(memory, word, &target) != SW_CALL_NONE;
}

static void way_add(struct follower *f, const struct way *way, uint64_t pc_avma)
{
	for (size_t i = 0; i < f->n_blocks; i++)
		if (f->blocks[i] == pc_avma)
			return;
	if (f->n_ways == WAYS_MAX || f->n_blocks == BLOCKS_MAX)
		return; /* others are left */
	f->blocks[f->n_blocks++] = pc_avma;
	f->ways[f->n_ways] = *way;
	f->ways[f->n_ways++].pc_avma = pc_avma;
}

/* The function ends: what is at sp is where it goes on. */
static enum next ended(struct follower *f, const struct way *w)
{
	uint64_t word;
	if (w->in_c || !w->sp_known || !sw_memory_u64(f->flow->memory, w->sp_avma, &word) ||
	    !sw_beam_is_return(f->flow->beam, f->flow->memory, word))
		return NEXT_END;
	f->slot_avma = w->sp_avma;
	return NEXT_FOUND;
}

/* A jump there calls a function of the same module in the place of this one. */
static bool is_entry(const struct follower *f, uint64_t target)
{
	const struct sw_beam_flow *flow = f->flow;
	const struct sw_beam_layout *at = flow->beam->found.layout;
	uint64_t info, number;
	return flow->header_avma != 0 &&
	       sw_beam_info_find(flow->beam->memory, at, flow->header_avma, target, &info,
				 &number) &&
	       target == info + at->info_mfa + SW_BEAM_MFA_BYTES;
}

/* "jmp [reg + 8 * r12 + ...]": to the function of an export, by the index of the code in use. */
static bool is_export_jump(const uint8_t *code)
{
	return code[0] == 0x42 && code[1] == 0xff && (code[2] & 0x3f) == 0x24 &&
	       (code[3] & 0xf8) == 0xe0;
}

/* Between the two stacks. *ret_length: 0 when the instruction does no such thing. */
static void switch_stack(struct follower *f, struct way *w, const uint8_t *code, size_t *ret_length)
{
	const struct sw_beam_layout *layout = f->flow->beam->found.layout;
	static const uint8_t enter[] = {0x48, 0x8d, 0x63}, leave[] = {0x48, 0x89, 0xec},
			     leave_stop[] = {0x49, 0x8b, 0x65}, save[] = {0x48, 0x89, 0xe5};
	*ret_length = 4;
	if (memcmp(code, enter, sizeof(enter)) == 0 &&
	    code[3] == (uint8_t) -layout->registers_off) {
		w->in_c = true;
		w->stop_avma = w->sp_avma;
	} else if (memcmp(code, leave, sizeof(leave)) == 0) {
		*ret_length = sizeof(leave);
		w->sp_avma = w->saved_avma;
		w->sp_known = w->saved_known;
		w->in_c = false;
	} else if (memcmp(code, leave_stop, sizeof(leave_stop)) == 0 &&
		   code[3] == layout->process_stop) {
		w->sp_avma = w->stop_avma;
		w->sp_known = w->sp_avma != 0;
		w->in_c = false;
	} else if (memcmp(code, save, sizeof(save)) == 0 && !w->in_c) {
		*ret_length = sizeof(save);
		w->saved_avma = w->sp_avma;
		w->saved_known = w->sp_known;
	} else {
		*ret_length = 0;
	}
	if (f->now_avma == 0 && !w->in_c && w->sp_known)
		f->now_avma = w->sp_avma;
}

static enum next insn_follow(struct follower *f, struct way *w, const uint8_t *code,
			     const struct sw_insn *insn)
{
	switch (insn->op) {
	case SW_INSN_RETURN: return ended(f, w);
	case SW_INSN_JUMP:
		if (is_entry(f, insn->target))
			return ended(f, w);
		way_add(f, w, insn->target);
		return NEXT_END;
	case SW_INSN_BRANCH:
		if (!is_entry(f, insn->target))
			way_add(f, w, insn->target);
		return NEXT_ON;
	case SW_INSN_JUMP_FAR: return is_export_jump(code) ? ended(f, w) : NEXT_END;
	case SW_INSN_STOP: return NEXT_END;
	case SW_INSN_PUSH: w->sp_avma -= w->in_c ? 0 : SW_ARCH_WORD; return NEXT_ON;
	case SW_INSN_POP: w->sp_avma += w->in_c ? 0 : SW_ARCH_WORD; return NEXT_ON;
	case SW_INSN_SP_ADD: w->sp_avma += w->in_c ? 0 : (uint64_t) insn->value; return NEXT_ON;
	case SW_INSN_SP_AND:
	case SW_INSN_SP_FROM_FP:
	case SW_INSN_LEAVE:
	case SW_INSN_SP_FROM_REG:
	case SW_INSN_SP_LOST: return NEXT_END;
	case SW_INSN_PLAIN:
	case SW_INSN_CALL:
	case SW_INSN_FP_FROM_SP:
	case SW_INSN_LOAD_SP:
	case SW_INSN_LOAD_FP: break;
	}
	return NEXT_ON;
}

static bool way_follow(struct follower *f, struct way w)
{
	while (f->n_insns++ < INSNS_MAX) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t length;
		if (!sw_memory_read(f->flow->memory, w.pc_avma, code, sizeof(code)))
			return false;
		switch_stack(f, &w, code, &length);
		if (length == 0) {
			if (!sw_arch_insn(false, code, sizeof(code), w.pc_avma, &insn))
				return false;
			enum next next = insn_follow(f, &w, code, &insn);
			if (next != NEXT_ON)
				return next == NEXT_FOUND;
			length = insn.length;
		}
		w.pc_avma += length;
	}
	return false;
}

bool sw_beam_flow_return(const struct sw_beam_flow *flow, uint64_t *ret_slot_avma,
			 uint64_t *ret_sp_avma)
{
	struct follower f = {.flow = flow, .now_avma = flow->in_c ? 0 : flow->sp_avma};
	struct way first = {.sp_avma = flow->in_c ? 0 : flow->sp_avma,
			    .sp_known = !flow->in_c,
			    .in_c = flow->in_c,
			    .saved_known = flow->saved_known,
			    .saved_avma = flow->saved_avma,
			    .stop_avma = flow->stop_avma};
	bool found = false;
	way_add(&f, &first, flow->pc_avma);
	while (f.n_ways > 0 && !found)
		found = way_follow(&f, f.ways[--f.n_ways]);
	*ret_slot_avma = f.slot_avma;
	*ret_sp_avma = f.now_avma;
	return found;
}
