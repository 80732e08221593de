/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cfi/expr.h"
#include "fake.h"
#include "test.h"

#include <dwarf.h>

/* A frame that expressions are evaluated in: rsp 0x7000, rip 0x40100b, rbp 0x7020; rbx is lost. */
static const uint64_t stack[] = {0x1122334455667788, 0xfedcba9876543210, 0x7018, 0x401136};

static const struct fake_region regions[] = {{0x7000, stack, sizeof(stack)}};

struct frame {
	struct fake_memory fake;
	struct sw_regs regs;
	struct sw_cfi_env env;
};

static void frame_init(struct frame *f)
{
	*f = (struct frame){.fake = {.regions = regions, .n_regions = 1}};
	sw_regs_set(&f->regs, SW_ARCH_SP, 0x7000);
	sw_regs_set(&f->regs, SW_ARCH_RA, 0x40100b);
	sw_regs_set(&f->regs, SW_X86_64_RBP, 0x7020);
	f->env = (struct sw_cfi_env){.regs = &f->regs, .bias = 0x400000};
	f->env.memory = fake_memory(&f->fake);
}

#define OPS(...) \
	(const Dwarf_Op[]){__VA_ARGS__}, sizeof((const Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op)

static int compile_only(const Dwarf_Op *ops, size_t n)
{
	struct sw_arena arena = {0};
	const struct sw_cfi_expr *expr;
	int r = sw_cfi_expr_compile(ops, n, false, &arena, &expr);
	sw_arena_deinit(&arena);
	return r;
}

static enum sw_cfi_result run(struct frame *f, const Dwarf_Op *ops, size_t n, uint64_t *ret)
{
	struct sw_arena arena = {0};
	const struct sw_cfi_expr *expr;
	assert_int_equal(sw_cfi_expr_compile(ops, n, false, &arena, &expr), 0);
	enum sw_cfi_result r = sw_cfi_expr_eval(expr, &f->env, ret);
	sw_arena_deinit(&arena);
	return r;
}

/* The value of operations that must succeed. */
static uint64_t value(const Dwarf_Op *ops, size_t n)
{
	struct frame f;
	frame_init(&f);
	f.env.has_cfa = true;
	f.env.cfa = 0x7010;
	uint64_t result = 0xdead;
	assert_int_equal(run(&f, ops, n, &result), SW_CFI_OK);
	return result;
}

/* The same of a program for i386. */
static uint64_t value_32(const Dwarf_Op *ops, size_t n)
{
	struct frame f;
	struct sw_arena arena = {0};
	const struct sw_cfi_expr *expr;
	uint64_t result = 0xdead;
	frame_init(&f);
	f.env.memory = fake_memory_32(&f.fake);
	assert_int_equal(sw_cfi_expr_compile(ops, n, true, &arena, &expr), 0);
	assert_int_equal(sw_cfi_expr_eval(expr, &f.env, &result), SW_CFI_OK);
	sw_arena_deinit(&arena);
	return result;
}

/* Registers by i386's numbers, words of 4 bytes, numbers that wrap around. */
TEST(test_32_bit)
{
	const uint64_t minus_8 = (uint64_t) -8, minus_1 = (uint64_t) -1;
	assert_int_equal(value_32(OPS({DW_OP_breg4, 0x10, 0, 0})), 0x7010);    /* esp */
	assert_int_equal(value_32(OPS({DW_OP_breg5, minus_8, 0, 0})), 0x7018); /* ebp */
	assert_int_equal(value_32(OPS({DW_OP_breg4, 4, 0, 0}, {DW_OP_deref, 0, 0, 2})), 0x11223344);
	assert_int_equal(value_32(OPS({DW_OP_lit8, 0, 0, 0}, {DW_OP_const1s, (uint64_t) -16, 0, 1},
				      {DW_OP_plus, 0, 0, 3})),
			 0xfffffff8);
	assert_int_equal(value_32(OPS({DW_OP_const1s, minus_8, 0, 0}, {DW_OP_lit4, 0, 0, 2},
				      {DW_OP_shr, 0, 0, 3})),
			 0x0fffffff);
	assert_int_equal(value_32(OPS({DW_OP_const1s, minus_8, 0, 0}, {DW_OP_lit1, 0, 0, 2},
				      {DW_OP_shra, 0, 0, 3})),
			 0xfffffffc);
	assert_int_equal(value_32(OPS({DW_OP_const4u, 0x80000000, 0, 0}, {DW_OP_lit1, 0, 0, 5},
				      {DW_OP_lt, 0, 0, 6})),
			 1); /* it is negative */
	assert_int_equal(value_32(OPS({DW_OP_const4u, 0xffffffff, 0, 0}, {DW_OP_lit10, 0, 0, 5},
				      {DW_OP_mod, 0, 0, 6})),
			 5);
	assert_int_equal(value_32(OPS({DW_OP_const1s, minus_1, 0, 0})), 0xffffffff);
	/* x86-64's rip is no register there */
	struct sw_arena arena = {0};
	const struct sw_cfi_expr *expr;
	assert_int_equal(sw_cfi_expr_compile(OPS({DW_OP_breg16, 0, 0, 0}), true, &arena, &expr),
			 -SW_E_FORMAT);
	sw_arena_deinit(&arena);
}

static enum sw_cfi_result failure(const Dwarf_Op *ops, size_t n)
{
	struct frame f;
	frame_init(&f);
	uint64_t result = 0xdead;
	enum sw_cfi_result r = run(&f, ops, n, &result);
	assert_int_equal(result, 0xdead); /* written only on success */
	return r;
}

static Dwarf_Op constant(int64_t n)
{
	return (Dwarf_Op){.atom = DW_OP_consts, .number = (Dwarf_Word) n};
}

static uint64_t binary(uint8_t atom, int64_t a, int64_t b)
{
	return value(OPS(constant(a), constant(b), {.atom = atom}));
}

static uint64_t unary(uint8_t atom, int64_t a)
{
	return value(OPS(constant(a), {.atom = atom}));
}

TEST(test_arithmetic)
{
	assert_int_equal(binary(DW_OP_plus, 5, -7), (uint64_t) -2);
	assert_int_equal(binary(DW_OP_minus, 5, 7), (uint64_t) -2);
	assert_int_equal(binary(DW_OP_mul, -3, 7), (uint64_t) -21);
	assert_int_equal(binary(DW_OP_div, -21, 4), (uint64_t) -5);
	assert_int_equal(binary(DW_OP_div, INT64_MIN, -1), (uint64_t) INT64_MIN);
	assert_int_equal(binary(DW_OP_mod, 21, 4), 1);
	assert_int_equal(binary(DW_OP_mod, -1, 10), UINT64_MAX % 10); /* unsigned */
	assert_int_equal(binary(DW_OP_and, 12, 10), 8);
	assert_int_equal(binary(DW_OP_or, 12, 10), 14);
	assert_int_equal(binary(DW_OP_xor, 12, 10), 6);
	assert_int_equal(unary(DW_OP_neg, 5), (uint64_t) -5);
	assert_int_equal(unary(DW_OP_not, 5), ~UINT64_C(5));
	assert_int_equal(unary(DW_OP_abs, -5), 5);
	assert_int_equal(unary(DW_OP_abs, 5), 5);
	assert_int_equal(unary(DW_OP_abs, INT64_MIN), (uint64_t) INT64_MIN);
}

TEST(test_shifts)
{
	assert_int_equal(binary(DW_OP_shl, 1, 3), 8);
	assert_int_equal(binary(DW_OP_shl, 1, 64), 0);
	assert_int_equal(binary(DW_OP_shl, 1, -1), 0);
	assert_int_equal(binary(DW_OP_shr, -1, 60), 15);
	assert_int_equal(binary(DW_OP_shr, -1, 64), 0);
	assert_int_equal(binary(DW_OP_shra, -16, 2), (uint64_t) -4);
	assert_int_equal(binary(DW_OP_shra, -16, 200), UINT64_MAX);
}

TEST(test_comparisons_are_signed)
{
	assert_int_equal(binary(DW_OP_lt, -1, 1), 1);
	assert_int_equal(binary(DW_OP_gt, -1, 1), 0);
	assert_int_equal(binary(DW_OP_ge, 11, 11), 1);
	assert_int_equal(binary(DW_OP_le, 12, 11), 0);
	assert_int_equal(binary(DW_OP_eq, 3, 3), 1);
	assert_int_equal(binary(DW_OP_ne, 3, 3), 0);
}

TEST(test_stack_operations)
{
	Dwarf_Op one = constant(1), two = constant(2), three = constant(3);
	Dwarf_Op minus = {.atom = DW_OP_minus};
	assert_int_equal(value(OPS(one, two, {.atom = DW_OP_swap}, minus)), 1);
	assert_int_equal(value(OPS(three, {.atom = DW_OP_dup}, {.atom = DW_OP_mul})), 9);
	assert_int_equal(value(OPS(one, two, {.atom = DW_OP_over})), 1);
	assert_int_equal(value(OPS(one, two, {.atom = DW_OP_drop})), 1);
	assert_int_equal(value(OPS(one, two, three, {.atom = DW_OP_pick, .number = 2})), 1);
	assert_int_equal(value(OPS(one, two, three, {.atom = DW_OP_pick, .number = 0})), 3);
	/* 1 2 3 -> rot -> 3 1 2 (top last): 2 is on top, then 1, then 3 */
	Dwarf_Op rot = {.atom = DW_OP_rot};
	assert_int_equal(value(OPS(one, two, three, rot)), 2);
	assert_int_equal(value(OPS(one, two, three, rot, {.atom = DW_OP_drop})), 1);
	assert_int_equal(value(OPS(one, two, three, rot, {.atom = DW_OP_drop},
				   {.atom = DW_OP_drop})),
			 3);
}

TEST(test_registers_and_constants)
{
	assert_int_equal(value(OPS({.atom = DW_OP_lit31})), 31);
	assert_int_equal(value(OPS({.atom = DW_OP_const1u, .number = 200})), 200);
	assert_int_equal(value(OPS({.atom = DW_OP_breg7, .number = 8})), 0x7008);
	assert_int_equal(value(OPS({.atom = DW_OP_breg6, .number = (Dwarf_Word) -16})), 0x7010);
	assert_int_equal(value(OPS({.atom = DW_OP_bregx, .number = 16, .number2 = 5})), 0x401010);
	assert_int_equal(value(OPS({.atom = DW_OP_regx, .number = 6})), 0x7020);
	/* wasmtime's fiber switch: a register location where a value is meant */
	assert_int_equal(value(OPS({.atom = DW_OP_reg6})), 0x7020);
	assert_int_equal(value(OPS({.atom = DW_OP_addr, .number = 0x1234})), 0x401234);
	assert_int_equal(value(OPS({.atom = DW_OP_call_frame_cfa},
				   {.atom = DW_OP_plus_uconst, .number = (Dwarf_Word) -8})),
			 0x7008);
}

TEST(test_memory)
{
	assert_int_equal(value(OPS({.atom = DW_OP_breg7, .number = 8}, {.atom = DW_OP_deref})),
			 0xfedcba9876543210);
	for (int size = 1; size <= 8; size *= 2)
		assert_int_equal(value(OPS({.atom = DW_OP_breg7}, {.atom = DW_OP_deref_size,
								   .number = (Dwarf_Word) size})),
				 size == 8
					 ? 0x1122334455667788
					 : 0x1122334455667788 & ((UINT64_C(1) << (8 * size)) - 1));
}

/*
 * The .plt entry of every lazily bound program (binutils 2.40, elf_x86_64_eh_frame_plt):
 *	40100b:	push $index	after it, at +11, CFA is 8 further
 *	CFA = rsp + 8 + ((rip & 15) >= 11) * 8
 */
TEST(test_plt)
{
	const Dwarf_Op ops[] = {
		{.atom = DW_OP_breg7, .number = 8, .offset = 0},
		{.atom = DW_OP_breg16, .offset = 2},
		{.atom = DW_OP_lit15, .offset = 4},
		{.atom = DW_OP_and, .offset = 5},
		{.atom = DW_OP_lit11, .offset = 6},
		{.atom = DW_OP_ge, .offset = 7},
		{.atom = DW_OP_lit3, .offset = 8},
		{.atom = DW_OP_shl, .offset = 9},
		{.atom = DW_OP_plus, .offset = 10},
	};
	struct frame f;
	frame_init(&f);
	uint64_t cfa;
	assert_int_equal(run(&f, ops, 9, &cfa), SW_CFI_OK);
	assert_int_equal(cfa, 0x7010);
	sw_regs_set(&f.regs, SW_ARCH_RA, 0x40100a);
	assert_int_equal(run(&f, ops, 9, &cfa), SW_CFI_OK);
	assert_int_equal(cfa, 0x7008);
}

TEST(test_branches)
{
	/* 0: lit N; 1: bra +4 -> 8; 4: lit7; 5: skip +1 -> 9; 8: lit9; 9: nop */
	for (unsigned taken = 0; taken < 2; taken++) {
		const Dwarf_Op ops[] = {
			{.atom = (uint8_t) (DW_OP_lit0 + taken), .offset = 0},
			{.atom = DW_OP_bra, .number = 4, .offset = 1},
			{.atom = DW_OP_lit7, .offset = 4},
			{.atom = DW_OP_skip, .number = 1, .offset = 5},
			{.atom = DW_OP_lit9, .offset = 8},
			{.atom = DW_OP_nop, .offset = 9},
		};
		assert_int_equal(value(ops, 6), taken ? 9 : 7);
	}
	/* a loop that counts down: lit3; 1: lit1 minus dup bra -> 1 */
	const Dwarf_Op loop[] = {
		{.atom = DW_OP_lit3, .offset = 0},
		{.atom = DW_OP_lit1, .offset = 1},
		{.atom = DW_OP_minus, .offset = 2},
		{.atom = DW_OP_dup, .offset = 3},
		{.atom = DW_OP_bra, .number = (uint16_t) -6, .offset = 4},
	};
	assert_int_equal(value(loop, 5), 0);
}

TEST(test_limits)
{
	/* skip to itself: for ever */
	const Dwarf_Op forever[] = {{.atom = DW_OP_lit0, .offset = 0},
				    {.atom = DW_OP_skip, .number = (uint16_t) -3, .offset = 1}};
	assert_int_equal(failure(forever, 2), SW_CFI_BAD);
	Dwarf_Op deep[SW_CFI_EXPR_STACK_MAX + 1];
	for (size_t i = 0; i < SW_CFI_EXPR_STACK_MAX + 1; i++)
		deep[i] = (Dwarf_Op){.atom = DW_OP_lit1, .offset = i};
	assert_int_equal(value(deep, SW_CFI_EXPR_STACK_MAX), 1);
	assert_int_equal(failure(deep, SW_CFI_EXPR_STACK_MAX + 1), SW_CFI_BAD);
	static Dwarf_Op many[SW_CFI_EXPR_OPS_MAX + 1];
	for (size_t i = 0; i < SW_CFI_EXPR_OPS_MAX + 1; i++)
		many[i] = (Dwarf_Op){.atom = DW_OP_nop, .offset = i};
	assert_int_equal(compile_only(many, SW_CFI_EXPR_OPS_MAX + 1), -SW_E_LIMIT);
}

TEST(test_failures)
{
	assert_int_equal(failure(OPS({.atom = DW_OP_plus})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_lit1}, {.atom = DW_OP_swap})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_drop})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_bra, .number = 0})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_deref})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_nop})), SW_CFI_BAD); /* no value */
	assert_int_equal(failure(OPS({.atom = DW_OP_pick, .number = 0})), SW_CFI_BAD);
	assert_int_equal(failure(OPS(constant(1), constant(0), {.atom = DW_OP_div})), SW_CFI_BAD);
	assert_int_equal(failure(OPS(constant(1), constant(0), {.atom = DW_OP_mod})), SW_CFI_BAD);
	/* the CFA is not known while it is being computed */
	assert_int_equal(failure(OPS({.atom = DW_OP_call_frame_cfa})), SW_CFI_BAD);
	assert_int_equal(failure(OPS({.atom = DW_OP_breg3})), SW_CFI_UNKNOWN_REG);

	struct frame f;
	frame_init(&f);
	uint64_t result;
	assert_int_equal(run(&f, OPS({.atom = DW_OP_breg7, .number = 32}, {.atom = DW_OP_deref}),
			     &result),
			 SW_CFI_UNREADABLE);
	assert_int_equal(f.env.fault_avma, 0x7020);
}

TEST(test_refused_when_compiled)
{
	assert_int_equal(compile_only(NULL, 0), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_fbreg})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_form_tls_address})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_GNU_encoded_addr})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_breg17})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_bregx, .number = 17})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_regx, .number = UINT64_MAX})),
			 -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_deref_size, .number = 3})), -SW_E_FORMAT);
	assert_int_equal(compile_only(OPS({.atom = DW_OP_deref_size, .number = 16})), -SW_E_FORMAT);
	/* into the middle of an operation */
	assert_int_equal(compile_only(OPS({.atom = DW_OP_skip, .number = 1, .offset = 0},
					  {.atom = DW_OP_const4u, .offset = 3},
					  {.atom = DW_OP_nop, .offset = 8})),
			 -SW_E_FORMAT);
}

TEST(test_print)
{
	const Dwarf_Op ops[] = {
		{.atom = DW_OP_breg7, .number = 8, .offset = 0},
		{.atom = DW_OP_breg16, .offset = 2},
		{.atom = DW_OP_lit15, .offset = 4},
		{.atom = DW_OP_and, .offset = 5},
		{.atom = DW_OP_deref, .offset = 6},
		{.atom = DW_OP_plus_uconst, .number = (Dwarf_Word) -4, .offset = 7},
	};
	struct sw_arena arena = {0};
	const struct sw_cfi_expr *expr;
	assert_int_equal(sw_cfi_expr_compile(ops, 6, false, &arena, &expr), 0);
	struct sw_text text = {0};
	sw_cfi_expr_print(expr, &text);
	assert_string_equal(text.data, "rsp+8 ra 15 and deref8 -4");
	sw_text_deinit(&text);
	sw_arena_deinit(&arena);
}
