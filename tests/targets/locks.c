/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that wait for each other, and what they know of it:
 *
 *	waits TID KIND OWNER	KIND as in blocked_on.kind; OWNER is 0 where nobody can be told
 *	cycle TID TID		a deadlock
 *
 *	lost TID OWNER		the one that had the mutex has ended
 *
 * Argument: "kinds", a thread for each kind of lock; "deadlock", two threads that have each other's; "lost".
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#define MUSL_UNKNOWN(owner) (owner)
#else
/* musl keeps no owner of such locks. */
#define MUSL_UNKNOWN(owner)       0
#define PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_NORMAL
#endif

static pthread_mutex_t mutexes[8];
/* The mutexes that are normal in all ways: musl stores no owner for them. */
static const char is_plain[8] = {1, 0, 0, 1, 0, 0, 0, 1};
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER,
			read_by_us = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t beside = PTHREAD_MUTEX_INITIALIZER;
static sem_t nothing, told, runs_once;
static pthread_barrier_t both, too_few;
static pthread_t to_join;
static long holder, runner;
static FILE *stream;
static pthread_once_t once = PTHREAD_ONCE_INIT;
enum { OTHERS = 10 /* that wait for no mutex */ };

static long self(void)
{
	return syscall(SYS_gettid);
}

static void say(const char *kind, long owner)
{
	printf("waits %ld %s %ld\n", self(), kind, owner);
	sem_post(&told);
}

/* Holds all, and pauses. */
static NOINLINE void *hold(void *arg)
{
	holder = self();
	for (size_t i = 0; i < sizeof(mutexes) / sizeof(mutexes[0]); i++)
		pthread_mutex_lock(&mutexes[i]);
	pthread_rwlock_wrlock(&written);
	pthread_rwlock_rdlock(&read_by_us);
	flockfile(stream);
	pthread_barrier_wait(&both);
	block();
	return arg;
}

static NOINLINE void *wait_stream(void *arg)
{
	say("stdio", holder);
	if (arg == NULL)
		flockfile(stream);
	else
		fputs("text", stream);
	KEEP();
	return arg;
}

static void never_done(void)
{
	runner = self();
	sem_post(&runs_once);
	block();
}

static NOINLINE void *run_once(void *arg)
{
	pthread_once(&once, never_done);
	KEEP();
	return arg;
}

static NOINLINE void *wait_once(void *arg)
{
	say("once", runner);
	pthread_once(&once, never_done);
	KEEP();
	return arg;
}

static NOINLINE void *wait_mutex(void *arg)
{
	say("mutex", is_plain[(pthread_mutex_t *) arg - mutexes] ? MUSL_UNKNOWN(holder) : holder);
	pthread_mutex_lock(arg);
	KEEP();
	return NULL;
}

static NOINLINE void *wait_read(void *arg)
{
	say("rwlock", MUSL_UNKNOWN(holder));
	pthread_rwlock_rdlock(arg);
	KEEP();
	return NULL;
}

static NOINLINE void *wait_write(void *arg)
{
	say("rwlock", arg == &written ? MUSL_UNKNOWN(holder) : 0);
	pthread_rwlock_wrlock(arg);
	KEEP();
	return NULL;
}

static NOINLINE void *wait_condition(void *arg)
{
	say("condition", 0);
	pthread_mutex_lock(&beside);
	while (!released)
		pthread_cond_wait(&never, &beside);
	return arg;
}

static NOINLINE void *wait_semaphore(void *arg)
{
	say("semaphore", 0);
	sem_wait(&nothing);
	KEEP();
	return arg;
}

static NOINLINE void *wait_barrier(void *arg)
{
	say("barrier", 0);
	pthread_barrier_wait(&too_few);
	KEEP();
	return arg;
}

static NOINLINE void *wait_thread(void *arg)
{
	say("thread", MUSL_UNKNOWN(holder));
	pthread_join(to_join, NULL);
	KEEP();
	return arg;
}

static pthread_t start(void *(*function)(void *), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, function, arg) != 0)
		abort();
	return thread;
}

static void mutex_make(pthread_mutex_t *mutex, int type, int protocol, int robust)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setrobust(&attr, robust);
	if (pthread_mutex_init(mutex, &attr) != 0)
		abort();
}

static void kinds(void)
{
	mutex_make(&mutexes[0], PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	mutex_make(&mutexes[1], PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	mutex_make(&mutexes[2], PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	mutex_make(&mutexes[3], PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE,
		   PTHREAD_MUTEX_STALLED);
	mutex_make(&mutexes[4], PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	mutex_make(&mutexes[5], PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	mutex_make(&mutexes[6], PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT,
		   PTHREAD_MUTEX_ROBUST);
	mutex_make(&mutexes[7], PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	stream = fopen("/dev/null", "w");
	if (stream == NULL)
		abort();
	to_join = start(hold, NULL);
	pthread_barrier_wait(&both);
	for (size_t i = 0; i < sizeof(mutexes) / sizeof(mutexes[0]); i++)
		start(wait_mutex, &mutexes[i]);
	start(wait_read, &written);
	start(wait_write, &written);
	start(wait_write, &read_by_us);
	start(wait_condition, NULL);
	start(wait_semaphore, NULL);
	start(wait_barrier, NULL);
	start(wait_thread, NULL);
	start(wait_stream, NULL);
	start(wait_stream, &stream);
	start(run_once, NULL);
	sem_wait(&runs_once);
	start(wait_once, NULL);
	for (size_t i = 0; i < sizeof(mutexes) / sizeof(mutexes[0]) + OTHERS; i++)
		sem_wait(&told);
}

static long cycle[2];

static NOINLINE void *lock_two(void *arg)
{
	long first = (long) arg;
	cycle[first] = self();
	pthread_mutex_lock(&mutexes[first]);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&mutexes[1 - first]);
	KEEP();
	return NULL;
}

static NOINLINE void *lock_and_end(void *arg)
{
	holder = self();
	pthread_mutex_lock(arg);
	return arg;
}

static NOINLINE void *wait_lost(void *arg)
{
	printf("lost %ld %ld\n", self(), holder);
	sem_post(&told);
	pthread_mutex_lock(arg);
	KEEP();
	return NULL;
}

static void lost(void)
{
	pthread_join(start(lock_and_end, &mutexes[0]), NULL);
	start(wait_lost, &mutexes[0]);
	sem_wait(&told);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_barrier_init(&both, NULL, argc > 1 && strcmp(argv[1], "kinds") == 0 ? 2 : 3);
	pthread_barrier_init(&too_few, NULL, 2);
	sem_init(&nothing, 0, 0);
	sem_init(&told, 0, 0);
	sem_init(&runs_once, 0, 0);
	if (argc > 1 && strcmp(argv[1], "kinds") == 0) {
		kinds();
	} else if (argc > 1 && strcmp(argv[1], "lost") == 0) {
		lost();
	} else {
		pthread_mutex_init(&mutexes[0], NULL);
		pthread_mutex_init(&mutexes[1], NULL);
		start(lock_two, (void *) 0);
		start(lock_two, (void *) 1);
		pthread_barrier_wait(&both);
		printf("cycle %ld %ld\n", cycle[0], cycle[1]);
	}
	ready();
	block();
	return 0;
}
