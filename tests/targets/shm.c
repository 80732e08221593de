/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gets and gives up shared memory in each way that there is, and writes down how much: for a line "go" it prints "NAME acquired
 * left" for each function and then "done". A line "exec" makes it another program, which has nothing attached. For "unseen" it
 * creates a segment and removes one by calls of 32-bit code, which nobody follows, and removes an object by its name in another
 * directory. Segments and objects stay when it ends: the test removes them. Names of objects have its number in them.
 */
#include "call_32.h"
#include "checked.h"
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ROUNDS = 40, THREADS = 3, KEEP_EACH = 10, BYTES = 4096 };

static void say(const char *name, int acquired, int left)
{
	printf("%s %d %d\n", name, acquired, left);
}

static int n_names, generation = 1;

static const char *name_new(char ret[64])
{
	(void) snprintf(ret, 64, "/snapwalk-shm-%d-%d-%d", (int) getpid(), generation,
			__atomic_fetch_add(&n_names, 1, __ATOMIC_RELAXED)); /* fits */
	return ret;
}

static void segment_remove(int id)
{
	check(shmctl(id, IPC_RMID, NULL) == 0, "IPC_RMID");
}

static int segment_of(key_t key, int flags)
{
	int id = shmget(key, BYTES, flags | 0600);
	check(id >= 0, "shmget");
	return id;
}

/* Each KEEP_EACH-th one is kept. */
ALONE static void by_private(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int id = segment_of(IPC_PRIVATE, 0);
		if (i % KEEP_EACH != 0)
			segment_remove(id);
	}
	say("by_private", ROUNDS, ROUNDS / KEEP_EACH);
}

/* Keys of this program, which are others after execve(2). */
static key_t key_of(int n)
{
	return (key_t) ((getpid() << 4 | n) ^ generation << 28);
}

/* A segment is created once, and found by its key after that. */
ALONE static void by_key(void)
{
	int id = segment_of(key_of(1), IPC_CREAT | IPC_EXCL),
	    removed = segment_of(key_of(2), IPC_CREAT);
	for (int i = 0; i < 5; i++)
		check(segment_of(key_of(1), i % 2 == 0 ? IPC_CREAT : 0) == id, "the same segment");
	segment_remove(removed);
	removed = segment_of(key_of(2), IPC_CREAT);
	segment_remove(removed);
	say("by_key", 3, 1);
}

/* Segments from before, of this process and of another one, are found by their keys. */
ALONE static void by_found(int own, int other)
{
	check(segment_of(key_of(3), IPC_CREAT) == own, "the own segment");
	check(segment_of(key_of(4), IPC_CREAT) == other, "the other's segment");
	say("by_found", 0, 0);
}

/* A process creates a segment while this one is looked at, and this one finds it. */
ALONE static void by_found_later(void)
{
	const key_t key = key_of(5);
	pid_t child = fork();
	int status = 1;
	if (child == 0)
		_exit(shmget(key, BYTES, IPC_CREAT | 0600) < 0);
	check(waitpid(child, &status, 0) == child && status == 0, "waitpid");
	(void) segment_of(key, IPC_CREAT); /* it stays */
	say("by_found_later", 0, 0);
}

ALONE static void *attached(int id)
{
	void *at = shmat(id, NULL, 0);
	check(at != (void *) -1, "shmat");
	return at;
}

/* Attachments of one segment; one goes on after the segment is removed. */
ALONE static void by_attach(int id)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *at = attached(id);
		if (i % KEEP_EACH != 0)
			check(shmdt(at) == 0, "shmdt");
	}
	int removed = segment_of(IPC_PRIVATE, 0);
	(void) attached(removed);
	segment_remove(removed);
	say("by_attach", ROUNDS + 2, ROUNDS / KEEP_EACH + 1);
}

/* SHM_REMAP over an attachment gives that one up. */
ALONE static void by_remap(int id)
{
	void *at = attached(id);
	check(shmat(id, at, SHM_REMAP) == at, "SHM_REMAP");
	say("by_remap", 2, 1);
}

static int object_of(const char *name, int flags)
{
	int fd = shm_open(name, flags, 0600);
	check(fd >= 0, "shm_open");
	return fd;
}

ALONE static void by_object(void)
{
	char name[64];
	for (int i = 0; i < ROUNDS; i++) {
		check(close(object_of(name_new(name),
				      O_CREAT | O_RDWR | (i % 2 == 0 ? O_EXCL : 0))) == 0,
		      "close");
		check(close(object_of(name, O_CREAT | O_RDWR)) == 0, "close");
		if (i % KEEP_EACH != 0)
			check(shm_unlink(name) == 0, "shm_unlink");
	}
	say("by_object", ROUNDS, ROUNDS / KEEP_EACH);
}

/* By other calls than those of the C library's functions. */
ALONE static void by_open(void)
{
	char name[64], path[80];
	for (int i = 0; i < 3; i++) {
		(void) snprintf(path, sizeof(path), "/dev/shm%s", name_new(name)); /* fits */
		int fd = i == 0 ? (int) syscall(SYS_open, path, O_CREAT | O_RDWR, 0600)
				: (int) syscall(SYS_creat, path, 0600);
		check(fd >= 0 && close(fd) == 0, "open");
		if (i > 0)
			check((i == 1 ? syscall(SYS_unlink, path)
				      : syscall(SYS_unlinkat, AT_FDCWD, path, 0)) == 0,
			      "unlink");
	}
	say("by_open", 3, 1);
}

/* Calls that fail, and files of another directory, are none. */
ALONE static void by_failure(void)
{
	char name[64], path[80];
	(void) snprintf(path, sizeof(path), "/tmp%s", name_new(name)); /* fits */
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	check(fd >= 0 && close(fd) == 0 && unlink(path) == 0, "a file of /tmp");
	check(shmget(key_of(1), BYTES, IPC_CREAT | IPC_EXCL | 0600) < 0,
	      "shmget of one that is there");
	check(shmget(key_of(9), BYTES, 0600) < 0, "shmget of none");
	check(shmctl(-1, IPC_RMID, NULL) < 0, "IPC_RMID of none");
	check(shmat(-1, NULL, 0) == (void *) -1, "shmat of none");
	check(shmdt(&fd) < 0, "shmdt of none");
	check(shm_open(name, O_RDWR, 0) < 0, "shm_open of none");
	check(shm_unlink(name) < 0, "shm_unlink of none");
	say("by_failure", 0, 0);
}

/* A child has the attachments of its parent, and those that it makes are its own. */
ALONE static void in_child(int id)
{
	void *kept = attached(id);
	pid_t child = fork();
	if (child == 0) {
		check(shmdt(kept) == 0, "shmdt of the parent's");
		segment_remove(segment_of(IPC_PRIVATE, 0));
		(void) attached(id); /* until it ends */
		_exit(0);
	}
	int status = 1;
	check(waitpid(child, &status, 0) == child && status == 0, "waitpid");
	say("in_child", 1, 1);
}

ALONE static void *in_thread(void *arg)
{
	char name[64];
	int id = *(const int *) arg;
	for (int i = 0; i < 5 * ROUNDS; i++) {
		int own = segment_of(IPC_PRIVATE, 0);
		void *at = attached(own), *shared = attached(id);
		segment_remove(own);
		check(shmdt(at) == 0 && shmdt(shared) == 0, "shmdt");
		check(close(object_of(name_new(name), O_CREAT | O_RDWR)) == 0 &&
			      shm_unlink(name) == 0,
		      "an object");
	}
	(void) attached(id); /* it stays */
	return NULL;
}

static void by_threads(int id)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, in_thread, &id) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
	say("in_thread", THREADS * (5 * ROUNDS * 4 + 1), THREADS);
}

ALONE static void unseen(void)
{
	enum { I386_SHMGET = 395, I386_SHMCTL = 396 };
	char name[64], path[80];
	check(call_32(I386_SHMGET, IPC_PRIVATE, BYTES, 0600) >= 0, "shmget of 32-bit code");
	check(call_32(I386_SHMCTL, segment_of(IPC_PRIVATE, 0), IPC_RMID, 0) == 0,
	      "IPC_RMID of 32-bit code");
	check(close(object_of(name_new(name), O_CREAT | O_RDWR)) == 0, "close");
	(void) snprintf(path, sizeof(path), "/dev/../dev/shm%s", name); /* fits */
	check(unlink(path) == 0, "unlink");
	check(munmap(attached(segment_of(IPC_PRIVATE, 0)), BYTES) == 0, "munmap");
	say("unseen", 4, 1);
}

int main(int argc, char **argv)
{
	char line[16];
	generation = argc;
	/* Before anybody looks. */
	int own = shmget(key_of(3), BYTES, IPC_CREAT | 0600);
	check(own >= 0, "shmget");
	void *before = shmat(own, NULL, 0), *until_go = shmat(own, NULL, 0);
	int removed = shmget(IPC_PRIVATE, BYTES, 0600);
	check(before != (void *) -1 && until_go != (void *) -1 && removed >= 0, "before");
	key_t key = key_of(4);
	pid_t child = fork();
	int status = 1;
	if (child == 0)
		_exit(shmget(key, BYTES, IPC_CREAT | 0600) < 0);
	check(waitpid(child, &status, 0) == child && status == 0, "waitpid");
	int other = shmget(key, BYTES, 0600);
	bool first = true;
	ready();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "exec") == 0)
			(void) execl(argv[0], argv[0], "again", (char *) NULL); /* or it goes on */
		if (strcmp(line, "unseen") == 0) {
			unseen();
		} else {
			if (first) {
				check(shmdt(until_go) == 0, "shmdt");
				segment_remove(removed);
			}
			first = false;
			by_private();
			by_key();
			by_found(own, other);
			by_found_later();
			by_attach(own);
			by_remap(own);
			by_object();
			by_open();
			by_failure();
			in_child(own);
			by_threads(own);
		}
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
