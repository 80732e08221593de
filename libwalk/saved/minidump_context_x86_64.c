/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: winnt.h of Windows 10 SDK, struct _CONTEXT of AMD64 (mingw-w64 v10, the same). */
#include "saved/minidump_context.h"
#include "arch/arch.h"

enum { RAX_OFF = 0x78, RIP_OFF = 0xf8, WORD = 8, N_GENERAL = 16 };

bool sw_minidump_registers(struct sw_bytes context, struct sw_regs *ret)
{
	/* In the order of the context, from rax on. */
	static const uint8_t order[N_GENERAL] = {SW_X86_64_RAX, SW_X86_64_RCX, SW_X86_64_RDX,
						 SW_X86_64_RBX, SW_X86_64_RSP, SW_X86_64_RBP,
						 SW_X86_64_RSI, SW_X86_64_RDI, SW_X86_64_R8,
						 SW_X86_64_R9,  SW_X86_64_R10, SW_X86_64_R11,
						 SW_X86_64_R12, SW_X86_64_R13, SW_X86_64_R14,
						 SW_X86_64_R15};
	struct sw_regs regs = {0};
	uint64_t value;
	for (unsigned i = 0; i < N_GENERAL; i++) {
		if (!sw_bytes_u64(context, RAX_OFF + i * WORD, &value))
			return false;
		sw_regs_set(&regs, order[i], value);
	}
	if (!sw_bytes_u64(context, RIP_OFF, &value))
		return false;
	sw_regs_set(&regs, SW_X86_64_RA, value);
	*ret = regs;
	return true;
}
