/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The accesses of instructions are compared with what the processor says when they do it: each runs
 * with all registers pointing into a page that may not be accessed, and the page fault's error code
 * (Intel SDM volume 3, 4.7) has a bit for writes.
 */
#include "arch/access.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { CELL_BYTES = 32, PAGE_BYTES = 4096, FAULT_WRITE = 2 };

/* clang-format off */
#define CELL(insn) insn "\nret\n.balign 32\n"
__asm__(".text\n.balign 32\nfaulting:\n" CELL("movq %rax, (%rdi)") CELL("movq (%rdi), %rax") CELL(
	"movl %r9d, 8(%r12)") CELL("movb $1, -5(%r13,%rcx,1)") CELL("movl $7, 0x100(%rsi)") CELL("a"
												 "d"
												 "d"
												 "q"
												 " "
												 "%"
												 "r"
												 "a"
												 "x"
												 ","
												 " "
												 "("
												 "%"
												 "r"
												 "d"
												 "x"
												 ")") CELL("addq (%rdx), %rax")
		CELL("cmpl $3, (%rdi)") CELL("cmpb %al, (%rdi)") CELL("orl $3, (%rdi)") CELL("incl "
											     "(%"
											     "rax)") CELL(
			"notq (%rax)") CELL("negl (%r8)") CELL("testb $1, (%rax)") CELL("testl "
											"%eax, "
											"(%rax)") CELL("imulq (%rax)")
			CELL("imulq $5, (%rax), %rbx") CELL("shll $3, (%rdi)") CELL("sarq %cl, "
										    "(%rdi)") CELL(
				"xchgl %eax, (%rdi)") CELL("lock cmpxchgq %rbx, (%rdi)") CELL("lock"
											      " xad"
											      "dl "
											      "%eax"
											      ", "
											      "(%"
											      "rdi"
											      ")") CELL("btsl $3, (%rdi)")
				CELL("btl $3, (%rdi)") CELL("setne (%rdi)") CELL("movzbl (%rdi), "
										 "%eax") CELL("movs"
											      "lq "
											      "(%"
											      "rdi)"
											      ", "
											      "%ra"
											      "x") CELL(
					"movswl (%rdi), %eax") CELL("cmovel (%rdi), %eax") CELL("mo"
												"vu"
												"ps"
												" %"
												"xm"
												"m0"
												", "
												"(%"
												"rd"
												"i"
												")") CELL("movups (%rdi), %xmm0")
					CELL("movdqu %xmm9, (%r14)") CELL("movdqu (%r14), %xmm9") CELL("movq %xmm0, (%rdi)") CELL(
						"movq (%rdi), %xmm0") CELL("movd %xmm0, (%rdi)") CELL("movss %xmm0, (%rdi)")
						CELL("addsd (%rdi), %xmm1") CELL("pcmpeqb (%rdi), "
										 "%xmm0") CELL("mov"
											       "nti"
											       " %"
											       "rax"
											       ", "
											       "(%"
											       "rdi"
											       ")") CELL("movntdq %xmm0, (%rdi)") CELL(
							"cvtsi2sdl (%rdi), %xmm0") CELL("ucomisd "
											"(%rdi), "
											"%xmm0") CELL("pushq (%rdi)")
							CELL("callq *(%rdi)") CELL("jmpq *8(%rdi)") CELL("movsb") CELL("rep stosb") CELL(
								"lodsl") CELL("scasb") CELL("cmpsb")
								CELL("rep movsq") CELL("movbe "
										       "(%rdi), "
										       "%eax") CELL("movbe %eax, (%rdi)") CELL("pextrd $1, %xmm0, (%rdi)") CELL(
									"pshufb (%rdi), %xmm0") CELL("pinsrw $1, (%rdi), %xmm0")
									CELL("cmpxchg16b (%rdi)") CELL(
										"shldl $3, %eax, "
										"(%rdi)") CELL("pop"
											       "q "
											       "(%"
											       "rdi"
											       ")") CELL("movw $5, 2(%rdi)")
										CELL("decb (%r15)") CELL("flds (%rdi)") CELL("fldl (%rdi)") CELL("fldt (%rdi)") CELL("fstps (%rdi)") CELL("fstl (%rdi)") CELL("fstpt (%rdi)") CELL("fildll (%rdi)") CELL("fistpl (%rdi)") CELL("fisttpll (%rdi)") CELL("fnstcw (%rdi)") CELL("fldcw (%rdi)") CELL("fnstenv (%rdi)") CELL("fldenv (%rdi)") CELL("faddl (%rdi)") CELL("fiadds (%rdi)") CELL("fnstsw (%rdi)") CELL("fnsave (%rdi)") CELL("frstor (%rdi)") CELL("fbstp (%rdi)") CELL("fbld (%rdi)") "faulting_end:\nfaulting_avx:\n" CELL(
											"vmovdqu "
											"%ymm0, "
											"(%rdi)") CELL("vmovdqu 32(%r9), %ymm10")
											CELL("vmovu"
											     "ps "
											     "%ymm0"
											     ", "
											     "(%r9,"
											     "%rcx,"
											     "1)") CELL("vpcmpeqb (%rdi), %ymm0, %ymm1") CELL(
												"ve"
												"xt"
												"ra"
												"ct"
												"i1"
												"28"
												" $"
												"1,"
												" %"
												"ym"
												"m0"
												", "
												"(%"
												"rd"
												"i"
												")") CELL("vmovq %xmm0, (%rdi)")
												CELL("vpbroadcastb (%rdi), %ymm0") "faulting_avx_end:\nfaulting_evex:\n" CELL(
													"vmovdqu64 %ymm16, 32(%rdi)")
													CELL("vmovdqu64 -64(%rdi), %zmm17")
														CELL("vmovdqa64 %xmm18, (%r9)") "faulting_evex_end:\n");
/* clang-format on */
extern const uint8_t faulting[], faulting_end[], faulting_avx[], faulting_avx_end[],
	faulting_evex[], faulting_evex_end[];

static sigjmp_buf back;
static struct sw_thread thread;
static uint64_t fault_avma, fault_error;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	static const struct {
		int from;
		unsigned to;
	} map[] = {
		{REG_RAX, SW_X86_64_RAX}, {REG_RDX, SW_X86_64_RDX}, {REG_RCX, SW_X86_64_RCX},
		{REG_RBX, SW_X86_64_RBX}, {REG_RSI, SW_X86_64_RSI}, {REG_RDI, SW_X86_64_RDI},
		{REG_RBP, SW_X86_64_RBP}, {REG_RSP, SW_X86_64_RSP}, {REG_R8, SW_X86_64_R8},
		{REG_R9, SW_X86_64_R9},   {REG_R10, SW_X86_64_R10}, {REG_R11, SW_X86_64_R11},
		{REG_R12, SW_X86_64_R12}, {REG_R13, SW_X86_64_R13}, {REG_R14, SW_X86_64_R14},
		{REG_R15, SW_X86_64_R15}, {REG_RIP, SW_X86_64_RA},
	};
	const ucontext_t *u = context;
	memset(&thread, 0, sizeof(thread));
	for (size_t i = 0; i < SW_ARRAY_SIZE(map); i++)
		sw_regs_set(&thread.regs, map[i].to, (uint64_t) u->uc_mcontext.gregs[map[i].from]);
	fault_avma = (uint64_t) (uintptr_t) info->si_addr;
	fault_error = (uint64_t) u->uc_mcontext.gregs[REG_ERR];
	siglongjmp(back, 1);
}

/* With the address in all registers but rcx, which is an index or a count, and rsp. */
static void run(const uint8_t *code, const void *address)
{
	__asm__ volatile("pushq %%rbp\n"
			 "movq %0, %%r11\n movq %1, %%rax\n movq %%rax, %%rdx\n movq %%rax, %%rsi\n"
			 "movq %%rax, %%rdi\n movq %%rax, %%r8\n movq %%rax, %%r9\n"
			 "movq %%rax, %%r10\n movq %%rax, %%r12\n movq %%rax, %%r13\n"
			 "movq %%rax, %%r14\n movq %%rax, %%r15\n movl $16, %%ecx\n"
			 "call *%%r11\n"
			 "popq %%rbp\n"
			 : "+b"(code), "+c"(address)
			 :
			 : "rax", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			   "r14", "r15", "memory", "cc");
}

static void check(const uint8_t *begin, const uint8_t *end)
{
	char *page = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	for (const uint8_t *volatile code = begin; code < end; code += CELL_BYTES) {
		if (sigsetjmp(back, 1) == 0) {
			run(code, page + PAGE_BYTES / 2);
			fail_msg("instruction %td did not fault", (code - begin) / CELL_BYTES);
		}
		struct sw_access operands[SW_ACCESS_OPERANDS];
		size_t n = sw_arch_access(false, &thread, (const uint8_t *) thread.regs.pc_avma,
					  SW_INSN_BYTES_MAX, operands);
		size_t i = 0;
		while (i < n && fault_avma - operands[i].avma >= operands[i].bytes)
			i++;
		enum sw_access_kind kind =
			(fault_error & FAULT_WRITE) != 0 ? SW_ACCESS_WRITE : SW_ACCESS_READ;
		/* Either operand of MOVS may fault; both are in the page. */
		bool same =
			i < n && (operands[i].kind == kind || (n == 2 && operands[1].kind == kind));
		if (!same || operands[i].avma != fault_avma)
			fail_msg("instruction %td: %zu operands, kind %d of %d",
				 (code - begin) / CELL_BYTES, n,
				 i < n ? (int) operands[i].kind : -1, (int) kind);
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(munmap(page, PAGE_BYTES), 0);
}

TEST(test_processor)
{
	check(faulting, faulting_end);
}

TEST(test_vectors)
{
	if (__builtin_cpu_supports("avx2"))
		check(faulting_avx, faulting_avx_end);
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		check(faulting_evex, faulting_evex_end);
}

/* Instructions that use the stack, and addresses relative to rip and to a segment. */
TEST(test_implied)
{
	static const struct {
		uint8_t code[SW_INSN_BYTES_MAX];
		enum sw_access_kind kind;
		uint64_t avma;
	} cases[] = {
		{{0x55}, SW_ACCESS_WRITE, 0x7ff8},                       /* push %rbp */
		{{0xe8, 0, 0, 0, 0}, SW_ACCESS_WRITE, 0x7ff8},           /* call */
		{{0x5d}, SW_ACCESS_READ, 0x8000},                        /* pop %rbp */
		{{0xc3}, SW_ACCESS_READ, 0x8000},                        /* ret */
		{{0xc9}, SW_ACCESS_READ, 0x9000},                        /* leave */
		{{0x8b, 0x05, 0x10, 0, 0, 0}, SW_ACCESS_READ, 0x401016}, /* mov 0x10(%rip),%eax */
		{{0xc6, 0x05, 0x10, 0, 0, 0, 1}, SW_ACCESS_WRITE, 0x401017},
		{{0x64, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, SW_ACCESS_READ, 0x5028}, /* %fs:0x28 */
		/* what few processors have */
		{{0x0f, 0x38, 0xf9, 0x45, 0x10}, SW_ACCESS_WRITE, 0x9010},       /* movdiri */
		{{0x0f, 0x38, 0xfc, 0x45, 0x10}, SW_ACCESS_WRITE, 0x9010},       /* aadd */
		{{0xc4, 0xe2, 0x71, 0xe6, 0x45, 0x10}, SW_ACCESS_WRITE, 0x9010}, /* cmpbexadd */
		{{0x66, 0x0f, 0x38, 0xdc, 0x45, 0x10}, SW_ACCESS_READ, 0x9010},  /* aesenc */
		{{0x8f, 0x45, 0x10}, SW_ACCESS_WRITE, 0x9010}, /* pop 0x10(%rbp) */
	};
	struct sw_thread t = {.fs_base = 0x5000};
	sw_regs_set(&t.regs, SW_X86_64_RSP, 0x8000);
	sw_regs_set(&t.regs, SW_X86_64_RBP, 0x9000);
	sw_regs_set(&t.regs, SW_X86_64_RA, 0x401000);
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_access operands[SW_ACCESS_OPERANDS];
		assert_int_equal(sw_arch_access(false, &t, cases[i].code, sizeof(cases[i].code),
						operands),
				 1);
		assert_int_equal(operands[0].kind, cases[i].kind);
		assert_int_equal(operands[0].avma, cases[i].avma);
	}
}

/* In 32-bit mode. */
TEST(test_32bit)
{
	static const struct {
		uint8_t code[SW_INSN_BYTES_MAX];
		enum sw_access_kind kind;
		uint64_t avma;
	} cases[] = {
		{{0x55}, SW_ACCESS_WRITE, 0x7ffc},                       /* push %ebp */
		{{0xc3}, SW_ACCESS_READ, 0x8000},                        /* ret */
		{{0x8b, 0x05, 0x10, 0, 0, 0}, SW_ACCESS_READ, 0x10},     /* mov 0x10,%eax */
		{{0xa1, 0x10, 0, 0, 0}, SW_ACCESS_READ, 0x10},           /* likewise */
		{{0xa2, 0x10, 0, 0, 0x80}, SW_ACCESS_WRITE, 0x80000010}, /* mov %al,0x80000010 */
		{{0x65, 0xa1, 0x14, 0, 0, 0}, SW_ACCESS_READ, 0x5014},   /* mov %gs:0x14,%eax */
		{{0x64, 0x8b, 0x07}, SW_ACCESS_READ, 0x7000},            /* mov %fs:(%edi),%eax */
		{{0xc6, 0x47, 0xff, 1}, SW_ACCESS_WRITE, 0xfff},         /* movb $1,-1(%edi) */
		{{0x8b, 0x46, 0x10}, SW_ACCESS_READ, 0xc}, /* mov 0x10(%esi),%eax: it wraps */
		{{0x89, 0x44, 0x8f, 0x08}, SW_ACCESS_WRITE, 0x1010}, /* mov %eax,8(%edi,%ecx,4) */
		{{0xdd, 0x1f}, SW_ACCESS_WRITE, 0x1000},             /* fstpl (%edi) */
		{{0xc5, 0xfe, 0x6f, 0x07}, SW_ACCESS_READ, 0x1000},  /* vmovdqu (%edi),%ymm0 */
		{{0xc4, 0xc1, 0x7e, 0x7f, 0x07},
		 SW_ACCESS_WRITE,
		 0x1000},                               /* (%edi) whatever B is */
		{{0xff, 0x17}, SW_ACCESS_READ, 0x1000}, /* call *(%edi) */
	};
	static const uint8_t none[][SW_INSN_BYTES_MAX] = {
		{0x47, 0x89, 0xc7}, /* inc %edi, and no prefix */
		{0xc5, 0x07},       /* lds (%edi),%eax */
		{0x62, 0x07},       /* bound %eax,(%edi) */
		{0x63, 0x07},       /* arpl %ax,(%edi) */
		{0x67, 0x8b, 0x07}, /* addresses of 16 bits */
	};
	struct sw_thread t = {.fs_base = 0x5000, .gs_base = 0x6000};
	sw_regs_set(&t.regs, SW_X86_64_RSP, 0x8000);
	sw_regs_set(&t.regs, SW_X86_64_RDI, 0x1000);
	sw_regs_set(&t.regs, SW_X86_64_RSI, 0xfffffffc);
	sw_regs_set(&t.regs, SW_X86_64_RCX, 2);
	sw_regs_set(&t.regs, SW_ARCH_RA, 0x401000);
	struct sw_access operands[SW_ACCESS_OPERANDS];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		size_t n = sw_arch_access(true, &t, cases[i].code, sizeof(cases[i].code), operands);
		assert_true(n >= 1);
		assert_int_equal(operands[0].kind, cases[i].kind);
		assert_int_equal(operands[0].avma, cases[i].avma);
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(none); i++)
		assert_int_equal(sw_arch_access(true, &t, none[i], sizeof(none[i]), operands), 0);
}

/* No operand where there is none, where the code is cut, where a register is not known. */
TEST(test_none)
{
	static const uint8_t nop[] = {0x90}, lea[] = {0x48, 0x8d, 0x07},
			     moves[] = {0x48, 0x89, 0xc7}, store[] = {0x48, 0x89, 0x47, 0x10},
			     prefixes[] = {0x66, 0x66, 0x66},
			     xop[] = {0x8f, 0x4f, 0x78,
				      0xc2, 0x47, 0x10}, /* vphaddwd by XOP, not POP */
		two[] = {0x66, 0x0f, 0x38, 0xf8, 0x07};  /* movdir64b */
	struct sw_thread t = {0};
	struct sw_access operands[SW_ACCESS_OPERANDS];
	assert_int_equal(sw_arch_access(false, &t, nop, sizeof(nop), operands), 0);
	assert_int_equal(sw_arch_access(false, &t, lea, sizeof(lea), operands), 0);
	assert_int_equal(sw_arch_access(false, &t, moves, sizeof(moves), operands), 0);
	assert_int_equal(sw_arch_access(false, &t, store, sizeof(store), operands),
			 0); /* rdi unknown */
	assert_int_equal(sw_arch_access(false, &t, prefixes, sizeof(prefixes), operands), 0);
	sw_regs_set(&t.regs, SW_X86_64_RDI, 0x1000);
	assert_int_equal(sw_arch_access(false, &t, store, sizeof(store), operands), 1);
	assert_int_equal(operands[0].avma, 0x1010);
	assert_int_equal(sw_arch_access(false, &t, xop, sizeof(xop), operands), 0);
	assert_int_equal(sw_arch_access(false, &t, two, sizeof(two), operands), 0);
	for (size_t n = 0; n < sizeof(store); n++)
		assert_int_equal(sw_arch_access(false, &t, store, n, operands), 0);
}
