/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * i386: what differs from x86-64. Source of encodings: Intel SDM volume 2 (2023). Instructions without a
 * REX prefix are the same in both, but that ModRM 05 is an address and not one that counts from the pc.
 */
#include "arch/i386.h"
#include "cleanup.h"

#include <string.h>

const char *sw_i386_reg_name(unsigned number)
{
	static const char *const names[SW_REGS_MAX] = {
		[SW_X86_64_RAX] = "eax", [SW_X86_64_RDX] = "edx", [SW_X86_64_RCX] = "ecx",
		[SW_X86_64_RBX] = "ebx", [SW_X86_64_RSI] = "esi", [SW_X86_64_RDI] = "edi",
		[SW_X86_64_RBP] = "ebp", [SW_X86_64_RSP] = "esp", [SW_X86_64_RA] = "ra",
	};
	return number < SW_ARRAY_SIZE(names) && names[number] != NULL ? names[number] : "e?";
}

bool sw_i386_slot(const uint8_t *code, uint8_t modrm, uint64_t *ret_slot_avma)
{
	uint32_t slot_avma;
	/* *disp32; what counts from ebx, as PLT entries of libraries do, is not known by the code alone. */
	if (code[0] != 0xff || code[1] != modrm)
		return false;
	memcpy(&slot_avma, code + 2, sizeof(slot_avma));
	*ret_slot_avma = slot_avma;
	return true;
}

bool sw_i386_sets_fp(const uint8_t *code)
{
	return (code[0] == 0x89 && code[1] == 0xe5) || (code[0] == 0x8b && code[1] == 0xec);
}

/* glibc 2.36 sysdeps/unix/sysv/linux/i386/libc_sigaction.c, musl 1.2.3 src/signal/i386/restore.s and
 * Linux 6.1 arch/x86/entry/vdso/vdso32/sigreturn.S write them so. */
enum sw_known_code sw_i386_sigreturn(struct sw_memory code, uint64_t pc)
{
	static const uint8_t rt[] = {0xb8, 0xad, 0, 0, 0,  /* mov $__NR_rt_sigreturn,%eax */
				     0xcd, 0x80};          /* int $0x80 */
	static const uint8_t old[] = {0x58,                /* pop %eax */
				      0xb8, 0x77, 0, 0, 0, /* mov $__NR_sigreturn,%eax */
				      0xcd, 0x80};
	uint8_t bytes[sizeof(old)];
	if (sw_memory_read(code, pc, bytes, sizeof(rt)) && memcmp(bytes, rt, sizeof(rt)) == 0)
		return SW_CODE_SIGRETURN;
	if (sw_memory_read(code, pc, bytes, sizeof(old)) && memcmp(bytes, old, sizeof(old)) == 0)
		return SW_CODE_SIGRETURN_OLD;
	return SW_CODE_UNKNOWN;
}

/*
 * The memory that sp points at when a handler has returned: the signal, then
 *	old	struct sigcontext_32
 *	rt	two pointers, siginfo (128 bytes), struct ucontext_ia32: flags, link, stack (20 bytes),
 *		struct sigcontext_32
 * Source: Linux 6.1, arch/x86/include/asm/sigframe.h, arch/x86/include/asm/ia32.h and
 * arch/x86/include/uapi/asm/sigcontext.h.
 */
int sw_i386_sigframe_place(enum sw_known_code code, unsigned number)
{
	enum { OLD_OFF = 4, RT_OFF = 4 + 8 + 128 + 20 };
	static const uint8_t offsets[SW_REGS_MAX] = {
		[SW_X86_64_RDI] = 16, [SW_X86_64_RSI] = 20, [SW_X86_64_RBP] = 24,
		[SW_X86_64_RSP] = 28, [SW_X86_64_RBX] = 32, [SW_X86_64_RDX] = 36,
		[SW_X86_64_RCX] = 40, [SW_X86_64_RAX] = 44, [SW_X86_64_RA] = 56,
	};
	if (number >= SW_REGS_MAX || offsets[number] == 0)
		return -1;
	return (code == SW_CODE_SIGRETURN_OLD ? OLD_OFF : RT_OFF) + offsets[number];
}
