/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/microtask: where V8 has what runs of its queue, by the builtin that runs it. */
#include "fake.h"
#include "runtimes/v8/microtask.h"
#include "test.h"

/* push %rbp; mov %rsp,%rbp; mov %rbp,0x68(%r13); mov %r11,0x1ae0(%r13); mov %r15,0x98(%r13);
 * mov %rdx,0x1ae0(%r13); mov 0x1ae0(%r13),%rdx; ret */
static const uint8_t runs[] = {0x55, 0x48, 0x89, 0xe5, 0x49, 0x89, 0x6d, 0x68, 0x4d, 0x89,
			       0x9d, 0xe0, 0x1a, 0,    0,    0x4d, 0x89, 0xbd, 0x98, 0,
			       0,    0,    0x49, 0x89, 0x95, 0xe0, 0x1a, 0,    0,    0x49,
			       0x8b, 0x95, 0xe0, 0x1a, 0,    0,    0xc3};
enum { SECOND = 22, RET = 36, FIRST_OFF = 11 };

TEST(test_off)
{
	uint8_t code[sizeof(runs)];
	uint32_t off = 0;
	assert_true(sw_v8_microtask_off((struct sw_bytes){runs, sizeof(runs)}, &off));
	assert_int_equal(off, 0x1ae0);
	/* Once is not enough, nor is what cannot be read as instructions, nor an offset that is none. */
	assert_false(sw_v8_microtask_off((struct sw_bytes){runs, SECOND}, &off));
	assert_false(sw_v8_microtask_off((struct sw_bytes){runs, sizeof(runs) - 3}, &off));
	for (size_t i = 0; i < sizeof(runs); i++)
		code[i] = runs[i];
	code[FIRST_OFF] = code[SECOND + 3] = 0xe1;
	assert_false(sw_v8_microtask_off((struct sw_bytes){code, sizeof(code)}, &off));
	code[FIRST_OFF] = code[SECOND + 3] = 0xe0;
	assert_true(sw_v8_microtask_off((struct sw_bytes){code, sizeof(code)}, &off));
	code[SECOND + 3] = 0xe8;
	assert_false(sw_v8_microtask_off((struct sw_bytes){code, sizeof(code)}, &off));
	assert_false(sw_v8_microtask_off((struct sw_bytes){NULL, 0}, &off));
}

/* A builtin may be as long as its file says. */
TEST(test_long)
{
	enum { MAX = 16 << 10, NOP = 0x90 };
	static uint8_t code[MAX + 1];
	uint32_t off = 0;
	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = i < sizeof(runs) - 1 ? runs[i] : NOP;
	assert_true(sw_v8_microtask_off((struct sw_bytes){code, MAX}, &off));
	assert_int_equal(off, 0x1ae0);
	assert_false(sw_v8_microtask_off((struct sw_bytes){code, sizeof(code)}, &off));
}

/* fs - 16 has the isolate; 128 bytes behind it is its root. */
TEST(test_microtask)
{
	enum { FS = 0x7000, ISOLATE = 0x20000, OFF = 0x40, JOB = 0x30001 };
	uint64_t variable = ISOLATE, root[9] = {0}, found = 0;
	root[8] = JOB;
	struct fake_memory fake =
		FAKE_MEMORY({FS - 16, &variable, 8}, {ISOLATE + 128, root, sizeof(root)});
	struct sw_memory memory = fake_memory(&fake);
	struct sw_v8_microtasks m = {.isolate = {.kind = SW_TLS_PROGRAM, .offset = -16},
				     .off = OFF};
	assert_true(sw_v8_microtask(&m, memory, FS, &found));
	assert_int_equal(found, JOB);
	assert_false(sw_v8_microtask(&m, memory, 0, &found));
	root[8] = JOB - 1; /* no object */
	assert_false(sw_v8_microtask(&m, memory, FS, &found));
	root[8] = JOB;
	variable = 0; /* it is in none */
	assert_false(sw_v8_microtask(&m, memory, FS, &found));
	variable = ISOLATE + 4;
	assert_false(sw_v8_microtask(&m, memory, FS, &found));
	variable = ISOLATE;
	m.off = 0; /* it is not known */
	assert_false(sw_v8_microtask(&m, memory, FS, &found));
}
