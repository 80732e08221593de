/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cfi/rule.h"
#include "elf_image.h"
#include "fake.h"
#include "test.h"

/* A function of 16 bytes with the rows under test, through libdw as in real life. */
struct fixture {
	uint8_t *image;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct sw_arena arena;
	const struct sw_cfi_rule *rule;
};

static int compile(struct fixture *f, const struct image_fde *fde, unsigned at)
{
	*f = (struct fixture){.image = NULL};
	f->image = elf_image(&(struct image_parts){.fdes = fde, .n_fdes = 1});
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	f->elf = elf_memory((char *) f->image, IMAGE_BYTES);
	f->cfi = dwarf_getcfi_elf(f->elf);
	assert_non_null(f->cfi);
	Dwarf_Frame *frame;
	assert_int_equal(dwarf_cfi_addrframe(f->cfi, IMAGE_CODE + at, &frame), 0);
	int r = sw_cfi_rule_compile(frame, false, false, &f->arena, &f->rule);
	free(frame);
	return r;
}

static void fixture_deinit(struct fixture *f)
{
	sw_arena_deinit(&f->arena);
	dwarf_cfi_end(f->cfi);
	elf_end(f->elf);
	free(f->image);
}

#define FUNCTION(...)                                          \
	&(const struct image_fde)                              \
	{                                                      \
		.start = 0, .end = 16, IMAGE_ROWS(__VA_ARGS__) \
	}

static enum sw_cfi_result apply(const struct sw_cfi_rule *rule, const struct sw_regs *regs,
				const uint64_t *stack, size_t bytes, struct sw_regs *ret,
				uint64_t *ret_fault)
{
	const struct fake_region region = {0x7000, stack, bytes};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	struct sw_cfi_env env = {.regs = regs, .memory = fake_memory(&fake)};
	enum sw_cfi_result r = sw_cfi_rule_apply(rule, &env, ret);
	*ret_fault = env.fault_avma;
	return r;
}

static struct sw_regs registers(void)
{
	struct sw_regs regs = {0};
	for (unsigned i = 0; i < SW_ARCH_RA; i++)
		sw_regs_set(&regs, i, 0xa0 + i);
	sw_regs_set(&regs, SW_ARCH_SP, 0x7000);
	sw_regs_set(&regs, SW_X86_64_RBP, 0x7018);
	sw_regs_set(&regs, SW_ARCH_RA, IMAGE_CODE + 4);
	return regs;
}

static uint64_t reg(const struct sw_regs *regs, unsigned number)
{
	uint64_t value = 0;
	assert_true(sw_regs_get(regs, number, &value));
	return value;
}

static void print_is(const struct sw_cfi_rule *rule, const char *expected)
{
	struct sw_text text = {0};
	sw_cfi_rule_print(rule, &text);
	assert_string_equal(text.data, expected);
	sw_text_deinit(&text);
}

/*
 *	0: push %rbp      row 1: CFA = rsp+16, rbp = [CFA-16]
 *	1: mov %rsp,%rbp
 *	4: ...            row 4: CFA = rbp+16
 */
static const struct image_fde prologue = {
	.start = 0,
	.end = 16,
	IMAGE_ROWS(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6),
};

TEST(test_rows_of_a_prologue)
{
	static const uint64_t at_entry[] = {0x401136};
	static const uint64_t pushed[] = {0x7100, 0x401136};
	static const uint64_t in_body[] = {0, 0, 0, 0x7100, 0x401136};
	struct sw_regs regs = registers(), caller;
	struct fixture f;
	uint64_t fault;

	assert_int_equal(compile(&f, &prologue, 0), 0);
	print_is(f.rule, "CFA = rsp+8, ra = [CFA-8]");
	assert_int_equal(f.rule->start_svma, IMAGE_CODE);
	assert_int_equal(f.rule->end_svma, IMAGE_CODE + 1);
	assert_false(f.rule->signal);
	assert_int_equal(apply(f.rule, &regs, at_entry, sizeof(at_entry), &caller, &fault),
			 SW_CFI_OK);
	assert_int_equal(caller.pc_avma, 0x401136);
	assert_int_equal(caller.sp_avma, 0x7008);
	assert_int_equal(reg(&caller, SW_X86_64_RBP), 0x7018);
	fixture_deinit(&f);

	assert_int_equal(compile(&f, &prologue, 1), 0);
	print_is(f.rule, "CFA = rsp+16, rbp = [CFA-16], ra = [CFA-8]");
	assert_int_equal(apply(f.rule, &regs, pushed, sizeof(pushed), &caller, &fault), SW_CFI_OK);
	assert_int_equal(caller.pc_avma, 0x401136);
	assert_int_equal(caller.sp_avma, 0x7010);
	assert_int_equal(reg(&caller, SW_X86_64_RBP), 0x7100);
	fixture_deinit(&f);

	assert_int_equal(compile(&f, &prologue, 4), 0);
	print_is(f.rule, "CFA = rbp+16, rbp = [CFA-16], ra = [CFA-8]");
	assert_int_equal(apply(f.rule, &regs, in_body, sizeof(in_body), &caller, &fault),
			 SW_CFI_OK);
	assert_int_equal(caller.pc_avma, 0x401136);
	assert_int_equal(caller.sp_avma, 0x7028);
	assert_int_equal(reg(&caller, SW_X86_64_RBP), 0x7100);
	fixture_deinit(&f);
}

/* The registers that the callee must leave alone are known in the caller, all others are not. */
TEST(test_what_survives)
{
	static const uint64_t stack[] = {0x401136};
	struct sw_regs regs = registers(), caller;
	sw_regs_forget(&regs, SW_X86_64_R15);
	struct fixture f;
	uint64_t fault;
	assert_int_equal(compile(&f, FUNCTION(0), 0), 0);
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault), SW_CFI_OK);
	/* rbx rbp rsp r12 r13 r14 ra; r15 was lost before; rax is not preserved */
	assert_int_equal(caller.known, 1u << 3 | 1u << 6 | 1u << 7 | 0x7000 | 1u << 16);
	assert_int_equal(reg(&caller, SW_X86_64_RBX), 0xa3);
	fixture_deinit(&f);
}

TEST(test_every_kind_of_rule)
{
	/*	7000: 0x11  7008: 0x22  7010: 0x7000  7018: 0x401136 */
	static const uint64_t stack[] = {0x11, 0x22, 0x7000, 0x401136};
	struct sw_regs regs = registers(), caller;
	struct fixture f;
	uint64_t fault;
	assert_int_equal(compile(&f,
				 FUNCTION(0x0e, 32,             /* CFA = rsp+32 */
					  0x83, 4,              /* rbx = [CFA-32] */
					  0x14, 6, 2,           /* rbp = CFA-16, by value */
					  0x09, 12, 1,          /* r12 = rdx */
					  0x10, 13, 2, 0x77, 8, /* r13 = [rsp+8] */
					  0x16, 14, 2, 0x77, 9, /* r14 = rsp+9 */
					  0x07, 15,             /* r15: undefined */
					  0x08, 5),             /* rdi: same, but see below */
				 0),
			 0);
	print_is(f.rule, "CFA = rsp+32, rbx = [CFA-32], rbp = CFA-16, r12 = rdx, "
			 "r13 = [(cfa rsp+8)], r14 = (cfa rsp+9), ra = [CFA-8]");
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault), SW_CFI_OK);
	assert_int_equal(reg(&caller, SW_X86_64_RBX), 0x11);
	assert_int_equal(reg(&caller, SW_X86_64_RBP), 0x7010);
	assert_int_equal(reg(&caller, 12), 0xa1);
	assert_int_equal(reg(&caller, 13), 0x22);
	assert_int_equal(reg(&caller, 14), 0x7009);
	assert_int_equal(caller.sp_avma, 0x7020);
	assert_int_equal(caller.pc_avma, 0x401136);
	uint64_t value;
	assert_false(sw_regs_get(&caller, 15, &value));
	assert_false(sw_regs_get(&caller, SW_X86_64_RDI, &value));
	fixture_deinit(&f);
}

/*
 * A stack switch, as Wine's dispatcher describes its own: CFA by an expression, and a rule for rsp
 * that differs from the CFA.
 */
TEST(test_rsp_has_its_own_rule)
{
	/*	7000: frame  7008: 0x9000 (other stack)  7010: 0x14000139a (pc there) */
	static const uint64_t stack[] = {0x7018, 0x9000, 0x14000139a};
	struct sw_regs regs = registers(), caller;
	struct fixture f;
	uint64_t fault;
	assert_int_equal(compile(&f,
				 FUNCTION(0x0f, 3, 0x76, 0x68, 0x06, /* CFA = [rbp-24] */
					  0x10, 7, 2, 0x76, 0x70,    /* rsp = [rbp-16] */
					  0x10, 16, 2, 0x76, 0x78),  /* ra = [rbp-8] */
				 0),
			 0);
	print_is(f.rule, "CFA = (rbp-24 deref8), rsp = [(cfa rbp-16)], ra = [(cfa rbp-8)]");
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault), SW_CFI_OK);
	assert_int_equal(caller.sp_avma, 0x9000);
	assert_int_equal(caller.pc_avma, 0x14000139a);
	fixture_deinit(&f);
}

TEST(test_undefined_return_address_is_the_end)
{
	struct sw_regs regs = registers(), caller = {.known = 77};
	struct fixture f;
	uint64_t fault;
	assert_int_equal(compile(&f, FUNCTION(0x07, 16), 0), 0);
	print_is(f.rule, "ra is undefined: the first frame");
	assert_int_equal(apply(f.rule, &regs, NULL, 0, &caller, &fault), SW_CFI_END);
	assert_int_equal(caller.known, 77); /* untouched */
	fixture_deinit(&f);
}

/* An FDE that says nothing (LuaJIT registers one) is as good as none; one that gives a CFA but no
 * return address is no proof that the stack ends. */
TEST(test_empty_rows)
{
	struct fixture f;
	const struct image_fde nothing = {.start = 0, .end = 16, .empty_cie = true};
	assert_int_equal(compile(&f, &nothing, 0), -SW_E_NOT_FOUND);
	fixture_deinit(&f);
	const struct image_fde only_cfa = {.start = 0,
					   .end = 16,
					   .empty_cie = true,
					   IMAGE_ROWS(0x0c, 7, 8)};
	assert_int_equal(compile(&f, &only_cfa, 0), -SW_E_FORMAT);
	fixture_deinit(&f);
}

TEST(test_signal_frame)
{
	struct fixture f;
	const struct image_fde fde = {.start = 0, .end = 16, .signal = true};
	assert_int_equal(compile(&f, &fde, 0), 0);
	assert_true(f.rule->signal);
	fixture_deinit(&f);
}

TEST(test_failures)
{
	static const uint64_t stack[] = {0x401136};
	struct sw_regs regs = registers(), caller;
	struct fixture f;
	uint64_t fault;
	/* the return address lies outside of memory */
	assert_int_equal(compile(&f, FUNCTION(0x0e, 64), 0), 0);
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault),
			 SW_CFI_UNREADABLE);
	assert_int_equal(fault, 0x7038);
	fixture_deinit(&f);
	/* another register's place does: it is lost, the frame is not */
	assert_int_equal(compile(&f, FUNCTION(0x83, 9), 0), 0);
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault), SW_CFI_OK);
	uint64_t value;
	assert_false(sw_regs_get(&caller, SW_X86_64_RBX, &value));
	fixture_deinit(&f);
	/* CFA = rbp+16, but rbp was lost */
	assert_int_equal(compile(&f, FUNCTION(0x0c, 6, 16), 0), 0);
	sw_regs_forget(&regs, SW_X86_64_RBP);
	assert_int_equal(apply(f.rule, &regs, stack, sizeof(stack), &caller, &fault),
			 SW_CFI_UNKNOWN_REG);
	fixture_deinit(&f);
	/* expressions that cannot be in call frame information: fbreg */
	assert_int_equal(compile(&f, FUNCTION(0x0f, 2, 0x91, 0), 0), -SW_E_FORMAT);
	fixture_deinit(&f);
}

/* The kernel's frame: rsp -> uc_flags uc_link uc_stack[3] r8..r15 rdi rsi rbp rbx rdx rax rcx rsp
 * rip. */
TEST(test_sigreturn)
{
	static const uint64_t stack[] = {1,  0,  0,  0,  0,      8,  9,  10, 11, 12,     13,
					 14, 15, 50, 60, 0x7f00, 30, 10, 0,  20, 0x7e00, 0x401140};
	struct sw_arena arena = {0};
	const struct sw_cfi_rule *rule;
	assert_int_equal(sw_cfi_rule_sigreturn(SW_CODE_SIGRETURN, false, &arena, &rule), 0);
	assert_true(rule->signal);
	struct sw_regs regs = registers(), caller;
	uint64_t fault;
	assert_int_equal(apply(rule, &regs, stack, sizeof(stack), &caller, &fault), SW_CFI_OK);
	static const uint64_t expected[SW_REGS_MAX] = {0, 10, 20, 30, 60, 50, 0x7f00, 0x7e00,  8,
						       9, 10, 11, 12, 13, 14, 15,     0x401140};
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		assert_int_equal(reg(&caller, i), expected[i]);
	sw_arena_deinit(&arena);
}

/* i386's: esp -> the signal, two pointers, siginfo (128 bytes), uc_flags uc_link uc_stack[3], gs fs
 * es ds edi esi ebp esp ebx edx ecx eax trapno err eip. The words behind are not read. */
TEST(test_sigreturn_32)
{
	uint32_t stack[3 + 32 + 5 + 15] = {0};
	static const uint32_t saved[] = {50, 40,         0x7f00, 0xfff01000, 30,       10,
					 20, 0xffffffff, 0,      0,          0x8049123};
	memcpy(stack + 3 + 32 + 5 + 4, saved, sizeof(saved));
	struct sw_arena arena = {0};
	const struct sw_cfi_rule *rule;
	assert_int_equal(sw_cfi_rule_sigreturn(SW_CODE_SIGRETURN, true, &arena, &rule), 0);
	struct sw_regs regs = registers(), caller;
	const struct fake_region region = {0x7000, stack, sizeof(stack)};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	struct sw_cfi_env env = {.regs = &regs, .memory = fake_memory_32(&fake)};
	assert_int_equal(sw_cfi_rule_apply(rule, &env, &caller), SW_CFI_OK);
	assert_int_equal(caller.pc_avma, 0x8049123);
	assert_int_equal(caller.sp_avma, 0xfff01000);
	assert_int_equal(reg(&caller, SW_X86_64_RAX), 0xffffffff);
	assert_int_equal(reg(&caller, SW_X86_64_RDX), 10);
	assert_int_equal(reg(&caller, SW_X86_64_RSI), 40);
	assert_int_equal(reg(&caller, SW_X86_64_RBP), 0x7f00);
	print_is(rule, "CFA = esp+0, eax = [CFA+204], edx = [CFA+196], ecx = [CFA+200], "
		       "ebx = [CFA+192], esi = [CFA+180], edi = [CFA+176], ebp = [CFA+184], "
		       "esp = [CFA+188], ra = [CFA+216]");
	sw_arena_deinit(&arena);
}
