/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/calls.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool descriptor(uint64_t fd, enum sw_blocking_kind kind, bool writes,
		       struct sw_blocking_call *ret)
{
	*ret = (struct sw_blocking_call){.kind = kind,
					 .fd = (int64_t) (fd & UINT32_MAX),
					 .writes = writes};
	return ret->fd <= INT_MAX;
}

static bool child(int pid, struct sw_blocking_call *ret)
{
	*ret = (struct sw_blocking_call){.kind = SW_BLOCKS_WAIT,
					 .fd = -1,
					 .pid = pid > 0 ? pid : 0};
	return pid > 0 || pid == -1; /* else a process group */
}

static bool opening(uint64_t path_avma, struct sw_blocking_call *ret)
{
	*ret = (struct sw_blocking_call){.kind = SW_BLOCKS_OPEN, .fd = -1, .path_avma = path_avma};
	return true;
}

static bool ipc(uint64_t id, enum sw_blocking_kind kind, bool writes, struct sw_blocking_call *ret)
{
	*ret = (struct sw_blocking_call){.kind = kind,
					 .fd = -1,
					 .id = (int) (uint32_t) id,
					 .writes = writes};
	return true;
}

bool sw_blocking_call_of(int64_t number, const uint64_t arguments[6], struct sw_blocking_call *ret)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg: return descriptor(arguments[0], SW_BLOCKS_DESCRIPTOR, false, ret);
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_connect: return descriptor(arguments[0], SW_BLOCKS_DESCRIPTOR, true, ret);
	case SYS_flock: return descriptor(arguments[0], SW_BLOCKS_FLOCK, false, ret);
	case SYS_fcntl:
		return arguments[1] == F_SETLKW &&
		       descriptor(arguments[0], SW_BLOCKS_FCNTL, false, ret);
	case SYS_wait4: return child((int) (uint32_t) arguments[0], ret);
	case SYS_waitid:
		if (arguments[0] == P_ALL)
			return child(-1, ret);
		return arguments[0] == P_PID && child((int) (uint32_t) arguments[1], ret);
	case SYS_msgrcv: return ipc(arguments[0], SW_BLOCKS_MESSAGES, false, ret);
	case SYS_msgsnd: return ipc(arguments[0], SW_BLOCKS_MESSAGES, true, ret);
	case SYS_semop:
	case SYS_semtimedop: return ipc(arguments[0], SW_BLOCKS_SEMAPHORES, false, ret);
	case SYS_open:
	case SYS_creat: return opening(arguments[0], ret);
	case SYS_openat:
	case SYS_openat2: return opening(arguments[1], ret);
	default: return false;
	}
}
