/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread in each blocking system call. Each thread says when its call returns, with what.
 *
 *	blocking LIMIT_MS SLEEP_MS [NAME...]
 *
 * Calls that have a time limit are given LIMIT_MS, pure delays SLEEP_MS. It prints
 *	call NAME TID KIND WANT WANT_ERRNO	KIND: none, limit, sleep, partial (see blocking.h)
 *	unavailable NAME ERRNO			the kernel does not offer it here
 *	ready
 *	return NAME RESULT ERRNO ELAPSED_MS	as soon as a call returns
 * and reads "release NAME" (send the event that the call waits for).
 */
#include "blocking_files.h"
#include "blocking_waits.h"

#include <err.h>
#include <stdlib.h>

enum { CALLS_MAX = 80 };

static struct call calls[CALLS_MAX];
static size_t n_calls;

static void add(const char *name, const char *kind, int (*prepare)(struct call *),
		long (*block)(struct call *), void (*release)(struct call *))
{
	calls[n_calls++] = (struct call){
		.name = name, .kind = kind, .prepare = prepare, .block = block, .release = release,
		.clock = CLOCK_MONOTONIC};
}

static void add_real_time(const char *name, int (*prepare)(struct call *),
			  long (*block)(struct call *), void (*release)(struct call *))
{
	add(name, "limit", prepare, block, release);
	calls[n_calls - 1].clock = CLOCK_REALTIME;
}

static void add_all(void)
{
	add("epoll_wait(-1)", "none", prepare_epoll, block_epoll_wait, release_pipe);
	add("epoll_wait(timeout)", "limit", prepare_epoll, block_epoll_wait_limit, release_pipe);
	add("epoll_pwait(-1)", "none", prepare_epoll, block_epoll_pwait, release_pipe);
	add("epoll_pwait(timeout)", "limit", prepare_epoll, block_epoll_pwait_limit, release_pipe);
	add("epoll_pwait2(NULL)", "none", prepare_epoll, block_epoll_pwait2, release_pipe);
	add("epoll_pwait2(timeout)", "limit", prepare_epoll, block_epoll_pwait2_limit,
	    release_pipe);
	add("nanosleep", "sleep", NULL, block_nanosleep, NULL);
	add("clock_nanosleep_relative", "sleep", NULL, block_clock_nanosleep, NULL);
	add("clock_nanosleep_absolute", "sleep", NULL, block_clock_nanosleep_abs, NULL);
	add("usleep", "sleep", NULL, block_usleep, NULL);
	add("futex_WAIT", "none", NULL, block_futex, release_futex);
	add("futex_WAIT_timeout", "limit", NULL, block_futex_limit, release_futex);
	add("futex_WAIT_BITSET_absolute", "limit", NULL, block_futex_bitset, release_futex);
	add("futex_waitv", "none", NULL, block_futex_waitv, release_futex);
	add("sem_wait", "none", prepare_sem, block_sem_wait, release_sem);
	add_real_time("sem_timedwait", prepare_sem, block_sem_timedwait, release_sem);
	add("read_pipe", "none", prepare_pipe_read, block_read, release_pipe);
	add("write_pipe_full", "none", prepare_pipe_full, block_write_one, release_drain);
	add("write_pipe_partial", "partial", prepare_pipe_empty, block_write_much, release_drain);
	add("read_unix_socket", "none", prepare_socket, block_read, release_pipe);
	add("recvmsg", "none", prepare_socket, block_recvmsg, release_pipe);
	add("recv_SO_RCVTIMEO", "limit", prepare_socket_limit, block_recv, release_pipe);
	add("read_SO_RCVTIMEO", "limit", prepare_socket_limit, block_read, release_pipe);
	add("recvmmsg_SO_RCVTIMEO", "limit", prepare_recvmmsg_limit, block_recvmmsg, release_pipe);
	add("send_SO_SNDTIMEO", "limit", prepare_socket_full, block_send, release_drain);
	add("accept", "none", prepare_listen, block_accept, release_accept);
	add("accept_SO_RCVTIMEO", "limit", prepare_listen_limit, block_accept, release_accept);
	add("poll(-1)", "none", prepare_one_event, block_poll, release_pipe);
	add("poll(timeout)", "limit", prepare_one_event, block_poll_limit, release_pipe);
	add("ppoll(timeout)", "limit", prepare_one_event, block_ppoll_limit, release_pipe);
	add("select(NULL)", "none", prepare_one_event, block_select, release_pipe);
	add("select(timeout)", "limit", prepare_one_event, block_select_limit, release_pipe);
	add("pselect(timeout)", "limit", prepare_one_event, block_pselect_limit, release_pipe);
	add("semop", "none", prepare_semop, block_semop, release_semop);
	add("semtimedop(NULL)", "none", prepare_semop, block_semtimedop, release_semop);
	add("semtimedop(timeout)", "limit", prepare_semop, block_semtimedop_limit, release_semop);
	add("msgrcv", "none", prepare_msgrcv, block_msgrcv, release_msgrcv);
	add("msgsnd", "none", prepare_msgsnd, block_msgsnd, release_msgsnd);
	add("mq_receive", "none", prepare_mq, block_mq, release_mq);
	add_real_time("mq_timedreceive", prepare_mq, block_mq_limit, release_mq);
	add("io_getevents(NULL)", "none", prepare_aio, block_io_getevents, release_aio);
	add("io_getevents(timeout)", "limit", prepare_aio, block_io_getevents_limit, release_aio);
	add("io_pgetevents(NULL)", "none", prepare_aio, block_io_pgetevents, release_aio);
	add("io_uring_enter", "none", prepare_uring, block_uring, release_uring);
	add("io_uring_enter(timeout)", "limit", prepare_uring, block_uring_limit, release_uring);
	add("sigtimedwait", "limit", prepare_sigwait, block_sigtimedwait, release_sigwait);
	add("sigwaitinfo", "none", prepare_sigwait, block_sigwaitinfo, release_sigwait);
	add("pause", "none", prepare_handler, block_pause, release_handler);
	add("sigsuspend", "none", prepare_handler, block_sigsuspend, release_handler);
	add("read_inotify", "none", prepare_inotify, block_read_event, release_inotify);
	add("read_eventfd", "none", prepare_eventfd, block_read_event, release_eventfd);
	add("read_timerfd", "none", prepare_timerfd, block_read_event, release_timerfd);
	add("wait4", "none", prepare_child, block_wait4, release_child);
	add("waitid", "none", prepare_child_waitid, block_waitid, release_child);
	add("flock", "none", prepare_flock, block_flock, release_flock);
	add("fcntl_F_SETLKW", "none", prepare_setlkw, block_setlkw, release_child);
	add("open_fifo", "none", prepare_fifo, block_open_fifo, release_fifo);
	add("connect_tcp", "none", prepare_tcp, block_connect, release_accept_filler);
	add("connect_unix", "none", prepare_unix, block_connect, release_accept_filler);
	add("connect_SO_SNDTIMEO", "limit", prepare_unix_limit, block_connect,
	    release_accept_filler);
}

static bool wanted(const struct call *call, int argc, char **argv)
{
	if (argc <= 3)
		return true;
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], call->name) == 0)
			return true;
	return false;
}

static void *run(void *arg)
{
	struct call *call = arg;
	int64_t begin_ms = now_ms(call->clock);
	call->tid = gettid();
	(void) sem_post(&started);
	errno = 0;
	long result = call->block(call);
	int error = result == -1 ? errno : 0;
	printf("return %s %ld %d %lld\n", call->name, result, error,
	       (long long) (now_ms(call->clock) - begin_ms));
	return NULL;
}

static void start(struct call *call)
{
	/* The release must come while the thread waits in the call, not while it is created:
	 * the signals of the sigwait family stay blocked from its first instruction on. */
	if (call->prepare != NULL && call->prepare(call) < 0) {
		printf("unavailable %s %d\n", call->name, errno);
		return;
	}
	if (pthread_create(&call->thread, NULL, run, call) != 0)
		err(1, "pthread_create");
	while (sem_wait(&started) < 0)
		;
	printf("call %s %d %s %ld %d\n", call->name, call->tid, call->kind, call->want,
	       call->want_errno);
}

static void release(const char *name)
{
	for (size_t i = 0; i < n_calls; i++)
		if (calls[i].tid != 0 && strcmp(calls[i].name, name) == 0 &&
		    calls[i].release != NULL)
			calls[i].release(&calls[i]);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: blocking LIMIT_MS SLEEP_MS [NAME...]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	limit_ms = atol(argv[1]);
	sleep_ms = atol(argv[2]);
	signals_prepare();
	objects_prepare();
	add_all();
	for (size_t i = 0; i < n_calls; i++)
		if (wanted(&calls[i], argc, argv))
			start(&calls[i]);
	puts("ready");

	char line[128];
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "release ", 8) == 0)
			release(line + 8);
	}
	return 0;
}
