/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: GCC 12.2, gcc/config/i386/i386.cc, ix86_expand_epilogue() and "eh_return_internal" in i386.md;
 * libgcc/unwind-dw2.c, uw_install_context().
 */
#include "arch/eh_return.h"
#include "arch/insn.h"

#include <string.h>

enum {
	INSNS_MAX = 64, /* 12.2 needs 32, with the shadow stack's */
	BYTES_MAX = 512,
	END_BYTES = 6,
	MOV_BYTES = 3,
	POP_BYTES = 1,
	REX_BYTES = 1, /* without it the end is that of code for i386 */
};

static const uint8_t end[END_BYTES] = {
	0x48, 0x89, 0xcc, /* mov %rcx,%rsp */
	0x59,             /* pop %rcx */
	0xff, 0xe1,       /* jmp *%rcx */
};

static bool code_is(struct sw_memory code, uint64_t avma, const uint8_t *bytes, size_t n)
{
	uint8_t there[END_BYTES];
	return sw_memory_read(code, avma, there, n) && memcmp(there, bytes, n) == 0;
}

/* _Unwind_DebugHook(): debuggers have a breakpoint there; it may have a probe, which is a NOP. */
static bool does_nothing(struct sw_memory code, uint64_t avma)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa},
			     endbr32[] = {0xf3, 0x0f, 0x1e, 0xfb}, nop = 0x90, ret = 0xc3;
	if (code_is(code, avma, sw_memory_is_32bit(code) ? endbr32 : endbr64, sizeof(endbr64)))
		avma += sizeof(endbr64);
	if (code_is(code, avma, &nop, 1))
		avma++;
	return code_is(code, avma, &ret, 1);
}

static bool insn_at(struct sw_memory code, uint64_t avma, struct sw_insn *ret)
{
	uint8_t bytes[SW_INSN_BYTES_MAX];
	return sw_arch_insn(sw_memory_is_32bit(code), bytes, sw_insn_read(code, avma, bytes), avma,
			    ret);
}

/* The whole of it, of which the first so many bytes have been executed. */
static bool is_end(struct sw_memory code, uint64_t avma, size_t done)
{
	size_t rex = sw_memory_is_32bit(code) ? REX_BYTES : 0;
	uint64_t start = done > 0 ? avma - (done - rex) : avma;
	return code_is(code, start, end + rex, END_BYTES - rex);
}

/* Whether it comes to the end without a call of anything. Branches only loop, or leave out what a
 * processor without shadow stacks does not need. */
static bool leads_to_end(struct sw_memory code, uint64_t pc_avma)
{
	uint64_t at = pc_avma;
	struct sw_insn insn;
	for (size_t n = 0; n < INSNS_MAX; n++, at += insn.length) {
		if (is_end(code, at, 0))
			return true;
		if (!insn_at(code, at, &insn))
			return false;
		switch (insn.op) {
		case SW_INSN_PLAIN:
		case SW_INSN_LOAD_FP: break;
		case SW_INSN_PUSH: /* _Unwind_DebugHook()'s arguments */
		case SW_INSN_SP_ADD:
			if (!sw_memory_is_32bit(code))
				return false;
			break;
		case SW_INSN_CALL:
			if (!insn.target_known || !does_nothing(code, insn.target))
				return false;
			break;
		case SW_INSN_BRANCH:
		case SW_INSN_JUMP:
			if (insn.target < pc_avma || insn.target - pc_avma > BYTES_MAX)
				return false;
			break;
		default: return false;
		}
	}
	return false;
}

enum sw_eh_return sw_arch_eh_return(struct sw_memory code, uint64_t pc_avma, bool exact_pc,
				    bool look_ahead)
{
	static const size_t done[] = {0, MOV_BYTES, MOV_BYTES + POP_BYTES};
	for (size_t i = 0; exact_pc && i < sizeof(done) / sizeof(done[0]); i++)
		if (is_end(code, pc_avma, done[i]))
			return SW_EH_RETURN_DONE;
	return look_ahead && leads_to_end(code, pc_avma) ? SW_EH_RETURN_AHEAD : SW_EH_RETURN_NO;
}
