/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE };

static void explains(struct sw_snapshot *snap, uint64_t avma, const char *expected)
{
	char *text = NULL;
	assert_int_equal(sw_explain(snap, avma, &text, NULL), 0);
	assert_string_equal(text, expected);
	free(text);
}

static struct sw_snapshot *snapshot(void)
{
	/* 10: push %rbp */
	static const uint8_t code[0x20] = {[0x10] = 0x55};
	const struct image_fde fdes[] = {
		{.start = 0, .end = 0x10, .signal = true, IMAGE_ROWS(0x41, 0x0e, 16, 0x86, 2)}};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS,
		    &(struct image_parts){
			    .code = code, .n_code = sizeof(code), .fdes = fdes, .n_fdes = 1});
	(void) fake_snapshot_map(snap, 0x1000, 0x2000, "rw-s", "");
	fake_snapshot_finish(snap);
	return snap;
}

static void test_with_table(void **state)
{
	(void) state;
	struct sw_snapshot *snap = snapshot();
	explains(snap, CODE + 4,
		 "mapping: 0x550000000000-0x550000010000 r-xp offset 0x0 /bin/fake\n"
		 "module: /bin/fake, elf\n"
		 "module: bias 0x550000000000, svma 0x1004\n"
		 "elf-cfi: table: .eh_frame, entry at svma 0x201c for [0x550000001000, "
		 "0x550000001010), svma 0x1000..0x1010\n"
		 "elf-cfi: rule: for [0x550000001001, 0x550000001010)\n"
		 "elf-cfi: rule: CFA = rsp+16, rbp = [CFA-16], ra = [CFA-8]\n"
		 "elf-cfi: signal frame: yes\n"
		 "instructions: if no table helps: the instructions are followed to a RET\n"
		 "frame-pointer: if no table helps: rbp = [rbp], ra = [rbp+8], CFA = rbp+16\n"
		 "stack-scan: if nothing else helps: the first return address from rsp up whose "
		 "call "
		 "leads to this function, else the first one\n");
	fake_snapshot_destroy(snap);
}

static void test_without_table(void **state)
{
	(void) state;
	struct sw_snapshot *snap = snapshot();
	explains(snap, CODE + 0x10,
		 "mapping: 0x550000000000-0x550000010000 r-xp offset 0x0 /bin/fake\n"
		 "module: /bin/fake, elf\n"
		 "module: bias 0x550000000000, svma 0x1010\n"
		 "elf-cfi: table: none covers it\n"
		 "elf-cfi: rule: none\n"
		 "instructions: if no table helps: the instructions are followed to a RET\n"
		 "frame-pointer: if no table helps, when stopped exactly here: ra = [rsp], "
		 "CFA = rsp+8; as a caller: ra = [rbp+8]\n"
		 "stack-scan: if nothing else helps: the first return address from rsp up whose "
		 "call "
		 "leads to this function, else the first one\n");
	fake_snapshot_destroy(snap);
}

static void test_no_code(void **state)
{
	(void) state;
	struct sw_snapshot *snap = snapshot();
	explains(
		snap, 0x1234,
		"mapping: 0x1000-0x2000 rw-s offset 0x0 (anonymous)\n"
		"instructions: not executable: the caller's return address is at [rsp] if the call "
		"before it led here\n"
		"frame-pointer: not executable: not tried\n"
		"stack-scan: not executable: the caller's return address is at [rsp] if a call led "
		"here\n");
	char *text = (char *) "";
	struct sw_error err = {0};
	assert_int_equal(sw_explain(snap, 0x9000, &text, &err), -SW_E_NOT_FOUND);
	assert_string_equal(err.message, "0x9000 is not mapped");
	assert_string_equal(text, "");
	fake_snapshot_destroy(snap);
}

/* Of a program for i386 registers have its names. */
static void test_i386(void **state)
{
	(void) state;
	static const uint8_t code[] = {0x90};
	struct sw_snapshot *snap = fake_snapshot_create();
	snap->process.elf_class = 32;
	(void) fake_snapshot_map(snap, 0x1000, 0x2000, "rw-s", "");
	(void) fake_snapshot_map(snap, 0x8000, 0x9000, "r-xp", "");
	fake_snapshot_range(snap, 0x8000, code, sizeof(code));
	fake_snapshot_finish(snap);
	explains(snap, 0x8000,
		 "mapping: 0x8000-0x9000 r-xp offset 0x0 (anonymous)\n"
		 "frame-pointer: if no table helps: ebp = [ebp], ra = [ebp+4], CFA = ebp+8\n"
		 "stack-scan: if nothing else helps: the first return address from esp up whose "
		 "call leads to this function, else the first one\n");
	explains(
		snap, 0x1234,
		"mapping: 0x1000-0x2000 rw-s offset 0x0 (anonymous)\n"
		"frame-pointer: not executable: not tried\n"
		"stack-scan: not executable: the caller's return address is at [esp] if a call led "
		"here\n");
	fake_snapshot_destroy(snap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_table),
		cmocka_unit_test(test_without_table),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_i386),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
