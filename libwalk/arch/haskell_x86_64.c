/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: the code that GHC 9.0 has of rts/StgCRun.c, StgRunIsImplementedInAssembler(), as Debian 12 builds it.
 */
#include "arch/haskell.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <string.h>

enum {
	SAVED_BYTES = 0x30,
	RESERVED_BYTES = 0x4000,
	CODE_BYTES_MAX = 41,
	FIRST_BYTES = 4,
};

/* clang-format off */
static const uint8_t makes[] = {
	0x48, 0x83, 0xec, 0x30,             /* 00 sub $0x30,%rsp */
	0x48, 0x89, 0xe0,                   /* 04 mov %rsp,%rax */
	0x48, 0x81, 0xec, 0, 0x40, 0, 0,    /* 07 sub $0x4000,%rsp */
	0x48, 0x89, 0x18,                   /* 0e mov %rbx,(%rax) */
	0x48, 0x89, 0x68, 0x08,             /* 11 mov %rbp,8(%rax), and so on */
	0x4c, 0x89, 0x60, 0x10,
	0x4c, 0x89, 0x68, 0x18,
	0x4c, 0x89, 0x70, 0x20,
	0x4c, 0x89, 0x78, 0x28,             /* 21 */
};

static const uint8_t takes_down[] = {
	0x48, 0x81, 0xc4, 0, 0x40, 0, 0,    /* 00 add $0x4000,%rsp */
	0x48, 0x8b, 0x1c, 0x24,             /* 07 mov (%rsp),%rbx */
	0x48, 0x8b, 0x6c, 0x24, 0x08,       /* 0b mov 8(%rsp),%rbp, and so on */
	0x4c, 0x8b, 0x64, 0x24, 0x10,
	0x4c, 0x8b, 0x6c, 0x24, 0x18,
	0x4c, 0x8b, 0x74, 0x24, 0x20,
	0x4c, 0x8b, 0x7c, 0x24, 0x28,
	0x48, 0x83, 0xc4, 0x30,             /* 24 add $0x30,%rsp */
	0xc3,                               /* 28 ret */
};
/* clang-format on */

_Static_assert(sizeof(makes) <= CODE_BYTES_MAX && sizeof(takes_down) <= CODE_BYTES_MAX, "");

/* The code at pc. Its first bytes already tell nearly all other code from it. */
struct here {
	struct sw_memory memory;
	uint64_t pc;
	uint8_t first[FIRST_BYTES];
};

/* Whether pc is behind so many bytes of the code. */
static bool is_at(const struct here *h, size_t offset, const uint8_t *code, size_t n)
{
	uint8_t there[CODE_BYTES_MAX];
	size_t n_first = n - offset < FIRST_BYTES ? n - offset : FIRST_BYTES;
	return memcmp(h->first, code + offset, n_first) == 0 && h->pc >= offset &&
	       sw_memory_read(h->memory, h->pc - offset, there, n) && memcmp(there, code, n) == 0;
}

static bool return_from(struct sw_memory memory, uint64_t slot_avma, struct sw_regs *ret)
{
	uint64_t return_avma;
	if (!sw_memory_u64(memory, slot_avma, &return_avma))
		return false;
	sw_regs_set(ret, SW_ARCH_SP, slot_avma + SW_ARCH_WORD);
	sw_regs_set(ret, SW_ARCH_RA, return_avma);
	return true;
}

bool sw_arch_stg_run(struct sw_memory memory, const struct sw_regs *regs, struct sw_regs *ret)
{
	static const uint8_t made[] = {0x04, 0x07, 0x0e, 0x11, 0x15, 0x19, 0x1d, 0x21},
			     taken[] = {0x07, 0x0b, 0x10, 0x15, 0x1a, 0x1f, 0x24};
	static const unsigned saved[] = {SW_X86_64_RBX, SW_X86_64_RBP, SW_X86_64_R12,
					 SW_X86_64_R13, SW_X86_64_R14, SW_X86_64_R15};
	uint64_t pc = regs->pc_avma, sp = regs->sp_avma, value;
	struct here here = {.memory = memory, .pc = pc};
	if (sw_memory_is_32bit(memory) ||
	    !sw_memory_read(memory, pc, here.first, sizeof(here.first)))
		return false;
	*ret = *regs;
	ret->known &= sw_arch_preserved(false);
	for (size_t i = 0; i < sizeof(made); i++)
		if (is_at(&here, made[i], makes, sizeof(makes)))
			return return_from(memory,
					   sp + SAVED_BYTES + (made[i] > 0x07 ? RESERVED_BYTES : 0),
					   ret);
	if (is_at(&here, sizeof(takes_down) - 1, takes_down, sizeof(takes_down)))
		return return_from(memory, sp, ret);
	for (size_t i = 0; i < sizeof(taken); i++) {
		if (!is_at(&here, taken[i], takes_down, sizeof(takes_down)))
			continue;
		for (size_t k = 0; k < SW_ARRAY_SIZE(saved); k++) {
			if (!sw_memory_u64(memory, sp + k * SW_ARCH_WORD, &value))
				return false;
			sw_regs_set(ret, saved[k], value);
		}
		return return_from(memory, sp + SAVED_BYTES, ret);
	}
	return false;
}
