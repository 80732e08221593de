/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code of one thread has one native frame, however many methods it has called:
 *
 *	CFA - 8		return address, into the code that has called it by a pointer
 *	CFA - 16	the caller's r13; r13 is the control frame
 *	CFA - 24	the caller's r12; r12 is the execution context
 *	CFA - 32	the caller's rbx; rbx is the stack of values
 *	sp		CFA - 32, and lower while it calls functions
 *
 * It begins and ends with
 *
 *	41 55  41 54  53		push r13, push r12, push rbx
 *	49 89 fc  49 89 f5		mov r12, rdi, mov r13, rsi
 *	...
 *	5b  41 5c  41 5d		pop rbx, pop r12, pop r13
 *	[48 c7 c0 / b8 / 48 b8 value]	mov rax, value
 *	c3				ret
 *
 * Source: yjit_codegen.c of Ruby 3.1, yjit_entry_prologue(), push_regs(). It has no tables.
 */
#include "runtimes/ruby/yjit.h"
#include "arch/arch.h"
#include "native/call_site.h"

#include <string.h>

enum {
	WRITTEN_BYTES_MAX = 256 << 10, /* that YJIT writes to at once: pages */
	MEMORY_BYTES_MIN =
		1 << 20, /* on one side of them; all of it are 256 MB, if nobody says other */
	PUSHED_BYTES_MAX = 160, /* registers that it saves, and alignment */
	SAVED = 3,              /* registers */
};

static bool is_anonymous(const struct sw_map *map)
{
	return map != NULL && map->inode == 0 && map->path[0] == '\0';
}

/* How much executable memory that is no file's touches the i-th mapping, at the lower end or at the upper. */
static uint64_t executable_beside(const struct sw_snapshot *snap, size_t i, bool below)
{
	const struct sw_map *map = &snap->maps[i];
	if (below ? i == 0 : i + 1 >= snap->n_maps)
		return 0;
	const struct sw_map *other = below ? map - 1 : map + 1;
	if (!is_anonymous(other) || !(other->prot & SW_MAP_EXEC) ||
	    (below ? other->end_avma != map->start_avma : other->start_avma != map->end_avma))
		return 0;
	return other->end_avma - other->start_avma;
}

/*
 * While it compiles, YJIT makes the pages that it writes to writable, and not executable: what called it may be on
 * one of them. They are in the middle of its memory, or at its ends, beside nearly all of it. Source: yjit_asm.c of
 * Ruby 3.1, cb_mark_position_writeable(), cb_mark_all_executable().
 */
bool sw_ruby_yjit_at(const struct sw_ruby *ruby, uint64_t avma)
{
	const struct sw_snapshot *snap = ruby->snap;
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (ruby->found.layout == NULL || ruby->found.layout->yjit_bytes == 0 || !is_anonymous(map))
		return false;
	if (map->prot & SW_MAP_EXEC)
		return true;
	if (map->end_avma - map->start_avma > WRITTEN_BYTES_MAX || !(map->prot & SW_MAP_WRITE))
		return false;
	size_t i = (size_t) (map - snap->maps);
	uint64_t below = executable_beside(snap, i, true),
		 above = executable_beside(snap, i, false);
	return (below > 0 && above > 0) || below >= MEMORY_BYTES_MIN || above >= MEMORY_BYTES_MIN;
}

bool sw_ruby_in_yjit(const struct sw_ruby *ruby, const struct sw_cursor *cursor)
{
	const struct sw_place *place = cursor->place;
	if (place == ruby->found.place ||
	    (place != NULL && sw_module_kind(place->module) != SW_MODULE_ANON &&
	     sw_module_kind(place->module) != SW_MODULE_JIT))
		return false;
	return sw_ruby_yjit_at(ruby, cursor->lookup_avma);
}

/* Whether a call by a pointer in Ruby's own code may return to the address. */
static bool is_return(const struct sw_ruby *ruby, const struct sw_cursor *cursor,
		      uint64_t return_avma)
{
	struct sw_callee callee = {.cursor = cursor, .tried = true};
	return sw_snapshot_place(cursor->snap, return_avma) == ruby->found.place &&
	       sw_call_site_check(&callee, return_avma) == SW_SITE_POSSIBLE;
}

/* n: how many registers are saved. */
static void caller_set(const struct sw_cursor *cursor, uint64_t cfa, uint64_t return_avma,
		       unsigned n, struct sw_stepped *ret)
{
	static const unsigned saved[SAVED] = {SW_X86_64_R13, SW_X86_64_R12, SW_X86_64_RBX};
	ret->regs = cursor->regs;
	ret->regs.known &= sw_arch_preserved(false);
	for (unsigned i = 0; i < n && i < SAVED; i++) {
		uint64_t value;
		if (sw_memory_u64(cursor->memory, cfa - SW_ARCH_WORD * (2 + i), &value))
			sw_regs_set(&ret->regs, saved[i], value);
		else
			sw_regs_forget(&ret->regs, saved[i]);
	}
	sw_regs_set(&ret->regs, SW_ARCH_SP, cfa);
	sw_regs_set(&ret->regs, SW_ARCH_RA, return_avma);
}

/* At which of the first instructions the code before and from pc on is; -1: none. */
static int saved_at_entry(struct sw_bytes before, struct sw_bytes from)
{
	static const uint8_t entry[] = {0x41, 0x55, 0x41, 0x54, 0x53, 0x49,
					0x89, 0xfc, 0x49, 0x89, 0xf5};
	static const size_t ends[] = {0, 2, 4, 5};
	for (int n = 0; n <= SAVED; n++) {
		size_t done = ends[n], left = sizeof(entry) - done;
		if (before.size >= done && from.size >= left &&
		    (done == 0 || memcmp(before.data + before.size - done, entry, done) == 0) &&
		    memcmp(from.data, entry + done, left) == 0)
			return n;
	}
	return -1;
}

/* The same of the last ones. */
static int saved_at_exit(struct sw_bytes from)
{
	static const struct {
		uint8_t bytes[3];
		size_t n, all; /* to compare, and with what is behind them */
	} pops[SAVED] = {{{0x5b}, 1, 1}, {{0x41, 0x5c}, 2, 2}, {{0x41, 0x5d}, 2, 2}},
	  moves[] = {{{0x48, 0xc7, 0xc0}, 3, 7}, {{0xb8}, 1, 5}, {{0x48, 0xb8}, 2, 10}};
	size_t at = 0;
	int n = 0;
	for (size_t i = 0; i < SAVED; i++) {
		bool pop = from.size - at >= pops[i].n &&
			   memcmp(from.data + at, pops[i].bytes, pops[i].n) == 0;
		if (!pop && n > 0)
			return -1; /* one that is followed by another */
		if (pop) {
			n++;
			at += pops[i].all;
		}
	}
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (from.size - at >= moves[i].all &&
		    memcmp(from.data + at, moves[i].bytes, moves[i].n) == 0) {
			at += moves[i].all;
			break;
		}
	return at < from.size && from.data[at] == 0xc3 ? n : -1;
}

int sw_ruby_yjit_saved(struct sw_bytes before, struct sw_bytes from)
{
	int n = saved_at_entry(before, from);
	return n >= 0 ? n : saved_at_exit(from);
}

/* The same for a cursor. */
static int saved_at(const struct sw_cursor *cursor)
{
	uint8_t before[SW_RUBY_ENTRY_BYTES], from[SW_RUBY_END_BYTES];
	uint64_t pc = cursor->regs.pc_avma;
	struct sw_bytes b = {before, sizeof(before)};
	if (!cursor->exact_pc || pc < sizeof(before) ||
	    !sw_memory_read(cursor->memory, pc, from, sizeof(from)))
		return -1;
	if (!sw_memory_read(cursor->memory, pc - b.size, before, b.size))
		b.size = 0; /* where the memory begins */
	return sw_ruby_yjit_saved(b, (struct sw_bytes){from, sizeof(from)});
}

enum sw_step sw_ruby_yjit_step(struct sw_ruby *ruby, struct sw_cursor *cursor,
			       struct sw_stepped *ret)
{
	uint64_t ec, return_avma, own;
	struct sw_ruby_stack stack;
	if (!sw_ruby_in_yjit(ruby, cursor) ||
	    !sw_ruby_stack_read(&ruby->vm, cursor->thread->fs_base, &stack))
		return SW_STEP_DECLINE;
	int saved = saved_at(cursor);
	if (saved >= 0) {
		uint64_t end = cursor->regs.sp_avma + SW_ARCH_WORD * (uint64_t) (saved + 1);
		if (!sw_memory_u64(cursor->memory, end - SW_ARCH_WORD, &return_avma) ||
		    !is_return(ruby, cursor, return_avma))
			return SW_STEP_DECLINE;
		caller_set(cursor, end, return_avma, (unsigned) saved, ret);
		return SW_STEP_OK;
	}
	own = stack.ec_avma;
	if (!sw_regs_get(&cursor->regs, SW_X86_64_R12, &ec) || ec != own) /* somebody else's code */
		return SW_STEP_DECLINE;
	uint64_t cfa = cursor->regs.sp_avma + ruby->found.layout->yjit_bytes;
	for (unsigned n = 0; n <= PUSHED_BYTES_MAX; n += SW_ARCH_WORD, cfa += SW_ARCH_WORD) {
		if (!sw_memory_u64(cursor->memory, cfa - SW_ARCH_WORD, &return_avma))
			return SW_STEP_DECLINE;
		if (is_return(ruby, cursor, return_avma)) {
			caller_set(cursor, cfa, return_avma, SAVED, ret);
			return SW_STEP_OK;
		}
	}
	return SW_STEP_DECLINE;
}

/*
 * gen_send_iseq() of 3.1:
 *
 *	49 83 ed 40		sub r13, 64
 *	4d 89 6c 24 10		mov [r12 + 16], r13		ec->cfp
 *	...					self, sp, ep, iseq
 *	49 xx /r 28		mov [r13 + 40], ...		block_code
 */
bool sw_ruby_yjit_fills(struct sw_bytes before)
{
	static const uint8_t push[] = {0x49, 0x83, 0xed, 0x40, 0x4d, 0x89, 0x6c, 0x24, 0x10};
	const uint8_t *at = NULL;
	for (size_t i = 0; i + sizeof(push) <= before.size; i++)
		if (memcmp(before.data + i, push, sizeof(push)) == 0)
			at = before.data + i + sizeof(push);
	if (at == NULL)
		return false;
	for (; at + 4 <= before.data + before.size; at++)
		if (at[0] == 0x49 && (at[1] == 0x89 || at[1] == 0xc7) && (at[2] & 0xc7) == 0x45 &&
		    at[3] == 0x28)
			return false;
	return true;
}

size_t sw_ruby_yjit_unfinished(const struct sw_ruby *ruby, const struct sw_cursor *cursor)
{
	const struct sw_ruby_chain *c = &ruby->chain;
	uint8_t code[SW_RUBY_FILL_BYTES];
	uint64_t cfp, pc = cursor->regs.pc_avma;
	/* In its first and last instructions r13 is the caller's. */
	if (c->n < 2 || !sw_regs_get(&cursor->regs, SW_X86_64_R13, &cfp) || saved_at(cursor) >= 0)
		return 0;
	/* A frame of a C method is here if that method is about to be called, or has returned. */
	if (cfp == c->frames[1].avma)
		return 1;
	return cfp == c->frames[0].avma && pc > SW_RUBY_FILL_BYTES &&
	       sw_memory_read(cursor->memory, pc - SW_RUBY_FILL_BYTES, code, sizeof(code)) &&
	       sw_ruby_yjit_fills((struct sw_bytes){code, sizeof(code)});
}
