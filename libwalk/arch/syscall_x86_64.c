/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/syscall.h"
#include "arch/arch.h"

unsigned sw_arch_syscall_register(bool is_32bit, unsigned argument)
{
	static const uint8_t registers[2][6] = {{SW_X86_64_RDI, SW_X86_64_RSI, SW_X86_64_RDX,
						 SW_X86_64_R10, SW_X86_64_R8, SW_X86_64_R9},
						{SW_X86_64_RBX, SW_X86_64_RCX, SW_X86_64_RDX,
						 SW_X86_64_RSI, SW_X86_64_RDI, SW_X86_64_RBP}};
	return registers[is_32bit][argument];
}
