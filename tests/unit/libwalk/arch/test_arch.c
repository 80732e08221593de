/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "fake.h"
#include "test.h"

enum { AT = 0x400100 }; /* where the bytes under test lie */

/* Code around AT: bytes that end there, or that begin there. */
static uint8_t code[64];
static const struct fake_region regions[] = {{AT - 32, code, sizeof(code)}};

static struct sw_memory memory_ending(const uint8_t *bytes, size_t n)
{
	static struct fake_memory fake = {.regions = regions, .n_regions = 1};
	memset(code, 0x90, sizeof(code));
	memcpy(code + 32 - n, bytes, n);
	return fake_memory(&fake);
}

static struct sw_memory memory_beginning(const uint8_t *bytes, size_t n)
{
	struct sw_memory m = memory_ending(bytes, 0);
	memcpy(code + 32, bytes, n);
	return m;
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static unsigned call_before(const uint8_t *bytes, size_t n, uint64_t *ret_target)
{
	*ret_target = 0;
	return sw_arch_call_before(memory_ending(bytes, n), AT, ret_target);
}

TEST(test_direct_call)
{
	uint64_t target;
	assert_int_equal(call_before(BYTES(0xe8, 0x10, 0, 0, 0), &target), SW_CALL_DIRECT);
	assert_int_equal(target, AT + 0x10);
	assert_int_equal(call_before(BYTES(0xe8, 0x00, 0xff, 0xff, 0xff), &target), SW_CALL_DIRECT);
	assert_int_equal(target, AT - 0x100);
	/* addr32 call, as linkers write when they relax an indirect one */
	assert_int_equal(call_before(BYTES(0x67, 0xe8, 0x10, 0, 0, 0), &target), SW_CALL_DIRECT);
	/* jmp rel32 is no call */
	assert_int_equal(call_before(BYTES(0xe9, 0x10, 0, 0, 0), &target), SW_CALL_NONE);
}

TEST(test_indirect_call)
{
	uint64_t target;
	static const struct {
		uint8_t bytes[8];
		size_t n;
	} calls[] = {
		{{0xff, 0xd0}, 2},                   /* call *%rax */
		{{0x41, 0xff, 0xd1}, 3},             /* call *%r9 */
		{{0xff, 0x10}, 2},                   /* call *(%rax) */
		{{0xff, 0x14, 0x24}, 3},             /* call *(%rsp) */
		{{0xff, 0x50, 0x18}, 3},             /* call *0x18(%rax) */
		{{0xff, 0x54, 0x24, 0x08}, 4},       /* call *0x8(%rsp) */
		{{0xff, 0x15, 1, 2, 3, 4}, 6},       /* call *disp32(%rip) */
		{{0xff, 0x90, 1, 2, 0, 0}, 6},       /* call *0x201(%rax) */
		{{0xff, 0x94, 0x24, 1, 2, 0, 0}, 7}, /* call *0x201(%rsp) */
		{{0xff, 0x14, 0xc5, 1, 2, 0, 0}, 7}, /* call *0x201(,%rax,8) */
		{{0}, 0},
	};
	for (size_t i = 0; calls[i].n > 0; i++)
		assert_int_equal(call_before(calls[i].bytes, calls[i].n, &target),
				 SW_CALL_INDIRECT);
	assert_int_equal(call_before(BYTES(0xff, 0xe0), &target), SW_CALL_NONE); /* jmp *%rax */
	assert_int_equal(call_before(BYTES(0xff, 0x35, 1, 2, 3, 4), &target),
			 SW_CALL_NONE);                                                   /* push */
	assert_int_equal(call_before(BYTES(0xff, 0x15, 1, 2, 3), &target), SW_CALL_NONE); /* cut */
	assert_int_equal(call_before(BYTES(0x90), &target), SW_CALL_NONE);
	/* an e8 that is an operand, then call *%rax: both readings are told */
	assert_int_equal(call_before(BYTES(0xe8, 1, 0, 0xff, 0xd0), &target),
			 SW_CALL_DIRECT | SW_CALL_INDIRECT);
}

TEST(test_call_before_unreadable)
{
	uint64_t target;
	struct sw_memory m = memory_ending(BYTES(0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_call_before(m, 0x1000, &target), SW_CALL_NONE);
	assert_int_equal(sw_arch_call_before(m, 3, &target), SW_CALL_NONE);
}

TEST(test_jump_slot)
{
	uint64_t slot = 0;
	/* jmp *0x2fe2(%rip) */
	assert_true(sw_arch_jump_slot(memory_beginning(BYTES(0xff, 0x25, 0xe2, 0x2f, 0, 0)), AT,
				      &slot));
	assert_int_equal(slot, AT + 6 + 0x2fe2);
	/* endbr64; bnd jmp *0x2fe2(%rip) */
	assert_true(sw_arch_jump_slot(memory_beginning(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff,
							     0x25, 0xe2, 0x2f, 0, 0)),
				      AT, &slot));
	assert_int_equal(slot, AT + 11 + 0x2fe2);
	assert_false(sw_arch_jump_slot(memory_beginning(BYTES(0xe9, 0, 0, 0, 0)), AT, &slot));
	assert_false(sw_arch_jump_slot(memory_beginning(BYTES(0x90)), 0x1000, &slot));
}

/* How many words the stub has pushed at an instruction; 99: it is at none of the four. */
static unsigned lazy_words(const uint8_t *bytes, size_t n, size_t at)
{
	unsigned words = 99;
	return sw_arch_lazy_stub(memory_beginning(bytes, n), AT + at, &words) ? words : 99;
}

TEST(test_lazy_stub)
{
	static const uint8_t first[] = {0xff, 0x35, 1, 0, 0, 0, 0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90};
	static const uint8_t of_ebx[] = {0xff, 0xb3, 4, 0, 0, 0, 0xff, 0xa3, 8, 0, 0, 0};
	static const uint8_t entry[] = {0xff, 0x25, 0, 0, 0, 0, 0x68, 7, 0, 0, 0, 0xe9, 0, 0, 0, 0};
	assert_int_equal(lazy_words(first, sizeof(first), 0), 1);
	assert_int_equal(lazy_words(first, sizeof(first), 6), 2);
	assert_int_equal(lazy_words(of_ebx, sizeof(of_ebx), 0), 1);
	assert_int_equal(lazy_words(of_ebx, sizeof(of_ebx), 6), 2);
	assert_int_equal(lazy_words(entry, sizeof(entry), 6), 0);
	assert_int_equal(lazy_words(entry, sizeof(entry), 11), 1);
	assert_int_equal(lazy_words(entry, sizeof(entry), 0), 99); /* sw_arch_jump_slot() */
	assert_int_equal(lazy_words(first, sizeof(first), 12), 99);
	assert_int_equal(lazy_words(BYTES(0x68, 7, 0, 0, 0, 0x90, 0x90, 0x90), 0), 99);
}

static enum sw_fp_place fp_place(const uint8_t *bytes, size_t n)
{
	return sw_arch_fp_place(memory_beginning(bytes, n), AT);
}

TEST(test_padding_before)
{
	static const uint8_t bytes[] = {0xcc, 0x90, 0x90};
	assert_true(sw_arch_padding_before(memory_beginning(bytes, 3), AT + 1));
	assert_false(sw_arch_padding_before(memory_beginning(bytes, 3), AT + 2));
	assert_false(sw_arch_padding_before(memory_beginning(bytes, 3), AT)); /* not readable */
	assert_false(sw_arch_padding_before(memory_beginning(bytes, 3), 0));
}

TEST(test_fp_place)
{
	assert_int_equal(fp_place(BYTES(0x55)), SW_FP_AT_ENTRY); /* push %rbp */
	assert_int_equal(fp_place(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x55)), SW_FP_AT_ENTRY);
	assert_int_equal(fp_place(BYTES(0xc3)), SW_FP_AT_ENTRY);           /* ret */
	assert_int_equal(fp_place(BYTES(0xf3, 0xc3)), SW_FP_AT_ENTRY);     /* rep ret */
	assert_int_equal(fp_place(BYTES(0xc2, 8, 0)), SW_FP_AT_ENTRY);     /* ret $8 */
	assert_int_equal(fp_place(BYTES(0x48, 0x89, 0xe5)), SW_FP_PUSHED); /* mov %rsp,%rbp */
	assert_int_equal(fp_place(BYTES(0x48, 0x8b, 0xec)), SW_FP_PUSHED); /* the same, otherwise */
	assert_int_equal(fp_place(BYTES(0x5d, 0xc3)), SW_FP_PUSHED);       /* pop %rbp; ret */
	assert_int_equal(fp_place(BYTES(0x5d, 0x90)), SW_FP_IN_BODY);      /* pop %rbp; nop */
	assert_int_equal(fp_place(BYTES(0xc9, 0xc3)), SW_FP_IN_BODY);      /* leave; ret */
	assert_int_equal(fp_place(BYTES(0x48, 0x83, 0xec, 0x10)), SW_FP_IN_BODY);
	/* endbr64 that no push follows says nothing */
	assert_int_equal(fp_place(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x90)), SW_FP_IN_BODY);
	struct sw_memory m = memory_beginning(BYTES(0x55));
	assert_int_equal(sw_arch_fp_place(m, 0x1000), SW_FP_IN_BODY); /* unreadable */
}

TEST(test_sigreturn)
{
	/* mov $0xf,%rax; syscall */
	struct sw_memory m = memory_beginning(BYTES(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_SIGRETURN);
	assert_int_equal(sw_arch_known_code(m, AT + 1, 0), SW_CODE_UNKNOWN);
	/* mov $0xe,%rax; syscall: rt_sigprocmask */
	m = memory_beginning(BYTES(0x48, 0xc7, 0xc0, 0x0e, 0, 0, 0, 0x0f, 0x05));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
	assert_int_equal(sw_arch_sigframe_off(SW_X86_64_R8), 40);
	assert_int_equal(sw_arch_sigframe_off(SW_X86_64_RBP), 120);
	assert_int_equal(sw_arch_sigframe_off(SW_X86_64_RSP), 160);
	assert_int_equal(sw_arch_sigframe_off(SW_X86_64_RA), 168);
}

TEST(test_musl_clone)
{
	/* xor %ebp,%ebp; pop %rdi; call *%r9 | mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall */
	struct sw_memory m = memory_ending(BYTES(0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1));
	static const uint8_t after[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05};
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN); /* what follows counts */
	memcpy(code + 32, after, sizeof(after));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_THREAD_START);
}

TEST(test_start_context)
{
	/* mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je +8; call */
	struct sw_memory m = memory_beginning(BYTES(0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48,
						    0x85, 0xff, 0x74, 0x08, 0xe8, 1, 2, 3, 4));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_THREAD_START);
	assert_true(sw_arch_is_first_insn(m, AT));
	assert_int_equal(sw_arch_known_code(m, AT + 3, 0), SW_CODE_UNKNOWN);
	assert_false(sw_arch_is_first_insn(m, AT + 3));
	code[32 + 12] = 0xe9; /* jmp */
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
	/* mov %rbx,%rsp; testl $2,%fs:0x48 */
	m = memory_beginning(
		BYTES(0x48, 0x89, 0xdc, 0x64, 0xf7, 0x04, 0x25, 0x48, 0, 0, 0, 2, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_THREAD_START);
	code[32 + 2] = 0xe5; /* mov %rsp,%rbp */
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
}

TEST(test_fcontext_finish)
{
	/* push %rbp; jmp *%rbx | xor %rdi,%rdi; call _exit; hlt */
	static const uint8_t after[] = {0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4};
	struct sw_memory m = memory_ending(BYTES(0x55, 0xff, 0xe3));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN); /* what follows counts */
	memcpy(code + 32, after, sizeof(after));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_THREAD_START);
	assert_int_equal(sw_arch_known_code(m, AT + 3, 0), SW_CODE_THREAD_START);
	assert_int_equal(sw_arch_known_code(m, AT + 8, 0), SW_CODE_THREAD_START);
	assert_int_equal(sw_arch_known_code(m, AT + 9, 0), SW_CODE_UNKNOWN);
	assert_int_equal(sw_arch_known_code(m, AT - 3, 0), SW_CODE_UNKNOWN);
	assert_true(sw_arch_is_fiber_start(m, AT - 3));
	assert_false(sw_arch_is_fiber_start(m, AT));
	code[32 + 8] = 0x90; /* not hlt */
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
	code[32 + 8] = 0xf4;
	code[32 - 1] = 0xe0; /* jmp *%rax */
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
}

TEST(test_clone_side)
{
	/* syscall; test %rax,%rax; jl +19; je +1; ret: glibc 2.36 clone and clone3 */
	struct sw_memory m =
		memory_beginning(BYTES(0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3));
	static const struct {
		uint8_t at;
		enum sw_clone_side with_0, with_tid;
	} rows[] = {
		{0, SW_CLONE_PARENT, SW_CLONE_PARENT}, /* nobody is made yet */
		{1, SW_CLONE_NONE, SW_CLONE_NONE},     /* inside an instruction */
		{2, SW_CLONE_CHILD, SW_CLONE_PARENT},  {5, SW_CLONE_CHILD, SW_CLONE_PARENT},
		{7, SW_CLONE_CHILD, SW_CLONE_PARENT},  {9, SW_CLONE_PARENT, SW_CLONE_PARENT},
		{10, SW_CLONE_NONE, SW_CLONE_NONE},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(sw_arch_clone_side(m, AT + rows[i].at, 0), rows[i].with_0);
		assert_int_equal(sw_arch_clone_side(m, AT + rows[i].at, 77), rows[i].with_tid);
	}
	/* near jumps */
	m = memory_beginning(BYTES(0x0f, 0x05, 0x48, 0x85, 0xc0, 0x0f, 0x8c, 9, 0, 0, 0, 0x0f, 0x84,
				   9, 0, 0, 0, 0xc3));
	assert_int_equal(sw_arch_clone_side(m, AT + 11, 0), SW_CLONE_CHILD);
	assert_int_equal(sw_arch_clone_side(m, AT + 17, 0), SW_CLONE_PARENT);
	/* another system call: no branch for a child behind it */
	m = memory_beginning(
		BYTES(0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3));
	assert_int_equal(sw_arch_clone_side(m, AT + 2, 0), SW_CLONE_NONE);
}

/* Free Pascal fills tables first: its call is the last of 80 bytes. */
TEST(test_long_entry)
{
	enum { BYTES_MAX = 96, CALL = 5, XOR = 3 };
	static const uint8_t call[CALL] = {0xe8, 0x0a}, xor[XOR] = {
								0x48, 0x31, 0xed};
	static uint8_t bytes[BYTES_MAX];
	static const struct fake_region region[] = {{AT, bytes, sizeof(bytes)}};
	struct fake_memory fake = {.regions = region, .n_regions = 1};
	struct sw_memory m = fake_memory(&fake);
	for (int last = 0; last < 2; last++) {
		memset(bytes, 0x90, sizeof(bytes));
		memcpy(bytes + 80 - CALL, call, CALL);
		assert_int_equal(sw_arch_known_code(m, AT + 80, AT), SW_CODE_UNKNOWN);
		memcpy(last ? bytes + 80 - CALL - XOR : bytes, xor, XOR);
		assert_int_equal(sw_arch_known_code(m, AT + 80, AT), SW_CODE_THREAD_START);
		/* Not that of a function that the first call leads to. */
		memcpy(bytes + 40, call, CALL);
		assert_int_equal(sw_arch_known_code(m, AT + 80, AT), SW_CODE_UNKNOWN);
	}
}

TEST(test_entry_call)
{
	/* xor %rbp,%rbp; mov %rsp,%rdi; and $-16,%rsp; call +10 */
	static const uint8_t start[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83,
					0xe4, 0xf0, 0xe8, 0x0a, 0,    0,    0};
	struct sw_memory m = memory_ending(start, sizeof(start));
	uint64_t entry = AT - sizeof(start);
	assert_int_equal(sw_arch_known_code(m, AT, entry), SW_CODE_THREAD_START);
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
	assert_int_equal(sw_arch_known_code(m, AT, entry + 3), SW_CODE_UNKNOWN);

	/* A second function right behind it, which calls at +10 as well: not the entry. */
	memcpy(code + 32 + 10, BYTES(0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT + 15, entry), SW_CODE_UNKNOWN);

	/* pop %rdi; mov %rsp,%rsi; xor %ebp,%ebp; and $-16,%rsp; call +0 */
	m = memory_ending(BYTES(0x5f, 0x48, 0x89, 0xe6, 0x31, 0xed, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0,
				0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 15), SW_CODE_THREAD_START);

	/* The same bytes within an instruction: mov $-0x12ceffff,%edi */
	m = memory_ending(BYTES(0x48, 0x89, 0xe6, 0xbf, 0x01, 0x00, 0x31, 0xed, 0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 13), SW_CODE_UNKNOWN);

	/* The entry code has ended: xor %ebp,%ebp; call further; hlt; then a function that calls. */
	m = memory_ending(BYTES(0x31, 0xed, 0xe8, 0x40, 0, 0, 0, 0xf4, 0x53, 0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 14), SW_CODE_UNKNOWN);
	assert_int_equal(sw_arch_known_code(m, AT - 7, AT - 14), SW_CODE_THREAD_START);

	/* The code jumps over a constant: xor %ebp,%ebp; jmp +4; int3 ...; call +0 */
	m = memory_ending(BYTES(0x31, 0xed, 0xeb, 0x04, 0xcc, 0xcc, 0xcc, 0xcc, 0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 13), SW_CODE_THREAD_START);

	/* rbp is cleared by what comes behind the entry code: ret; xor %ebp,%ebp; nop; call +0 */
	m = memory_ending(
		BYTES(0x48, 0x89, 0xe6, 0xc3, 0x31, 0xed, 0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 14), SW_CODE_UNKNOWN);

	/* rbp is not cleared */
	m = memory_ending(BYTES(0x48, 0x89, 0xe7, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0, 0, 0, 0));
	assert_int_equal(sw_arch_known_code(m, AT, AT - 12), SW_CODE_UNKNOWN);
}

/* Each form of an indirect call, with a target that it leads to and one that it does not. */
TEST(test_call_led)
{
	enum { DATA = 0x2000, SP_AVMA = 0x5000, TARGET = 0x777 };
	static const uint64_t words[] = {TARGET, TARGET + 1};
	static const struct {
		uint8_t code[8];
		bool led;
	} calls[] = {
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},  /* *%rax */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd1}, false}, /* *%rcx */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4}, true},  /* *%r12 */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd5}, false}, /* *%r13 */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x13}, true},  /* *(%rbx) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x53, 0x08}, false}, /* *8(%rbx) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x55, 0xf8}, true},  /* *-8(%rbp) */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xcb}, true},  /* *(%rbx,%rcx,8) */
		{{0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08}, true},  /* *8(%rsp) */
		{{0x90, 0xff, 0x14, 0x25, 0x00, 0x20, 0x00, 0x00}, true},  /* *0x2000 */
		{{0x90, 0xff, 0x94, 0x8b, 0x00, 0x00, 0x00, 0x00}, true},  /* *0(%rbx,%rcx,4) */
		{{0x90, 0x90, 0xff, 0x15, 0x00, 0x10, 0x00, 0x00}, true},  /* *0x1000(%rip) */
		{{0x90, 0x90, 0xff, 0x15, 0x08, 0x10, 0x00, 0x00}, false}, /* *0x1008(%rip) */
		{{0x90, 0x90, 0x90, 0xe8, 0x77, 0xf7, 0xff, 0xff}, true},  /* direct */
		{{0x90, 0x90, 0x90, 0xe8, 0x78, 0xf7, 0xff, 0xff}, false}, /* to elsewhere */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false}, /* no call */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp *%rax */
	};
	static const uint64_t top[] = {0, 0, TARGET};
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		const struct fake_region parts[] = {
			{0x1000 - 8, calls[i].code, 8},
			{DATA, words, sizeof(words)},
			{SP_AVMA, top, sizeof(top)},
		};
		struct fake_memory fake = {.regions = parts, .n_regions = 3};
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_ARCH_SP, SP_AVMA);
		sw_regs_set(&regs, SW_X86_64_RAX, TARGET);
		sw_regs_set(&regs, SW_X86_64_RBX, DATA);
		sw_regs_set(&regs, SW_X86_64_RCX, 0);
		sw_regs_set(&regs, SW_ARCH_FP, DATA + 8);
		sw_regs_set(&regs, SW_X86_64_R12, TARGET);
		bool led = sw_arch_call_led(fake_memory(&fake), &regs, 0x1000, TARGET);
		if (led != calls[i].led)
			fail_msg("call %zu", i);
	}
}

/* RTLD_START of glibc 2.36. */
static const uint8_t loader[] = {
	0x48, 0x89, 0xe7,                         /* 00 mov %rsp,%rdi */
	0xe8, 0xf8, 0x0b, 0x00, 0x00,             /* 03 call _dl_start */
	0x49, 0x89, 0xc4,                         /* 08 mov %rax,%r12 */
	0x48, 0x8b, 0x14, 0x24,                   /* 0b mov (%rsp),%rdx */
	0x48, 0x89, 0xd6,                         /* 0f mov %rdx,%rsi */
	0x49, 0x89, 0xe5,                         /* 12 mov %rsp,%r13 */
	0x48, 0x83, 0xe4, 0xf0,                   /* 15 and $-16,%rsp */
	0x48, 0x8b, 0x3d, 0x90, 0x84, 0x01, 0x00, /* 19 mov _rtld_global,%rdi */
	0x49, 0x8d, 0x4c, 0xd5, 0x10,             /* 20 lea 16(%r13,%rdx,8),%rcx */
	0x49, 0x8d, 0x55, 0x08,                   /* 25 lea 8(%r13),%rdx */
	0x31, 0xed,                               /* 29 xor %ebp,%ebp */
	0xe8, 0xf0, 0x9e, 0xfe, 0xff,             /* 2b call _dl_init */
	0x48, 0x8d, 0x15, 0x29, 0x9b, 0xfe, 0xff, /* 30 lea _dl_fini,%rdx */
	0x4c, 0x89, 0xec,                         /* 37 mov %r13,%rsp */
	0x41, 0xff, 0xe4,                         /* 3a jmp *%r12 */
	0x0f, 0x1f, 0x00,                         /* 3d nop */
	0x31, 0xed, 0xe8, 0,    0,    0,    0,    /* 40 another function */
};

/* The dynamic loader's entry code, all of it and nothing behind it. */
TEST(test_loader_entry)
{
	enum { JUMP = 0x3a, CLEAR = 0x29 };
	static uint8_t bytes[SW_ARCH_ENTRY_MAX];
	static const struct fake_region region[] = {{AT, bytes, sizeof(bytes)}};
	struct fake_memory fake = {.regions = region, .n_regions = 1};
	struct sw_memory m = fake_memory(&fake);
	memcpy(bytes, loader, sizeof(loader));
	for (uint64_t off = 0; off < sizeof(bytes); off++)
		assert_int_equal(sw_arch_is_entry_code(m, AT + off, AT), off <= JUMP);
	assert_false(sw_arch_is_entry_code(m, AT - 1, AT));
	assert_false(sw_arch_is_entry_code(m, AT, 0));
	assert_false(sw_arch_is_entry_code(m, AT + 8, AT + 8));
	bytes[CLEAR] = 0x33; /* not that */
	assert_false(sw_arch_is_entry_code(m, AT + 8, AT));
	bytes[CLEAR] = 0x31;
	bytes[JUMP + 2] = 0xe0;
	assert_false(sw_arch_is_entry_code(m, AT + 8, AT));
}

/* Before its first instruction a program has called nobody; but that is all that is known. */
TEST(test_entry_itself)
{
	struct sw_memory m =
		memory_beginning(BYTES(0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x90, 0x90));
	assert_true(sw_arch_is_entry_code(m, AT, AT));
	assert_false(sw_arch_is_entry_code(m, AT + 3, AT));
	m = memory_beginning(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed, 0x90, 0x90));
	assert_true(sw_arch_is_entry_code(m, AT, AT));
	/* any function, where a linker found no entry */
	m = memory_beginning(BYTES(0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90));
	assert_false(sw_arch_is_entry_code(m, AT, AT));
}

TEST(test_register_names)
{
	assert_string_equal(sw_arch_reg_name(false, SW_X86_64_RDX), "rdx");
	assert_string_equal(sw_arch_reg_name(false, SW_X86_64_R15), "r15");
	assert_string_equal(sw_arch_reg_name(false, SW_ARCH_RA), "ra");
	assert_string_equal(sw_arch_reg_name(false, 17), "r?");
	/* rbx, rbp, r12 to r15 */
	assert_int_equal(sw_arch_preserved(false), 1u << 3 | 1u << 6 | 0xf000);
}

static struct sw_memory of_i386(struct sw_memory m)
{
	return fake_memory_32(m.arg);
}

/* Intel386 psABI 1.1, table 2.14. */
TEST(test_i386_registers)
{
	static const char *const columns[] = {"eax", "ecx", "edx", "ebx", "esp",
					      "ebp", "esi", "edi", "ra"};
	for (unsigned i = 0; i < 9; i++) {
		unsigned reg = sw_arch_reg_of_column(true, i);
		assert_string_equal(sw_arch_reg_name(true, reg), columns[i]);
		assert_int_equal(sw_arch_column_of_reg(true, reg), i);
	}
	assert_int_equal(sw_arch_reg_of_column(true, 4), SW_ARCH_SP);
	assert_int_equal(sw_arch_reg_of_column(true, 8), SW_ARCH_RA);
	assert_int_equal(sw_arch_reg_of_column(true, 9), SW_REGS_MAX);
	assert_int_equal(sw_arch_reg_of_column(true, UINT64_MAX), SW_REGS_MAX);
	assert_int_equal(sw_arch_column_of_reg(true, SW_X86_64_R8), -1);
	assert_string_equal(sw_arch_reg_name(true, SW_X86_64_R8), "e?");
	assert_int_equal(sw_arch_reg_of_column(false, 16), SW_ARCH_RA);
	assert_int_equal(sw_arch_reg_of_column(false, 17), SW_REGS_MAX);
	assert_int_equal(sw_arch_column_of_reg(false, 7), 7);
	/* ebx, ebp, esi, edi */
	assert_int_equal(sw_arch_preserved(true), 1u << 3 | 1u << 6 | 1u << 4 | 1u << 5);
}

TEST(test_i386_code)
{
	uint64_t address;
	uint32_t off;
	/* call back by more than there is before it: addresses wrap around */
	struct sw_memory m = of_i386(memory_ending(BYTES(0xe8, 0, 0, 0, 0x80)));
	assert_int_equal(sw_arch_call_before(m, AT, &address), SW_CALL_DIRECT);
	assert_int_equal(address, 0x80400100);
	/* call, jmp through an absolute address */
	m = of_i386(memory_ending(BYTES(0xff, 0x15, 0x10, 0x20, 0x04, 0xf8)));
	assert_true(sw_arch_call_slot(m, AT, &address));
	assert_int_equal(address, 0xf8042010);
	m = of_i386(memory_beginning(BYTES(0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0x25, 0x10, 0x20, 4, 8)));
	assert_true(sw_arch_jump_slot(m, AT, &address));
	assert_int_equal(address, 0x8042010);
	assert_false(sw_arch_jump_got(m, AT, &off));
	/* jmp *0x14(%ebx) */
	m = of_i386(memory_beginning(BYTES(0xff, 0xa3, 0x14, 0, 0, 0)));
	assert_true(sw_arch_jump_got(m, AT, &off));
	assert_int_equal(off, 0x14);
	assert_false(sw_arch_jump_slot(m, AT, &address));
	assert_false(sw_arch_jump_got(memory_beginning(BYTES(0xff, 0xa3)), AT, &off));
	/* mov %esp,%ebp, which begins as xchg %r12,... would in 64-bit code */
	m = of_i386(memory_beginning(BYTES(0x89, 0xe5)));
	assert_int_equal(sw_arch_fp_place(m, AT), SW_FP_PUSHED);
	m = of_i386(memory_beginning(BYTES(0x48, 0x89, 0xe5)));
	assert_int_equal(sw_arch_fp_place(m, AT), SW_FP_IN_BODY); /* dec %eax comes first */
	/* mov (%esp),%ebx; ret */
	m = of_i386(memory_beginning(BYTES(0x8b, 0x1c, 0x24, 0xc3)));
	assert_true(sw_arch_is_pc_thunk(m, AT));
	assert_true(sw_arch_is_pc_thunk(m, AT + 3));
	assert_false(sw_arch_is_pc_thunk(m, AT + 1));
	m = of_i386(memory_beginning(BYTES(0x8b, 0x5c, 0x24, 0x04)));
	assert_false(sw_arch_is_pc_thunk(m, AT));
}

TEST(test_i386_sigreturn)
{
	struct sw_memory m = of_i386(memory_beginning(BYTES(0xb8, 0xad, 0, 0, 0, 0xcd, 0x80)));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_SIGRETURN);
	m = of_i386(memory_beginning(BYTES(0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80)));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_SIGRETURN_OLD);
	m = of_i386(memory_beginning(BYTES(0xb8, 0xac, 0, 0, 0, 0xcd, 0x80)));
	assert_int_equal(sw_arch_known_code(m, AT, 0), SW_CODE_UNKNOWN);
	assert_int_equal(sw_arch_sigframe_place(SW_CODE_SIGRETURN_OLD, true, SW_ARCH_RA), 60);
	assert_int_equal(sw_arch_sigframe_place(SW_CODE_SIGRETURN, true, SW_ARCH_RA), 216);
	assert_int_equal(sw_arch_sigframe_place(SW_CODE_SIGRETURN, true, SW_ARCH_SP), 188);
	assert_int_equal(sw_arch_sigframe_place(SW_CODE_SIGRETURN, true, SW_X86_64_R8), -1);
	assert_int_equal(sw_arch_sigframe_place(SW_CODE_SIGRETURN, false, SW_ARCH_RA), 168);
}

TEST(test_regs)
{
	struct sw_regs regs = {0};
	uint64_t value = 1;
	assert_false(sw_regs_get(&regs, SW_X86_64_RBX, &value));
	assert_int_equal(value, 1);
	sw_regs_set(&regs, SW_X86_64_RBX, 5);
	assert_true(sw_regs_get(&regs, SW_X86_64_RBX, &value));
	assert_int_equal(value, 5);
	sw_regs_forget(&regs, SW_X86_64_RBX);
	assert_false(sw_regs_get(&regs, SW_X86_64_RBX, &value));
	sw_regs_set(&regs, SW_ARCH_SP, 0x7000);
	sw_regs_set(&regs, SW_ARCH_RA, 0x4000);
	assert_int_equal(regs.sp_avma, 0x7000);
	assert_int_equal(regs.pc_avma, 0x4000);
	assert_false(sw_regs_get(&regs, SW_REGS_MAX, &value));
	sw_regs_set(&regs, SW_REGS_MAX, 9); /* ignored */
}
