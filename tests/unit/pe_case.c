/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

void pe_case_bytes(struct pe_case *c, uint32_t rva, const uint8_t *bytes, size_t n)
{
	assert_true(rva + n <= sizeof(c->image));
	memcpy(c->image + rva, bytes, n);
}

void pe_case_stack(struct pe_case *c, const uint64_t *words, size_t n)
{
	assert_true(n <= PE_STACK_WORDS);
	memcpy(c->stack, words, n * sizeof(*words));
	c->regions[1].size = n * sizeof(*words);
}

void pe_case_init(struct pe_case *c, const uint8_t *code, size_t n_code, const uint8_t *info,
		  size_t n_info)
{
	*c = (struct pe_case){
		.function = {PE_CODE, PE_CODE + PE_CODE_BYTES, PE_INFO},
		.env = {.base_avma = PE_BASE, .rules = SW_PE_WINDOWS, .exact_pc = true},
	};
	c->regions[0] = (struct fake_region){PE_BASE, c->image, sizeof(c->image)};
	c->regions[1] = (struct fake_region){PE_STACK, c->stack, 0};
	c->fake = (struct fake_memory){.regions = c->regions, .n_regions = 2};
	c->env.memory = fake_memory(&c->fake);
	memset(c->image + PE_CODE, 0x90, PE_CODE_BYTES);
	if (n_code > 0)
		pe_case_bytes(c, PE_CODE, code, n_code);
	pe_case_bytes(c, PE_INFO, info, n_info);
	for (unsigned i = 0; i < SW_ARCH_RA; i++)
		sw_regs_set(&c->regs, i, 0xa0 + i);
	sw_regs_set(&c->regs, SW_ARCH_SP, PE_STACK);
}

enum sw_pe_result pe_case_step(struct pe_case *c, uint32_t offset)
{
	sw_regs_set(&c->regs, SW_ARCH_RA, PE_BASE + PE_CODE + offset);
	c->env.why = NULL;
	c->env.fault_avma = 0;
	memset(&c->ret, 0x5a, sizeof(c->ret));
	return sw_pe_step(&c->env, &c->function, &c->regs, &c->ret);
}

uint64_t pe_case_reg(const struct pe_case *c, unsigned number)
{
	uint64_t value = 0;
	assert_true(sw_regs_get(&c->ret, number, &value));
	return value;
}
