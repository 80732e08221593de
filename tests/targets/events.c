/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes system calls from functions that are known, a known number of times each: for each line "go" that it reads, then
 * it prints "done". Two threads make the same. For a line "code" it makes executable memory before that, for "file" it maps
 * its own file so, for "other" the one that it is given, and for "hide" it protects itself from its own user.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROUNDS = 50, THREADS = 2, FD = 9 };

ALONE static int open_missing(void)
{
	int fd = open("/nonexistent/file", O_RDONLY);
	KEEP();
	return fd;
}

ALONE static int open_present(void)
{
	int fd = open("/dev/null", O_RDONLY);
	if (fd >= 0)
		(void) close(fd); /* of a device: nothing is lost */
	return fd;
}

ALONE static ssize_t write_nine(void)
{
	ssize_t n = write(FD, "x", 1);
	KEEP();
	return n;
}

ALONE static int by_first(void)
{
	int r = open_missing();
	KEEP();
	return r;
}

ALONE static int by_second(void)
{
	int r = open_missing() + open_missing();
	KEEP();
	return r;
}

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		(void) by_first(); /* they fail, that is the point */
		(void) by_second();
		(void) open_present();
		(void) !write_nine(); /* to /dev/null */
	}
	return arg;
}

/* As a compiler at run time does (NULL), and as dlopen(3). */
static bool code_map(const char *path)
{
	int fd = path != NULL ? open(path, O_RDONLY) : -1;
	return (path == NULL || fd >= 0) &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | (path != NULL ? 0 : MAP_ANONYMOUS), fd, 0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
	char line[16];
	int fd = open("/dev/null", O_WRONLY);
	if (dup2(fd, FD) != FD)
		return 1;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		pthread_t threads[THREADS];
		if ((strcmp(line, "code\n") == 0 && !code_map(NULL)) ||
		    (strcmp(line, "file\n") == 0 && !code_map("/proc/self/exe")) ||
		    (strcmp(line, "other\n") == 0 && (argc < 2 || !code_map(argv[1]))))
			return 1;
		if (strcmp(line, "hide\n") == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
			return 1;
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, work, NULL) != 0)
				return 1;
		for (int i = 0; i < THREADS; i++)
			(void) pthread_join(threads[i], NULL); /* it was started */
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
