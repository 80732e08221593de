/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PE_CASE_H
#define PE_CASE_H

#include "arch/arch.h"
#include "fake.h"
#include "pe/info.h"
#include "pe/rule.h"

/*
 * Unwind information made of literals: an image at PE_BASE with code at PE_CODE and unwind
 * information at PE_INFO, and a stack at PE_STACK.
 *
 *	struct pe_case c;
 *	pe_case_init(&c, (const uint8_t[]){...}, n, (const uint8_t[]){...}, n);
 *	pe_case_stack(&c, (const uint64_t[]){...}, n);
 *	pe_case_step(&c, 5)				at PE_CODE + 5; c.ret has the caller
 */
enum {
	PE_BASE = 0x140000000,
	PE_CODE = 0x1000, /* RVAs */
	PE_INFO = 0x2000,
	PE_STACK = 0x7000,
	PE_CODE_BYTES = 0x100, /* of the function, and how many there are */
	PE_IMAGE_BYTES = 0x3000,
	PE_STACK_WORDS = 64,
};

struct pe_case {
	uint8_t image[PE_IMAGE_BYTES];
	uint64_t stack[PE_STACK_WORDS];
	struct fake_region regions[2];
	struct fake_memory fake;
	struct sw_pe_env env;
	struct sw_pe_function function;
	struct sw_regs regs, ret;
};

/* Registers are 0xa0 + their DWARF number, rsp is PE_STACK; the pc is exact. */
void pe_case_init(struct pe_case *c, const uint8_t *code, size_t n_code, const uint8_t *info,
		  size_t n_info);
/* Further information at an RVA. */
void pe_case_bytes(struct pe_case *c, uint32_t rva, const uint8_t *bytes, size_t n);
void pe_case_stack(struct pe_case *c, const uint64_t *words, size_t n);

enum sw_pe_result pe_case_step(struct pe_case *c, uint32_t offset);

/* The value of a register that must be known. */
uint64_t pe_case_reg(const struct pe_case *c, unsigned number);

#define PE_BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define PE_WORDS(...) \
	(const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
/* A slot, and the 12 bytes of a function entry. */
#define PE_SLOT(offset, op, info)  (offset), (uint8_t) ((info) << 4 | (op))
#define PE_U16(value)              (uint8_t)(value), (uint8_t) ((value) >> 8)
#define PE_U32(value)              PE_U16(value), PE_U16((value) >> 16)
#define PE_ENTRY(begin, end, info) PE_U32(begin), PE_U32(end), PE_U32(info)

#endif
