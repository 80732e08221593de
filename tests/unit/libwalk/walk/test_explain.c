/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk_case.h"
#include "walk/explain.h"
#include "test.h"

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

TEST(test_with_table)
{
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

TEST(test_without_table)
{
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

TEST(test_no_code)
{
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

/* The registers of a program for i386 have its names. */
TEST(test_i386)
{
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

/* ---- what threads execute, by a runtime that owns all code of no file ----------------------- */

static size_t n_steps;

static bool made_probe(const struct sw_snapshot *snap)
{
	return true;
}

static int made_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	*ret_state = &n_steps;
	return 0;
}

static void made_close(void *state)
{
}

static enum sw_step made_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	++*(size_t *) state;
	return SW_STEP_DECLINE;
}

static bool made_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	*ret_cookie = 7;
	return true;
}

static int made_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return 0;
}

static void made_explain_frame(void *state, const struct sw_frame *frame, struct sw_text *text)
{
	if (frame->pc_avma % 2 == 0) /* of others there is nothing to tell */
		sw_text_printf(text, "number %d\n", (int) frame->cookie);
}

static void made_explains(struct sw_snapshot *snap, int64_t deadline_ns, uint64_t avma,
			  const char *expected)
{
	static const struct sw_runtime_ops made = {.name = "made",
						   .kind = "made",
						   .trust = SW_TRUST_RUNTIME,
						   .weak_trust = SW_TRUST_RUNTIME,
						   .kinds = SW_CODE_ANON,
						   .probe = made_probe,
						   .open = made_open,
						   .close = made_close,
						   .step = made_step,
						   .owns = made_owns,
						   .names = made_names,
						   .explain_frame = made_explain_frame};
	static const struct sw_runtime_ops *const runtimes[] = {&made};
	static const struct sw_tables tables = {.runtimes = runtimes, .n_runtimes = 1};
	char *text = NULL;
	n_steps = 0;
	assert_int_equal(sw_explain_with(snap, &tables, deadline_ns, avma, &text, NULL), 0);
	const char *behind = strstr(text, "(anonymous)\n");
	assert_string_equal(behind != NULL ? behind : "", expected);
	free(text);
}

/* Threads are walked where the address may be that of a frame which is explained, and until it is late. */
TEST(test_frames)
{
	enum { MADE = 0x8000 };
	static const uint64_t words[] = {0, 0};
	static const uint8_t code[0x20];
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.code = code, .n_code = sizeof(code)});
	(void) fake_snapshot_map(snap, MADE, MADE + 0x1000, "r-xp", "");
	(void) fake_snapshot_stack(snap, 5, MADE + 4, words, SW_ARRAY_SIZE(words));
	(void) fake_snapshot_stack(snap, 6, MADE + 5, words, SW_ARRAY_SIZE(words));
	fake_snapshot_finish(snap);
	made_explains(snap, 0, MADE + 4, "(anonymous)\nmade: thread 5, frame 0:\nmade: number 7\n");
	assert_int_equal(n_steps, 2);
	made_explains(snap, 0, MADE + 5, "(anonymous)\n");
	made_explains(
		snap, 1, MADE + 4,
		"(anonymous)\nmade: thread 5, frame 0:\nmade: number 7\n"
		"frames: 2 threads were not walked to their end: the time limit was reached\n");
	assert_int_equal(n_steps, 0);
	made_explains(snap, 0, CODE + 4, "");
	assert_int_equal(n_steps, 0);
	fake_snapshot_destroy(snap);
}
