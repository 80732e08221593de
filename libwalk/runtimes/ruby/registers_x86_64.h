/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_REGISTERS_X86_64_H
#define SW_RUBY_REGISTERS_X86_64_H

#include "arch/arch.h"

/* Where Ruby's own loop has the control frame (vm_exec.c, DECL_SC_REG), and YJIT's code (yjit_core.h of Ruby 3.1). */
enum {
	SW_RUBY_REG_CFP = SW_X86_64_R15,
	SW_RUBY_REG_YJIT_CFP = SW_X86_64_R13,
};

#endif
