/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server: the main thread waits for the end of a thread that it has started, which waits for events in the function that it
 * was started with. "asks": it does so in a function of its own, as one that waits for an answer.
 */
#include "target.h"

#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>

static NOINLINE int ask(int epoll)
{
	struct epoll_event event;
	int n = epoll_wait(epoll, &event, 1, -1);
	KEEP();
	return n;
}

static NOINLINE void *listener(void *asks)
{
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	while ((asks != NULL ? ask(epoll) : epoll_wait(epoll, &event, 1, -1)) >= 0)
		KEEP();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int asks = argc > 1 && strcmp(argv[1], "asks") == 0;
	ready();
	if (pthread_create(&thread, NULL, listener, asks ? &thread : NULL) != 0)
		return 1;
	return pthread_join(thread, NULL);
}
