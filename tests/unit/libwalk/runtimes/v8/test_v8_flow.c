/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/flow and insn: where the return address is, over instructions as V8 makes them. */
#include "cleanup.h"
#include "runtimes/v8/flow.h"
#include "runtimes/v8/insn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_lengths(void **state)
{
	(void) state;
	static const struct {
		uint8_t bytes[16];
		size_t n;
		enum sw_v8_insn_kind kind;
	} rows[] = {
		{{0x55}, 1, SW_V8_INSN_PUSH},
		{{0x41, 0x5a}, 2, SW_V8_INSN_POP},
		{{0x48, 0x89, 0xe5}, 3, SW_V8_INSN_FRAME},
		{{0x48, 0x8b, 0xec}, 3, SW_V8_INSN_FRAME},
		{{0x48, 0x8b, 0xe5}, 3, SW_V8_INSN_UNFRAME},
		{{0x48, 0x83, 0xec, 0x08}, 4, SW_V8_INSN_ADD_SP},
		{{0x48, 0x8d, 0x24, 0xcc}, 4, SW_V8_INSN_SET_SP},
		{{0x41, 0xff, 0xb5, 0x90, 0, 0, 0}, 7, SW_V8_INSN_PUSH}, /* push 0x90(%r13) */
		{{0x48, 0xbe, 1, 2, 3, 4, 5, 6, 7, 8}, 10, SW_V8_INSN_OTHER},
		{{0x66, 0x81, 0xf9, 0x34, 0x12}, 5, SW_V8_INSN_OTHER}, /* cmp $0x1234, %cx */
		{{0xf6, 0x42, 0x2f, 0x60}, 4, SW_V8_INSN_OTHER},
		{{0x0f, 0x85, 0x11, 0, 0, 0}, 6, SW_V8_INSN_BRANCH},
		{{0xe8, 0, 1, 0, 0}, 5, SW_V8_INSN_CALL},
		{{0xff, 0xd1}, 2, SW_V8_INSN_CALL_FAR},
		{{0x41, 0xff, 0x64, 0xd7, 0x10}, 5, SW_V8_INSN_JUMP_FAR},
		{{0xc2, 0x18, 0x00}, 3, SW_V8_INSN_RETURN},
		{{0xc5, 0xfb, 0x10, 0x45, 0xe0},
		 5,
		 SW_V8_INSN_OTHER}, /* vmovsd -0x20(%rbp), %xmm0 */
		{{0xc4, 0xe3, 0x79, 0x0f, 0xc1, 0x08}, 6, SW_V8_INSN_OTHER},
		{{0xcc}, 1, SW_V8_INSN_TRAP},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		struct sw_v8_insn insn;
		struct sw_bytes all = {rows[i].bytes, sizeof(rows[i].bytes)};
		struct sw_bytes cut = {rows[i].bytes, rows[i].n - 1};
		assert_true(sw_v8_insn_decode(all, &insn));
		assert_int_equal(insn.length, rows[i].n);
		assert_int_equal(insn.kind, rows[i].kind);
		assert_false(sw_v8_insn_decode(cut, &insn));
	}
}

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
static void test_function(void **state)
{
	(void) state;
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

/* push %rax; push %rcx; pop %rcx; ret: words of its own above the return address. */
static void test_frameless(void **state)
{
	(void) state;
	static const uint8_t code[] = {0x50, 0x51, 0x59, 0x58, 0xc3};
	static const int64_t offsets[] = {0, 8, 16, 8, 0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(offsets); i++) {
		struct sw_v8_state s = at(code, sizeof(code), i);
		assert_int_equal(s.place, SW_V8_PLACE_STACK);
		assert_int_equal(s.offset, offsets[i]);
	}
}

/* A loop that is entered at 2, and a catch block at 6 that nothing leads to. */
static void test_entered(void **state)
{
	(void) state;
	static const uint8_t code[] = {0xcc, 0xcc, 0x90, 0x90, 0xeb, 0xfc, 0x5d, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .framed = true, .entered = 2};
	assert_int_equal(sw_v8_flow(&f, 3).place, SW_V8_PLACE_FRAME);
	assert_int_equal(sw_v8_flow(&f, 6).place, SW_V8_PLACE_FRAME);
	assert_int_equal(sw_v8_flow(&f, 7).place, SW_V8_PLACE_STACK);
}

/* call; nop: what is called first has set up the frame. */
static void test_prologue(void **state)
{
	(void) state;
	static const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0x90, 0xc3};
	struct sw_v8_function_code f = {.code = {code, sizeof(code)}, .prologue = true};
	assert_int_equal(sw_v8_flow(&f, 0).place, SW_V8_PLACE_STACK);
	assert_int_equal(sw_v8_flow(&f, 5).place, SW_V8_PLACE_FRAME);
	f.prologue = false;
	assert_int_equal(sw_v8_flow(&f, 5).place, SW_V8_PLACE_STACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),   cmocka_unit_test(test_function),
		cmocka_unit_test(test_frameless), cmocka_unit_test(test_entered),
		cmocka_unit_test(test_prologue),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
