/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "syscall_name.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/protocol.h>
#include <snapwalk/walk.h>

#include "skip.h"

TEST(test_some)
{
	/* Linux 6.17, arch/x86/entry/syscalls/syscall_64.tbl */
	assert_string_equal(sw_syscall_name(0), "read");
	assert_string_equal(sw_syscall_name(202), "futex");
	assert_string_equal(sw_syscall_name(232), "epoll_wait");
	assert_string_equal(sw_syscall_name(449), "futex_waitv");
	assert_string_equal(sw_syscall_name(462), "mseal");
}

TEST(test_unknown)
{
	assert_null(sw_syscall_name(-1));
	assert_null(
		sw_syscall_name(400)); /* a gap: numbers shared with other machines begin at 424 */
	assert_null(sw_syscall_name(100000));
	assert_null(sw_syscall_name(INT64_MAX));
	assert_null(sw_syscall_name(INT64_MIN));
}

TEST(test_number)
{
	assert_int_equal(sw_call_number("read", false), 0);
	assert_int_equal(sw_call_number("openat", false), 257);
	assert_int_equal(sw_call_number("openat", true), 295);
	assert_int_equal(sw_call_number("read", true), 3);
	assert_int_equal(sw_call_number("futex_waitv", true), 449);
	assert_int_equal(sw_call_number("socketcall", false), -1);
	assert_string_equal(sw_call_name(257, false), "openat");
	assert_string_equal(sw_call_name(295, true), "openat");
	assert_null(sw_call_name(-1, false));
	assert_null(sw_call_name(-1, true));
	assert_null(sw_call_name(4096, false));
	assert_null(sw_call_name(65536 + 3, false));
	assert_null(sw_call_name(INT64_MAX, true));
	assert_int_equal(sw_call_number("", false), -1);
}

TEST(test_i386)
{
	/* Linux 6.17, arch/x86/entry/syscalls/syscall_32.tbl */
	assert_string_equal(sw_syscall_name(SW_SYSCALL_I386), "restart_syscall");
	assert_string_equal(sw_syscall_name(SW_SYSCALL_I386 + 3), "read");
	assert_string_equal(sw_syscall_name(SW_SYSCALL_I386 + 422), "futex_time64");
	assert_string_equal(sw_syscall_name(SW_SYSCALL_I386 + 449), "futex_waitv");
	assert_null(sw_syscall_name(SW_SYSCALL_I386 + 285));
	assert_null(sw_syscall_name(SW_SYSCALL_I386 + 9999));
}

/* Every name that the installed kernel headers know. */
static void headers_check(const char *path, int64_t first)
{
	sw_cleanup(sw_fclose_p) FILE *header = fopen(path, "re");
	if (header == NULL)
		SKIP("no list of system calls", "package linux-libc-dev");
	char line[256], name[64];
	int number, seen = 0;
	while (fgets(line, sizeof(line), header) != NULL) {
		if (sscanf(line, "#define __NR_%63s %d", name, &number) != 2)
			continue;
		assert_non_null(sw_syscall_name(first + number));
		assert_string_equal(sw_syscall_name(first + number), name);
		seen++;
	}
	assert_true(seen >= 300);
}

TEST(test_headers)
{
	headers_check("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 0);
	headers_check("/usr/include/x86_64-linux-gnu/asm/unistd_32.h", SW_SYSCALL_I386);
}
