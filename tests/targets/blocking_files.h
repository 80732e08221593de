/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of blocking.c that wait for descriptors, files and children. */
#ifndef TARGET_BLOCKING_FILES_H
#define TARGET_BLOCKING_FILES_H

#include "blocking.h"

/* ---- pipes, sockets, epoll, poll, select -------------------------------------------------- */

static int prepare_pipe_read(struct call *c)
{
	int fds[2];
	if (pipe(fds) < 0)
		return -1;
	c->fd = fds[0];
	c->other_fd = fds[1];
	c->want = 3; /* release_pipe() writes three bytes */
	return 0;
}

static int prepare_one_event(struct call *c)
{
	int r = prepare_pipe_read(c);
	c->want = 1;
	return r;
}

static void release_pipe(struct call *c)
{
	if (write(c->other_fd, "abc", 3) != 3)
		perror("write");
}

static int prepare_epoll(struct call *c)
{
	if (prepare_one_event(c) < 0)
		return -1;
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) < 0)
		return -1;
	c->fd = epoll;
	return 0;
}

static long block_epoll_wait(struct call *c)
{
	struct epoll_event event;
	return epoll_wait(c->fd, &event, 1, -1);
}

static long block_epoll_wait_limit(struct call *c)
{
	struct epoll_event event;
	return epoll_wait(c->fd, &event, 1, (int) limit_ms);
}

static long block_epoll_pwait(struct call *c)
{
	struct epoll_event event;
	sigset_t set;
	sigfillset(&set);
	return epoll_pwait(c->fd, &event, 1, -1, &set);
}

static long block_epoll_pwait_limit(struct call *c)
{
	struct epoll_event event;
	sigset_t set;
	sigfillset(&set);
	return epoll_pwait(c->fd, &event, 1, (int) limit_ms, &set);
}

static long block_epoll_pwait2(struct call *c)
{
	struct epoll_event event;
	return syscall(SYS_epoll_pwait2, c->fd, &event, 1, NULL, NULL, 0);
}

static long block_epoll_pwait2_limit(struct call *c)
{
	struct epoll_event event;
	struct timespec t = span(limit_ms);
	return syscall(SYS_epoll_pwait2, c->fd, &event, 1, &t, NULL, 0);
}

static long block_read(struct call *c)
{
	char buffer[16];
	return read(c->fd, buffer, sizeof(buffer));
}

static int prepare_pipe_empty(struct call *c)
{
	int fds[2];
	if (pipe(fds) < 0)
		return -1;
	c->fd = fds[1];
	c->other_fd = fds[0];
	c->want = 1 << 20;
	return 0;
}

static int prepare_pipe_full(struct call *c)
{
	static const char page[4096];
	if (prepare_pipe_empty(c) < 0)
		return -1;
	(void) fcntl(c->fd, F_SETFL, O_NONBLOCK);
	while (write(c->fd, page, sizeof(page)) > 0)
		;
	(void) fcntl(c->fd, F_SETFL, 0);
	c->want = 1;
	return 0;
}

static long block_write_one(struct call *c)
{
	return write(c->fd, "x", 1);
}

static long block_write_much(struct call *c)
{
	static const char much[1 << 20]; /* more than a pipe holds */
	return write(c->fd, much, sizeof(much));
}

static void *drain(void *arg)
{
	static char buffer[65536];
	while (read(*(int *) arg, buffer, sizeof(buffer)) > 0)
		;
	return NULL;
}

static void release_drain(struct call *c)
{
	pthread_t thread;
	(void) pthread_create(&thread, NULL, drain, &c->other_fd);
}

static int prepare_socket(struct call *c)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return -1;
	c->fd = fds[0];
	c->other_fd = fds[1];
	c->want = 3;
	return 0;
}

static int give_limit(struct call *c)
{
	struct timeval t = {limit_ms / 1000, limit_ms % 1000 * 1000};
	return setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int prepare_socket_limit(struct call *c)
{
	return prepare_socket(c) < 0 ? -1 : give_limit(c);
}

static int prepare_socket_full(struct call *c)
{
	static const char page[4096];
	struct timeval t = {limit_ms / 1000, limit_ms % 1000 * 1000};
	if (prepare_socket(c) < 0)
		return -1;
	while (send(c->fd, page, sizeof(page), MSG_DONTWAIT) > 0)
		;
	c->want = 1;
	return setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static long block_send(struct call *c)
{
	return send(c->fd, "x", 1, 0);
}

static long block_recvmmsg(struct call *c)
{
	char buffer[16];
	struct iovec iov = {buffer, sizeof(buffer)};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}};
	return recvmmsg(c->fd, &message, 1, 0, NULL);
}

static int prepare_recvmmsg_limit(struct call *c)
{
	int r = prepare_socket_limit(c);
	c->want = 1;
	return r;
}

static long block_recv(struct call *c)
{
	char buffer[16];
	return recv(c->fd, buffer, sizeof(buffer), 0);
}

static long block_recvmsg(struct call *c)
{
	char buffer[16];
	struct iovec iov = {buffer, sizeof(buffer)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	return recvmsg(c->fd, &message, 0);
}

/* A listening AF_UNIX socket under an abstract name that the kernel chooses. */
static int listen_unix(struct call *c)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	c->address_bytes = sizeof(c->address);
	if (bind(fd, (struct sockaddr *) &any, sizeof(sa_family_t)) < 0 || listen(fd, 0) < 0 ||
	    getsockname(fd, (struct sockaddr *) &c->address, &c->address_bytes) < 0)
		return -1;
	return fd;
}

static int prepare_listen(struct call *c)
{
	c->fd = listen_unix(c);
	c->other_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	return c->fd < 0 ? -1 : 0;
}

static int prepare_listen_limit(struct call *c)
{
	return prepare_listen(c) < 0 ? -1 : give_limit(c);
}

static long block_accept(struct call *c)
{
	return accept(c->fd, NULL, NULL) < 0 ? -1 : 0;
}

static void release_accept(struct call *c)
{
	(void) connect(c->other_fd, (struct sockaddr *) &c->address, c->address_bytes);
}

/* connect() blocks when the queue of the listener holds the one connection it has space for. */
static int fill_queue(struct call *c, int family)
{
	int filler = socket(family, SOCK_STREAM, 0);
	c->fd = socket(family, SOCK_STREAM, 0);
	return connect(filler, (struct sockaddr *) &c->address, c->address_bytes);
}

static int prepare_unix(struct call *c)
{
	c->other_fd = listen_unix(c);
	return c->other_fd < 0 ? -1 : fill_queue(c, AF_UNIX);
}

static int prepare_unix_limit(struct call *c)
{
	struct timeval t = {limit_ms / 1000, limit_ms % 1000 * 1000};
	return prepare_unix(c) < 0 ? -1 : setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int prepare_tcp(struct call *c)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	c->other_fd = socket(AF_INET, SOCK_STREAM, 0);
	c->address_bytes = sizeof(c->address);
	if (bind(c->other_fd, (struct sockaddr *) &any, sizeof(any)) < 0 ||
	    listen(c->other_fd, 0) < 0 ||
	    getsockname(c->other_fd, (struct sockaddr *) &c->address, &c->address_bytes) < 0)
		return -1;
	return fill_queue(c, AF_INET);
}

static long block_connect(struct call *c)
{
	return connect(c->fd, (struct sockaddr *) &c->address, c->address_bytes);
}

static void release_accept_filler(struct call *c)
{
	(void) accept(c->other_fd, NULL, NULL);
}

static long poll_for(struct call *c, int ms)
{
	struct pollfd p = {c->fd, POLLIN, 0};
	return poll(&p, 1, ms);
}

static long block_poll(struct call *c)
{
	return poll_for(c, -1);
}

static long block_poll_limit(struct call *c)
{
	return poll_for(c, (int) limit_ms);
}

static long block_ppoll_limit(struct call *c)
{
	struct pollfd p = {c->fd, POLLIN, 0};
	struct timespec t = span(limit_ms);
	return ppoll(&p, 1, &t, NULL);
}

static long select_for(struct call *c, struct timeval *limit)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(c->fd, &set);
	return select(c->fd + 1, &set, NULL, NULL, limit);
}

static long block_select(struct call *c)
{
	return select_for(c, NULL);
}

static long block_select_limit(struct call *c)
{
	struct timeval t = {limit_ms / 1000, limit_ms % 1000 * 1000};
	return select_for(c, &t);
}

static long block_pselect_limit(struct call *c)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(c->fd, &set);
	struct timespec t = span(limit_ms);
	return pselect(c->fd + 1, &set, NULL, NULL, &t, NULL);
}

/* ---- event descriptors -------------------------------------------------------------------- */

static long block_read_event(struct call *c)
{
	char buffer[512];
	return read(c->fd, buffer, sizeof(buffer)) > 0 ? 0 : -1;
}

static int prepare_inotify(struct call *c)
{
	c->fd = inotify_init1(IN_CLOEXEC);
	return inotify_add_watch(c->fd, inside("watched"), IN_CREATE) < 0 ? -1 : 0;
}

static void release_inotify(struct call *c)
{
	(void) c;
	(void) close(open(inside("watched/event"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static int prepare_eventfd(struct call *c)
{
	c->fd = eventfd(0, EFD_CLOEXEC);
	return c->fd < 0 ? -1 : 0;
}

static void release_eventfd(struct call *c)
{
	(void) eventfd_write(c->fd, 1);
}

static int prepare_timerfd(struct call *c)
{
	c->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return c->fd < 0 ? -1 : 0;
}

static void release_timerfd(struct call *c)
{
	struct itimerspec t = {.it_value = {0, 1}};
	(void) timerfd_settime(c->fd, 0, &t, NULL);
}

/* ---- children, locks, files --------------------------------------------------------------- */

static int prepare_child(struct call *c)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void) pause();
	}
	c->id = pid;
	c->want = pid;
	return pid < 0 ? -1 : 0;
}

static int prepare_child_waitid(struct call *c)
{
	int r = prepare_child(c);
	c->want = 0;
	return r;
}

static long block_wait4(struct call *c)
{
	return wait4(c->id, NULL, 0, NULL);
}

static long block_waitid(struct call *c)
{
	siginfo_t info;
	return waitid(P_PID, (id_t) c->id, &info, WEXITED);
}

static void release_child(struct call *c)
{
	(void) kill(c->id, SIGKILL);
}

static int prepare_flock(struct call *c)
{
	c->other_fd = open(inside("flock"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	c->fd = open(inside("flock"), O_RDWR | O_CLOEXEC);
	return flock(c->other_fd, LOCK_EX);
}

static long block_flock(struct call *c)
{
	return flock(c->fd, LOCK_EX);
}

static void release_flock(struct call *c)
{
	(void) flock(c->other_fd, LOCK_UN);
}

static int prepare_setlkw(struct call *c)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ready[2];
	char byte;
	c->fd = open(inside("setlkw"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (c->fd < 0 || pipe(ready) < 0)
		return -1;
	c->id = fork();
	if (c->id == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fcntl(c->fd, F_SETLK, &lock) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void) pause();
	}
	(void) close(ready[1]);
	return read(ready[0], &byte, 1) == 1 ? 0 : -1;
}

static long block_setlkw(struct call *c)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(c->fd, F_SETLKW, &lock);
}

static int prepare_fifo(struct call *c)
{
	c->id = -1;
	return access(inside("fifo"), F_OK);
}

static long block_open_fifo(struct call *c)
{
	(void) c;
	return open(inside("fifo"), O_RDONLY | O_CLOEXEC) < 0 ? -1 : 0;
}

static void release_fifo(struct call *c)
{
	/* Without a reader that waits this fails instead of blocking. */
	c->other_fd = open(inside("fifo"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

#endif
