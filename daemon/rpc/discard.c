/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/discard.h"
#include "config/journal.h"
#include "arena.h"
#include "cleanup.h"
#include "errors.h"
#include "own_fd.h"

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

enum {
	PEEK_BYTES = 64 << 10,
	PEEKS_MAX = 256,
	INTERRUPT_US = 1000,
	AGAIN_US = 50000,
	WAITING_AT_FIRST = 256,
};

bool sw_is_pidfd(int fd)
{
	char link[64];
	/* Links of pidfds: the second form since Linux 6.9. What has a path begins with '/', and may be too long */
	(void) sw_own_fd_path(fd, link, sizeof(link));
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
		/* A peer that has hung up with unread replies, said once. */
		if (n < 0 && (errno == ECONNRESET || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 && errno != EAGAIN;
		if (message.msg_flags & MSG_CTRUNC)
			return true;
	}
	return true;
}

/* ---- a process that closes --------------------------------------------------------------------- */

static void nothing(int sig)
{
	(void) sig;
}

/* The descriptors of this user among those that wait, as many as one process closes: from *i on the next one. */
static struct sw_discarded *next_of(struct sw_discards *discards, uid_t uid, size_t *i, size_t *n)
{
	while (*n < SW_CLOSER_FDS_MAX && *i < discards->n_waiting) {
		struct sw_discarded *one = &discards->waiting[(*i)++];
		if (one->uid == uid) {
			(*n)++;
			return one;
		}
	}
	return NULL;
}

/* Waiting for a socket to linger ends by a signal. Else it waits for as long as it has to. */
__attribute__((noreturn)) static void closer_run(struct sw_discards *discards, uid_t uid)
{
	const struct sigaction interrupt = {.sa_handler = nothing};
	const struct itimerval soon = {.it_interval.tv_usec = AGAIN_US,
				       .it_value.tv_usec = INTERRUPT_US};
	const struct sw_discarded *one;
	sigset_t none;
	(void) sigemptyset(&none); /* these cannot fail */
	(void) sigaction(SIGALRM, &interrupt, NULL);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0, n = 0; (one = next_of(discards, uid, &i, &n)) != NULL;) {
		(void) setitimer(ITIMER_REAL, &soon, NULL);
		(void) syscall(SYS_close, one->fd); /* it is gone whatever comes of it */
	}
	(void) syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

static void work_soon(struct sw_discards *discards)
{
	(void) sd_event_source_set_enabled(discards->work, SD_EVENT_ONESHOT); /* cannot fail here */
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_closer *closer = arg;
	siginfo_t info;
	(void) source;
	(void) events;
	(void) waitid(P_PIDFD, (id_t) fd, &info, WEXITED | WNOHANG | __WALL); /* has ended */
	closer->source = sd_event_source_disable_unref(closer->source);
	sw_close_p(&closer->pidfd);
	work_soon(closer->all);
	return 0;
}

static struct sw_closer *closer_free(struct sw_discards *discards, uid_t uid)
{
	struct sw_closer *found = NULL;
	size_t n_own = 0;
	for (size_t i = 0; i < SW_CLOSERS_MAX; i++) {
		struct sw_closer *c = &discards->closers[i];
		if (c->source == NULL)
			found = c;
		else
			n_own += c->uid == uid;
	}
	return n_own < SW_CLOSERS_UID_MAX ? found : NULL;
}

static void say_once(struct sw_discards *discards)
{
	if (!discards->said)
		sw_log(SW_LOG_WARNING, "descriptors that a client sent cannot be closed yet");
	discards->said = true;
}

/* A process with our descriptors: what it closes is closed. Without a signal at its end. */
static bool closer_start(struct sw_discards *discards, struct sw_closer *closer, uid_t uid)
{
	int pidfd = -EBADF;
	/* The order of arguments but the first three differs between machines; those are not used. */
	long pid = syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0)
		closer_run(discards, uid);
	if (pid < 0)
		return false;
	*closer = (struct sw_closer){.pidfd = pidfd, .uid = uid, .all = discards};
	if (sd_event_add_io(discards->event, &closer->source, pidfd, EPOLLIN, on_end, closer) < 0) {
		closer->source = NULL;
		sw_close_p(&closer->pidfd); /* a zombie, until we end */
	}
	return true;
}

/* The user's descriptors that a process closes now wait no longer. */
static void handed_over(struct sw_discards *discards, uid_t uid)
{
	struct sw_discarded *one;
	size_t kept = 0;
	for (size_t i = 0, n = 0; (one = next_of(discards, uid, &i, &n)) != NULL;)
		one->fd = -EBADF;
	for (size_t i = 0; i < discards->n_waiting; i++)
		if (discards->waiting[i].fd >= 0)
			discards->waiting[kept++] = discards->waiting[i];
	discards->n_waiting = kept;
}

static int on_work(sd_event_source *source, void *arg)
{
	struct sw_discards *discards = arg;
	(void) source;
	for (size_t i = 0; i < discards->n_waiting;) {
		uid_t uid = discards->waiting[i].uid;
		struct sw_closer *closer = closer_free(discards, uid);
		if (closer == NULL) {
			i++;
		} else if (closer_start(discards, closer, uid)) {
			handed_over(discards, uid);
			i = 0;
		} else {
			say_once(discards);
			break; /* with the next one */
		}
	}
	if (discards->n_waiting > SW_DISCARDED_MAX) {
		/* The daemon would be out of descriptors soon, and deaf for good. */
		sw_log(SW_LOG_ERROR,
		       "%zu descriptors that clients sent cannot be closed: "
		       "the daemon ends, to be started anew",
		       discards->n_waiting);
		return sd_event_exit(discards->event, SW_E_IO);
	}
	return 0;
}

/* ---- here ----------------------------------------------------------------------------------------- */

static void discard(struct sw_discards *discards, int fd, uid_t uid)
{
	struct sw_discarded *grown = NULL;
	if (discards->event != NULL)
		grown = sw_grow(discards->waiting, discards->n_waiting, &discards->capacity,
				WAITING_AT_FIRST, sizeof(*grown));
	if (grown == NULL) {
		/* Nobody is served yet, or there is no memory to do it otherwise. */
		(void) close(fd);
		return;
	}
	discards->waiting = grown;
	grown[discards->n_waiting++] = (struct sw_discarded){.fd = fd, .uid = uid};
	work_soon(discards);
}

void sw_discard_descriptor(struct sw_discards *discards, int fd, uid_t uid)
{
	if (sw_is_pidfd(fd))
		(void) close(fd); /* never waits */
	else
		discard(discards, fd, uid);
}

void sw_discard_connection(struct sw_discards *discards, int fd, uid_t uid)
{
	(void) shutdown(fd, SHUT_RDWR); /* nothing more comes in; fails for what has no peer */
	if (has_descriptors(fd))
		discard(discards, fd, uid);
	else
		(void) close(fd); /* a socket with nothing in it never waits */
}

/* ---- life ----------------------------------------------------------------------------------------- */

int sw_discards_start(struct sw_discards *discards, sd_event *event)
{
	int r = sd_event_add_defer(event, &discards->work, on_work, discards);
	if (r >= 0)
		r = sd_event_source_set_enabled(discards->work, SD_EVENT_OFF);
	if (r >= 0)
		discards->event = event;
	return r;
}

void sw_discards_deinit(struct sw_discards *discards)
{
	for (size_t i = 0; i < SW_CLOSERS_MAX; i++) {
		struct sw_closer *closer = &discards->closers[i];
		if (closer->source == NULL)
			continue;
		closer->source = sd_event_source_disable_unref(closer->source);
		sw_close_p(&closer->pidfd);
	}
	discards->work = sd_event_source_disable_unref(discards->work);
	free(discards->waiting);
	*discards = (struct sw_discards){0};
}
