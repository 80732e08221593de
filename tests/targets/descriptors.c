/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gets and gives up descriptors in each way that there is, and writes down how many: for a line "go" it prints
 * "NAME acquired outstanding" for each function and then "done". A line "exec" makes it another program, which has
 * those without close-on-exec. For "many" and "noted" it gets more by one call than an event has space for. For a line "unseen" it gets one and gives one up by calls of 32-bit code, which nobody follows.
 */
#include "call_32.h"
#include "checked.h"
#include "target.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, THREADS = 3, PASSED = 3, KEEP_EACH = 10, BATCH = 8 };

static void say(const char *name, int acquired, int outstanding)
{
	printf("%s %d %d\n", name, acquired, outstanding);
}

/* Each KEEP_EACH-th one is kept. */
ALONE static void by_open(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("/dev/null", O_RDONLY | (i % (2 * KEEP_EACH) == 0 ? O_CLOEXEC : 0));
		check(fd >= 0, "open");
		if (i % KEEP_EACH != 0)
			check(close(fd) == 0, "close");
	}
	say("by_open", ROUNDS, ROUNDS / KEEP_EACH);
}

/* dup2(2) over one that is open gives that one up. */
ALONE static int over_first(void)
{
	int fd = eventfd(0, 0);
	KEEP();
	return fd;
}

ALONE static void over_second(int old, int over)
{
	check(dup2(old, over) == over, "dup2");
	KEEP();
}

ALONE static void by_dup2(void)
{
	int null = open("/dev/null", O_RDONLY);
	for (int i = 0; i < ROUNDS; i++)
		over_second(null, over_first());
	check(dup2(null, null) == null, "dup2"); /* which is none */
	check(close(null) == 0, "close");
	say("by_dup2", 1, 0);
	say("over_first", ROUNDS, 0);
	say("over_second", ROUNDS, ROUNDS);
}

/* Two at once; one of them is kept. */
ALONE static void by_pipe(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int ends[2];
		check(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
		check(close(ends[i % 2]) == 0, "close");
	}
	say("by_pipe", 2 * ROUNDS, ROUNDS);
}

/* All in a range. */
ALONE static void by_range(void)
{
	int first = fcntl(0, F_DUPFD, 500), last = first;
	for (int i = 1; i < ROUNDS; i++)
		last = fcntl(0, F_DUPFD_CLOEXEC, 500);
	check(last == first + ROUNDS - 1, "F_DUPFD");
	/* Which closes nothing. */
	check(syscall(SYS_close_range, last - 1, last, CLOSE_RANGE_CLOEXEC) == 0, "close_range");
	check(syscall(SYS_close_range, first, last - 2, 0) == 0, "close_range");
	say("by_range", ROUNDS, 2);
}

static void pass(int socket, int n)
{
	union {
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[PASSED] = {0, 0, 0};
	m.msg_control = control.bytes;
	m.msg_controllen = CMSG_SPACE((size_t) n * sizeof(int));
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN((size_t) n * sizeof(int));
	memcpy(CMSG_DATA(head), fds, (size_t) n * sizeof(int));
	check(sendmsg(socket, &m, 0) == 1, "sendmsg");
}

/* Several at once, in a message; one of them is kept. */
ALONE static void by_message(int socket)
{
	union {
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[PASSED];
	m.msg_control = control.bytes;
	m.msg_controllen = sizeof(control.bytes);
	check(recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1, "recvmsg");
	const struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	check(head != NULL && head->cmsg_len == CMSG_LEN(sizeof(fds)), "SCM_RIGHTS");
	memcpy(fds, CMSG_DATA(head), sizeof(fds));
	check(close(fds[0]) == 0 && close(fds[2]) == 0, "close");
}

ALONE static void by_messages(void)
{
	int ends[2];
	check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
	for (int i = 0; i < ROUNDS; i++) {
		pass(ends[0], PASSED);
		by_message(ends[1]);
	}
	check(close(ends[0]) == 0 && close(ends[1]) == 0, "close");
	say("by_message", PASSED * ROUNDS, ROUNDS);
	say("by_messages", 2, 0);
}

/* Several messages in one call: all are kept. */
ALONE static void by_batch(int socket)
{
	union {
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
		struct cmsghdr align;
	} controls[BATCH];
	char bytes[BATCH];
	struct iovec iov[BATCH];
	struct mmsghdr m[BATCH] = {0};
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){&bytes[i], 1};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
					       .msg_iovlen = 1,
					       .msg_control = controls[i].bytes,
					       .msg_controllen = sizeof(controls[i].bytes)};
	}
	check(recvmmsg(socket, m, BATCH, MSG_CMSG_CLOEXEC, NULL) == BATCH, "recvmmsg");
}

ALONE static void by_batches(void)
{
	int ends[2];
	check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
	for (int i = 0; i < BATCH; i++)
		pass(ends[0], PASSED);
	by_batch(ends[1]);
	check(close(ends[0]) == 0 && close(ends[1]) == 0, "close");
	say("by_batch", PASSED * BATCH, PASSED * BATCH);
	say("by_batches", 2, 0);
}

/* The rare kinds of descriptors, one of each. */
ALONE static void by_others(void)
{
	sigset_t none;
	sigemptyset(&none);
	const int fds[] = {epoll_create1(0),
			   timerfd_create(CLOCK_MONOTONIC, 0),
			   signalfd(-1, &none, 0),
			   memfd_create("x", 0),
			   dup(0),
			   (int) syscall(SYS_pidfd_open, getpid(), 0)};
	int n = sizeof(fds) / sizeof(fds[0]);
	for (int i = 0; i < n; i++)
		check(fds[i] >= 0, "others");
	check(signalfd(fds[2], &none, 0) == fds[2], "signalfd"); /* the same one */
	say("by_others", n, n);
}

/* The child's are others. */
ALONE static void in_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		for (int fd = 3; fd < 600; fd++)
			(void) close(fd); /* or it is not there */
		for (int i = 0; i < 10; i++)
			(void) !open("/dev/null", O_RDONLY); /* left open */
		_exit(0);
	}
	check(waitpid(child, NULL, 0) == child, "waitpid");
	say("in_child", 0, 0);
}

/* A process that has the same table: what it opens is ours, and was opened by no thread of ours. */
static int sharer(void *arg)
{
	int ends[2];
	(void) arg;
	return pipe2(ends, 0) < 0 || close(0) < 0;
}

ALONE static void shared(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status = 0, kept = fcntl(0, F_DUPFD, 900);
	pid_t child = clone(sharer, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
	check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "CLONE_FILES");
	check(dup2(kept, 0) == 0 && close(kept) == 0, "dup2");
	say("shared", 2, 1); /* standard input, anew */
	say("-", 2, 2);      /* both ends of its pipe */
}

/* Numbers that several threads get and give up at the same time. */
ALONE static void *in_thread(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS; i++) {
		int fd = open("/dev/null", O_RDONLY);
		check(fd >= 0, "open");
		check(close(fd) == 0, "close");
	}
	return arg;
}

static void by_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, in_thread, NULL) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
	say("in_thread", THREADS * 20 * ROUNDS, 0);
}

ALONE static void unseen(void)
{
	enum { I386_CLOSE = 6, I386_DUP2 = 63, GOT = 700 };
	int fd = open("/dev/null", O_RDONLY);
	check(fd >= 0, "open");
	check(call_32(I386_CLOSE, fd, 0, 0) == 0, "close of 32-bit code");
	check(call_32(I386_DUP2, 0, GOT, 0) == GOT, "dup2 of 32-bit code");
	say("unseen", 1, 0);
}

/* More descriptors in one call than an event has space for; and more control messages than are looked at. */
enum { MANY_MESSAGES = 4, MANY = 80, NOTED_MESSAGES = 140 };

static void send_to(int socket, int n)
{
	union {
		char bytes[CMSG_SPACE(MANY * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[MANY] = {0};
	m.msg_control = control.bytes;
	m.msg_controllen = CMSG_SPACE((size_t) n * sizeof(int));
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN((size_t) n * sizeof(int));
	memcpy(CMSG_DATA(head), fds, (size_t) n * sizeof(int));
	check(sendmsg(socket, &m, 0) == 1, "sendmsg");
}

ALONE static void many(int socket, int n_messages)
{
	static char controls[NOTED_MESSAGES][CMSG_SPACE(MANY * sizeof(int)) + 64]
		__attribute__((aligned(16)));
	static struct mmsghdr m[NOTED_MESSAGES];
	static char bytes[NOTED_MESSAGES];
	static struct iovec iov[NOTED_MESSAGES];
	for (int i = 0; i < n_messages; i++) {
		iov[i] = (struct iovec){&bytes[i], 1};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
					       .msg_iovlen = 1,
					       .msg_control = controls[i],
					       .msg_controllen = sizeof(controls[i])};
	}
	check(recvmmsg(socket, m, (unsigned) n_messages, MSG_CMSG_CLOEXEC, NULL) == n_messages,
	      "recvmmsg");
}

static void too_many(bool noted)
{
	int ends[2], on = 1;
	check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
	/* Each message has another control message then: who has sent it. */
	check(!noted || setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0,
	      "SO_PASSCRED");
	for (int i = 0; i < (noted ? NOTED_MESSAGES : MANY_MESSAGES); i++)
		send_to(ends[0], noted ? 1 : MANY);
	many(ends[1], noted ? NOTED_MESSAGES : MANY_MESSAGES);
}

int main(int argc, char **argv)
{
	char line[16];
	(void) argc;
	/* Before anybody looks. */
	int before[4];
	for (int i = 0; i < 4; i++)
		before[i] = open("/dev/null", O_RDONLY);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "exec\n") == 0)
			(void) execl(argv[0], argv[0], (char *) NULL); /* or it goes on */
		if (strcmp(line, "many\n") == 0 || strcmp(line, "noted\n") == 0) {
			too_many(strcmp(line, "noted\n") == 0);
			printf("done\n");
			fflush(stdout);
			continue;
		}
		if (strcmp(line, "unseen\n") == 0) {
			unseen();
			printf("done\n");
			fflush(stdout);
			continue;
		}
		if (before[0] >= 0)
			check(close(before[0]) == 0, "close");
		before[0] = -1;
		by_open();
		by_dup2();
		by_pipe();
		by_range();
		by_messages();
		by_batches();
		by_others();
		in_child();
		shared();
		by_threads();
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
