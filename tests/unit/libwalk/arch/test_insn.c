/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lengths are those of objdump (binutils 2.40), which decodes libc, libm and gdb like
 * sw_arch_insn(): 1,955,334 instructions, 13 not equal, all FWAIT, which objdump takes for a
 * prefix. In i386's libc, libstdc++ and a static program it decodes 958,503, 2 not equal, FWAIT
 * again. */
#include "arch/arch.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "test.h"

#define CODE(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

struct insn_case {
	uint8_t code[SW_INSN_BYTES_MAX];
	size_t length;
	enum sw_insn_op op;
	int64_t value; /* of a jump: the target, from the instruction's own address */
	uint8_t reg;
};

enum { NO = SW_INSN_NO_REG, AT = 0x1000 };

static const struct insn_case cases[] = {
	{CODE(0x90), SW_INSN_PLAIN, 0, NO},
	{CODE(0x55), SW_INSN_PUSH, 0, SW_ARCH_FP},
	{CODE(0x41, 0x57), SW_INSN_PUSH, 0, 15},
	{CODE(0x6a, 0x09), SW_INSN_PUSH, 0, NO},
	{CODE(0x68, 1, 2, 3, 4), SW_INSN_PUSH, 0, NO},
	{CODE(0xff, 0x75, 0x10), SW_INSN_PUSH, 0, NO},       /* push 0x10(%rbp) */
	{CODE(0xff, 0x74, 0x24, 0x08), SW_INSN_PUSH, 8, NO}, /* push 8(%rsp) */
	{CODE(0x41, 0xff, 0x34, 0x24), SW_INSN_PUSH, 0, NO}, /* push (%r12) */
	{CODE(0x5b), SW_INSN_POP, 0, SW_X86_64_RBX},
	{CODE(0x5d), SW_INSN_POP, 0, SW_ARCH_FP},
	{CODE(0x41, 0x5c), SW_INSN_POP, 0, 12},
	{CODE(0x5c), SW_INSN_SP_LOST, 0, SW_ARCH_SP},
	{CODE(0x48, 0x83, 0xec, 0x18), SW_INSN_SP_ADD, -0x18, NO},
	{CODE(0x48, 0x83, 0xc4, 0x18), SW_INSN_SP_ADD, 0x18, NO},
	{CODE(0x48, 0x81, 0xc4, 0x98, 0, 0, 0), SW_INSN_SP_ADD, 0x98, NO},
	{CODE(0x48, 0x83, 0xc4, 0x80), SW_INSN_SP_ADD, -0x80, NO},
	{CODE(0x48, 0x83, 0xe4, 0xf0), SW_INSN_SP_AND, -16, NO},
	{CODE(0x48, 0x83, 0xfc, 0x10), SW_INSN_PLAIN, 0, NO}, /* cmp $0x10,%rsp */
	{CODE(0x48, 0x29, 0xc4), SW_INSN_SP_LOST, 0, NO},     /* sub %rax,%rsp */
	{CODE(0x48, 0x39, 0xc4), SW_INSN_PLAIN, 0, NO},       /* cmp %rax,%rsp */
	{CODE(0x48, 0x29, 0xe0), SW_INSN_PLAIN, 0, NO},       /* sub %rsp,%rax */
	{CODE(0xf6, 0xc4, 0x44), SW_INSN_PLAIN, 0, NO},       /* test $0x44,%ah */
	{CODE(0x48, 0x89, 0xe5), SW_INSN_FP_FROM_SP, 0, NO},
	{CODE(0x48, 0x8d, 0x6c, 0x24, 0x20), SW_INSN_FP_FROM_SP, 0x20, NO},
	{CODE(0x48, 0x89, 0xec), SW_INSN_SP_FROM_FP, 0, NO},
	{CODE(0x48, 0x8b, 0xe5), SW_INSN_SP_FROM_FP, 0, NO},
	{CODE(0x48, 0x8d, 0x65, 0xd8), SW_INSN_SP_FROM_FP, -0x28, NO},
	{CODE(0x48, 0x8d, 0x64, 0x24, 0x08), SW_INSN_SP_ADD, 8, NO},
	{CODE(0x48, 0x8d, 0x24, 0x04), SW_INSN_SP_LOST, 0, NO}, /* lea (%rsp,%rax),%rsp */
	{CODE(0x62, 0xf4, 0x3c, 0x18, 0xff, 0xf0), SW_INSN_SP_LOST, 0, NO}, /* push2 %rax,%r8 */
	{CODE(0x62, 0xf4, 0x3c, 0x18, 0x8f, 0xc0), SW_INSN_SP_LOST, 0, NO}, /* pop2 %rax,%r8 */
	{CODE(0x48, 0x8d, 0x26), SW_INSN_SP_FROM_REG, 0, SW_X86_64_RSI},    /* lea (%rsi),%rsp */
	{CODE(0x8d, 0x26), SW_INSN_SP_LOST, 0, NO},                         /* lea (%rsi),%esp */
	{CODE(0xc9), SW_INSN_LEAVE, 0, NO},
	{CODE(0x48, 0x8b, 0x5c, 0x24, 0x08), SW_INSN_LOAD_SP, 8, SW_X86_64_RBX},
	{CODE(0x4c, 0x8b, 0x65, 0xf0), SW_INSN_LOAD_FP, -0x10, 12},
	{CODE(0x4c, 0x8b, 0x7e, 0xd0), SW_INSN_PLAIN, 0, 15}, /* mov -0x30(%rsi),%r15 */
	{CODE(0x49, 0x89, 0xc4), SW_INSN_PLAIN, 0, 12},       /* mov %rax,%r12 */
	{CODE(0xc3), SW_INSN_RETURN, 0, NO},
	{CODE(0xf3, 0xc3), SW_INSN_RETURN, 0, NO},
	{CODE(0xc2, 0x10, 0), SW_INSN_RETURN, 0x10, NO},
	{CODE(0xe8, 0xfb, 0xff, 0xff, 0xff), SW_INSN_CALL, 0, NO},
	{CODE(0xff, 0xd0), SW_INSN_CALL, 0, NO},
	{CODE(0xe9, 0, 1, 0, 0), SW_INSN_JUMP, 0x105, NO},
	{CODE(0xeb, 0xfe), SW_INSN_JUMP, 0, NO},
	{CODE(0x74, 0x10), SW_INSN_BRANCH, 0x12, NO},
	{CODE(0x0f, 0x85, 0xf0, 0xff, 0xff, 0xff), SW_INSN_BRANCH, -10, NO},
	{CODE(0xff, 0x25, 1, 0, 0, 0), SW_INSN_JUMP_FAR, 0, NO},
	{CODE(0xff, 0xe0), SW_INSN_JUMP_FAR, 0, NO},
	{CODE(0x41, 0xff, 0x64, 0xd7, 0x10), SW_INSN_JUMP_FAR, 0, NO}, /* jmp *0x10(%r15,%rdx,8) */
	{CODE(0x0f, 0x0b), SW_INSN_STOP, 0, NO},
	{CODE(0xf4), SW_INSN_STOP, 0, NO},
	{CODE(0xcc), SW_INSN_STOP, 0, NO},
	/* only their length matters */
	{CODE(0xf3, 0x0f, 0x1e, 0xfa), SW_INSN_PLAIN, 0, NO},
	{CODE(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), SW_INSN_PLAIN, 0, NO},
	{CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), SW_INSN_PLAIN, 0, NO},
	{CODE(0x66, 0xb8, 1, 2), SW_INSN_PLAIN, 0, NO},
	{CODE(0x66, 0xc7, 0x44, 0x24, 0x08, 1, 2), SW_INSN_PLAIN, 0, NO},
	{CODE(0xc7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8), SW_INSN_PLAIN, 0, NO},
	{CODE(0xf7, 0x04, 0x25, 1, 2, 3, 4, 5, 6, 7, 8), SW_INSN_PLAIN, 0, NO}, /* test */
	{CODE(0xf7, 0xd8), SW_INSN_PLAIN, 0, NO},                               /* neg */
	{CODE(0xa1, 1, 2, 3, 4, 5, 6, 7, 8), SW_INSN_PLAIN, 0, NO},
	{CODE(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8), SW_INSN_PLAIN, 0, NO},       /* palignr */
	{CODE(0x66, 0x0f, 0x38, 0x00, 0xc1), SW_INSN_PLAIN, 0, NO},          /* pshufb */
	{CODE(0xc5, 0xf8, 0x77), SW_INSN_PLAIN, 0, NO},                      /* vzeroupper */
	{CODE(0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1), SW_INSN_PLAIN, 0, NO},       /* vextracti128 */
	{CODE(0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 1), SW_INSN_PLAIN, 0, NO}, /* vmovdqu64 */
	{CODE(0x0f, 0x05), SW_INSN_PLAIN, 0, NO},
	{CODE(0xc4, 0xe7, 0x7b, 0xf8, 0xc1, 1, 2, 3, 4), SW_INSN_PLAIN, 0,
	 NO}, /* urdmsr $0x4030201,%rcx */
	{CODE(0x62, 0xf7, 0x7f, 0x08, 0xf8, 0xc1, 1, 2, 3, 4), SW_INSN_PLAIN, 0,
	 NO}, /* the same by EVEX */
	{CODE(0x8f, 0xe8, 0x68, 0xcc, 0xd9, 1), SW_INSN_PLAIN, 0,
	 NO}, /* vpcomltb %xmm1,%xmm2,%xmm3 */
	{CODE(0x8f, 0x69, 0x78, 0xc2, 0x58, 0x10), SW_INSN_PLAIN, 0,
	 NO}, /* vphaddwd 0x10(%rax),%xmm11 */
	{CODE(0x8f, 0xea, 0x78, 0x10, 0xc8, 1, 2, 3, 4), SW_INSN_PLAIN, 0,
	 NO},                                                       /* bextr $0x4030201,%eax,%ecx */
	{CODE(0x8f, 0x40, 0x08), SW_INSN_POP, 0, NO},               /* pop 8(%rax) */
	{CODE(0x0f, 0x0f, 0xd1, 0x9e), SW_INSN_PLAIN, 0, NO},       /* pfadd %mm1,%mm2 */
	{CODE(0x66, 0x0f, 0x78, 0xc1, 2, 1), SW_INSN_PLAIN, 0, NO}, /* extrq $1,$2,%xmm1 */
	{CODE(0xf2, 0x0f, 0x78, 0xd1, 2, 1), SW_INSN_PLAIN, 0, NO}, /* insertq $1,$2,%xmm1,%xmm2 */
};

/* The cases of 32-bit mode, where it differs. */
static const struct insn_case cases_32[] = {
	{CODE(0x40), SW_INSN_PLAIN, 0, NO},   /* inc %eax, no REX */
	{CODE(0x4c), SW_INSN_SP_LOST, 0, NO}, /* dec %esp */
	{CODE(0x06), SW_INSN_PUSH, 0, NO},    /* push %es */
	{CODE(0x1f), SW_INSN_POP, 0, NO},     /* pop %ds */
	{CODE(0x60), SW_INSN_SP_LOST, 0, NO}, /* pusha */
	{CODE(0x57), SW_INSN_PUSH, 0, SW_X86_64_RDI},
	{CODE(0x89, 0xe5), SW_INSN_FP_FROM_SP, 0, NO},
	{CODE(0x8b, 0xe5), SW_INSN_SP_FROM_FP, 0, NO},
	{CODE(0x83, 0xec, 0x18), SW_INSN_SP_ADD, -0x18, NO},
	{CODE(0x8b, 0x5c, 0x24, 0x08), SW_INSN_LOAD_SP, 8, SW_X86_64_RBX},
	{CODE(0x8b, 0x35, 1, 2, 3, 4), SW_INSN_PLAIN, 0, SW_X86_64_RSI},
	{CODE(0xa1, 1, 2, 3, 4), SW_INSN_PLAIN, 0, NO},                   /* mov 0x4030201,%eax */
	{CODE(0xc5, 0x08), SW_INSN_PLAIN, 0, NO},                         /* lds (%eax),%ecx */
	{CODE(0xc5, 0xf8, 0x77), SW_INSN_PLAIN, 0, NO},                   /* vzeroupper */
	{CODE(0x8f, 0xe8, 0x68, 0xa2, 0xd9, 0x40), SW_INSN_PLAIN, 0, NO}, /* vpcmov */
	{CODE(0x8f, 0x04, 0x24), SW_INSN_POP, 0, NO},                     /* pop (%esp) */
	{CODE(0x62, 0x08), SW_INSN_PLAIN, 0, NO},                         /* bound %ecx,(%eax) */
	{CODE(0xd4, 0x0a), SW_INSN_PLAIN, 0, NO},
	{CODE(0x82, 0xc0, 0x01), SW_INSN_PLAIN, 0, NO},
	{CODE(0xc9), SW_INSN_LEAVE, 0, NO},
	{CODE(0xeb, 0xfe), SW_INSN_JUMP, 0, NO},
	{CODE(0x8d, 0x61, 0xfc), SW_INSN_SP_FROM_REG, -4, SW_X86_64_RCX}, /* lea -4(%ecx),%esp */
	{CODE(0x8d, 0x65, 0xf8), SW_INSN_SP_FROM_FP, -8, NO},
	{CODE(0x8d, 0x24, 0x04), SW_INSN_SP_LOST, 0, NO}, /* lea (%esp,%eax),%esp */
};

TEST(test_32_bit)
{
	static const uint8_t no[][3] = {{0x9a}, {0xea}, {0x67, 0x8b, 0x05}};
	struct sw_insn insn;
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases_32); i++) {
		const struct insn_case *c = &cases_32[i];
		print_message("case %zu\n", i);
		assert_true(sw_arch_insn(true, c->code, sizeof(c->code), AT, &insn));
		assert_int_equal(insn.length, c->length);
		assert_int_equal(insn.op, c->op);
		assert_int_equal(insn.reg, c->reg);
		if (c->op == SW_INSN_JUMP)
			assert_int_equal(insn.target, AT + (uint64_t) c->value);
		else
			assert_int_equal(insn.value, c->value);
		assert_false(sw_arch_insn(true, c->code, c->length - 1, AT, &insn));
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(no); i++)
		assert_false(sw_arch_insn(true, no[i], sizeof(no[i]), AT, &insn));
	/* jmp from the end of memory to its beginning */
	static const uint8_t over[] = {0xe9, 0x10, 0, 0, 0};
	assert_true(sw_arch_insn(true, over, sizeof(over), 0xfffffff8, &insn));
	assert_int_equal(insn.target, 0xd);
}

TEST(test_cases)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const struct insn_case *c = &cases[i];
		struct sw_insn insn;
		bool jumps = c->op == SW_INSN_JUMP || c->op == SW_INSN_BRANCH;
		print_message("case %zu\n", i);
		assert_true(sw_arch_insn(false, c->code, sizeof(c->code), AT, &insn));
		assert_int_equal(insn.length, c->length);
		assert_int_equal(insn.op, c->op);
		assert_int_equal(insn.reg, c->reg);
		if (jumps)
			assert_int_equal(insn.target, AT + (uint64_t) c->value);
		else
			assert_int_equal(insn.value, c->value);
	}
}

/* Cut off at each byte, none is read further. */
TEST(test_cut)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		for (size_t n = 0; n < cases[i].length; n++) {
			struct sw_insn insn;
			uint8_t *code = test_malloc(n + 1); /* its own block: ASan sees the end */
			memcpy(code, cases[i].code, n);
			assert_false(sw_arch_insn(false, code, n, AT, &insn));
			test_free(code);
		}
}

TEST(test_not_known)
{
	static const uint8_t no[][SW_INSN_BYTES_MAX + 1] = {
		{0x06}, /* no instruction of 64-bit mode */
		{0x0f, 0x04},
		{0x62, 0xf4, 0x7c, 0x08, 0x83, 0xc0, 0x08}, /* add of APX, with a number */
		{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		 0x66, 0x90}, /* longer than an instruction may be */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(no); i++) {
		struct sw_insn insn;
		assert_false(sw_arch_insn(false, no[i], sizeof(no[i]), AT, &insn));
	}
}

struct move_case {
	uint8_t code[SW_INSN_BYTES_MAX];
	size_t length;
	enum sw_move_op op;
	unsigned to, from;
	int64_t value;
};

enum { AX = 0, DX = 1, CX = 2, BX = 3, SI = 4, DI = 5, FP = SW_ARCH_FP, SP = SW_ARCH_SP };

static const struct move_case moves[] = {
	{CODE(0x48, 0x8d, 0x64, 0x24, 0xc8), SW_MOVE_COPY, SP, SP,
	 -0x38},                                                     /* lea -0x38(%rsp),%rsp */
	{CODE(0x48, 0x83, 0xec, 0x18), SW_MOVE_COPY, SP, SP, -0x18}, /* sub $0x18,%rsp */
	{CODE(0x48, 0x83, 0xe8, 0x10), SW_MOVE_COPY, AX, AX, -0x10}, /* sub $0x10,%rax */
	{CODE(0x49, 0x81, 0xc4, 0, 1, 0, 0), SW_MOVE_COPY, 12, 12, 0x100}, /* add $0x100,%r12 */
	{CODE(0x48, 0x8d, 0x40, 0xc0), SW_MOVE_COPY, AX, AX, -0x40}, /* lea -0x40(%rax),%rax */
	{CODE(0x48, 0x8d, 0x0d, 0x10, 0, 0, 0), SW_MOVE_FORGET, CX, 0,
	 0x10},                                            /* lea 0x10(%rip),%rcx */
	{CODE(0x48, 0x89, 0xfc), SW_MOVE_COPY, SP, DI, 0}, /* mov %rdi,%rsp */
	{CODE(0x48, 0x8b, 0xe7), SW_MOVE_COPY, SP, DI, 0},
	{CODE(0x48, 0x89, 0xe0), SW_MOVE_COPY, AX, SP, 0},               /* mov %rsp,%rax */
	{CODE(0x4c, 0x89, 0x64, 0x24, 0x08), SW_MOVE_STORE, SP, 12, 8},  /* mov %r12,8(%rsp) */
	{CODE(0x48, 0x89, 0x26), SW_MOVE_STORE, SI, SP, 0},              /* mov %rsp,(%rsi) */
	{CODE(0x4c, 0x8b, 0x44, 0x24, 0x38), SW_MOVE_LOAD, 8, SP, 0x38}, /* mov 0x38(%rsp),%r8 */
	{CODE(0x49, 0x8b, 0x24, 0x24), SW_MOVE_LOAD, SP, 12, 0},         /* mov (%r12),%rsp */
	{CODE(0x64, 0x48, 0x8b, 0x49, 0x28), SW_MOVE_FORGET, CX, CX,
	 0x28}, /* mov %fs:0x28(%rcx),%rcx */
	{CODE(0x64, 0x48, 0x89, 0x4a, 0x28), SW_MOVE_NOTHING, DX, CX,
	 0x28}, /* mov %rcx,%fs:0x28(%rdx) */
	{CODE(0x55), SW_MOVE_PUSH, 0, FP, 0},
	{CODE(0x41, 0x5f), SW_MOVE_POP, 15, 0, 0},
	{CODE(0x5c), SW_MOVE_POP, SP, 0, 0},
	{CODE(0x31, 0xc0), SW_MOVE_FORGET, AX, 0, 0},
	{CODE(0xb8, 1, 0, 0, 0), SW_MOVE_FORGET, AX, 0, 0},
	{CODE(0x41, 0xff, 0xe0), SW_MOVE_JUMP, 0, 8, 0}, /* jmp *%r8 */
	{CODE(0xff, 0xe3), SW_MOVE_JUMP, 0, BX, 0},
	{CODE(0xc3), SW_MOVE_RETURN, 0, 0, 0},
	{CODE(0x0f, 0xae, 0x5c, 0x24, 0x08), SW_MOVE_CLOBBER, SP, 0, 8}, /* stmxcsr 8(%rsp) */
	{CODE(0x0f, 0xae, 0x14, 0x24), SW_MOVE_NOTHING, 0, 0, 0},        /* ldmxcsr (%rsp) */
	{CODE(0xd9, 0x7c, 0x24, 0x04), SW_MOVE_CLOBBER, SP, 0, 4},       /* fnstcw 4(%rsp) */
	{CODE(0xd9, 0x6c, 0x24, 0x04), SW_MOVE_NOTHING, 0, 0, 0},        /* fldcw 4(%rsp) */
	{CODE(0xf3, 0x0f, 0x1e, 0xfa), SW_MOVE_NOTHING, 0, 0, 0},        /* endbr64 */
	{CODE(0x0f, 0x29, 0x34, 0x24), SW_MOVE_CLOBBER, SP, 0, 0},       /* movaps %xmm6,(%rsp) */
	{CODE(0x0f, 0x11, 0x47, 0xf0), SW_MOVE_CLOBBER, DI, 0, -16},    /* movups %xmm0,-16(%rdi) */
	{CODE(0x0f, 0x28, 0x34, 0x24), SW_MOVE_NOTHING, 0, 0, 0},       /* movaps (%rsp),%xmm6 */
	{CODE(0x0f, 0x28, 0xc1), SW_MOVE_NOTHING, 0, 0, 0},             /* movaps %xmm1,%xmm0 */
	{CODE(0x0f, 0x11, 0x05, 8, 0, 0, 0), SW_MOVE_NOTHING, 0, 0, 0}, /* movups %xmm0,8(%rip) */
	{CODE(0x64, 0x0f, 0x11, 0x04, 0x24), SW_MOVE_NOTHING, 0, 0,
	 0}, /* movups %xmm0,%fs:(%rsp) */
};

TEST(test_moves)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(moves); i++) {
		const struct move_case *c = &moves[i];
		struct sw_move m;
		print_message("move %zu\n", i);
		assert_true(sw_arch_move(c->code, sizeof(c->code), AT, &m));
		assert_int_equal(m.length, c->length);
		assert_int_equal(m.op, c->op);
		assert_int_equal(m.value, c->value);
		if (m.op != SW_MOVE_NOTHING)
			assert_int_equal(m.to, c->to);
		unsigned stored = c->code[0] == 0xd9 ? 2 : c->code[1] == 0xae ? 4 : 16;
		assert_int_equal(m.stored, m.op == SW_MOVE_CLOBBER ? stored : 0);
		if (m.op != SW_MOVE_NOTHING && m.op != SW_MOVE_FORGET)
			assert_int_equal(m.from, c->from);
	}
}

/* Instructions that write a register or memory in another way, or go elsewhere. */
TEST(test_no_moves)
{
	static const uint8_t no[][SW_INSN_BYTES_MAX] = {
		{0x83, 0xe8, 0x10},             /* sub $0x10,%eax */
		{0x48, 0x83, 0xe0, 0xf0},       /* and $-16,%rax */
		{0x48, 0x83, 0x28, 0x10},       /* subq $0x10,(%rax) */
		{0x89, 0xfc},                   /* mov %edi,%esp */
		{0x66, 0x48, 0x89, 0xf8},       /* with an operand size */
		{0x48, 0x01, 0xfc},             /* add %rdi,%rsp */
		{0x48, 0x89, 0x0c, 0xdc},       /* mov %rcx,(%rsp,%rbx,8) */
		{0x31, 0xd8},                   /* xor %ebx,%eax */
		{0xbc, 0, 0, 0, 0},             /* mov $0,%esp */
		{0xe8, 0, 0, 0, 0},             /* call */
		{0xeb, 0x10},                   /* jmp */
		{0x74, 0x10},                   /* je */
		{0xff, 0x64, 0x24, 0x38},       /* jmp *0x38(%rsp) */
		{0xff, 0xd0},                   /* call *%rax */
		{0xc2, 8, 0},                   /* ret $8 */
		{0xf3, 0x48, 0x0f, 0x1e, 0xc9}, /* rdsspq %rcx */
		{0x49, 0x90},                   /* xchg %rax,%r8 */
		{0x0f, 0xae, 0xe8},             /* lfence */
		{0xc5, 0xf8, 0x77},             /* vzeroupper */
		{0x0f, 0x11, 0x04, 0xdc},       /* movups %xmm0,(%rsp,%rbx,8) */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(no); i++) {
		struct sw_move m;
		print_message("no move %zu\n", i);
		assert_false(sw_arch_move(no[i], sizeof(no[i]), AT, &m));
	}
}
