/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_WRITTEN_H
#define SW_ARCH_WRITTEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * The general registers of which the instruction may change all or a part, as bits by their DWARF
 * numbers: all of them when that is not known. In 64-bit mode. For a CALL it is sp alone, not what
 * its callee changes; for SYSCALL the kernel's result, too.
 */
uint32_t sw_arch_written(const uint8_t *code, size_t n);

#endif
