/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_I386_H
#define SW_ARCH_I386_H

#include "arch/arch.h"

/* The answers of arch/arch.h on code, for 32-bit programs: called by its functions, which serve all
 * machines. */

const char *sw_i386_reg_name(unsigned number);

/* The word that an instruction at avma with these bytes calls or jumps through; 5 bytes are there. */
bool sw_i386_slot(const uint8_t *code, uint8_t modrm, uint64_t *ret_slot_avma);

/* Bytes of "mov %esp,%ebp". */
bool sw_i386_sets_fp(const uint8_t *code);

/* A trampoline of signals, by its instructions; SW_CODE_UNKNOWN. */
enum sw_known_code sw_i386_sigreturn(struct sw_memory code, uint64_t pc);

int sw_i386_sigframe_place(enum sw_known_code code, unsigned number);

#endif
