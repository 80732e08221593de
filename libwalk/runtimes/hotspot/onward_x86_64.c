/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stubs of the VM have no tables, and few of them keep their return address in one place: it is
 * popped, kept in a register and pushed again. The instructions of a stub from pc on say where it
 * is. It ends in one of these:
 *
 *	ret; jmp to another stub	the return address is at rsp
 *	pop %reg ... jmp *%reg		it was popped (handle_exception of C1)
 *	pop %rdx ... jmp *%rbx		the handler of an exception that was thrown at the address in rdx, whose frame
 *					rsp points to by then: unwind_exception, forward_exception, and
 *					the interpreter
 *	mov %r13, %rsp			an adapter that has called into the VM is as at its begin: the return address
 *					is at rsp
 *	jmp *%reg			an adapter is done: the return address is at rsp, and the arguments that it put above
 *					that for interpreted code end at r13
 *
 * The call stub and few others are called from C++: what it expects to find again in registers comes from them, or
 * from where the stub has put it.
 *
 * Both ways of a branch are followed, each place once, and must lead to the same. Calls are taken
 * to return. Words that these instructions write to the stack are kept apart, over what was
 * captured.
 *
 * Sources: Runtime1::generate_unwind_exception() and generate_handle_exception() of c1_Runtime1_x86.cpp,
 * generate_forward_exception() and generate_call_stub() of stubGenerator_x86_64.cpp,
 * TemplateInterpreterGenerator::generate_throw_exception(), gen_c2i_adapter(), gen_i2c_adapter(),
 * patch_callers_callsite() and RegisterSaver of sharedRuntime_x86_64.cpp; src/hotspot/cpu/x86 of jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/onward.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "arch/written.h"
#include "native/call_site.h"

#include <string.h>

enum {
	INSNS_MAX = 1024, /* of all ways; an adapter moves 255 arguments at most, each by two */
	BLOCKS_MAX = 32,
	WAYS_MAX = 16,                   /* that wait */
	WRITTEN_MAX = 40,                /* words that one way remembers; adapters save 17 */
	ADAPTER_SPAN_MAX = 255 * 8 + 16, /* of arguments: a method has no more */
	TAKING_BYTES =
		24, /* from a call to the jump to a handler: 7, or 13 with the stack aligned for the call */
};

/* A word of the stack that was written on the way; valid: with what is known. */
struct written {
	uint64_t avma, value;
	bool known;
};

/* The processor on one way. */
struct machine {
	struct sw_regs regs;
	uint32_t popped; /* registers that were loaded from the stack by POP */
	struct written words[WRITTEN_MAX];
	size_t n_words;
	uint64_t lost_avma, lost_end_avma; /* where more were written, which are not known */
};

struct follower {
	const struct sw_hotspot_frame *f;
	struct machine ways[WAYS_MAX];
	size_t n_ways;
	uint64_t blocks[BLOCKS_MAX];
	size_t n_blocks, n_insns;
	bool throwing_only;
	bool found;
	struct sw_hotspot_caller caller;
};

/* ---- the stack -------------------------------------------------------------------------------- */

static bool stack_read(const struct follower *w, const struct machine *m, uint64_t avma,
		       uint64_t *ret)
{
	for (size_t i = m->n_words; i > 0; i--)
		if (m->words[i - 1].avma == avma) {
			*ret = m->words[i - 1].value;
			return m->words[i - 1].known;
		}
	return avma % 8 == 0 && (avma < m->lost_avma || avma >= m->lost_end_avma) &&
	       sw_hotspot_word(w->f, avma, ret);
}

static void lost_add(struct machine *m, uint64_t avma)
{
	if (m->lost_avma == m->lost_end_avma)
		m->lost_avma = m->lost_end_avma = avma;
	if (avma < m->lost_avma)
		m->lost_avma = avma;
	if (avma >= m->lost_end_avma)
		m->lost_end_avma = avma + 8;
}

static void stack_write(struct machine *m, uint64_t avma, const struct sw_regs *regs, unsigned from)
{
	struct written word = {.avma = avma};
	word.known = sw_regs_get(regs, from, &word.value);
	for (size_t i = 0; i < m->n_words; i++)
		if (m->words[i].avma == avma) {
			m->words[i] = word;
			return;
		}
	if (m->n_words == WRITTEN_MAX)
		lost_add(m, avma);
	else
		m->words[m->n_words++] = word;
}

static void load(const struct follower *w, struct machine *m, unsigned to, uint64_t avma)
{
	uint64_t value;
	if (stack_read(w, m, avma, &value))
		sw_regs_set(&m->regs, to, value);
	else
		sw_regs_forget(&m->regs, to);
}

/* ---- where ways end --------------------------------------------------------------------------- */

/* C++ code that called a stub. */
static bool is_native_return(const struct follower *w, uint64_t pc)
{
	const struct sw_hotspot *h = w->f->h;
	uint64_t target;
	const struct sw_place *place = sw_snapshot_place(h->snap, pc - 1);
	return w->f->cursor->exact_pc && h->place != NULL && place != NULL &&
	       place->module == h->place->module && sw_is_executable(h->snap, pc) &&
	       sw_arch_call_before(h->memory, pc, &target) != SW_CALL_NONE;
}

/* A way is at its end. Returns false if it cannot end there, or differs from another one. */
static bool ended(struct follower *w, const struct machine *m, uint64_t pc, uint64_t sp)
{
	struct sw_hotspot_caller caller = {.pc = pc, .sp = sp};
	bool native = !sw_hotspot_cache_has(&w->f->h->cache, pc);
	if (sp < w->f->sp || !(native ? is_native_return(w, pc) : sw_hotspot_is_return(w->f, pc)))
		return false;
	caller.fp_known = sw_regs_get(&m->regs, SW_ARCH_FP, &caller.fp);
	if (native) {
		caller.saved = m->regs;
		caller.saved.known &= sw_arch_preserved(false);
	}
	/* Registers in which ways do not agree are not known. */
	for (unsigned i = 0; w->found && i < SW_REGS_MAX; i++)
		if (!(caller.saved.known >> i & 1) || caller.saved.val[i] != w->caller.saved.val[i])
			sw_regs_forget(&w->caller.saved, i);
	if (w->found)
		return caller.pc == w->caller.pc && caller.sp == w->caller.sp &&
		       caller.fp_known == w->caller.fp_known && caller.fp == w->caller.fp;
	w->found = true;
	w->caller = caller;
	return true;
}

static bool ended_at_sp(struct follower *w, const struct machine *m)
{
	uint64_t pc;
	return !w->throwing_only && stack_read(w, m, m->regs.sp_avma, &pc) &&
	       ended(w, m, pc, m->regs.sp_avma + 8);
}

/*
 * An adapter is done. As its caller interpreted code and the call stub have their frames by rbp,
 * and r13 may be an argument; what compiled code pushed for the call ends where r13 points to.
 */
static bool ended_adapter(struct follower *w, const struct machine *m)
{
	uint64_t pc, sender, sp = m->regs.sp_avma + 8, above = w->f->sp + 8;
	if (!stack_read(w, m, m->regs.sp_avma, &pc))
		return false;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(w->f->h, pc);
	if (b == NULL)
		return false;
	if (b->kind == SW_HOTSPOT_INTERPRETER || b->kind == SW_HOTSPOT_ROUTINES)
		return ended(w, m, pc, sp > above ? sp : above); /* it was aligned on the way */
	return sw_regs_get(&m->regs, SW_X86_64_R13, &sender) && sender >= sp &&
	       sender - sp <= ADAPTER_SPAN_MAX && ended(w, m, pc, sender);
}

static bool jumped(struct follower *w, const struct machine *m, unsigned reg)
{
	uint64_t pc;
	if (w->f->blob->kind == SW_HOTSPOT_ADAPTER)
		return ended_adapter(w, m);
	if (!w->throwing_only && (m->popped & UINT32_C(1) << reg) &&
	    sw_regs_get(&m->regs, reg, &pc))
		return ended(w, m, pc, m->regs.sp_avma);
	return reg == SW_X86_64_RBX && sw_regs_get(&m->regs, SW_X86_64_RDX, &pc) &&
	       sw_hotspot_is_behind_call(w->f, pc) && ended(w, m, pc, m->regs.sp_avma);
}

/* ---- instructions ----------------------------------------------------------------------------- */

static bool moved(struct follower *w, struct machine *m, const struct sw_move *move)
{
	uint64_t value;
	bool known = sw_regs_get(&m->regs, move->from, &value);
	switch (move->op) {
	case SW_MOVE_COPY:
		if (known)
			sw_regs_set(&m->regs, move->to, value + (uint64_t) move->value);
		else if (move->to == SW_ARCH_SP)
			return false;
		else
			sw_regs_forget(&m->regs, move->to);
		break;
	case SW_MOVE_LOAD:
		/* Only the stack is read; other memory is the thread's. */
		if (known && (move->from == SW_ARCH_SP || move->from == SW_ARCH_FP) &&
		    move->to != SW_ARCH_SP)
			load(w, m, move->to, value + (uint64_t) move->value);
		else if (move->to == SW_ARCH_SP)
			return false;
		else
			sw_regs_forget(&m->regs, move->to);
		break;
	case SW_MOVE_STORE:
		if ((move->to == SW_ARCH_SP || move->to == SW_ARCH_FP) &&
		    sw_regs_get(&m->regs, move->to, &value))
			stack_write(m, value + (uint64_t) move->value, &m->regs, move->from);
		return true;
	case SW_MOVE_FORGET: sw_regs_forget(&m->regs, move->to); break;
	default: return true;
	}
	m->popped &= ~(UINT32_C(1) << move->to);
	return true;
}

/* The effect of an instruction that goes on behind itself. Returns false if the state after it
 * cannot be known. */
static bool effect(struct follower *w, struct machine *m, const struct sw_insn *insn,
		   const uint8_t *code, size_t n)
{
	struct sw_regs *r = &m->regs;
	struct sw_move move;
	uint64_t fp;
	switch (insn->op) {
	case SW_INSN_PUSH:
		sw_regs_set(r, SW_ARCH_SP, r->sp_avma - 8);
		stack_write(m, r->sp_avma, r, insn->reg);
		return true;
	case SW_INSN_POP:
		if (insn->reg != SW_INSN_NO_REG) {
			load(w, m, insn->reg, r->sp_avma);
			m->popped |= UINT32_C(1) << insn->reg;
		}
		sw_regs_set(r, SW_ARCH_SP, r->sp_avma + 8);
		return true;
	case SW_INSN_SP_ADD:
		sw_regs_set(r, SW_ARCH_SP, r->sp_avma + (uint64_t) insn->value);
		return true;
	case SW_INSN_SP_AND:
		sw_regs_set(r, SW_ARCH_SP, r->sp_avma & (uint64_t) insn->value);
		return true;
	case SW_INSN_FP_FROM_SP:
		sw_regs_set(r, SW_ARCH_FP, r->sp_avma + (uint64_t) insn->value);
		return true;
	case SW_INSN_SP_FROM_FP:
	case SW_INSN_LEAVE:
		if (!sw_regs_get(r, SW_ARCH_FP, &fp))
			return false;
		sw_regs_set(r, SW_ARCH_SP, fp + (uint64_t) insn->value);
		if (insn->op == SW_INSN_LEAVE) {
			load(w, m, SW_ARCH_FP, r->sp_avma);
			sw_regs_set(r, SW_ARCH_SP, r->sp_avma + 8);
		}
		return true;
	default: break;
	}
	if (sw_arch_move(code, n, r->pc_avma, &move))
		return moved(w, m, &move);
	if (insn->op == SW_INSN_SP_LOST || insn->op == SW_INSN_SP_FROM_REG)
		return false;
	uint32_t written = sw_arch_written(code, n) & ~(UINT32_C(1) << SW_ARCH_SP);
	r->known &= ~written;
	m->popped &= ~written;
	return true;
}

/* Whether code that a jump leads to is yet to be gone through. */
static bool block_enter(struct follower *w, uint64_t avma, bool *ret_full)
{
	*ret_full = false;
	for (size_t i = 0; i < w->n_blocks; i++)
		if (w->blocks[i] == avma)
			return false;
	*ret_full = w->n_blocks == BLOCKS_MAX;
	if (*ret_full)
		return false;
	w->blocks[w->n_blocks++] = avma;
	return true;
}

static bool is_inside(const struct follower *w, uint64_t avma)
{
	return avma >= w->f->blob->code_avma && avma < w->f->blob->code_end_avma;
}

/* An adapter takes its stack back, which lies in r13 while it calls the VM. */
static bool takes_stack_back(const struct follower *w, const uint8_t *code, size_t n)
{
	struct sw_move move;
	return w->f->blob->kind == SW_HOTSPOT_ADAPTER && sw_arch_move(code, n, 0, &move) &&
	       move.op == SW_MOVE_COPY && move.to == SW_ARCH_SP && move.from == SW_X86_64_R13;
}

/* Follows one way to its end. False: nothing can be said. */
static bool way_follow(struct follower *w, struct machine *m)
{
	bool full;
	while (w->n_insns++ < INSNS_MAX && is_inside(w, m->regs.pc_avma)) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		struct sw_move move;
		uint64_t pc = m->regs.pc_avma;
		size_t n = sw_insn_read(w->f->h->memory, pc, code);
		if (!sw_arch_insn(false, code, n, pc, &insn))
			return false;
		switch (insn.op) {
		case SW_INSN_STOP: return true; /* behind a call that does not return */
		case SW_INSN_RETURN: return insn.value == 0 && ended_at_sp(w, m);
		case SW_INSN_JUMP_FAR:
			return sw_arch_move(code, n, pc, &move) && move.op == SW_MOVE_JUMP &&
			       jumped(w, m, move.from);
		case SW_INSN_JUMP:
			if (!is_inside(w, insn.target))
				return ended_at_sp(w, m);
			if (!block_enter(w, insn.target, &full))
				return !full;
			m->regs.pc_avma = insn.target;
			continue;
		case SW_INSN_BRANCH:
			if (!is_inside(w, insn.target))
				return false;
			if (block_enter(w, insn.target, &full)) {
				if (w->n_ways == WAYS_MAX)
					return false;
				w->ways[w->n_ways] = *m;
				w->ways[w->n_ways++].regs.pc_avma = insn.target;
			} else if (full) {
				return false;
			}
			break;
		case SW_INSN_CALL:
			m->regs.known &= sw_arch_preserved(false) | UINT32_C(1) << SW_ARCH_SP;
			m->popped &= m->regs.known;
			break;
		default:
			if (!effect(w, m, &insn, code, n))
				return false;
			if (takes_stack_back(w, code, n))
				return ended_at_sp(w, m);
		}
		m->regs.pc_avma = pc + insn.length;
	}
	return false;
}

static bool follow(const struct sw_hotspot_frame *f, bool throwing_only,
		   struct sw_hotspot_caller *ret)
{
	struct follower w;
	w.f = f;
	w.n_ways = 1;
	w.n_blocks = w.n_insns = 0;
	w.throwing_only = throwing_only;
	w.found = false;
	w.ways[0].regs = f->cursor->regs;
	w.ways[0].regs.known |= UINT32_C(1) << SW_ARCH_SP;
	if (!f->cursor->exact_pc) /* a call has just returned here */
		w.ways[0].regs.known &= sw_arch_preserved(false) | UINT32_C(1) << SW_ARCH_SP;
	w.ways[0].popped = 0;
	w.ways[0].n_words = 0;
	w.ways[0].lost_avma = w.ways[0].lost_end_avma = 0;
	while (w.n_ways > 0) {
		struct machine m = w.ways[--w.n_ways];
		if (!way_follow(&w, &m))
			return false;
	}
	if (w.found)
		*ret = w.caller;
	return w.found;
}

bool sw_hotspot_onward(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	return follow(f, false, ret);
}

/* mov %rax, %rbx; pop %rdx; pop %rax; jmp *%rbx follows the call. Asked of each interpreted frame, so that it is
 * remembered: there are few places where the interpreter calls. */
static bool takes_to_handler(const struct sw_hotspot_frame *f)
{
	static const uint8_t taking[] = {0x48, 0x8b, 0xd8, 0x5a, 0x58, 0xff, 0xe3};
	uint8_t code[TAKING_BYTES];
	uint64_t kept;
	if (sw_map64_get(&f->h->takes, f->pc, &kept))
		return kept != 0;
	bool found = sw_memory_read(f->h->memory, f->pc, code, sizeof(code)) &&
		     memmem(code, sizeof(code), taking, sizeof(taking)) != NULL;
	(void) sw_map64_put(&f->h->takes, f->pc, found); /* lost: it is looked at again */
	return found;
}

bool sw_hotspot_throwing(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	return (f->cursor->exact_pc || takes_to_handler(f)) && follow(f, true, ret);
}
