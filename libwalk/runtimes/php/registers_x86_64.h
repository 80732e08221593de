/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_REGISTERS_X86_64_H
#define SW_PHP_REGISTERS_X86_64_H

#include "arch/arch.h"

/* Zend/zend_vm_gen.php: what execute_ex() and generated code keep in registers. */
enum {
	SW_PHP_REG_CALL = SW_X86_64_R14,   /* FP: the call that is executed */
	SW_PHP_REG_OPLINE = SW_X86_64_R15, /* IP */
};

#endif
