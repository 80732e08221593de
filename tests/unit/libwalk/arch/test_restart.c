/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/restart.h"
#include "test.h"

#include <sys/syscall.h>

static const uint64_t NO_LIMIT_INT = UINT64_C(0xffffffff); /* -1 as the kernel sees an int */

struct row {
	int64_t number;
	uint64_t args[6];
	enum sw_restart_verdict infinite, all;
};

static const struct row rows[] = {
	/* without a limit */
	{SYS_epoll_wait, {3, 1, 8, NO_LIMIT_INT}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_epoll_wait, {3, 1, 8, UINT64_MAX}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_epoll_pwait, {3, 1, 8, NO_LIMIT_INT}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_epoll_pwait2, {3, 1, 8, 0}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_semop, {0, 1, 1, 99}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_semtimedop, {0, 1, 1, 0}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_rt_sigtimedwait, {1, 1, 0, 8}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_io_getevents, {1, 1, 1, 1, 0}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SYS_io_uring_enter, {3, 0, 1, 1, 0, 0}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	/* with one */
	{SYS_epoll_wait, {3, 1, 8, 3000}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_epoll_wait, {3, 1, 8, 0}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_epoll_pwait, {3, 1, 8, 0x7fffffff}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_epoll_pwait2, {3, 1, 8, 0x7ffe}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_semtimedop, {0, 1, 1, 0x7ffe}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_rt_sigtimedwait, {1, 1, 0x7ffe, 8}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_io_getevents, {1, 1, 1, 1, 0x7ffe}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_io_uring_enter, {3, 0, 1, 1 | 8, 0x7ffe, 24}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_recvfrom, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_recvmsg, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_accept, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_accept4, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_recvmmsg, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_sendto, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_sendmsg, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_sendmmsg, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_read, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_readv, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_write, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_writev, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SYS_connect, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	/* of 32-bit programs: epoll_wait, ipc (semop, semtimedop, msgrcv), recvfrom */
	{SW_SYSCALL_I386 + 256, {3, 1, 8, NO_LIMIT_INT}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 256, {3, 1, 8, 5000}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 117, {1, 1, 1, 0, 8, 8}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 117, {4, 1, 1, 0, 8, 0}, SW_RESTART_HIDE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 117, {4, 1, 1, 0, 8, 8}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 117, {12, 1, 1, 0, 8, 0}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	{SW_SYSCALL_I386 + 371, {5}, SW_RESTART_VISIBLE, SW_RESTART_HIDE},
	/* x86-64's epoll_wait is i386's lchown32 or so: another call */
	{SW_SYSCALL_I386 + SYS_epoll_wait,
	 {3, 1, 8, NO_LIMIT_INT},
	 SW_RESTART_VISIBLE,
	 SW_RESTART_VISIBLE},
	/* not known to be safe to begin again */
	{SYS_close, {5}, SW_RESTART_VISIBLE, SW_RESTART_VISIBLE},
	{9999, {0}, SW_RESTART_VISIBLE, SW_RESTART_VISIBLE},
};

TEST(each_call)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		assert_int_equal(sw_restart_decide(r->number, -EINTR, r->args, SW_RESTART_INFINITE),
				 r->infinite);
		assert_int_equal(sw_restart_decide(r->number, -EINTR, r->args, SW_RESTART_ALL),
				 r->all);
		assert_int_equal(sw_restart_decide(r->number, -EINTR, r->args, SW_RESTART_NONE),
				 SW_RESTART_VISIBLE);
	}
}

/* Any other result is not ours to touch: the call has ended, or the kernel begins it again. */
TEST(other_results)
{
	static const int64_t results[] = {0, 1, 65536, -EAGAIN, -512, -513, -514, -516, 4};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < sizeof(results) / sizeof(results[0]); k++)
			assert_int_equal(sw_restart_decide(rows[i].number, results[k], rows[i].args,
							   SW_RESTART_ALL),
					 SW_RESTART_NOTHING);
}

/* Interrupted in its own code, rax happens to be -4. */
TEST(in_no_call)
{
	assert_int_equal(sw_restart_decide(-1, -EINTR, rows[0].args, SW_RESTART_ALL),
			 SW_RESTART_NOTHING);
	assert_int_equal(sw_restart_decide(-236, -EINTR, rows[0].args, SW_RESTART_INFINITE),
			 SW_RESTART_NOTHING);
}
