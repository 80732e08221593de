/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of names from one worker to the next is shown by tests/live/test_daemon_series.py. */
#include "worker/names.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/pipeline.h>

#include <sys/mman.h>
#include <sys/stat.h>

/* Nobody who has it can make it of another size: who has mapped it would be ended. */
TEST(test_size)
{
	struct stat st;
	int fd = sw_names_create(0);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, SW_NAMES_BYTES);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 2 * SW_NAMES_BYTES), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(close(fd), 0);
}

static bool is_zero(int fd)
{
	uint8_t *bytes = mmap(NULL, SW_NAMES_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	size_t i = 0;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	while (i < SW_NAMES_BYTES && bytes[i] == 0)
		i++;
	assert_int_equal(munmap(bytes, SW_NAMES_BYTES), 0);
	return i == SW_NAMES_BYTES;
}

/* No descriptor, one of something else, one with nothing in it. */
TEST(test_nothing)
{
	struct sw_session *session = NULL;
	int pair[2];
	assert_int_equal(sw_session_create(&session, NULL), 0);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	sw_names_recall(-EBADF, session);
	sw_names_keep(-EBADF, session);
	sw_names_recall(pair[0], session); /* would wait */
	sw_names_keep(pair[1], session);
	int small = memfd_create("small", MFD_CLOEXEC);
	assert_int_equal(ftruncate(small, 100), 0);
	sw_names_recall(small, session);
	sw_names_keep(small, session);
	int fd = sw_names_create(0);
	sw_names_keep(fd, session);
	assert_true(is_zero(fd));
	sw_session_destroy(session);
	assert_int_equal(close(fd) + close(small) + close(pair[0]) + close(pair[1]), 0);
}

/* The profile is behind the names, which it leaves alone. */
TEST(test_profile)
{
	int fd = sw_names_create(SW_PROFILE_BYTES);
	sw_cleanup(sw_free_p) char *big = malloc(SW_PROFILE_BYTES + 1);
	assert_true(fd >= 0);
	assert_non_null(big);
	memset(big, 'x', SW_PROFILE_BYTES + 1);
	assert_true(sw_names_put_profile(fd, big, SW_PROFILE_BYTES));
	assert_true(is_zero(fd));
	assert_false(sw_names_put_profile(fd, big, SW_PROFILE_BYTES + 1));
	assert_true(sw_names_put_profile(fd, "{}", 2));
	char *given = sw_names_profile(fd, 2);
	assert_string_equal(given, "{}");
	free(given);
	assert_null(sw_names_profile(fd, SW_PROFILE_BYTES + 1));
	assert_null(sw_names_profile(-EBADF, 2));
	assert_int_equal(close(fd), 0);
	fd = sw_names_create(0); /* of a series that makes none */
	assert_false(sw_names_put_profile(fd, "{}", 2));
	assert_null(sw_names_profile(fd, 2));
	assert_int_equal(close(fd), 0);
}
