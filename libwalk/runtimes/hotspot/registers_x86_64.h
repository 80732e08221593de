/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_REGISTERS_X86_64_H
#define SW_HOTSPOT_REGISTERS_X86_64_H

#include "arch/arch.h"

/* src/hotspot/cpu/x86/register_x86.hpp, interp_masm_x86.hpp and stubGenerator_x86_64.cpp of jdk-17 and 25. */
enum {
	SW_HOTSPOT_REG_METHOD = SW_X86_64_RBX,   /* at the entry of an interpreted method */
	SW_HOTSPOT_REG_BYTECODE = SW_X86_64_R13, /* in interpreted code */
};

/* The call stub saves these, from its first word downwards. */
static const uint8_t SW_HOTSPOT_CALL_STUB_SAVED[] = {SW_X86_64_RBX, SW_X86_64_R12, SW_X86_64_R13,
						     SW_X86_64_R14, SW_X86_64_R15};

#endif
