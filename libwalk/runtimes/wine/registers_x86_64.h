/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_REGISTERS_X86_64_H
#define SW_WINE_REGISTERS_X86_64_H

#include "arch/arch.h"

enum {
	/* call_user_mode_callback() saves these beside the frame pointer: dlls/ntdll/unix/signal_x86_64.c. */
	SW_WINE_REG_SAVED_FIRST = SW_X86_64_R12,
	SW_WINE_REG_SAVED_LAST = SW_X86_64_R15,
	SW_WINE_REG_FIRST_CONTEXT = SW_X86_64_RBX, /* of a thread that begins */
};

#endif
