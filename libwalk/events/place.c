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
};

/* DWARF numbers of rdi, rsi, rdx, rcx, r8, r9: psABI 1.0, figures 3.4 and 3.36. And of rsp. */
static const uint32_t arguments = 1U << 5 | 1U << 4 | 1U << 1 | 1U << 2 | 1U << 8 | 1U << 9;
static const uint32_t stack_pointer = 1U << 7;

/*
 * Instructions that uprobes emulate: arch/x86/kernel/uprobes.c, push_setup_xol_ops() and branch_setup_xol_ops(), v5.4 to v6.18. With
 * prefixes they do not, nor a jump through a register or memory. A NOP of five bytes is not taken: kernels before 6.16
 * step it, and from v6.18 on it becomes a call through a mapping that stays in the process.
 */
bool sw_place_is_emulated(const uint8_t *code, size_t n)
{
	if (n >= 1 && code[0] >= 0x50 && code[0] <= 0x57)
		return true; /* push */
	if (n >= 2 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57)
		return true; /* push of r8 to r15 */
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

/* Whether a jump of the function leads to its beginning or behind that, up to the place. except: the address of one that
 * does not count. *ret_known: the code was understood up to its end. */
static bool is_reentered(struct sw_bytes code, uint64_t avma, size_t place, uint64_t except,
			 bool *ret_known)
{
	struct sw_insn insn;
	size_t at = 0;
	*ret_known = false;
	for (size_t i = 0; i < INSNS_MAX && at < code.size; i++, at += insn.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, avma + at, &insn))
			return false;
		bool jumps = insn.op == SW_INSN_JUMP || insn.op == SW_INSN_BRANCH;
		if (jumps && avma + at != except && insn.target - avma <= place)
			return true;
	}
	*ret_known = at >= code.size;
	return false;
}

/*
 * Whether the code at an offset calls something and then jumps to the beginning, as that of Go does to have a larger stack:
 *
 *	cmp 0x10(%r14), %rsp;  jbe 1f;  push %rbp ...  ret;  1: call runtime.morestack_noctxt;  jmp f
 *
 * A call that takes the branch comes to the beginning again, and to behind the branch once.
 */
static bool begins_again(struct sw_bytes code, uint64_t avma, uint64_t target, uint64_t *ret_jump)
{
	enum { BLOCK_MAX = 64 };
	struct sw_insn insn;
	uint64_t at = target - avma;
	bool calls = false;
	for (int i = 0; i < BLOCK_MAX && at < code.size; i++, at += insn.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, avma + at, &insn))
			return false;
		calls |= insn.op == SW_INSN_CALL;
		if (insn.op == SW_INSN_JUMP) {
			*ret_jump = avma + at;
			return calls && insn.target == avma;
		}
		if (insn.op == SW_INSN_RETURN || insn.op == SW_INSN_BRANCH ||
		    insn.op == SW_INSN_JUMP_FAR || insn.op == SW_INSN_STOP)
			return false;
	}
	return false;
}

/* The instruction may be before the place. */
static bool may_precede(const uint8_t *bytes, size_t n, const struct sw_insn *insn)
{
	return insn->op == SW_INSN_PLAIN &&
	       (is_landing(bytes, n) ||
		(sw_arch_written(bytes, n) & (arguments | stack_pointer)) == 0);
}

struct sw_probe_place sw_place_find(struct sw_bytes code, uint64_t avma)
{
	struct sw_insn insn;
	struct sw_probe_place place = {0}; /* where none is emulated */
	uint64_t except = 0, jump;
	bool known;
	size_t at = 0;
	for (int i = 0; i < LOOKED_AT && at < code.size; i++, at += insn.length) {
		const uint8_t *bytes = code.data + at;
		size_t n = code.size - at;
		if (!sw_arch_insn(false, bytes, n, avma + at, &insn))
			break;
		if (insn.op == SW_INSN_BRANCH && begins_again(code, avma, insn.target, &jump) &&
		    (except == 0 || except == jump)) {
			except = jump;
			place.at = at + insn.length;
			continue;
		}
		if (sw_place_is_emulated(bytes, n)) {
			if (!is_reentered(code, avma, at, except, &known) && known)
				place.at = at;
			break;
		}
		if (!may_precede(bytes, n, &insn))
			break;
	}
	place.emulated = sw_place_is_emulated(code.data + place.at, code.size - place.at);
	place.reentered = is_reentered(code, avma, place.at, except, &known);
	return place;
}

int sw_place_code(const void *image, size_t image_size, uint64_t svma, struct sw_bytes *ret,
		  struct sw_error *err)
{
	struct sw_elf elf;
	if (!sw_elf_init(&elf, (struct sw_bytes){image, image_size}) || elf.is_32bit ||
	    elf.header.e_machine != EM_X86_64)
		return sw_fail(err, SW_E_UNSUPPORTED, "its code is not that of x86-64");
	if (!sw_elf_loaded(&elf, svma, ret))
		return sw_fail(err, SW_E_INVALID, "its code is not in the file");
	return 0;
}

int sw_event_place_of(const void *image, size_t image_size, uint64_t svma, uint64_t size,
		      struct sw_event_place *ret, struct sw_error *err)
{
	struct sw_bytes code;
	int r = sw_place_code(image, image_size, svma, &code, err);
	if (r < 0)
		return r;
	if (size == 0)
		size = SIZE_UNKNOWN;
	if (code.size > size)
		code.size = size;
	uint64_t off = (uint64_t) (code.data - (const uint8_t *) image);
	struct sw_probe_place place = {0};
	if (code.size <= CODE_MAX)
		place = sw_place_find(code, svma);
	*ret = (struct sw_event_place){.file_fd = -EBADF,
				       .file_off = off + place.at,
				       .emulated = place.emulated,
				       .reentered = place.reentered};
	return 0;
}
