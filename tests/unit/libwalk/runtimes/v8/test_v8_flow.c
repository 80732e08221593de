/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/instructions/flow: where the return address is, over instructions as V8 makes them. */
#include "cleanup.h"
#include "runtimes/v8/instructions/flow.h"
#include "test.h"

static struct sw_v8_state at(const uint8_t *code, size_t n, uint64_t pc)
{
	struct sw_v8_function_code f = {.code = {code, n}};
	return sw_v8_flow(&f, pc);
}

/*
 * A function of JavaScript, with what TurboFan puts around it:
 *
 *	0 test %ecx, %ecx; 2 jne 24; 4 push %rbp; 5 mov %rsp, %rbp; 8 push %rsi; 9 push %rdi
 *	10 mov %rbp, %rsp; 13 pop %rbp; 14 pop %r10; 16 lea (%rsp, %rcx, 8), %rsp; 20 push %r10; 22 ret
 *	23 int3; 24 jmp *%rcx
 */
TEST(test_function)
{
	static const uint8_t code[] = {0x85, 0xc9, 0x75, 0x14, 0x55, 0x48, 0x89, 0xe5, 0x56,
				       0x57, 0x48, 0x8b, 0xe5, 0x5d, 0x41, 0x5a, 0x48, 0x8d,
				       0x24, 0xcc, 0x41, 0x52, 0xc3, 0xcc, 0xff, 0xe1};
	struct sw_v8_state s = at(code, sizeof(code), 0);
	assert_int_equal(s.place, SW_V8_PLACE_STACK);
	assert_int_equal(s.offset, 0);
	assert_int_equal(at(code, sizeof(code), 4).place, SW_V8_PLACE_STACK);
	s = at(code, sizeof(code), 5);
	assert_int_equal(s.place, SW_V8_PLACE_PUSHED);
	assert_int_equal(s.offset, 8);
	for (uint64_t pc = 8; pc <= 10; pc++)
		assert_int_equal(at(code, sizeof(code), pc).place, SW_V8_PLACE_FRAME);
	assert_int_equal(at(code, sizeof(code), 13).place, SW_V8_PLACE_FRAME);
	s = at(code, sizeof(code), 14);
	assert_int_equal(s.place, SW_V8_PLACE_STACK);
	assert_int_equal(s.offset, 0);
	s = at(code, sizeof(code), 20);
	assert_int_equal(s.place, SW_V8_PLACE_REGISTER);
	assert_int_equal(s.reg, 10);
	s = at(code, sizeof(code), 22);
	assert_int_equal(s.place, SW_V8_PLACE_STACK);
	assert_int_equal(s.offset, 0);
	assert_int_equal(at(code, sizeof(code), 24).place, SW_V8_PLACE_STACK);
	assert_int_equal(at(code, sizeof(code), 6).place, SW_V8_PLACE_UNKNOWN); /* in the middle */
}

/* push %rax; lea 8(%rbx), %rsp; ret: where the return address is then is not known. */
TEST(test_sp_of_register)
{
	static const uint8_t code[] = {0x50, 0x48, 0x8d, 0x63, 0x08, 0xc3};
	struct sw_v8_state s = at(code, sizeof(code), 1);
	assert_int_equal(s.place, SW_V8_PLACE_STACK);
	assert_int_equal(s.offset, 8);
	assert_int_equal(at(code, sizeof(code), 5).place, SW_V8_PLACE_UNKNOWN);
}

/* push %rax; push %rcx; pop %rcx; ret: words of its own above the return address. */
TEST(test_frameless)
{
	static const uint8_t code[] = {0x50, 0x51, 0x59, 0x58, 0xc3};
	static const int64_t offsets[] = {0, 8, 16, 8, 0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(offsets); i++) {
		struct sw_v8_state s = at(code, sizeof(code), i);
		assert_int_equal(s.place, SW_V8_PLACE_STACK);
		assert_int_equal(s.offset, offsets[i]);
	}
}

/*
 * Builtins_CallUndefinedReceiver1Handler of V8 10.2, before it leaves for the function to be called:
 *
 *	0 sub $8, %rsp; 4 push 8(%rsp); 8 mov %rbx, 16(%rsp); 13 jmp *%rcx
 */
TEST(test_moved)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0x74, 0x24, 0x08,
				       0x48, 0x89, 0x5c, 0x24, 0x10, 0xff, 0xe1};
	static const struct {
		uint64_t pc;
		int64_t offset;
	} rows[] = {{0, 0}, {4, 8}, {8, 0}, {13, 0}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		struct sw_v8_state s = at(code, sizeof(code), rows[i].pc);
		assert_int_equal(s.place, SW_V8_PLACE_STACK);
		assert_int_equal(s.offset, rows[i].offset);
	}
	/* another word than the return address: it stays where it was */
	static const uint8_t other[] = {0x50, 0xff, 0x34, 0x24, 0xc3};
	assert_int_equal(at(other, sizeof(other), 4).offset, 16);
}

/* Code that is jumped to by functions of the interpreter has their frame. */
TEST(test_framed_entry)
{
	static const uint8_t code[] = {0x90, 0x53, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .begins_framed = true};
	assert_int_equal(sw_v8_flow(&f, 0).place, SW_V8_PLACE_FRAME);
	assert_int_equal(sw_v8_flow(&f, 2).place, SW_V8_PLACE_FRAME);
}

/* A loop that is entered at 2, and a catch block at 6 that nothing leads to. */
TEST(test_entered)
{
	static const uint8_t code[] = {0xcc, 0xcc, 0x90, 0x90, 0xeb, 0xfc, 0x5d, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .framed = true, .entered = 2};
	assert_int_equal(sw_v8_flow(&f, 3).place, SW_V8_PLACE_FRAME);
	assert_int_equal(sw_v8_flow(&f, 6).place, SW_V8_PLACE_FRAME);
	assert_int_equal(sw_v8_flow(&f, 7).place, SW_V8_PLACE_STACK);
}

/* call; nop: what is called first has set up the frame. */
TEST(test_prologue)
{
	static const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0x90, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .prologue = true};
	assert_int_equal(sw_v8_flow(&f, 0).place, SW_V8_PLACE_STACK);
	assert_int_equal(sw_v8_flow(&f, 5).place, SW_V8_PLACE_FRAME);
	f.prologue = false;
	assert_int_equal(sw_v8_flow(&f, 5).place, SW_V8_PLACE_STACK);
}

/*
 * Builtins_CallVarargs of V8 11.3, where it moves the return address and arguments down; after the first word that
 * is where sp points to:
 *
 *	0 mov %rsp, %r8; 3 sub %r10, %rsp; 6 lea 1(%rax), %r9; 10 xor %r12d, %r12d
 *	13 mov (%r8, %r12, 8), %r10; 17 mov %r10, (%rsp, %r12, 8); 21 inc %r12; 24 cmp %rax, %r12
 *	27 jle 13; 29 lea 8(%rsp, %rax, 8), %r8; 34 xor %r12d, %r12d; 37 ret
 */
TEST(test_copying)
{
	static const uint8_t code[] = {0x4c, 0x8b, 0xc4, 0x49, 0x2b, 0xe2, 0x4c, 0x8d, 0x48, 0x01,
				       0x45, 0x33, 0xe4, 0x4f, 0x8b, 0x14, 0xe0, 0x4e, 0x89, 0x14,
				       0xe4, 0x49, 0xff, 0xc4, 0x4c, 0x3b, 0xe0, 0x7e, 0xf0, 0x4c,
				       0x8d, 0x44, 0xc4, 0x08, 0x45, 0x33, 0xe4, 0xc3};
	enum { NO_INDEX = 0xff };
	static const struct {
		uint64_t pc;
		enum sw_v8_place place;
		uint8_t index;
	} rows[] = {
		{0, SW_V8_PLACE_STACK, 0},          {3, SW_V8_PLACE_STACK, 0},
		{6, SW_V8_PLACE_COPYING, NO_INDEX}, {10, SW_V8_PLACE_COPYING, NO_INDEX},
		{13, SW_V8_PLACE_COPYING, 12},      {21, SW_V8_PLACE_COPYING, 12},
		{27, SW_V8_PLACE_COPYING, 12},      {29, SW_V8_PLACE_STACK, 0},
		{37, SW_V8_PLACE_STACK, 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		struct sw_v8_state s = at(code, sizeof(code), rows[i].pc);
		assert_int_equal(s.place, rows[i].place);
		assert_int_equal(s.offset, 0);
		if (s.place == SW_V8_PLACE_COPYING) {
			assert_int_equal(s.reg, 8);
			assert_int_equal(s.index, rows[i].index);
		}
	}
	/* without a copy of sp nothing is known */
	static const uint8_t lost[] = {0x49, 0x2b, 0xe2, 0x45, 0x33, 0xe4, 0xc3};
	assert_int_equal(at(lost, sizeof(lost), 3).place, SW_V8_PLACE_UNKNOWN);
}

/* pop %r15; push %rbp: what is entered with a word above its return address. */
TEST(test_entry_words)
{
	static const uint8_t code[] = {0x41, 0x5f, 0x55, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .entry_words = 1};
	assert_int_equal(sw_v8_flow(&f, 0).offset, 8);
	assert_int_equal(sw_v8_flow(&f, 2).offset, 0);
	assert_int_equal(sw_v8_flow(&f, 2).place, SW_V8_PLACE_STACK);
	assert_int_equal(sw_v8_flow(&f, 3).place, SW_V8_PLACE_PUSHED);
}
