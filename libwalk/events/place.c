/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/place.h"
#include "arch/insn.h"
#include "arch/written.h"
#include "formats/elf_file.h"
#include "errors.h"

#include <string.h>

enum {
	LOOKED_AT = 8,       /* instructions from the beginning on */
	INSNS_MAX = 1 << 20, /* of one function */
	CODE_MAX = 4 << 20,  /* bytes of one function */
	SIZE_UNKNOWN = 64,   /* bytes of a function whose symbol has no size */
	NOP5 = 5,
};

/* DWARF numbers of rdi, rsi, rdx, rcx, r8, r9: psABI 1.0, figures 3.4 and 3.36. And of rsp. */
static const uint32_t arguments = 1U << 5 | 1U << 4 | 1U << 1 | 1U << 2 | 1U << 8 | 1U << 9;
static const uint32_t stack_pointer = 1U << 7;

/*
 * What uprobes emulate: arch/x86/kernel/uprobes.c, push_setup_xol_ops() and branch_setup_xol_ops(), v5.4 to v6.18. With
 * prefixes they do not, nor a jump through a register or memory. NOP of five bytes becomes a call from v6.18 on, which
 * writes below the stack pointer: only at the beginning of a function nothing is there.
 */
static bool is_emulated(const uint8_t *code, size_t n, bool at_begin)
{
	static const uint8_t nop5[NOP5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	if (n >= 1 && code[0] >= 0x50 && code[0] <= 0x57)
		return true; /* push */
	if (n >= 2 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57)
		return true; /* push of r8 to r15 */
	if (n >= NOP5 && memcmp(code, nop5, NOP5) == 0)
		return at_begin;
	if (n >= 2 && code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f)
		return true; /* jcc */
	return n >= 1 && (code[0] == 0x90 || code[0] == 0xe8 || code[0] == 0xe9 ||
			  code[0] == 0xeb || (code[0] >= 0x70 && code[0] <= 0x7f));
}

/* endbr64, which changes nothing. */
static bool is_landing(const uint8_t *code, size_t n)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	return n >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0;
}

/* Whether a jump of the function leads behind its beginning, up to the place. */
static bool is_reentered(struct sw_bytes code, uint64_t avma, size_t place)
{
	struct sw_insn insn;
	size_t at = 0;
	for (size_t i = 0; i < INSNS_MAX && at < code.size; i++, at += insn.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, avma + at, &insn))
			return true; /* what follows is not known */
		bool jumps = insn.op == SW_INSN_JUMP || insn.op == SW_INSN_BRANCH;
		if (jumps && insn.target > avma && insn.target <= avma + place)
			return true;
	}
	return at < code.size;
}

size_t sw_place_find(struct sw_bytes code, uint64_t avma, bool *ret_emulated)
{
	struct sw_insn insn;
	size_t at = 0;
	bool at_begin = true;
	*ret_emulated = false;
	for (int i = 0; i < LOOKED_AT && at < code.size; i++, at += insn.length) {
		const uint8_t *bytes = code.data + at;
		size_t n = code.size - at;
		if (!sw_arch_insn(false, bytes, n, avma + at, &insn))
			return 0;
		if (is_emulated(bytes, n, at_begin)) {
			*ret_emulated = at == 0 || !is_reentered(code, avma, at);
			return *ret_emulated ? at : 0;
		}
		if (insn.op != SW_INSN_PLAIN ||
		    (!is_landing(bytes, n) &&
		     (sw_arch_written(bytes, n) & (arguments | stack_pointer)) != 0))
			return 0;
		at_begin = at_begin && is_landing(bytes, n);
	}
	return 0;
}

int sw_event_place_of(const void *image, size_t image_size, uint64_t svma, uint64_t size,
		      struct sw_event_place *ret, struct sw_error *err)
{
	struct sw_elf elf;
	struct sw_bytes code;
	if (!sw_elf_init(&elf, (struct sw_bytes){image, image_size}) || elf.is_32bit ||
	    elf.header.e_machine != EM_X86_64)
		return sw_fail(err, SW_E_UNSUPPORTED, "its code is not that of x86-64");
	if (!sw_elf_loaded(&elf, svma, &code))
		return sw_fail(err, SW_E_INVALID, "its code is not in the file");
	if (size == 0)
		size = SIZE_UNKNOWN;
	if (code.size > size)
		code.size = size;
	uint64_t off = (uint64_t) (code.data - (const uint8_t *) image);
	bool emulated = false;
	size_t at = code.size > CODE_MAX ? 0 : sw_place_find(code, svma, &emulated);
	*ret = (struct sw_event_place){.file_fd = -EBADF,
				       .file_off = off + at,
				       .emulated = emulated};
	return 0;
}
