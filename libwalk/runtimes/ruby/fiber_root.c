/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The native stack of a fiber begins with 0 where its first function would return to, which by itself proves
 * no end; that the memory is a fiber's, and that this is its first word, does.
 *
 * Source: coroutine/amd64/Context.h (coroutine_initialize()) of Ruby 3.1.2 and 3.3.8.
 */
#include "runtimes/ruby/fiber_root.h"
#include "arch/arch.h"
#include "cfi/find.h"
#include "native/rule_step.h"
#include "runtimes/ruby/chain.h"
#include "runtimes/ruby/fibers.h"

enum { FIRST_BYTES_MAX = 4096 /* of the first function's frame */ };

/* Where the machine stack begins, if the cursor may be in its first function. */
static bool begin_find(struct sw_ruby *ruby, const struct sw_cursor *cursor, uint64_t *ret)
{
	struct sw_ruby_stack stack;
	struct sw_ruby_fiber fiber;
	uint64_t sp = cursor->regs.sp_avma;
	if (!sw_ruby_chain_stack(ruby, cursor->thread, &stack) || sp >= stack.values_avma ||
	    stack.values_avma - sp > FIRST_BYTES_MAX ||
	    !sw_ruby_fiber_of(&ruby->vm, ruby->snap, &stack, &fiber) || sp < fiber.start_avma)
		return false;
	*ret = stack.values_avma;
	return true;
}

enum sw_step sw_ruby_fiber_root_step(struct sw_ruby *ruby, struct sw_cursor *cursor,
				     struct sw_stepped *ret)
{
	const struct sw_place *place = cursor->place;
	const struct sw_cfi_rule *rule;
	struct sw_stepped stepped = *ret;
	uint64_t begin, word;
	if (ruby->found.layout == NULL || place != ruby->found.place || place->resolved != 1 ||
	    !begin_find(ruby, cursor, &begin) ||
	    !sw_memory_u64(cursor->memory, begin - SW_ARCH_WORD, &word) || word != 0)
		return SW_STEP_DECLINE;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(place->module);
	if (cfi == NULL ||
	    sw_elf_cfi_row(cfi, cursor->lookup_avma - place->bias, &rule) != SW_ELF_ROW_FOUND ||
	    sw_step_by_cfi(rule, place->bias, cursor, &stepped) != SW_STEP_OK ||
	    stepped.regs.pc_avma != 0 || stepped.regs.sp_avma != begin)
		return SW_STEP_DECLINE;
	return SW_STEP_END;
}
