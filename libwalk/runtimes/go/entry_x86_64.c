/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: go1.19.8 src/runtime/cgo/gcc_amd64.S. */
#include "runtimes/go/entry.h"
#include "arch/arch.h"
#include "arch/x86_decode.h"
#include "runtimes/go/step.h"

enum {
	CODE_BYTES = 24,
	POPS_MAX = 8,
	RET = 0xc3,
	POP = 0x58, /* + register, with the prefix REX_B for r8 to r15 */
	REX_B = 0x41,
};

/* The pops up to the ret; 0 when there is something else. */
static size_t pops(const uint8_t *code, size_t size, uint8_t *registers)
{
	size_t n = 0;
	for (size_t at = 0; at + 1 < size && n < POPS_MAX;) {
		if (code[at] == RET)
			return n;
		bool high = code[at] == REX_B;
		unsigned op = code[at + high];
		if (op < POP || op > POP + 7)
			return 0;
		registers[n++] = sw_x86_dwarf_number(op - POP + 8U * high);
		at += 1U + high;
	}
	return 0;
}

bool sw_go_entry_step(const struct sw_go *go, const struct sw_cursor *cursor,
		      struct sw_stepped *ret)
{
	uint8_t code[CODE_BYTES], registers[POPS_MAX];
	uint64_t sp = cursor->regs.sp_avma, word;
	const struct sw_place *place = cursor->place;
	bool own = false;
	for (size_t i = 0; i < go->modules.n; i++)
		own |= go->modules.all[i].place == place;
	if (!own || cursor->exact_pc || cursor->callee_avma == 0 ||
	    sw_go_module_at(go, place, cursor->callee_avma) == NULL ||
	    !sw_memory_read(go->memory, cursor->regs.pc_avma, code, sizeof(code)))
		return false;
	size_t n = pops(code, sizeof(code), registers);
	if (n == 0)
		return false;
	ret->regs = (struct sw_regs){0};
	for (size_t i = 0; i <= n; i++) {
		if (!sw_memory_u64(cursor->memory, sp + 8 * i, &word))
			return false;
		sw_regs_set(&ret->regs, i < n ? registers[i] : SW_ARCH_RA, word);
	}
	sw_regs_set(&ret->regs, SW_ARCH_SP, sp + 8 * n + 8);
	return true;
}
