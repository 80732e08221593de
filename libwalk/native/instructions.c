/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code of files without tables: its instructions are followed from pc to a RET, and only what they do to the
 * stack pointer, to rbp and to registers that are restored from the stack is done. Calls are taken to
 * return with the registers preserved that must be (psABI 1.0, §3.2.1); of a branch both ways are tried.
 *
 * A way may be wrong: behind a call that does not return other code begins. So a return address
 * must come after a CALL, and tables must not lead to nonsense from there. A way whose call leads
 * to this function, or from which tables lead on, is taken at once; else all ways must agree.
 *
 * In Windows code for i386 a function often takes its arguments from the stack itself. How many, its own
 * instructions say; where they do not, the stack pointer is lost until it is set anew, from ebp.
 *
 * Where pc is no code at all, nothing of the callee has run: the CALL before the word at sp must have led to it.
 */
#include "native/instructions.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "arch/written.h"
#include "native/ahead.h"
#include "native/call_site.h"
#include "native/known_files.h"
#include "native/popped.h"
#include "native/stack_switch.h"
#include "snapshot/read.h"

enum {
	/* Instructions on all ways of a function. Compilers' largest functions reach a RET sooner
	 * on some way. */
	INSNS_MAX = 4096,
	/* Instructions of a function in which no branch was met: loops that a macro has unrolled
	 * (16,572 in x265 3.5, source/common/x86/intrapred8_allangs.asm). A thread's frames share
	 * SW_STRAIGHT_INSNS_MAX. */
	STRAIGHT_MAX = 32768,
	BLOCKS_MAX = 256,  /* each is gone through once */
	WAYS_MAX = 32,     /* that wait to be tried */
	CALLED_MAX = 8192, /* of the functions that are called on the way, all together */
	CHUNK_BYTES = 64,
};

/* The processor as far as it matters. */
struct machine {
	struct sw_regs regs; /* sp is known unless sp_lost; others as regs.known says */
	bool sp_lost;
	/* Words that were pushed on the way hide those of the copied stack. */
	uint64_t pushed_avma, pushed_end_avma;
};

struct follower {
	const struct sw_cursor *cursor;
	struct sw_memory code; /* its memory; of images of Windows reads are no mark on the frame */
	bool is_32bit;
	bool callees_pop;   /* their arguments: code of Windows for i386 */
	uint32_t preserved; /* registers, by callees */
	unsigned word_bytes;
	struct sw_callee callee;
	size_t called_left; /* instructions */
	struct machine ways[WAYS_MAX];
	size_t n_ways;
	uint64_t blocks[BLOCKS_MAX];
	size_t n_blocks, n_insns;
	bool branched;
	uint8_t chunk[CHUNK_BYTES];
	uint64_t chunk_avma;
	size_t chunk_bytes;
	bool found, agree;
	struct sw_regs caller;
};

static size_t code_read(struct follower *f, uint64_t avma, const uint8_t **ret)
{
	uint64_t off = avma - f->chunk_avma;
	if (avma < f->chunk_avma || off + SW_INSN_BYTES_MAX > f->chunk_bytes) {
		f->chunk_avma = avma;
		for (f->chunk_bytes = CHUNK_BYTES; f->chunk_bytes > 0; f->chunk_bytes /= 2)
			if (sw_memory_read(f->code, avma, f->chunk, f->chunk_bytes))
				break;
		off = 0;
	}
	*ret = f->chunk + off;
	return f->chunk_bytes - (size_t) off;
}

/* A word of the stack as it would be then. */
static bool stack_word(const struct follower *f, const struct machine *m, uint64_t avma,
		       uint64_t *ret)
{
	bool pushed = avma + f->word_bytes > m->pushed_avma && avma < m->pushed_end_avma;
	return !pushed && avma % f->word_bytes == 0 && sw_memory_word(f->cursor->memory, avma, ret);
}

static void load(const struct follower *f, struct machine *m, uint8_t reg, uint64_t avma)
{
	uint64_t word;
	if (reg == SW_INSN_NO_REG)
		return;
	if (stack_word(f, m, avma, &word))
		sw_regs_set(&m->regs, reg, word);
	else
		sw_regs_forget(&m->regs, reg);
}

static void sp_set(struct machine *m, uint64_t sp_avma)
{
	sw_regs_set(&m->regs, SW_ARCH_SP, sp_avma);
	m->sp_lost = false;
}

static void pop(const struct follower *f, struct machine *m, uint8_t reg)
{
	load(f, m, reg, m->regs.sp_avma);
	sp_set(m, m->regs.sp_avma + f->word_bytes);
}

static void push(const struct follower *f, struct machine *m)
{
	sp_set(m, m->regs.sp_avma - f->word_bytes);
	if (m->pushed_end_avma == 0 || m->regs.sp_avma < m->pushed_avma)
		m->pushed_avma = m->regs.sp_avma;
	if (m->regs.sp_avma + f->word_bytes > m->pushed_end_avma)
		m->pushed_end_avma = m->regs.sp_avma + f->word_bytes;
}

static void way_add(struct follower *f, const struct machine *m, uint64_t pc_avma)
{
	if (f->n_ways == WAYS_MAX)
		return; /* others are left */
	f->ways[f->n_ways] = *m;
	f->ways[f->n_ways++].regs.pc_avma = pc_avma;
}

/* Whether code that a jump leads to is yet to be gone through. */
static bool block_enter(struct follower *f, uint64_t avma)
{
	for (size_t i = 0; i < f->n_blocks; i++)
		if (f->blocks[i] == avma)
			return false;
	if (f->n_blocks == BLOCKS_MAX)
		return false;
	f->blocks[f->n_blocks++] = avma;
	return true;
}

/* A RET with m. True: there is no need to look further. */
static bool returned(struct follower *f, const struct machine *m, uint64_t value)
{
	struct sw_regs caller = m->regs;
	uint64_t return_avma;
	if (m->sp_lost || !stack_word(f, m, m->regs.sp_avma, &return_avma))
		return false;
	enum sw_call_site site = sw_call_site_check(&f->callee, return_avma);
	if (site == SW_SITE_NONE)
		return false;
	/* Tables count from the CALL: its arguments are still there then. */
	sw_regs_set(&caller, SW_ARCH_SP,
		    m->regs.sp_avma + f->word_bytes + (f->is_32bit ? 0 : value));
	sw_regs_set(&caller, SW_ARCH_RA, return_avma);
	caller.known &= sw_arch_preserved(f->is_32bit) | UINT32_C(1) << SW_ARCH_SP |
			UINT32_C(1) << SW_ARCH_RA;
	enum sw_ahead ahead = sw_walk_ahead(f->callee.cursor, &caller, NULL, NULL);
	if (ahead == SW_AHEAD_BAD)
		return false;
	bool sure = site == SW_SITE_VERIFIED ||
		    (site >= SW_SITE_POSSIBLE &&
		     (ahead >= SW_AHEAD_GOOD || sw_is_called_near(f->callee.cursor, return_avma)));
	if (!f->found || sure) {
		f->agree = true;
		f->caller = caller;
	} else if (f->caller.sp_avma != caller.sp_avma) {
		f->agree = false;
	}
	f->found = true;
	return sure;
}

/* A jump through memory, as PLT entries are, calls another function in the place of this one. */
static bool jumped_out(struct follower *f, const struct machine *m, uint64_t pc_avma)
{
	uint64_t slot_avma;
	return sw_arch_jump_slot(f->code, pc_avma, &slot_avma) && returned(f, m, 0);
}

/* Registers that the instruction writes are known only if effect() says so. */
static void written_forget(const struct follower *f, struct machine *m, const uint8_t *code,
			   size_t n)
{
	if (!f->is_32bit)
		m->regs.known &= ~sw_arch_written(code, n) | UINT32_C(1) << SW_ARCH_SP;
}

/* The effect of an instruction that goes on behind itself. Returns false if the state after it
 * cannot be known. */
static bool effect(struct follower *f, struct machine *m, const struct sw_insn *insn,
		   const uint8_t *code, size_t n)
{
	uint64_t fp = 0;
	bool fp_known = sw_regs_get(&m->regs, SW_ARCH_FP, &fp);
	written_forget(f, m, code, n);
	switch (insn->op) {
	case SW_INSN_PLAIN: sw_regs_forget(&m->regs, insn->reg); return true;
	case SW_INSN_SP_LOST: m->sp_lost = true; return true;
	case SW_INSN_SP_FROM_REG:
		m->sp_lost = !sw_regs_get(&m->regs, insn->reg, &fp);
		if (!m->sp_lost)
			sp_set(m, fp + (uint64_t) insn->value);
		return true;
	case SW_INSN_LEAVE:
	case SW_INSN_SP_FROM_FP:
		if (!fp_known)
			return false;
		sp_set(m, fp + (uint64_t) insn->value);
		if (insn->op == SW_INSN_LEAVE)
			pop(f, m, SW_ARCH_FP);
		return true;
	case SW_INSN_LOAD_FP:
		if (fp_known)
			load(f, m, insn->reg, fp + (uint64_t) insn->value);
		else
			sw_regs_forget(&m->regs, insn->reg);
		return true;
	default: break;
	}
	if (m->sp_lost) {
		if (insn->op == SW_INSN_POP || insn->op == SW_INSN_LOAD_SP)
			sw_regs_forget(&m->regs, insn->reg);
		if (insn->op == SW_INSN_FP_FROM_SP)
			sw_regs_forget(&m->regs, SW_ARCH_FP);
		return true;
	}
	switch (insn->op) {
	case SW_INSN_PUSH: push(f, m); break;
	case SW_INSN_POP: pop(f, m, insn->reg); break;
	case SW_INSN_SP_ADD: sp_set(m, m->regs.sp_avma + (uint64_t) insn->value); break;
	case SW_INSN_SP_AND: sp_set(m, m->regs.sp_avma & (uint64_t) insn->value); break;
	case SW_INSN_LOAD_SP:
		load(f, m, insn->reg, m->regs.sp_avma + (uint64_t) insn->value);
		break;
	case SW_INSN_FP_FROM_SP:
		sw_regs_set(&m->regs, SW_ARCH_FP, m->regs.sp_avma + (uint64_t) insn->value);
		break;
	default: break;
	}
	return true;
}

/* A call on the way has returned. */
static void called(struct follower *f, struct machine *m, const struct sw_insn *insn,
		   uint64_t pc_avma)
{
	struct sw_memory memory = f->code;
	uint64_t target = insn->target, slot_avma, bytes;
	m->regs.known &= f->preserved | UINT32_C(1) << SW_ARCH_SP;
	if (!f->callees_pop || m->sp_lost)
		return;
	bool known = insn->target_known ||
		     (sw_arch_call_slot(memory, pc_avma + insn->length, &slot_avma) &&
		      sw_memory_word(memory, slot_avma, &target));
	if (known && sw_popped_bytes(f->cursor->snap, memory, target, &f->called_left, &bytes))
		sp_set(m, m->regs.sp_avma + bytes);
	else
		m->sp_lost = true;
}

/* The frame's own call, as if it had returned. */
static void start_called(struct follower *f, struct machine *m)
{
	const struct sw_cursor *c = f->cursor;
	uint64_t bytes;
	if (!f->is_32bit || c->exact_pc)
		return;
	if (c->callee_avma != 0 &&
	    sw_popped_bytes(c->snap, f->code, c->callee_avma, &f->called_left, &bytes))
		sp_set(m, m->regs.sp_avma + bytes);
	else
		m->sp_lost = f->callees_pop;
}

/* Whether one more may be followed. */
static bool insn_count(struct follower *f)
{
	size_t *left = f->cursor->straight_left;
	if (f->n_insns++ < INSNS_MAX)
		return true;
	if (f->branched || f->n_insns > STRAIGHT_MAX || left == NULL || *left == 0)
		return false;
	--*left;
	return true;
}

/* Follows one way to its end. True: the caller is found for certain. */
static bool way_follow(struct follower *f, struct machine m)
{
	uint64_t pc = m.regs.pc_avma;
	while (insn_count(f) && sw_is_executable(f->cursor->snap, pc)) {
		const uint8_t *code;
		struct sw_insn insn;
		size_t n = code_read(f, pc, &code);
		if (!sw_arch_insn(f->is_32bit, code, n, pc, &insn))
			return false;
		switch (insn.op) {
		case SW_INSN_JUMP_FAR:
		case SW_INSN_STOP: return jumped_out(f, &m, pc);
		case SW_INSN_RETURN: return returned(f, &m, (uint64_t) insn.value);
		case SW_INSN_JUMP:
			if (!block_enter(f, insn.target))
				return false;
			pc = insn.target;
			continue;
		case SW_INSN_BRANCH:
			f->branched = true;
			written_forget(f, &m, code, n);
			if (block_enter(f, insn.target))
				way_add(f, &m, insn.target);
			break;
		case SW_INSN_CALL: called(f, &m, &insn, pc); break;
		default:
			if (!effect(f, &m, &insn, code, n))
				return false;
		}
		pc += insn.length;
	}
	return false;
}

/* A call through a null or wild pointer. */
static enum sw_step wild_step(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_regs *r = &cursor->regs;
	uint64_t return_avma;
	if (sw_memory_is_32bit(cursor->memory)) /* sw_arch_call_led() knows calls of 64-bit code */
		return SW_STEP_DECLINE;
	if (!cursor->exact_pc || sw_is_executable(cursor->snap, r->pc_avma) ||
	    !sw_memory_u64(cursor->memory, r->sp_avma, &return_avma) ||
	    !sw_is_executable(cursor->snap, return_avma) ||
	    !sw_arch_call_led(cursor->memory, r, return_avma, r->pc_avma))
		return SW_STEP_DECLINE;
	ret->regs = *r;
	ret->regs.known &= sw_arch_preserved(false);
	sw_regs_set(&ret->regs, SW_ARCH_SP, r->sp_avma + SW_ARCH_WORD);
	sw_regs_set(&ret->regs, SW_ARCH_RA, return_avma);
	return SW_STEP_OK;
}

/* Compilers' code that need not have tables; that of others is somebody else's, or follows no rules. */
static bool is_followed(const struct sw_place *place)
{
	return sw_is_native_code(place) ||
	       (place != NULL && sw_module_kind(place->module) == SW_MODULE_PE);
}

static enum sw_step instructions_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	(void) state;
	enum sw_step wild = wild_step(cursor, ret);
	if (wild != SW_STEP_DECLINE || !is_followed(cursor->place))
		return wild;
	/* Builtins of such a file call and return by rules of their own. */
	if (!sw_is_executable(cursor->snap, cursor->lookup_avma) ||
	    (cursor->place != NULL && sw_known_file_keeps_fp(cursor->place->module)))
		return SW_STEP_DECLINE;
	if (sw_stack_switch_step(cursor, ret) == SW_STEP_OK)
		return SW_STEP_OK;
	struct sw_snapshot_memory image = {.snap = cursor->snap, .thread = cursor->thread};
	struct sw_cursor quiet = *cursor;
	bool is_pe = !sw_is_native_code(cursor->place);
	if (is_pe)
		quiet.memory = sw_snapshot_memory(&image);
	struct follower f = {.cursor = cursor,
			     .code = quiet.memory,
			     .is_32bit = sw_memory_is_32bit(cursor->memory),
			     .callees_pop = is_pe && sw_memory_is_32bit(cursor->memory),
			     .called_left = CALLED_MAX,
			     .word_bytes = sw_memory_word_bytes(cursor->memory),
			     .callee = sw_callee_of(&quiet)};
	f.preserved =
		is_pe && !f.is_32bit ? sw_arch_preserved_windows() : sw_arch_preserved(f.is_32bit);
	struct machine start = {.regs = cursor->regs};
	start.regs.known &= sw_arch_preserved(f.is_32bit) | UINT32_C(1) << SW_ARCH_SP;
	start_called(&f, &start);
	way_add(&f, &start, cursor->regs.pc_avma);
	while (f.n_ways > 0) {
		struct machine m = f.ways[--f.n_ways];
		if (way_follow(&f, m))
			break;
	}
	if (!f.found || !f.agree)
		return SW_STEP_DECLINE;
	ret->regs = f.caller;
	return SW_STEP_OK;
}

static void instructions_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
				 struct sw_text *text)
{
	(void) state;
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (!sw_is_executable(snap, avma) && snap->process.elf_class == 32)
		return; /* as wild_step() */
	if (!sw_is_executable(snap, avma))
		sw_text_printf(text, "not executable: the caller's return address is at [rsp] "
				     "if the call before it led here\n");
	else if (is_followed(map->place >= 0 ? &snap->places[map->place] : NULL))
		sw_text_printf(text, "if no table helps: the instructions are followed to a RET\n");
}

const struct sw_unwinder_ops sw_unwind_instructions = {
	.name = "instructions",
	.trust = SW_TRUST_INSTRUCTIONS,
	.weak_trust = SW_TRUST_INSTRUCTIONS,
	.kinds = SW_CODE_ELF | SW_CODE_PE | SW_CODE_VDSO | SW_CODE_JIT | SW_CODE_ANON,
	.step = instructions_step,
	.explain = instructions_explain,
};
