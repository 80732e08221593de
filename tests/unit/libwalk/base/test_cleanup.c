/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "test.h"

static int file_open(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

TEST(test_closed_is_empty)
{
	int fd = file_open(), number = fd;
	errno = ENOTDIR;
	sw_close_p(&fd);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(fd, -EBADF);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

/* A second close of one variable does not reach the file that has the number by now. */
TEST(test_closed_twice)
{
	int fd = file_open(), number = fd;
	sw_close_p(&fd);
	int other = file_open();
	assert_int_equal(other, number);
	sw_close_p(&fd);
	assert_true(fcntl(other, F_GETFD) >= 0);
	sw_close_p(&other);
}

TEST(test_empty_is_not_closed)
{
	int fd = -EBADF;
	errno = ENOTDIR;
	sw_close_p(&fd);
	assert_int_equal(fd, -EBADF);
	assert_int_equal(errno, ENOTDIR);
}

TEST(test_handed_over)
{
	sw_cleanup(sw_close_p) int fd = file_open();
	int number = fd;
	int taken = sw_take_fd(fd);
	assert_int_equal(taken, number);
	assert_int_equal(fd, -EBADF);
	sw_close_p(&taken);
}
