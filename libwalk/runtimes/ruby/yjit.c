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
 * Source: yjit_codegen.c of Ruby 3.1, yjit_entry_prologue(), push_regs(). It has no tables.
 */
#include "runtimes/ruby/yjit.h"
#include "arch/arch.h"
#include "native/call_site.h"

#include <string.h>

enum {
	PUSHED_BYTES_MAX = 160, /* registers that it saves, and alignment */
};

bool sw_ruby_in_yjit(const struct sw_ruby *ruby, const struct sw_cursor *cursor)
{
	const struct sw_place *place = cursor->place;
	if (ruby->found.layout == NULL || ruby->found.layout->yjit_bytes == 0 ||
	    place == ruby->found.place ||
	    (place != NULL && sw_module_kind(place->module) != SW_MODULE_ANON &&
	     sw_module_kind(place->module) != SW_MODULE_JIT))
		return false;
	const struct sw_map *map = sw_snapshot_map(cursor->snap, cursor->lookup_avma);
	return map != NULL && (map->prot & SW_MAP_EXEC) && map->inode == 0 && map->path[0] == '\0';
}

/* Whether a call by a pointer in Ruby's own code may return to the address. */
static bool is_return(const struct sw_ruby *ruby, const struct sw_cursor *cursor,
		      uint64_t return_avma)
{
	struct sw_callee callee = {.cursor = cursor, .tried = true};
	return sw_snapshot_place(cursor->snap, return_avma) == ruby->found.place &&
	       sw_call_site_check(&callee, return_avma) == SW_SITE_POSSIBLE;
}

static void caller_set(const struct sw_cursor *cursor, uint64_t cfa, uint64_t return_avma,
		       struct sw_stepped *ret)
{
	static const unsigned saved[] = {SW_X86_64_R13, SW_X86_64_R12, SW_X86_64_RBX};
	ret->regs = cursor->regs;
	ret->regs.known &= sw_arch_preserved(false);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t value;
		if (sw_memory_u64(cursor->memory, cfa - SW_ARCH_WORD * (2 + i), &value))
			sw_regs_set(&ret->regs, saved[i], value);
		else
			sw_regs_forget(&ret->regs, saved[i]);
	}
	sw_regs_set(&ret->regs, SW_ARCH_SP, cfa);
	sw_regs_set(&ret->regs, SW_ARCH_RA, return_avma);
}

enum sw_step sw_ruby_yjit_step(struct sw_ruby *ruby, struct sw_cursor *cursor,
			       struct sw_stepped *ret)
{
	uint64_t ec, return_avma, own;
	struct sw_ruby_stack stack;
	if (!sw_ruby_in_yjit(ruby, cursor) ||
	    !sw_ruby_stack_read(&ruby->vm, cursor->thread->fs_base, &stack) ||
	    !sw_regs_get(&cursor->regs, SW_X86_64_R12, &ec))
		return SW_STEP_DECLINE;
	own = stack.ec_avma;
	if (ec != own) /* its first and last instructions, or somebody else's code */
		return SW_STEP_DECLINE;
	uint64_t cfa = cursor->regs.sp_avma + ruby->found.layout->yjit_bytes;
	for (unsigned n = 0; n <= PUSHED_BYTES_MAX; n += SW_ARCH_WORD, cfa += SW_ARCH_WORD) {
		if (!sw_memory_u64(cursor->memory, cfa - SW_ARCH_WORD, &return_avma))
			return SW_STEP_DECLINE;
		if (is_return(ruby, cursor, return_avma)) {
			caller_set(cursor, cfa, return_avma, ret);
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
	if (c->n < 2 || !sw_regs_get(&cursor->regs, SW_X86_64_R13, &cfp))
		return 0;
	/* Of a C method: it is about to be called, or has returned. */
	if (cfp == c->frames[1].avma)
		return 1;
	return cfp == c->frames[0].avma && pc > SW_RUBY_FILL_BYTES &&
	       sw_memory_read(cursor->memory, pc - SW_RUBY_FILL_BYTES, code, sizeof(code)) &&
	       sw_ruby_yjit_fills((struct sw_bytes){code, sizeof(code)});
}
