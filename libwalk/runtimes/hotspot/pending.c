/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compiled code has one size of frame but for few places, which push words of their own. C1 hands arguments so to the
 * check whether one class is below another, and takes them back behind the call:
 *
 *	push klass; mov $super, %r10; push %r10; call slow_subtype_check; pop klass; pop klass
 *
 * and array copies that do it have pushed two more. Where the return address would be without these words another one
 * may lie, of a call that has long returned. (Inside calls that return, nothing but POP takes such words back.)
 *
 * Source: LIR_Assembler::emit_typecheck_helper() and emit_arraycopy() of c1_LIRAssembler_x86.cpp, jdk-17.0.15 and
 * jdk-25.0.3.
 */
#include "runtimes/hotspot/pending.h"
#include "arch/arch.h"
#include "arch/insn.h"

enum { INSNS_MAX = 64 };

/* Most frames wait behind another instruction than POP: they cost one read. */
static bool takes_back(const struct sw_hotspot_frame *f)
{
	uint8_t code[2];
	return sw_memory_read(f->h->memory, f->pc, code, sizeof(code)) &&
	       (code[code[0] == 0x41] & 0xf8) == 0x58;
}

static size_t words_count(const struct sw_hotspot_frame *f)
{
	size_t pushed = 0, pending = 0;
	uint64_t pc = f->pc;
	if (!f->cursor->exact_pc && !takes_back(f))
		return 0;
	for (size_t i = 0; i < INSNS_MAX && pc < f->blob->code_end_avma; i++) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t n = sw_insn_read(f->h->memory, pc, code);
		if (!sw_arch_insn(false, code, n, pc, &insn))
			break;
		switch (insn.op) {
		case SW_INSN_PUSH: pushed++; break;
		case SW_INSN_POP:
			if (pushed > 0)
				pushed--;
			else if (insn.reg == SW_ARCH_FP) /* the frame is taken down */
				return pending;
			else
				pending++;
			break;
		case SW_INSN_PLAIN:
		case SW_INSN_LOAD_SP:
		case SW_INSN_LOAD_FP:
		case SW_INSN_BRANCH: /* both ways have the same stack */
		case SW_INSN_CALL: break;
		default: return pending;
		}
		pc += insn.length;
	}
	return pending;
}

size_t sw_hotspot_pending_words(const struct sw_hotspot_frame *f)
{
	uint64_t key = f->pc ^ sw_mix64((uintptr_t) f->blob), kept;
	/* By copies each look is a system call, and the instructions behind a call stay what they are. */
	if (!f->h->by_copies || f->cursor->exact_pc)
		return words_count(f);
	if (sw_map64_get(&f->h->pending, key, &kept))
		return (size_t) kept;
	size_t n = words_count(f);
	(void) sw_map64_put(&f->h->pending, key, n); /* lost: they are counted again */
	return n;
}
