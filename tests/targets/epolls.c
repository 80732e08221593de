/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Has sets of epoll watch files, and no more, in each way that there is, and writes down how many: for a line "go" it prints
 * "NAME added left" for each function and then "done". A line "exec" makes it another program, in which one set is left with one
 * file. After "churn" a thread adds and removes a file all the time, until "calm". For "unseen" it adds one and removes one by
 * calls of 32-bit code, which nobody follows.
 */
#include "call_32.h"
#include "checked.h"
#include "target.h"

#include <linux/close_range.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, THREADS = 3, KEEP_EACH = 10 };

static void say(const char *name, int added, int left)
{
	printf("%s %d %d\n", name, added, left);
}

static int set_new(void)
{
	int set = epoll_create1(EPOLL_CLOEXEC);
	check(set >= 0, "epoll_create1");
	return set;
}

static int file_new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	check(fd >= 0, "eventfd");
	return fd;
}

static void add(int set, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "EPOLL_CTL_ADD");
}

static void take_out(int set, int fd)
{
	check(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL) == 0, "EPOLL_CTL_DEL");
}

/* Each KEEP_EACH-th one is kept; one changed is the same one. */
ALONE static void by_ctl(void)
{
	int set = set_new();
	for (int i = 0; i < ROUNDS; i++) {
		struct epoll_event event = {.events = EPOLLOUT};
		int fd = file_new();
		add(set, fd);
		check(epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0, "EPOLL_CTL_MOD");
		if (i % KEEP_EACH != 0)
			take_out(set, fd);
	}
	say("by_ctl", ROUNDS, ROUNDS / KEEP_EACH);
}

/* Files that are closed are watched no more; the next one has the same descriptor, and often the same address. */
ALONE static void by_close(void)
{
	int set = set_new();
	for (int i = 0; i < ROUNDS; i++) {
		int fd = file_new();
		add(set, fd);
		if (i % KEEP_EACH != 0)
			check(close(fd) == 0, "close");
	}
	say("by_close", ROUNDS, ROUNDS / KEEP_EACH);
}

/* A file is watched as long as it has a descriptor, whichever; the number may be that of another file by then. */
ALONE static void by_dup(void)
{
	int set = set_new(), fd = file_new(), copy = dup(fd);
	add(set, fd);
	check(copy >= 0 && close(fd) == 0, "close");
	int next = file_new();
	check(next == fd, "the same number");
	add(set, next); /* both are there now */
	int other = file_new(), other_copy = dup(other);
	add(set, other);
	add(set, other_copy);
	check(close(other) == 0 && close(other_copy) == 0, "close");
	say("by_dup", 4, 2);
}

ALONE static void by_dup2(void)
{
	int set = set_new(), first = file_new(), second = file_new(), third = file_new();
	add(set, first);
	add(set, second);
	add(set, third);
	check(dup2(first, second) == second, "dup2");
	check(dup3(first, third, 0) == third, "dup3");
	check(dup2(-1, first) < 0 && dup2(first, first) == first, "dup2 that changes nothing");
	say("by_dup2", 3, 1);
}

ALONE static void by_range(void)
{
	int set = set_new(), first = fcntl(set, F_DUPFD_CLOEXEC, 500);
	check(first >= 500, "F_DUPFD");
	for (int i = 0; i < 4; i++) {
		int fd = file_new(), high = fcntl(fd, F_DUPFD_CLOEXEC, 600);
		check(high >= 600 && close(fd) == 0, "F_DUPFD");
		add(first, high);
	}
	check(syscall(SYS_close_range, 600, 601, CLOSE_RANGE_CLOEXEC) == 0,
	      "close_range that closes none");
	check(syscall(SYS_close_range, 600, 602, 0) == 0, "close_range");
	check(close(set) == 0, "close"); /* the set has another descriptor */
	say("by_range", 4, 1);
}

/* A set that is closed watches nothing. */
ALONE static void by_set(void)
{
	int set = set_new(), copy = dup(set), closed = set_new();
	for (int i = 0; i < 5; i++) {
		int fd = file_new();
		add(closed, fd);
		if (i < 2)
			add(set, fd);
	}
	check(close(closed) == 0 && close(copy) == 0, "close");
	say("by_set", 7, 2);
}

ALONE static void by_nested(void)
{
	int outer = set_new(), inner = set_new(), stays = set_new();
	add(inner, file_new());
	add(outer, inner);
	add(outer, stays);
	check(close(inner) == 0, "close");
	say("by_nested", 3, 1);
}

ALONE static void by_failure(void)
{
	int set = set_new(), fd = file_new(), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	add(set, fd);
	check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0, "a file twice");
	check(epoll_ctl(set, EPOLL_CTL_ADD, file, &event) < 0, "a regular file");
	check(epoll_ctl(fd, EPOLL_CTL_ADD, set, &event) < 0, "to what is no set");
	check(epoll_ctl(set, EPOLL_CTL_DEL, file, NULL) < 0, "one that is not there");
	check(close(file) == 0 && close(-1) < 0, "close");
	say("by_failure", 1, 1);
}

/* A child has descriptors of its own of the same files: what it closes stays; what it adds is gone when it ends. */
ALONE static void in_child(void)
{
	int set = set_new(), fd = file_new(), status = 1;
	add(set, fd);
	pid_t child = fork();
	if (child == 0) {
		int own = file_new();
		add(set, own);
		take_out(set, own);
		check(close(fd) == 0 && close(set) == 0, "close");
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "waitpid");
	say("in_child", 1, 1);
}

ALONE static void *in_thread(void *arg)
{
	const int set = *(const int *) arg;
	for (int i = 0; i < 10 * ROUNDS; i++) {
		int fd = file_new();
		add(set, fd);
		if (i % 2 == 0)
			take_out(set, fd);
		check(close(fd) == 0, "close");
	}
	add(set, file_new()); /* it stays */
	return NULL;
}

static void by_threads(void)
{
	pthread_t threads[THREADS];
	int set = set_new();
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, in_thread, &set) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
	say("in_thread", THREADS * (10 * ROUNDS + 1), THREADS);
}

/* The set and one of its files stay open in another program. */
ALONE static void by_exec(void)
{
	int set = epoll_create1(0), stays = eventfd(0, 0);
	check(set >= 0 && stays >= 0, "without close-on-exec");
	add(set, stays);
	add(set, file_new());
	say("by_exec", 2, 2);
}

static atomic_bool calm;

ALONE static void *churning(void *arg)
{
	int set = set_new();
	while (!atomic_load(&calm)) {
		int fd = file_new();
		add(set, fd);
		check(close(fd) == 0, "close");
		(void) usleep(20); /* so that nothing is lost on a busy machine */
	}
	check(close(set) == 0, "close");
	return arg;
}

static void churn(bool begin)
{
	static pthread_t thread;
	atomic_store(&calm, !begin);
	if (begin)
		check(pthread_create(&thread, NULL, churning, NULL) == 0, "pthread_create");
	else
		check(pthread_join(thread, NULL) == 0, "pthread_join");
}

ALONE static void unseen(void)
{
	enum { I386_EPOLL_CTL = 255 };
	void *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	check(low != MAP_FAILED, "mmap");
	int set = set_new(), fd = file_new(), other = file_new();
	add(set, fd);
	long result;
	/* Four arguments, for which call_32() has no space. */
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(I386_EPOLL_CTL), "b"(set), "c"(EPOLL_CTL_ADD), "d"(other), "S"(low)
			 : "memory", "r8", "r9", "r10", "r11");
	check(result == 0, "EPOLL_CTL_ADD of 32-bit code");
	check(call_32(I386_EPOLL_CTL, set, EPOLL_CTL_DEL, fd) == 0, "EPOLL_CTL_DEL of 32-bit code");
	say("unseen", 1, 0);
}

int main(int argc, char **argv)
{
	char line[16];
	(void) argc;
	/* Before anybody looks. One set has two descriptors. */
	int set = set_new(), copy = fcntl(set, F_DUPFD_CLOEXEC, 100), before[4];
	check(copy >= 0, "F_DUPFD");
	for (int i = 0; i < 4; i++)
		add(i % 2 == 0 ? set : copy, before[i] = file_new());
	bool first = true;
	ready();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "exec") == 0)
			(void) execl(argv[0], argv[0], (char *) NULL); /* or it goes on */
		if (strcmp(line, "churn") == 0 || strcmp(line, "calm") == 0) {
			churn(strcmp(line, "churn") == 0);
		} else if (strcmp(line, "unseen") == 0) {
			unseen();
		} else {
			if (first) {
				take_out(set, before[1]);
				check(close(before[2]) == 0, "close");
			}
			first = false;
			by_ctl();
			by_close();
			by_dup();
			by_dup2();
			by_range();
			by_set();
			by_nested();
			by_failure();
			in_child();
			by_threads();
			by_exec();
		}
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
