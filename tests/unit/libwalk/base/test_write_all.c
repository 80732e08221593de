/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bytes.h"
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

TEST(test_whole)
{
	char buffer[8] = "";
	int fd = memfd_create("write_all", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(sw_write_all(fd, "", 0));
	assert_true(sw_write_all(fd, "0123", 4));
	assert_true(sw_write_all(fd, "45", 2));
	assert_int_equal(pread(fd, buffer, sizeof(buffer), 0), 6);
	assert_memory_equal(buffer, "012345", 7);
	assert_int_equal(close(fd), 0);
	assert_false(sw_write_all(fd, "6", 1));
	assert_int_equal(errno, EBADF);
}

/* The first write() is cut at the limit, the second one says why. */
TEST(test_in_parts)
{
	struct rlimit before, four;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	four = (struct rlimit){.rlim_cur = 4, .rlim_max = before.rlim_max};
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &four), 0);
	bool written = sw_write_all(fd, "012345", 6);
	int why = errno;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void) signal(SIGXFSZ, handler);
	assert_false(written);
	assert_int_equal(why, EFBIG);
	assert_int_equal(lseek(fd, 0, SEEK_END), 4);
	assert_int_equal(close(fd), 0);
}
