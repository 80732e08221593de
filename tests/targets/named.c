/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* named N: N threads with names, some of them awkward; each says its own ("name TID HEX"). */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static pthread_barrier_t said;
static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER;

static void name_myself(long i)
{
	static const char not_utf8[] = {'b', (char) 0xff, (char) 0xfe, 'a', 'd', '\0'};
	static const char *const awkward[] = {"a) R 1 (b",     "sp ace\ttab", "new\nline",
					      "quo\"te\\back", not_utf8,      ""};
	char name[16];
	if (i < (long) (sizeof(awkward) / sizeof(*awkward)))
		snprintf(name, sizeof(name), "%s", awkward[i]);
	else
		snprintf(name, sizeof(name), "worker-%ld", i % 1000000);
	prctl(PR_SET_NAME, name);
	printf("name %ld ", syscall(SYS_gettid));
	for (const char *c = name; *c != '\0'; c++)
		printf("%02x", (unsigned char) *c);
	printf("\n");
}

static NOINLINE void *worker(void *arg)
{
	pthread_mutex_lock(&line);
	name_myself((long) arg);
	expect_stack("block worker");
	pthread_mutex_unlock(&line);
	pthread_barrier_wait(&said);
	block();
	KEEP();
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 20;
	pthread_barrier_init(&said, NULL, (unsigned) n + 1);
	for (long i = 0; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, worker, (void *) i) != 0)
			return 1;
	}
	pthread_barrier_wait(&said);
	expect_stack("block main");
	ready();
	block();
	return 0;
}
