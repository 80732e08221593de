/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What /proc/PID/task/TID/stack says, and what it might. */
#include "capture/kernel.h"
#include "test.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

TEST(frames)
{
	struct sw_arena arena = {0};
	const struct sw_kernel_stack *stack = sw_kernel_stack_parse(
		"[<0>] nfs_wait_bit_killable+0x1c/0xa0 [nfs]\n"
		"[<ffffffff81000000>] do_syscall_64+0x71/0x200\n[<0>] ret_from_fork+0x0/0x10",
		&arena);
	assert_non_null(stack);
	assert_int_equal(stack->n_frames, 3);
	assert_string_equal(stack->frames[0].function, "nfs_wait_bit_killable [nfs]");
	assert_int_equal(stack->frames[0].offset, 0x1c);
	assert_string_equal(stack->frames[1].function, "do_syscall_64");
	assert_int_equal(stack->frames[1].offset, 0x71);
	assert_string_equal(stack->frames[2].function, "ret_from_fork");
	assert_int_equal(stack->frames[2].offset, 0);
	sw_arena_deinit(&arena);
}

TEST(no_frames)
{
	static const char *const texts[] = {
		"",           "\n\n",         "[<0>]", "[<0>] ", "[<0>] +0x1/0x2",
		"[<0>] name", "name+0x1/0x2", "[",     "] a+1"};
	struct sw_arena arena = {0};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(sw_kernel_stack_parse(texts[i], &arena));
	/* what is none is left out */
	const struct sw_kernel_stack *stack =
		sw_kernel_stack_parse("?\n[<0>] a+0x1/0x2\n[<0>] b\n", &arena);
	assert_non_null(stack);
	assert_int_equal(stack->n_frames, 1);
	assert_string_equal(stack->frames[0].function, "a");
	sw_arena_deinit(&arena);
}

TEST(too_many)
{
	static const char line[] = "[<0>] a+0x1/0x2\n";
	char text[100 * sizeof(line)] = "";
	struct sw_arena arena = {0};
	for (size_t i = 0; i < 100; i++)
		memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
	const struct sw_kernel_stack *stack = sw_kernel_stack_parse(text, &arena);
	assert_non_null(stack);
	assert_int_equal(stack->n_frames, 64);
	sw_arena_deinit(&arena);
}
