/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that a thread loads: what its owner gets, and that nothing of it stays. */
#include "cleanup.h"
#include "iterate/loading.h"
#include "iterate/programs.h"
#include "skip.h"
#include "test.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

/* The lowest number that no descriptor has: the same afterwards, where none was left open. */
static int lowest_free(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	(void) close(fd);
	return fd;
}

/* The kernel knows the program by that name. */
static void check_name(int program_fd, const char *name)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t) program_fd;
	attr.info.info = (uintptr_t) &info;
	attr.info.info_len = sizeof(info);
	assert_int_equal(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)), 0);
	assert_string_equal(info.name, name);
}

static void skip_where_refused(void)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (sw_iterate_load(SW_ITERATE_THREADS, &fd, NULL) != 0)
		SKIP("the task iterator is refused", "CAP_BPF and CAP_PERFMON");
}

TEST(one_that_has_begun_is_taken)
{
	struct sw_iterate_loading loading = {0};
	int fd = -EBADF, lowest;
	skip_where_refused();
	lowest = lowest_free();
	sw_iterate_loading_begin(&loading, SW_ITERATE_FILES);
	assert_true(loading.begun);
	assert_int_equal(sw_iterate_loading_end(&loading, SW_ITERATE_FILES, &fd, NULL), 0);
	check_name(fd, "sw_files");
	(void) close(fd);
	assert_false(loading.begun);
	sw_iterate_loading_deinit(&loading);
	assert_int_equal(lowest_free(), lowest);
}

/* The second one is loaded when it is asked for. */
TEST(one_that_has_not_begun_is_loaded)
{
	struct sw_iterate_loading loading = {0};
	int fds[3];
	skip_where_refused();
	sw_iterate_loading_begin(&loading, SW_ITERATE_THREADS);
	sw_iterate_loading_begin(&loading, SW_ITERATE_THREADS);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(sw_iterate_loading_end(&loading, SW_ITERATE_THREADS, &fds[i],
							NULL),
				 0);
	assert_int_equal(sw_iterate_loading_end(NULL, SW_ITERATE_THREADS, &fds[2], NULL), 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(fds); i++) {
		check_name(fds[i], "sw_tasks");
		(void) close(fds[i]);
	}
}

TEST(one_that_is_not_needed_is_given_up)
{
	struct sw_iterate_loading loading = {0};
	int lowest = lowest_free();
	sw_iterate_loading_deinit(&loading);
	sw_iterate_loading_begin(&loading, SW_ITERATE_THREADS);
	sw_iterate_loading_deinit(&loading);
	assert_false(loading.begun);
	assert_int_equal(lowest_free(), lowest);
}

/* The reason of a refusal is the one that sw_iterate_load() gives. */
TEST(a_refusal_is_told_at_the_end)
{
	struct sw_error expected = {0}, err = {0};
	struct sw_iterate_loading loading = {0};
	int fd = -EBADF;
	const enum sw_iterate_program none = (enum sw_iterate_program) 99;
	int r = sw_iterate_load(none, &fd, &expected);
	assert_true(r < 0);
	sw_iterate_loading_begin(&loading, none);
	assert_int_equal(sw_iterate_loading_end(&loading, none, &fd, &err), r);
	assert_int_equal(err.code, expected.code);
	assert_string_equal(err.message, expected.message);
	assert_int_equal(fd, -EBADF);
}
