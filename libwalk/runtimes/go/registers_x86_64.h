/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_REGISTERS_X86_64_H
#define SW_GO_REGISTERS_X86_64_H

#include "arch/arch.h"

/* crosscall2() and the like save these of C code that calls Go, upwards: src/runtime/cgo/asm_amd64.s. */
static const uint8_t SW_GO_CROSSCALL_SAVED[] = {SW_X86_64_RBX, SW_X86_64_R12, SW_X86_64_R13,
						SW_X86_64_R14, SW_X86_64_R15, SW_X86_64_RBP};

#endif
