/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_PROBE_H
#define SW_JIT_LIBGCC_PROBE_H

#include "jit/common/source.h"

/* Adds the roots of a copy of libgcc; their detail is its kind (jit/libgcc/list.h). */
void sw_jit_libgcc_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe);

#endif
