/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions without an entry: leaves, which push and save nothing. mingw's ___chkstk_ms has none and
 * does push (gcc 12.2, libgcc/config/i386/cygwin.S; compiler-rt 14, lib/builtins/x86_64/chkstk.S).
 */
#include "arch/arch.h"
#include "pe/info.h"
#include "pe/rule.h"

#include <string.h>

enum {
	PUSH_RCX_END = 1,
	PUSH_RAX_END = 2,
	CHKSTK_MAX = 64, /* it has 50 bytes, and 48 in compiler-rt */
	PAGE = 4096,
};

static const uint8_t chkstk_start[] = {
	0x51,                               /* push %rcx */
	0x50,                               /* push %rax */
	0x48, 0x3d, 0x00, 0x10, 0x00, 0x00, /* cmp $0x1000,%rax */
	0x48, 0x8d, 0x4c, 0x24, 0x18,       /* lea 24(%rsp),%rcx */
};
static const uint8_t chkstk_end[] = {0x58, 0x59, 0xc3}; /* pop %rax; pop %rcx; ret */

/* Code around pc: *ret_before bytes of it lie before pc. Returns how many there are in all. */
static size_t read_around(struct sw_memory memory, uint64_t pc_avma, uint8_t code[2 * CHKSTK_MAX],
			  size_t *ret_before)
{
	*ret_before = CHKSTK_MAX;
	if (sw_memory_read(memory, pc_avma - CHKSTK_MAX, code, 2 * CHKSTK_MAX))
		return 2 * CHKSTK_MAX;
	/* A neighbour of pc's page may be missing: then the function is not in it. */
	size_t in_page = pc_avma % PAGE, left = PAGE - in_page;
	size_t before = in_page < CHKSTK_MAX ? in_page : CHKSTK_MAX;
	size_t size = before + (left < CHKSTK_MAX ? left : CHKSTK_MAX);
	*ret_before = before;
	return sw_memory_read(memory, pc_avma - before, code, size) ? size : 0;
}

/* How many bytes ___chkstk_ms has on the stack when it is at offset pc - start. */
static size_t chkstk_pushed(const uint8_t *start, size_t size, size_t pc)
{
	for (size_t end = sizeof(chkstk_start); end + sizeof(chkstk_end) <= size; end++) {
		if (memcmp(start + end, chkstk_end, sizeof(chkstk_end)) != 0)
			continue;
		if (pc >= PUSH_RAX_END && pc <= end)
			return 16;
		return pc == PUSH_RCX_END || pc == end + 1 ? 8 : 0;
	}
	return 0;
}

static size_t leaf_pushed(struct sw_memory memory, uint64_t pc_avma)
{
	uint8_t code[2 * CHKSTK_MAX];
	size_t pc, size = read_around(memory, pc_avma, code, &pc);
	for (size_t start = 0; start + sizeof(chkstk_start) <= size && start <= pc; start++)
		if (memcmp(code + start, chkstk_start, sizeof(chkstk_start)) == 0)
			return chkstk_pushed(code + start, size - start, pc - start);
	return 0;
}

void sw_pe_rule_make_leaf(struct sw_pe_env *env, uint64_t pc_avma, struct sw_pe_draft *ret)
{
	sw_pe_draft_init(env, ret);
	ret->rule.leaf = true;
	ret->rule.end_off = leaf_pushed(env->memory, pc_avma);
}
