/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From frame to frame on a process's stack, and from its end to the thread's stack, where the machine has
 * begun. A word of a term has a tag in its lowest two bits, a return address has none: while a function
 * waits for another one that holds for all words of its frame.
 *
 * The machine's code never returns to its caller, and keeps no register for it: its return address
 * is found by what it is, the one behind the call of process_main().
 */
#include "runtimes/beam/step.h"
#include "arch/arch.h"
#include "runtimes/beam/flow.h"
#include "runtimes/beam/functions.h"

enum {
	TAG_MASK = 3,
	FRAME_WORDS_MAX = 65536,
	PROCESS_MAIN_BYTES = 448, /* up to where it begins to run a process */
	RUNTIME_BYTES_MAX = 4096, /* that code of the machine pushes for a C function */
};

static enum sw_step failed(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	ret->final = true; /* a scan would find words of the heap */
	return SW_STEP_FAIL;
}

/* To the function that called process_main(). */
static enum sw_step leave_machine(struct sw_beam *beam, const struct sw_beam_scheduler *s,
				  const struct sw_cursor *c, struct sw_stepped *ret)
{
	const struct sw_beam_found *f = &beam->found;
	uint64_t main_avma = f->process_main_svma + f->place->bias;
	uint64_t slot = s->registers_avma + f->layout->return_off;
	for (size_t i = 0; i < SW_BEAM_RETURN_SLOTS; i++, slot += SW_ARCH_WORD) {
		uint64_t word, target;
		if (!sw_memory_u64(c->memory, slot, &word))
			return failed(ret, sw_cursor_memory_end(c, slot),
				      "the scheduler's own stack could not be read");
		if (word < f->place->start_avma || word >= f->place->end_avma ||
		    !(sw_arch_call_before(c->memory, word, &target) & SW_CALL_DIRECT) ||
		    target != main_avma)
			continue;
		ret->regs = (struct sw_regs){0};
		sw_regs_set(&ret->regs, SW_ARCH_SP, slot + SW_ARCH_WORD);
		sw_regs_set(&ret->regs, SW_ARCH_RA, word);
		ret->other_stack = true;
		return SW_STEP_OK;
	}
	return failed(ret, SW_END_BAD_UNWIND_INFO, "where the scheduler has begun was not found");
}

/* Whether it is the machine's first function, where it looks for a process to run. */
static bool is_process_main(const struct sw_beam *beam, uint64_t avma)
{
	return beam->main_avma != 0 && avma >= beam->main_avma &&
	       avma - beam->main_avma < PROCESS_MAIN_BYTES;
}

/* The return address of a function that waits for another one: the first word that has no tag, and
 * leads to code. */
static bool return_scan(struct sw_beam *beam, const struct sw_beam_scheduler *s,
			const struct sw_cursor *c, uint64_t sp_avma, uint64_t *ret_slot_avma)
{
	uint64_t at = sp_avma;
	for (size_t i = 0; i < FRAME_WORDS_MAX && at < s->process.hend_avma; i++, at += 8) {
		uint64_t word;
		*ret_slot_avma = at;
		if (!sw_memory_u64(c->memory, at, &word))
			return false;
		if ((word & TAG_MASK) == 0 && sw_beam_is_code(beam->snap, word))
			return true;
	}
	return false;
}

static uint64_t module_of(const struct sw_beam *beam, uint64_t avma)
{
	struct sw_beam_list list;
	uint64_t header;
	return sw_beam_list_read(beam->memory, &beam->found, &list) &&
			       sw_beam_module_find(beam->memory, &list, avma, &header)
		       ? header
		       : 0;
}

bool sw_beam_is_waiting(const struct sw_beam *beam, const struct sw_cursor *c)
{
	return !c->exact_pc && c->callee_avma != 0 && sw_beam_is_code(beam->snap, c->callee_avma) &&
	       module_of(beam, c->callee_avma) != 0;
}

static enum sw_step frame_step(struct sw_beam *beam, const struct sw_beam_scheduler *s,
			       const struct sw_cursor *c, bool in_c, struct sw_stepped *ret)
{
	struct sw_beam_flow flow = {
		.beam = beam,
		.memory = c->memory,
		.pc_avma = c->regs.pc_avma,
		.header_avma = module_of(beam, c->lookup_avma),
		.in_c = in_c,
		.sp_avma = c->regs.sp_avma,
		.stop_avma = s->process.stop_avma,
	};
	uint64_t slot, word, sp = in_c ? 0 : c->regs.sp_avma;
	flow.saved_known = sw_regs_get(&c->regs, SW_ARCH_FP, &flow.saved_avma) &&
			   sw_beam_is_on_process(s, flow.saved_avma);
	/* A waiting function has written all of its frame. */
	bool waits = !in_c && sw_beam_is_waiting(beam, c);
	bool found = !waits && sw_beam_flow_return(&flow, &slot, &sp);
	if (!found && sp == 0)
		return failed(ret, SW_END_BAD_UNWIND_INFO,
			      "where the process's stack ends is not known");
	if (!found && !return_scan(beam, s, c, sp, &slot))
		return failed(ret, sw_cursor_memory_end(c, slot),
			      "the process's stack could not be read");
	if (!sw_beam_is_on_process(s, slot) || !sw_memory_u64(c->memory, slot, &word))
		return failed(ret, sw_cursor_memory_end(c, slot),
			      "the return address could not be read");
	if (word == beam->exit_avma)
		return leave_machine(beam, s, c, ret);
	ret->regs = (struct sw_regs){0};
	sw_regs_set(&ret->regs, SW_ARCH_SP, slot + SW_ARCH_WORD);
	sw_regs_set(&ret->regs, SW_ARCH_RA, word);
	ret->other_stack = in_c;
	return SW_STEP_OK;
}

enum sw_step sw_beam_step(struct sw_beam *beam, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_beam_scheduler *s;
	uint64_t sp = cursor->regs.sp_avma;
	if (beam->found.layout == NULL || !sw_beam_is_code(cursor->snap, cursor->lookup_avma))
		return SW_STEP_DECLINE;
	s = sw_beam_scheduler_of(beam, cursor->thread);
	if (s == NULL || s->registers_avma == 0)
		return failed(ret, SW_END_BAD_UNWIND_INFO,
			      "the thread runs Erlang, but no scheduler is known of it");
	bool in_c = sp <= s->registers_avma && s->registers_avma - sp < RUNTIME_BYTES_MAX;
	if (in_c && (s->process_avma == 0 || is_process_main(beam, cursor->lookup_avma)))
		return leave_machine(beam, s, cursor, ret);
	if (!s->process_known || (!in_c && !sw_beam_is_on_process(s, sp)))
		return failed(ret, SW_END_BAD_UNWIND_INFO, "the process's stack is not known");
	return frame_step(beam, s, cursor, in_c, ret);
}
