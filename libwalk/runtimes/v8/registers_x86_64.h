/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_REGISTERS_X86_64_H
#define SW_V8_REGISTERS_X86_64_H

#include "arch/arch.h"

/* src/codegen/x64/register-x64.h, src/codegen/x64/interface-descriptors-x64.cc: what calls pass. */
enum {
	SW_V8_REG_FUNCTION = SW_X86_64_RDI,
	SW_V8_REG_INSTANCE = SW_X86_64_RSI, /* of WebAssembly */
};

/* JSEntry saves these, from its first word downwards: src/builtins/x64/builtins-x64.cc, Generate_JSEntryVariant(). */
static const uint8_t SW_V8_ENTRY_SAVED[] = {SW_X86_64_R12, SW_X86_64_R13, SW_X86_64_R14,
					    SW_X86_64_R15, SW_X86_64_RBX};

#endif
