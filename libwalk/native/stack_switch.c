/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Switches between stacks save registers and a return address on one stack, make sp that of another,
 * and restore what an earlier switch saved there in the same way:
 *
 *	lea -0x38(%rsp),%rsp	mov %rbx,0x28(%rsp) ...		the stack that is left
 *	mov %rdi,%rsp						the switch
 *	mov 0x38(%rsp),%r8	mov 0x28(%rsp),%rbx ...		the stack that is entered
 *	lea 0x40(%rsp),%rsp	jmp *%r8
 *
 * The instructions are executed from pc to the jump. Behind the switch that gives the caller itself. Before
 * it, it gives how far above sp the return address is on the stack that is entered, and so, when sp is about to
 * change, on the one that is left; all preserved registers are as the caller left them.
 *
 * LLVM's libunwind goes into the handler of an exception in the same way, only that sp becomes that of a frame
 * further up, and what it goes to was never called: __libunwind_Registers_x86_64_jumpto(). From its first
 * instruction on registers are lost, so that the handler is what calls.
 *
 * Seen: LLVM 14 libunwind/src/UnwindRegistersRestore.S, Boost 1.74
 * libs/context/src/asm/{jump,make,ontop}_x86_64_sysv_elf_gas.S, and those of other libraries that push and
 * pop and end in RET.
 */
#include "native/stack_switch.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "cfi/function.h"
#include "native/ahead.h"
#include "native/call_site.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"

enum {
	MOVES_MAX = 96, /* Boost's has 22, with shadow stacks 40 */
	STORES_MAX = 32,
};

struct executed {
	const struct sw_cursor *cursor;
	struct sw_regs regs; /* sp is always known */
	struct {
		uint64_t avma, value;
		unsigned bytes;
		bool known;   /* value; of a word only */
	} stores[STORES_MAX]; /* the last one counts */
	size_t n_stores;
	uint64_t loaded_avma[SW_REGS_MAX]; /* where registers were loaded from; 0: they were not */
	uint32_t changed;                  /* registers, before the switch */
	bool drops; /* not to another stack: to a frame further up on this one */
	bool switched, dropped;
	uint64_t left_sp_avma; /* at the switch */
	uint64_t slot_avma;    /* of the return address */
};

/* The other stack need not be read: only distances on it count. */
static const uint64_t entered_avma = UINT64_C(1) << 62;

static bool word_read(const struct executed *e, uint64_t avma, uint64_t *ret)
{
	for (size_t i = e->n_stores; i > 0; i--) {
		uint64_t at = e->stores[i - 1].avma;
		if (at == avma && e->stores[i - 1].bytes == SW_ARCH_WORD) {
			*ret = e->stores[i - 1].value;
			return e->stores[i - 1].known;
		}
		if (at < avma + SW_ARCH_WORD && avma < at + e->stores[i - 1].bytes)
			return false;
	}
	return !e->switched && sw_memory_u64(e->cursor->memory, avma, ret);
}

static bool word_write(struct executed *e, uint64_t avma, uint8_t from)
{
	if (e->n_stores == STORES_MAX)
		return false;
	uint64_t value = 0;
	e->stores[e->n_stores].avma = avma;
	e->stores[e->n_stores].bytes = SW_ARCH_WORD;
	e->stores[e->n_stores].known = sw_regs_get(&e->regs, from, &value);
	e->stores[e->n_stores++].value = value;
	return true;
}

/* Something that is no general register. */
static bool bytes_write(struct executed *e, uint64_t avma, unsigned bytes)
{
	if (e->n_stores == STORES_MAX)
		return false;
	e->stores[e->n_stores].avma = avma;
	e->stores[e->n_stores].bytes = bytes;
	e->stores[e->n_stores++].known = false;
	return true;
}

/* value: NULL when it is not known. */
static void reg_write(struct executed *e, uint8_t to, const uint64_t *value)
{
	e->loaded_avma[to] = 0;
	if (!e->switched)
		e->changed |= UINT32_C(1) << to;
	if (value != NULL)
		sw_regs_set(&e->regs, to, *value);
	else
		sw_regs_forget(&e->regs, to);
}

/* sp becomes something that is not counted from it. False: the second time. */
static bool sp_enter(struct executed *e, const uint64_t *value)
{
	if (e->drops) {
		if (value == NULL || *value <= e->cursor->regs.sp_avma ||
		    *value >= sw_cursor_stack_end(e->cursor))
			return false;
		e->dropped = true;
		reg_write(e, SW_ARCH_SP, value);
		return true;
	}
	if (e->switched)
		return false;
	e->switched = true;
	e->left_sp_avma = e->regs.sp_avma;
	reg_write(e, SW_ARCH_SP, &entered_avma);
	return true;
}

static void load(struct executed *e, uint8_t to, const uint64_t *avma)
{
	uint64_t value;
	reg_write(e, to, avma != NULL && word_read(e, *avma, &value) ? &value : NULL);
	e->loaded_avma[to] = avma != NULL ? *avma : 0;
}

/* The result of COPY, LOAD and POP. */
static bool move_value(const struct executed *e, const struct sw_move *m, uint64_t *ret)
{
	uint64_t from = e->regs.sp_avma;
	if (m->op != SW_MOVE_POP && !sw_regs_get(&e->regs, m->from, &from))
		return false;
	*ret = from + (uint64_t) m->value;
	return m->op == SW_MOVE_COPY || word_read(e, *ret, ret);
}

/* The end of a function with a frame pointer, mov %rbp,%rsp: to nowhere but further up in its own frame. */
static bool frame_ends(const struct executed *e, const struct sw_move *m)
{
	uint64_t fp;
	return m->op == SW_MOVE_COPY && m->from == SW_ARCH_FP && !e->switched &&
	       sw_regs_get(&e->regs, SW_ARCH_FP, &fp) && fp >= e->regs.sp_avma &&
	       fp < sw_cursor_stack_end(e->cursor);
}

/* False: it cannot be known what it does. */
static bool execute(struct executed *e, const struct sw_move *m)
{
	uint64_t value = 0, sp = e->regs.sp_avma;
	bool relative = m->op == SW_MOVE_COPY && m->from == SW_ARCH_SP;
	if (m->op == SW_MOVE_NOTHING)
		return true;
	bool stores = m->op == SW_MOVE_STORE || m->op == SW_MOVE_CLOBBER;
	if (m->to == SW_ARCH_SP && !stores && m->op != SW_MOVE_PUSH && !relative)
		return !frame_ends(e, m) && sp_enter(e, move_value(e, m, &value) ? &value : NULL);
	switch (m->op) {
	case SW_MOVE_COPY:
		reg_write(e, m->to, move_value(e, m, &value) ? &value : NULL);
		return true;
	case SW_MOVE_LOAD: {
		bool known = sw_regs_get(&e->regs, m->from, &value);
		value += (uint64_t) m->value;
		load(e, m->to, known ? &value : NULL);
		return true;
	}
	case SW_MOVE_FORGET: reg_write(e, m->to, NULL); return true;
	case SW_MOVE_STORE:
		return sw_regs_get(&e->regs, m->to, &value) &&
		       word_write(e, value + (uint64_t) m->value, m->from);
	case SW_MOVE_CLOBBER:
		return sw_regs_get(&e->regs, m->to, &value) &&
		       bytes_write(e, value + (uint64_t) m->value, m->stored);
	case SW_MOVE_PUSH:
		sw_regs_set(&e->regs, SW_ARCH_SP, sp - SW_ARCH_WORD);
		return word_write(e, sp - SW_ARCH_WORD, m->from);
	case SW_MOVE_POP:
		load(e, m->to, &sp);
		sw_regs_set(&e->regs, SW_ARCH_SP, sp + SW_ARCH_WORD);
		return true;
	default: return false;
	}
}

/*
 * A return by another name: the jump's address was taken from the stack before. Else the jump calls a
 * function in the place of this one.
 */
static bool is_return(const struct executed *e, uint8_t reg)
{
	uint64_t slot = e->regs.sp_avma - SW_ARCH_WORD, target, below;
	if (e->loaded_avma[reg] != 0 || e->switched)
		return e->loaded_avma[reg] == slot;
	return sw_regs_get(&e->regs, reg, &target) && word_read(e, slot, &below) && below == target;
}

/* The last instruction: where the return address is, or was taken from. False: not known. */
static bool leave(struct executed *e, const struct sw_move *m)
{
	uint64_t target;
	e->slot_avma = e->regs.sp_avma;
	if (m->op == SW_MOVE_RETURN)
		return true;
	if (is_return(e, m->from))
		e->slot_avma -= SW_ARCH_WORD;
	else if (!sw_regs_get(&e->regs, m->from, &target) ||
		 !sw_is_executable(e->cursor->snap, target))
		return false;
	return true;
}

static bool run(struct executed *e)
{
	uint64_t pc = e->cursor->regs.pc_avma;
	for (size_t i = 0; i < MOVES_MAX && sw_is_executable(e->cursor->snap, pc); i++) {
		uint8_t code[SW_INSN_BYTES_MAX];
		size_t n = sw_insn_read(e->cursor->memory, pc, code);
		struct sw_move m;
		if (!sw_arch_move(code, n, pc, &m))
			return false;
		if (m.op == SW_MOVE_JUMP || m.op == SW_MOVE_RETURN)
			return leave(e, &m);
		if (!execute(e, &m))
			return false;
		pc += m.length;
	}
	return false;
}

/* The caller on the stack that sp is on now. */
static bool caller_find(struct executed *e, struct sw_regs *ret)
{
	uint64_t return_avma, slot = e->slot_avma;
	*ret = e->regs;
	if (e->switched) {
		slot = e->left_sp_avma + (slot - entered_avma);
		e->switched = false;
		*ret = e->cursor->regs;
		ret->known &= ~e->changed;
	}
	if (!word_read(e, slot, &return_avma))
		return false;
	ret->known &= sw_arch_preserved(false);
	sw_regs_set(ret, SW_ARCH_RA, return_avma);
	sw_regs_set(ret, SW_ARCH_SP, slot + SW_ARCH_WORD);
	return true;
}

/* A stack that is entered the first time returns to the first instruction of its function. */
static bool is_entry(const struct sw_cursor *cursor, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(cursor->snap, avma);
	if (sw_arch_is_fiber_start(cursor->memory, avma))
		return true;
	if (map == NULL || map->place < 0)
		return false;
	struct sw_place *place = &cursor->snap->places[map->place];
	struct sw_elf_cfi *cfi =
		sw_place_resolve(place, cursor->snap) ? sw_elf_cfi_get(place->module) : NULL;
	uint64_t start_svma;
	return cfi != NULL && sw_elf_function_start(cfi, avma - place->bias, &start_svma) &&
	       start_svma == avma - place->bias;
}

static bool is_caller(const struct sw_cursor *cursor, const struct sw_regs *regs)
{
	struct sw_callee callee = sw_callee_of(cursor);
	enum sw_call_site site = sw_call_site_check(&callee, regs->pc_avma);
	if (site == SW_SITE_NONE)
		return false;
	enum sw_ahead ahead = sw_walk_ahead(cursor, regs, NULL, NULL);
	return ahead >= SW_AHEAD_GOOD ||
	       (ahead != SW_AHEAD_BAD &&
		(site == SW_SITE_VERIFIED || sw_is_called_near(cursor, regs->pc_avma)));
}

/* Into the handler of an exception: nothing calls what goes on there. */
static bool is_handler(const struct sw_cursor *cursor, const struct sw_regs *regs)
{
	const struct sw_map *map = sw_snapshot_map(cursor->snap, regs->pc_avma);
	if (map == NULL || map->place < 0)
		return false;
	struct sw_place *place = &cursor->snap->places[map->place];
	struct sw_elf_cfi *cfi =
		sw_place_resolve(place, cursor->snap) ? sw_elf_cfi_get(place->module) : NULL;
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	/* The row of the address itself counts, not that of the byte before it, as for return
	 * addresses. */
	struct sw_regs behind = *regs;
	sw_regs_set(&behind, SW_ARCH_RA, regs->pc_avma + 1);
	return cfi != NULL &&
	       sw_elf_cfi_entry(cfi, regs->pc_avma - place->bias, &entry, &entry_svma) ==
		       SW_ELF_ROW_FOUND &&
	       entry.has_lsda && sw_walk_ahead(cursor, &behind, NULL, NULL) >= SW_AHEAD_GOOD;
}

static bool caller_of(struct executed *e, struct sw_stepped *ret)
{
	const struct sw_cursor *cursor = e->cursor;
	struct sw_regs caller;
	if (!run(e) || (e->drops && !e->dropped) || !caller_find(e, &caller))
		return false;
	ret->regs = caller;
	ret->flags = 0;
	if (sw_arch_known_code(cursor->memory, caller.pc_avma, 0) == SW_CODE_THREAD_START ||
	    is_caller(cursor, &caller))
		return true;
	ret->flags = SW_FRAME_EXACT_PC;
	return is_entry(cursor, caller.pc_avma) || is_handler(cursor, &caller);
}

enum sw_step sw_stack_switch_step(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_stepped s = *ret;
	if (sw_memory_is_32bit(cursor->memory)) /* sw_arch_move() knows moves of 64 bits */
		return SW_STEP_DECLINE;
	for (int drops = 0; cursor->exact_pc && drops < 2; drops++) {
		struct executed e = {.cursor = cursor, .regs = cursor->regs, .drops = drops != 0};
		if (!caller_of(&e, &s))
			continue;
		*ret = s;
		return SW_STEP_OK;
	}
	return SW_STEP_DECLINE;
}
