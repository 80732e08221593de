/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/error.h>
#include <sys/mman.h>

TEST(append_and_print)
{
	struct sw_text text = {0};
	sw_text_append(&text, "", 0);
	assert_string_equal(text.data, "");
	sw_text_append(&text, "ab", 2);
	sw_text_printf(&text, "%s=%d;", "x", 7);
	sw_text_append(&text, "\0c", 2);
	assert_int_equal(text.size, 8);
	assert_memory_equal(text.data, "abx=7;\0c", 9);
	assert_false(text.failed);
	sw_text_deinit(&text);
	assert_null(text.data);
	assert_int_equal(text.size, 0);
}

TEST(grows)
{
	struct sw_text text = {0};
	for (int i = 0; i < 10000; i++)
		sw_text_printf(&text, "%04d", i);
	assert_int_equal(text.size, 40000);
	assert_memory_equal(text.data + 4 * 1234, "1234", 4);
	assert_int_equal(strlen(text.data), 40000);
	sw_text_printf(&text, "%100000d", 1);
	assert_int_equal(text.size, 140000);
	sw_text_deinit(&text);
}

/* Too large: remembered, and all that follows is left out. */
TEST(failure_stays)
{
	struct sw_text text = {0};
	sw_text_append(&text, "kept", 4);
	sw_text_append(&text, "x", SIZE_MAX - 2);
	assert_true(text.failed);
	sw_text_append(&text, "lost", 4);
	sw_text_printf(&text, "%d", 1);
	assert_int_equal(text.size, 4);
	assert_string_equal(text.data, "kept");
	sw_text_deinit(&text);
}

TEST(read_files)
{
	enum { BYTES = 100000 };
	static char bytes[BYTES];
	struct sw_text text = {0};
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (char) (i * 7);
	sw_cleanup(sw_close_p) int fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, BYTES), BYTES);

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(sw_text_read_fd(&text, fd, BYTES), 0);
	assert_int_equal(text.size, BYTES);
	assert_memory_equal(text.data, bytes, BYTES);
	assert_int_equal(text.data[BYTES], '\0');
	sw_text_deinit(&text);

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(sw_text_read_fd(&text, fd, BYTES - 1), -SW_E_LIMIT);
	sw_text_deinit(&text);
}

/* Files of /proc have no size. */
TEST(read_proc)
{
	struct sw_text text = {0};
	assert_int_equal(sw_text_read_at(&text, AT_FDCWD, "/proc/self/status", 1 << 16), 0);
	assert_non_null(strstr(text.data, "\nPid:\t"));
	sw_text_deinit(&text);
	errno = 0;
	assert_int_equal(sw_text_read_at(&text, AT_FDCWD, "/proc/self/nothing", 1 << 16), -SW_E_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_text_read_at(&text, AT_FDCWD, "/proc/self", 1 << 16), -SW_E_IO);
	assert_int_equal(errno, EISDIR);
	sw_text_deinit(&text);
}
