/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builtins that call C++ code (CEntry) set their frame up and write down where it is:
 *
 *	push %rbp; mov %rsp, %rbp; ... mov %rbp, off(%r13)	r13 is the isolate's root
 *
 * Source: src/codegen/x64/macro-assembler-x64.cc (EnterExitFrame), src/builtins/x64/builtins-x64.cc (Generate_CEntry) of V8 11.3
 * to 14.6.
 */
#include "runtimes/v8/entry.h"
#include "arch/insn.h"

enum { PROLOGUE_BYTES = 64, OFF_MAX = 1 << 16 };

bool sw_v8_entry_off(struct sw_bytes code, uint32_t *ret)
{
	enum { REX_W_B = 0x49, MOV_TO = 0x89, R13_FAR_RBP = 0xad };
	for (size_t at = 0; at < code.size && at < PROLOGUE_BYTES;) {
		struct sw_insn i;
		uint8_t b[3];
		uint32_t off;
		if (!sw_arch_insn(false, code.data + at, code.size - at, at, &i) ||
		    !sw_bytes_copy(code, at, b, sizeof(b)))
			return false;
		if (b[0] == REX_W_B && b[1] == MOV_TO && b[2] == R13_FAR_RBP &&
		    sw_bytes_u32(code, at + sizeof(b), &off)) {
			*ret = off;
			return off != 0 && off % 8 == 0 && off < OFF_MAX;
		}
		at += i.length;
	}
	return false;
}
