/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TLS_RECIPE_H
#define SW_TLS_RECIPE_H

#include "copies/recipe.h"
#include "native/tls.h"

/*
 * Appends steps that set a register to the address of a thread's own variable, 0 if the thread has none, and that copy what
 * sw_tls_address() reads for it.
 *
 * @param memory  Of the running process: which module it is of.
 * @return False: the process says nonsense, or nothing yet.
 */
bool sw_tls_recipe(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		   uint8_t to, struct sw_recipe *recipe);

#endif
