/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_UNEXPORTED_H
#define SW_RUBY_UNEXPORTED_H

#include "native/tls_symbol.h"
#include "snapshot/module.h"

/*
 * Variables and fields that Ruby does not export from 3.3 on are found by the code of exported
 * functions that use them. Returns false, or 0, if the code is not as it is known.
 */

/* ruby_current_ec, by rb_thread_current(). */
bool sw_ruby_ec_find(const struct sw_elf_symbols *symbols, struct sw_tls_variable *ret);

/* The same by the code of that function at code_svma. */
bool sw_ruby_ec_in(const struct sw_elf_symbols *symbols, struct sw_bytes code, uint64_t code_svma,
		   struct sw_tls_variable *ret);

/* rb_vm_exec(): [*ret_start_svma, *ret_end_svma). */
bool sw_ruby_vm_exec_find(const struct sw_elf_symbols *symbols, struct sw_module *module,
			  uint64_t *ret_start_svma, uint64_t *ret_end_svma);

#endif
