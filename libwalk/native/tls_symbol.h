/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TLS_SYMBOL_H
#define SW_TLS_SYMBOL_H

#include "formats/elf_symbol.h"
#include "native/tls.h"

/* False: there is no such variable, or nothing says where it is. */
bool sw_tls_find(const struct sw_elf_symbols *symbols, const char *name,
		 struct sw_tls_variable *ret);

/* A variable of a program, by the value of its symbol. False: it is a library, or has no such variable. */
bool sw_tls_of_program(const struct sw_elf *elf, uint64_t svma, struct sw_tls_variable *ret);

/*
 * A variable of a library by the pair in its GOT, which a relocation fills with the library's own module:
 * that of one variable (offset 0), or of all of them. False: there is no such pair.
 */
bool sw_tls_of_pair(const struct sw_elf_symbols *symbols, uint64_t got_svma, int64_t offset,
		    struct sw_tls_variable *ret);

#endif
