/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of /proc/PID/task/TID/stack, and what it might be. */
#include "capture/kernel.h"
#include "capture/window.h"
#include "fake.h"
#include "fake_process.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/stat.h>

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

enum { N = 3, RAN = 1, ENDED = 2 };

/* When the stacks were read: thread 12 ran meanwhile, thread 13 is not there. */
static void look(size_t number, struct fake_look *ret)
{
	*ret = (struct fake_look){.n = 2};
	for (uint32_t i = 0; i < ret->n; i++)
		ret->records[i] = (struct sw_iterate_record){.tid = 11 + i,
							     .start_ns = 1,
							     .state = 2,
							     .n_voluntary = 10 + (i == RAN)};
}

static void stack_write(const char *directory, int tid)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "%s/%d", directory, tid); /* fits */
	assert_int_equal(mkdir(path, 0700), 0);
	(void) strcat(path, "/stack"); /* fits */
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("[<0>] nfs_wait+0x1c/0xa0\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A stack of the kernel is believed when the thread was seen in the same wait before and after it was read. */
TEST(ran_meanwhile)
{
	char directory[] = "/tmp/snapwalk-test-XXXXXX", command[64];
	struct sw_window_thread threads[N];
	struct sw_iterate_record records[N];
	struct sw_tracee tracees[N];
	assert_non_null(mkdtemp(directory));
	struct sw_target target = {.task_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct sw_take take = {.target = &target,
			       .snap = fake_snapshot_create(),
			       .stop = {.n = N, .capacity = N, .tracees = tracees}};
	struct sw_window window = {.threads = threads,
				   .stop = &take.stop,
				   .records = {NULL, records}};
	static struct sw_thread of_snapshot[N];
	take.window = &window;
	take.snap->threads = of_snapshot;
	take.snap->n_threads = N;
	for (int i = 0; i < N; i++) {
		threads[i] = (struct sw_window_thread){.start_ns = 1,
						       .taken = true,
						       .state = 'D',
						       .n_switches = 10};
		tracees[i] = (struct sw_tracee){.tid = 11 + i};
		of_snapshot[i] = (struct sw_thread){.tid = 11 + i, .state = 'D'};
		stack_write(directory, 11 + i);
	}
	fake_process = (struct fake_process){.look = look};
	sw_kernel_stacks_read(&take);
	fake_process = (struct fake_process){0};
	assert_non_null(of_snapshot[0].kernel);
	assert_string_equal(of_snapshot[0].kernel->frames[0].function, "nfs_wait");
	assert_null(of_snapshot[RAN].kernel);
	assert_null(of_snapshot[ENDED].kernel);
	take.snap->threads = NULL;
	take.snap->n_threads = 0;
	fake_snapshot_destroy(take.snap);
	assert_int_equal(close(target.task_fd), 0);
	(void) snprintf(command, sizeof(command), "rm -r %s", directory); /* fits */
	assert_int_equal(system(command), 0);
}
