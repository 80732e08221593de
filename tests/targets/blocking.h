/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calls of blocking.c: how to make each one block, and the event it waits for.
 *
 * Kinds: "none" has no time limit, so that only its event may end it. "limit" waits for an event
 * with a limit. "sleep" only waits. "partial" has already done a part of its work when it blocks:
 * the kernel returns what was done, which POSIX allows at any time.
 */
#ifndef TARGET_BLOCKING_H
#define TARGET_BLOCKING_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct call {
	const char *name, *kind;
	int (*prepare)(struct call *);
	long (*block)(struct call *);
	void (*release)(struct call *);
	long want; /* what it returns after its event */
	int want_errno;
	clockid_t clock; /* that its limit is of: CLOCK_REALTIME is set to other times */
	pid_t tid;
	pthread_t thread;
	int fd;       /* what it waits on */
	int other_fd; /* what the event is sent to */
	int id;       /* semaphore index, child, ... */
	uint32_t word;
	sem_t sem;
	aio_context_t aio;
	mqd_t mq;
	struct io_uring_params uring;
	struct sockaddr_storage address;
	socklen_t address_bytes;
};

static long limit_ms, sleep_ms;
static sem_t started;
static char directory[] = "/tmp/snapwalk-blocking-XXXXXX";
static int sem_set, n_sems, msg_queue, full_queue;
enum { SEMS = 8 };

static inline int64_t now_ms(clockid_t clock)
{
	struct timespec t;
	(void) clock_gettime(clock, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct timespec span(long ms)
{
	return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

static struct timespec at(clockid_t clock, long ms)
{
	struct timespec t;
	(void) clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static void on_signal(int signo)
{
	(void) signo;
}

static void signals_prepare(void)
{
	(void) sem_init(&started, 0, 0);
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: pause must return */
	(void) sigaction(SIGUSR1, &action, NULL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	(void) pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static char *inside(const char *name)
{
	static _Thread_local char path[128];
	(void) snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* System V objects and files outlive a killed process: a child waits for its end and removes them. */
static void objects_prepare(void)
{
	int pipe_fds[2];
	sem_set = semget(IPC_PRIVATE, SEMS, 0600);
	msg_queue = msgget(IPC_PRIVATE, 0600);
	full_queue = msgget(IPC_PRIVATE, 0600);
	if (mkdtemp(directory) == NULL || pipe2(pipe_fds, O_CLOEXEC) < 0)
		_exit(1);
	(void) mkfifo(inside("fifo"), 0600);
	(void) mkdir(inside("watched"), 0700);
	if (fork() != 0) {
		(void) close(pipe_fds[0]);
		return;
	}
	char c;
	(void) close(pipe_fds[1]);
	while (read(pipe_fds[0], &c, 1) < 0)
		;
	(void) semctl(sem_set, 0, IPC_RMID);
	(void) msgctl(msg_queue, IPC_RMID, NULL);
	(void) msgctl(full_queue, IPC_RMID, NULL);
	static const char *const names[] = {"fifo", "flock", "setlkw", "watched/event"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void) unlink(inside(names[i]));
	(void) rmdir(inside("watched"));
	(void) rmdir(directory);
	_exit(0);
}

#endif
