/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Generators among the calls of a thread. */
#include "runtimes/php/generators.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <assert.h>

uint64_t sw_php_place_holder(uint64_t avma, uint64_t func_avma, uint64_t this_avma, uint32_t info)
{
	uint64_t off = avma - this_avma;
	return func_avma == 0 && (uint8_t) info == SW_PHP_IS_OBJECT &&
			       (off == SW_PHP_GENERATOR_FAKE || off == SW_PHP_GENERATOR_FAKE_OLD)
		       ? this_avma
		       : 0;
}

/* Registers that a function saves: what it has in them its own calls leave there. */
size_t sw_php_resumers(const struct sw_php_found *found, const struct sw_thread *thread,
		       uint64_t ret_avma[static SW_PHP_RESUMERS_MAX])
{
	uint64_t svma = thread->regs.pc_avma - found->place->bias;
	size_t n = 0;
	if (svma < found->resume_svma || svma >= found->resume_end_svma)
		return 0;
	uint32_t preserved = sw_arch_preserved(false);
	for (unsigned i = 0; i < SW_REGS_MAX && n < SW_PHP_RESUMERS_MAX; i++)
		n += (preserved & UINT32_C(1) << i) != 0 &&
		     sw_regs_get(&thread->regs, i, &ret_avma[n]) && ret_avma[n] != 0;
	return n;
}
