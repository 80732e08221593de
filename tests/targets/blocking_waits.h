/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of blocking.c that wait for time, futexes, queues, completions and signals. */
#ifndef TARGET_BLOCKING_WAITS_H
#define TARGET_BLOCKING_WAITS_H

#include "blocking.h"

/* ---- delays, futexes, semaphores ---------------------------------------------------------- */

static long block_nanosleep(struct call *c)
{
	(void) c;
	struct timespec t = span(sleep_ms);
	return syscall(SYS_nanosleep, &t, NULL);
}

static long clock_sleep(int flags, struct timespec t)
{
	int r = clock_nanosleep(CLOCK_MONOTONIC, flags, &t, NULL);
	errno = r;
	return r == 0 ? 0 : -1;
}

static long block_clock_nanosleep(struct call *c)
{
	(void) c;
	return clock_sleep(0, span(sleep_ms));
}

static long block_clock_nanosleep_abs(struct call *c)
{
	(void) c;
	return clock_sleep(TIMER_ABSTIME, at(CLOCK_MONOTONIC, sleep_ms));
}

static long block_usleep(struct call *c)
{
	(void) c;
	return usleep((useconds_t) sleep_ms * 1000);
}

static long block_futex(struct call *c)
{
	return syscall(SYS_futex, &c->word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static long block_futex_limit(struct call *c)
{
	struct timespec t = span(limit_ms);
	return syscall(SYS_futex, &c->word, FUTEX_WAIT_PRIVATE, 0, &t);
}

static long block_futex_bitset(struct call *c)
{
	struct timespec t = at(CLOCK_MONOTONIC, limit_ms);
	return syscall(SYS_futex, &c->word, FUTEX_WAIT_BITSET_PRIVATE, 0, &t, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

static long block_futex_waitv(struct call *c)
{
	struct futex_waitv one = {.uaddr = (uint64_t) (uintptr_t) &c->word,
				  .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG};
	return syscall(SYS_futex_waitv, &one, 1, 0, NULL, 0);
}

static void release_futex(struct call *c)
{
	/* The word stays 0: only a wait that is really pending can be woken. */
	(void) syscall(SYS_futex, &c->word, FUTEX_WAKE_PRIVATE, 1);
}

static int prepare_sem(struct call *c)
{
	return sem_init(&c->sem, 0, 0);
}

static long block_sem_wait(struct call *c)
{
	return sem_wait(&c->sem);
}

static long block_sem_timedwait(struct call *c)
{
	struct timespec t = at(c->clock, limit_ms);
	return sem_timedwait(&c->sem, &t);
}

static void release_sem(struct call *c)
{
	(void) sem_post(&c->sem);
}

/* ---- System V and POSIX queues ------------------------------------------------------------ */

static int prepare_semop(struct call *c)
{
	c->id = n_sems++;
	errno = ENOSPC;
	return sem_set < 0 || c->id >= SEMS ? -1 : 0;
}

static long block_semop(struct call *c)
{
	struct sembuf down = {(unsigned short) c->id, -1, 0};
	return semop(sem_set, &down, 1);
}

static long block_semtimedop(struct call *c)
{
	struct sembuf down = {(unsigned short) c->id, -1, 0};
	/* glibc turns semtimedop(NULL) into the same call; said here without its help. */
	return syscall(SYS_semtimedop, sem_set, &down, 1, NULL);
}

static long block_semtimedop_limit(struct call *c)
{
	struct sembuf down = {(unsigned short) c->id, -1, 0};
	struct timespec t = span(limit_ms);
	return semtimedop(sem_set, &down, 1, &t);
}

static void release_semop(struct call *c)
{
	struct sembuf up = {(unsigned short) c->id, 1, 0};
	(void) semop(sem_set, &up, 1);
}

struct message {
	long type;
	char text[8];
};

static int prepare_msgrcv(struct call *c)
{
	c->want = 5;
	return msg_queue < 0 ? -1 : 0;
}

static long block_msgrcv(struct call *c)
{
	(void) c;
	struct message m;
	return msgrcv(msg_queue, &m, sizeof(m.text), 0, 0);
}

static void release_msgrcv(struct call *c)
{
	(void) c;
	struct message m = {1, "hello"};
	(void) msgsnd(msg_queue, &m, 5, 0);
}

/* The queue is of this call alone, filled up. */
static int prepare_msgsnd(struct call *c)
{
	struct message m = {1, "hello"};
	if (full_queue < 0)
		return -1;
	while (msgsnd(full_queue, &m, sizeof(m.text), IPC_NOWAIT) == 0)
		;
	c->id = full_queue;
	return 0;
}

static long block_msgsnd(struct call *c)
{
	struct message m = {1, "hello"};
	return msgsnd(c->id, &m, sizeof(m.text), 0);
}

static void release_msgsnd(struct call *c)
{
	struct message m;
	for (int i = 0; i < 2; i++)
		(void) msgrcv(c->id, &m, sizeof(m.text), 0, IPC_NOWAIT);
}

static int prepare_mq(struct call *c)
{
	static int n;
	char name[64];
	(void) snprintf(name, sizeof(name), "/snapwalk-blocking-%d-%d", getpid(), n++);
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 16};
	c->mq = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	c->want = 5;
	return c->mq < 0 ? -1 : mq_unlink(name);
}

static long block_mq(struct call *c)
{
	char buffer[16];
	return mq_receive(c->mq, buffer, sizeof(buffer), NULL);
}

static long block_mq_limit(struct call *c)
{
	char buffer[16];
	struct timespec t = at(c->clock, limit_ms);
	return mq_timedreceive(c->mq, buffer, sizeof(buffer), NULL, &t);
}

static void release_mq(struct call *c)
{
	(void) mq_send(c->mq, "hello", 5, 0);
}

/* ---- asynchronous input and output -------------------------------------------------------- */

static int prepare_aio(struct call *c)
{
	c->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	c->want = 1;
	return (int) syscall(SYS_io_setup, 4, &c->aio);
}

static long block_io_getevents(struct call *c)
{
	struct io_event event;
	return syscall(SYS_io_getevents, c->aio, 1, 1, &event, NULL);
}

static long block_io_getevents_limit(struct call *c)
{
	struct io_event event;
	struct timespec t = span(limit_ms);
	return syscall(SYS_io_getevents, c->aio, 1, 1, &event, &t);
}

static long block_io_pgetevents(struct call *c)
{
	struct io_event event;
	return syscall(SYS_io_pgetevents, c->aio, 1, 1, &event, NULL, NULL);
}

static void release_aio(struct call *c)
{
	static char buffer[64];
	struct iocb iocb = {.aio_lio_opcode = IOCB_CMD_PREAD,
			    .aio_fildes = (uint32_t) c->fd,
			    .aio_buf = (uint64_t) (uintptr_t) buffer,
			    .aio_nbytes = sizeof(buffer)};
	struct iocb *list[] = {&iocb};
	(void) syscall(SYS_io_submit, c->aio, 1, list);
}

static int prepare_uring(struct call *c)
{
	c->fd = (int) syscall(SYS_io_uring_setup, 4, &c->uring);
	return c->fd < 0 ? -1 : 0;
}

static long block_uring(struct call *c)
{
	return syscall(SYS_io_uring_enter, c->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static long block_uring_limit(struct call *c)
{
	struct __kernel_timespec t = {limit_ms / 1000, limit_ms % 1000 * 1000000};
	struct io_uring_getevents_arg arg = {.ts = (uint64_t) (uintptr_t) &t};
	return syscall(SYS_io_uring_enter, c->fd, 0, 1,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
}

static void release_uring(struct call *c)
{
	const struct io_uring_params *p = &c->uring;
	size_t ring_bytes = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	char *ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
			  IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqes =
		mmap(NULL, p->sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
		     IORING_OFF_SQES);
	sqes[0] = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
	((uint32_t *) (ring + p->sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *) (ring + p->sq_off.tail), 1, __ATOMIC_RELEASE);
	(void) syscall(SYS_io_uring_enter, c->fd, 1, 0, 0, NULL, 0);
}

/* ---- signals ------------------------------------------------------------------------------ */

static int prepare_sigwait(struct call *c)
{
	c->want = SIGUSR2;
	return 0;
}

static long block_sigwaitinfo(struct call *c)
{
	(void) c;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigwaitinfo(&set, NULL);
}

static long block_sigtimedwait(struct call *c)
{
	(void) c;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	struct timespec t = span(limit_ms);
	return sigtimedwait(&set, NULL, &t);
}

static void release_sigwait(struct call *c)
{
	(void) pthread_kill(c->thread, SIGUSR2);
}

static int prepare_handler(struct call *c)
{
	c->want = -1;
	c->want_errno = EINTR; /* what these two return after any handler */
	return 0;
}

static long block_pause(struct call *c)
{
	(void) c;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	(void) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return syscall(SYS_pause);
}

static long block_sigsuspend(struct call *c)
{
	(void) c;
	sigset_t set;
	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	return sigsuspend(&set);
}

static void release_handler(struct call *c)
{
	(void) pthread_kill(c->thread, SIGUSR1);
}

#endif
