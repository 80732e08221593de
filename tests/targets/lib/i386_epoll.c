/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program for i386 that waits in a call which a stop ends with EINTR. It ends when that call does. */
#include "../target.h"

#include <sys/epoll.h>

int main(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	ready();
	return 10 + epoll_wait(fd, &event, 1, -1);
}
