/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bytes.h"
#include "test.h"

#include <sys/mman.h>

TEST(test_pread)
{
	char buffer[8] = "";
	int fd = memfd_create("pread", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(sw_pread(fd, buffer, 4, 2), 4);
	assert_memory_equal(buffer, "2345", 5);
	errno = ENOENT;
	assert_int_equal(sw_pread(fd, buffer, sizeof(buffer), 7), 3);
	assert_int_equal(errno, 0); /* the end */
	assert_memory_equal(buffer, "7895", 5);
	assert_int_equal(sw_pread(fd, buffer, 1, UINT64_C(1) << 63), 0);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sw_pread(fd, buffer, 0, UINT64_MAX), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(sw_pread(fd, buffer, 1, 0), 0);
	assert_int_equal(errno, EBADF);
}
