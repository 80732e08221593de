/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/written.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "test.h"

enum { AX = 0, DX = 1, CX = 2, BX = 3, DI = 5, FP = SW_ARCH_FP, SP = SW_ARCH_SP };

struct written_case {
	uint8_t code[SW_INSN_BYTES_MAX];
	uint32_t written;
};

#define BIT(reg) (UINT32_C(1) << (reg))
enum { ALL = 0xffff };

/* The results of capstone for 34,000 forms of instructions of large programs agree, but where it is
 * wrong (test, cdq). */
static const struct written_case writes[] = {
	{{0x48, 0x01, 0xd8}, BIT(AX)},                         /* add %rbx,%rax */
	{{0x01, 0x18}, 0},                                     /* add %ebx,(%rax) */
	{{0x4c, 0x03, 0x27}, BIT(12)},                         /* add (%rdi),%r12 */
	{{0x05, 1, 0, 0, 0}, BIT(AX)},                         /* add $1,%eax */
	{{0x48, 0x39, 0xd8}, 0},                               /* cmp %rbx,%rax */
	{{0x00, 0xd4}, BIT(AX)},                               /* add %dl,%ah */
	{{0x40, 0x00, 0xd4}, BIT(SP)},                         /* add %dl,%spl */
	{{0x48, 0x83, 0xe1, 0xf0}, BIT(CX)},                   /* and $-16,%rcx */
	{{0x48, 0x83, 0xf9, 0x10}, 0},                         /* cmp $16,%rcx */
	{{0x49, 0x8d, 0x2c, 0x24}, BIT(FP)},                   /* lea (%r12),%rbp */
	{{0x58}, BIT(AX) | BIT(SP)},                           /* pop %rax */
	{{0x41, 0x57}, BIT(SP)},                               /* push %r15 */
	{{0x48, 0x87, 0xd1}, BIT(DX) | BIT(CX)},               /* xchg %rdx,%rcx */
	{{0x49, 0x90}, BIT(AX) | BIT(8)},                      /* xchg %rax,%r8 */
	{{0x90}, 0},                                           /* nop */
	{{0x88, 0xf8}, BIT(AX)},                               /* mov %bh,%al */
	{{0xb7, 1}, BIT(BX)},                                  /* mov $1,%bh */
	{{0x49, 0xc7, 0xc5, 1, 0, 0, 0}, BIT(13)},             /* mov $1,%r13 */
	{{0xf7, 0xc1, 1, 0, 0, 0}, 0},                         /* test $1,%ecx */
	{{0xf7, 0xd9}, BIT(CX)},                               /* neg %ecx */
	{{0x48, 0xf7, 0xf1}, BIT(AX) | BIT(DX)},               /* div %rcx */
	{{0x48, 0xff, 0xc3}, BIT(BX)},                         /* inc %rbx */
	{{0x48, 0xff, 0x03}, 0},                               /* incq (%rbx) */
	{{0x48, 0x99}, BIT(DX)},                               /* cqto */
	{{0xf3, 0x48, 0xab}, BIT(DI) | BIT(CX)},               /* rep stos */
	{{0xf2, 0x48, 0xaf}, BIT(DI) | BIT(CX)},               /* repne scas */
	{{0xc9}, BIT(SP) | BIT(FP)},                           /* leave */
	{{0x0f, 0x44, 0xc1}, BIT(AX)},                         /* cmove %ecx,%eax */
	{{0x0f, 0x94, 0xc1}, BIT(CX)},                         /* sete %cl */
	{{0x48, 0x0f, 0xaf, 0xd9}, BIT(BX)},                   /* imul %rcx,%rbx */
	{{0x44, 0x0f, 0xb6, 0xc0}, BIT(8)},                    /* movzbl %al,%r8d */
	{{0xf0, 0x4c, 0x0f, 0xb1, 0x11}, BIT(AX)},             /* lock cmpxchg %r10,(%rcx) */
	{{0xf0, 0x48, 0x0f, 0xc1, 0x11}, BIT(DX)},             /* lock xadd %rdx,(%rcx) */
	{{0x0f, 0xa2}, BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX)}, /* cpuid */
	{{0x49, 0x0f, 0xc9}, BIT(9)},                          /* bswap %r9 */
	{{0x66, 0x48, 0x0f, 0x7e, 0xc1}, BIT(CX)},             /* movq %xmm0,%rcx */
	{{0x0f, 0x28, 0xc1}, 0},                               /* movaps %xmm1,%xmm0 */
	{{0x0f, 0x1f, 0x40, 0x00}, 0},                         /* nopl 0(%rax) */
	{{0xf3, 0x0f, 0x1e, 0xfa}, 0},                         /* endbr64 */
	{{0xf2, 0x0f, 0x38, 0xf0, 0xc1}, BIT(AX)},             /* crc32b %cl,%eax */
	{{0xc5, 0xf8, 0x77}, 0},                               /* vzeroupper */
	{{0xc5, 0xf9, 0xd7, 0xd0}, BIT(DX)},                   /* vpmovmskb %xmm0,%edx */
	{{0xc4, 0xe2, 0xfb, 0xf6, 0xd1}, BIT(DX) | BIT(AX)},   /* mulx %rcx,%rax,%rdx */
	{{0xc4, 0xe2, 0xf0, 0xf2, 0xd0}, BIT(DX)},             /* andn %rax,%rcx,%rdx */
	{{0xc4, 0xe2, 0xa0, 0xf3, 0xc9}, BIT(11)},             /* blsr %rcx,%r11 */
	{{0xc4, 0x62, 0xf9, 0xf7, 0xc9}, BIT(9)},              /* shlx %rax,%rcx,%r9 */
	{{0xc4, 0xe3, 0xfb, 0xf0, 0xd1, 3}, BIT(DX)},          /* rorx $3,%rcx,%rdx */
	{{0xc4, 0xe2, 0xf1, 0xe6, 0x16}, BIT(DX)},             /* cmpbexadd %rcx,%rdx,(%rsi) */
	{{0xf2, 0x0f, 0x38, 0xf8, 0xd1}, BIT(DX) | BIT(CX)},   /* urdmsr %rdx,%rcx */
	{{0xf2, 0x0f, 0x38, 0xf8, 0x11}, BIT(DX)},             /* enqcmd (%rcx),%rdx: none */
	{{0x62, 0xf4, 0x3c, 0x18, 0xff, 0xf0}, ALL},           /* push2 %rax,%r8 */
	{{0x62, 0xf2, 0xf1, 0x08, 0xe6, 0x16}, ALL},           /* cmpbexadd by EVEX */
	{{0x0f, 0x01, 0xd0}, BIT(AX) | BIT(DX)},               /* xgetbv */
	{{0x0f, 0x01, 0xf9}, BIT(AX) | BIT(CX) | BIT(DX)},     /* rdtscp */
	{{0x0f, 0x01, 0xc1}, ALL},                             /* vmcall */
	{{0x0f, 0x05}, BIT(AX) | BIT(CX) | BIT(11)},           /* syscall */
	{{0xe8, 0, 0, 0, 0}, BIT(SP)},                         /* call */
	{{0xff, 0xd3}, BIT(SP)},                               /* call *%rbx */
	{{0xff, 0x1b}, BIT(SP)},                               /* lcall *(%rbx) */
	{{0xff, 0xe3}, 0},                                     /* jmp *%rbx */
	{{0xcd, 0x80}, ALL},                                   /* int $0x80 */
	{{0x06}, ALL},                                         /* no instruction */
};

TEST(test_written)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(writes); i++) {
		print_message("written %zu\n", i);
		assert_int_equal(sw_arch_written(writes[i].code, SW_INSN_BYTES_MAX),
				 writes[i].written);
	}
}
