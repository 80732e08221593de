/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/restart.h"
#include "cleanup.h"

#include <errno.h>
#include <sys/syscall.h>

/* How an argument says that there is no time limit. */
enum limit {
	LIMIT_NEVER,       /* the call knows no limit */
	LIMIT_INT_BELOW_0, /* an int that is negative */
	LIMIT_NULL,        /* a null pointer */
	LIMIT_FLAG_8,      /* bit 3 clear: IORING_ENTER_EXT_ARG brings a struct that may have one */
	LIMIT_IPC,         /* ipc(2): what the first argument says is semop() or semtimedop() */
	LIMIT_SOCKET,      /* only reached with EINTR when the socket has a timeout */
};

/*
 * The calls that end with EINTR by a stop alone, tried one by one on Linux 6.18. All others restart
 * by themselves (they return ERESTARTSYS and its kin), or cannot be told from what a signal did.
 */
static const struct call {
	uint16_t number;
	uint8_t arg; /* which argument tells, from 0 */
	uint8_t limit;
} calls[] = {
	{SYS_epoll_wait, 3, LIMIT_INT_BELOW_0},
	{SYS_epoll_pwait, 3, LIMIT_INT_BELOW_0},
	{SYS_epoll_pwait2, 3, LIMIT_NULL},
	{SYS_semop, 0, LIMIT_NEVER},
	{SYS_semtimedop, 3, LIMIT_NULL},
	{SYS_rt_sigtimedwait, 2, LIMIT_NULL},
	{SYS_io_getevents, 4, LIMIT_NULL},
	{SYS_io_uring_enter, 3, LIMIT_FLAG_8},
	{SYS_recvfrom, 0, LIMIT_SOCKET},
	{SYS_recvmsg, 0, LIMIT_SOCKET},
	{SYS_recvmmsg, 0, LIMIT_SOCKET},
	{SYS_sendto, 0, LIMIT_SOCKET},
	{SYS_sendmsg, 0, LIMIT_SOCKET},
	{SYS_sendmmsg, 0, LIMIT_SOCKET},
	{SYS_read, 0, LIMIT_SOCKET},
	{SYS_readv, 0, LIMIT_SOCKET},
	{SYS_write, 0, LIMIT_SOCKET},
	{SYS_writev, 0, LIMIT_SOCKET},
	{SYS_accept, 0, LIMIT_SOCKET},
	{SYS_accept4, 0, LIMIT_SOCKET},
	{SYS_connect, 0, LIMIT_SOCKET},
};

/*
 * The same of 32-bit programs: Linux 6.1, arch/x86/entry/syscalls/syscall_32.tbl. socketcall(2) is all calls of
 * sockets in one.
 */
static const struct call calls_i386[] = {
	{256 /* epoll_wait */, 3, LIMIT_INT_BELOW_0},
	{319 /* epoll_pwait */, 3, LIMIT_INT_BELOW_0},
	{441 /* epoll_pwait2 */, 3, LIMIT_NULL},
	{420 /* semtimedop_time64 */, 3, LIMIT_NULL},
	{117 /* ipc */, 0, LIMIT_IPC},
	{177 /* rt_sigtimedwait */, 2, LIMIT_NULL},
	{421 /* rt_sigtimedwait_time64 */, 2, LIMIT_NULL},
	{247 /* io_getevents */, 4, LIMIT_NULL},
	{426 /* io_uring_enter */, 3, LIMIT_FLAG_8},
	{102 /* socketcall */, 0, LIMIT_SOCKET},
	{371 /* recvfrom */, 0, LIMIT_SOCKET},
	{372 /* recvmsg */, 0, LIMIT_SOCKET},
	{337 /* recvmmsg */, 0, LIMIT_SOCKET},
	{417 /* recvmmsg_time64 */, 0, LIMIT_SOCKET},
	{369 /* sendto */, 0, LIMIT_SOCKET},
	{370 /* sendmsg */, 0, LIMIT_SOCKET},
	{345 /* sendmmsg */, 0, LIMIT_SOCKET},
	{3 /* read */, 0, LIMIT_SOCKET},
	{145 /* readv */, 0, LIMIT_SOCKET},
	{4 /* write */, 0, LIMIT_SOCKET},
	{146 /* writev */, 0, LIMIT_SOCKET},
	{364 /* accept4 */, 0, LIMIT_SOCKET},
	{362 /* connect */, 0, LIMIT_SOCKET},
};

/* Linux 6.1 ipc/syscall.c: the upper half of the first argument is a version. */
static bool ipc_is_infinite(const uint64_t args[6])
{
	enum { SEMOP = 1, SEMTIMEDOP = 4 };
	uint16_t call = (uint16_t) args[0];
	return call == SEMOP || (call == SEMTIMEDOP && args[5] == 0);
}

static bool is_infinite(const struct call *call, const uint64_t args[6])
{
	uint64_t arg = args[call->arg];
	switch ((enum limit) call->limit) {
	case LIMIT_NEVER: return true;
	case LIMIT_INT_BELOW_0: return (int32_t) (uint32_t) arg < 0;
	case LIMIT_NULL: return arg == 0;
	case LIMIT_FLAG_8: return (arg & 8) == 0;
	case LIMIT_IPC: return ipc_is_infinite(args);
	case LIMIT_SOCKET: return false;
	}
	return false;
}

enum sw_restart_verdict sw_restart_decide(int64_t number, int64_t result, const uint64_t args[6],
					  enum sw_restart mode)
{
	if (number < 0 || result != -EINTR)
		return SW_RESTART_NOTHING;
	if (mode == SW_RESTART_NONE)
		return SW_RESTART_VISIBLE;
	bool is_32bit = number >= SW_SYSCALL_I386;
	const struct call *all = is_32bit ? calls_i386 : calls;
	size_t n = is_32bit ? SW_ARRAY_SIZE(calls_i386) : SW_ARRAY_SIZE(calls);
	number -= is_32bit ? SW_SYSCALL_I386 : 0;
	for (size_t i = 0; i < n; i++) {
		if (all[i].number != number)
			continue;
		if (mode == SW_RESTART_ALL || is_infinite(&all[i], args))
			return SW_RESTART_HIDE;
		break;
	}
	return SW_RESTART_VISIBLE;
}
