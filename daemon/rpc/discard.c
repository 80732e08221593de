/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/discard.h"
#include "config/journal.h"
#include "cleanup.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { PEEK_BYTES = 64 << 10, PEEKS_MAX = 256, INTERRUPT_US = 1000, AGAIN_US = 50000 };

bool sw_is_pidfd(int fd)
{
	char path[64], link[64];
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	/* Nothing is asked of the file itself; what has a path begins with '/'. pidfd: since Linux 6.9 */
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	return strcmp(link, "anon_inode:[pidfd]") == 0 || strncmp(link, "pidfd:[", 7) == 0;
}

/* Are descriptors in it that nobody has received? Looked at in place: no space for them means that they stay. */
static bool has_descriptors(int fd)
{
	static char bytes[PEEK_BYTES]; /* written, never read */
	const int from_begin = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from_begin, sizeof(from_begin)) < 0)
		return true;
	for (int i = 0; i < PEEKS_MAX; i++) {
		struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		ssize_t n = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && errno != EAGAIN;
		if (message.msg_flags & MSG_CTRUNC)
			return true;
	}
	return true;
}

/* ---- the process that closes ------------------------------------------------------------------- */

static void nothing(int sig)
{
	(void) sig;
}

/* Waiting for a socket to linger ends by a signal. Else it waits for as long as it has to. */
__attribute__((noreturn)) static void closer_run(int fd)
{
	const struct sigaction interrupt = {.sa_handler = nothing};
	const struct itimerval soon = {.it_interval.tv_usec = AGAIN_US,
				       .it_value.tv_usec = INTERRUPT_US};
	sigset_t none;
	(void) sigemptyset(&none); /* these cannot fail */
	(void) sigaction(SIGALRM, &interrupt, NULL);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	(void) setitimer(ITIMER_REAL, &soon, NULL);
	(void) syscall(SYS_close, fd); /* it is gone whatever comes of it */
	(void) syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_discard *d = arg;
	siginfo_t info;
	(void) source;
	(void) events;
	(void) waitid(P_PIDFD, (id_t) fd, &info, WEXITED | WNOHANG | __WALL); /* has ended */
	d->source = sd_event_source_disable_unref(d->source);
	sw_close_p(&d->pidfd);
	d->all->n_running--;
	return 0;
}

static struct sw_discard *discard_free(struct sw_discards *discards)
{
	for (size_t i = 0; i < SW_DISCARDS_MAX; i++)
		if (discards->running[i].source == NULL)
			return &discards->running[i];
	return NULL;
}

/* A process with our descriptors: what it closes is closed. Without a signal at its end. */
static bool close_elsewhere(struct sw_discards *discards, int fd)
{
	struct sw_discard *d = discard_free(discards);
	int pidfd = -EBADF;
	if (d == NULL)
		return false;
	/* The order of arguments but the first three differs between machines; those are not used. */
	long pid = syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0)
		closer_run(fd);
	if (pid < 0)
		return false;
	*d = (struct sw_discard){.pidfd = pidfd, .all = discards};
	if (sd_event_add_io(discards->event, &d->source, pidfd, EPOLLIN, on_end, d) < 0) {
		d->source = NULL;
		sw_close_p(&d->pidfd); /* a zombie, until we end */
		return true;
	}
	discards->n_running++;
	return true;
}

/* ---- here ----------------------------------------------------------------------------------------- */

static void discard(struct sw_discards *discards, int fd)
{
	if (discards->event == NULL)
		(void) close(fd); /* nobody is served yet */
	else if (!close_elsewhere(discards, fd) && !discards->said) {
		discards->said = true;
		sw_log(SW_LOG_WARNING,
		       "descriptors that a client sent do not close, and stay open");
	}
}

void sw_discard_descriptor(struct sw_discards *discards, int fd)
{
	if (sw_is_pidfd(fd))
		(void) close(fd); /* never waits */
	else
		discard(discards, fd);
}

void sw_discard_connection(struct sw_discards *discards, int fd)
{
	(void) shutdown(fd, SHUT_RDWR); /* nothing more comes in; fails for what has no peer */
	if (has_descriptors(fd))
		discard(discards, fd);
	else
		(void) close(fd); /* a socket with nothing in it never waits */
}

void sw_discards_deinit(struct sw_discards *discards)
{
	for (size_t i = 0; i < SW_DISCARDS_MAX; i++) {
		struct sw_discard *d = &discards->running[i];
		if (d->source == NULL)
			continue;
		d->source = sd_event_source_disable_unref(d->source);
		sw_close_p(&d->pidfd);
	}
	discards->n_running = 0;
	discards->event = NULL;
}
