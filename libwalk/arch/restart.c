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
	LIMIT_SOCKET,      /* only reached with EINTR when the socket has a timeout */
};

/*
 * The calls that end with EINTR by a stop alone, tried one by one on Linux 6.18. All others restart
 * by themselves (they return ERESTARTSYS and its kin), or cannot be told from what a signal did.
 */
static const struct {
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

static bool is_infinite(enum limit limit, uint64_t arg)
{
	switch (limit) {
	case LIMIT_NEVER: return true;
	case LIMIT_INT_BELOW_0: return (int32_t) (uint32_t) arg < 0;
	case LIMIT_NULL: return arg == 0;
	case LIMIT_FLAG_8: return (arg & 8) == 0;
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
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		if (calls[i].number != number)
			continue;
		if (mode == SW_RESTART_ALL || is_infinite(calls[i].limit, args[calls[i].arg]))
			return SW_RESTART_HIDE;
		break;
	}
	return SW_RESTART_VISIBLE;
}
