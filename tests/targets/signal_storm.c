/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Receives signals at a steady rate and keeps the books: what was sent, what arrived, in which
 * order, with which value.
 *
 *	signal_storm THREADS RATE [PARTS]	threads besides the main one; signals of each kind per second;
 *						the one that computes does so for one part in PARTS of the time
 *
 * A child process sends
 *	ordered   SIGRTMIN+1 with sigqueue; one thread alone takes it: values must come in order
 *	shared    SIGRTMIN+2 with sigqueue; any thread takes it: each value exactly once
 *	directed  SIGRTMIN+3 with rt_tgsigqueueinfo to each thread in turn: in order per thread
 *	normal    SIGUSR1 with kill; not queued, so that the next goes out only when one has arrived
 * Commands on stdin, each answered by one line:
 *	sync      hold the sender, wait until all that was sent has arrived, say the totals, go on
 *	sync = "sent A B C D received A B C D wrong N beats N N N ..."
 */
#include "rest.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, SEEN_MAX = 1 << 20, KINDS = 4, SYNC_MS = 10000 };
enum { ORDERED, SHARED, DIRECTED, NORMAL };

struct books {
	atomic_long sent[KINDS], received[KINDS];
	atomic_long wrong; /* out of order, twice, foreign value or sender */
	atomic_long beats[THREADS_MAX];
	atomic_bool hold, held;
	atomic_int tids[THREADS_MAX];
	pid_t sender;
	atomic_uchar seen[SEEN_MAX]; /* of kind SHARED, by value */
};

static struct books *books;
static int n_threads;
static long ordered_next, parts;
static _Thread_local int self;
static _Thread_local long directed_next;

static void on_queued(int signo, siginfo_t *info, void *context)
{
	(void) context;
	int error = errno;
	long value = (long) info->si_value.sival_ptr;
	int kind = signo - SIGRTMIN - 1;
	bool good = info->si_code == SI_QUEUE && info->si_pid == books->sender;
	if (kind == ORDERED)
		good = good && self == 0 && value == ordered_next++;
	else if (kind == DIRECTED)
		good = good && value == directed_next++;
	else
		good = good && value >= 0 && value < SEEN_MAX && books->seen[value]++ == 0;
	if (!good)
		books->wrong++;
	books->received[kind]++;
	errno = error;
}

static void on_normal(int signo, siginfo_t *info, void *context)
{
	(void) signo;
	(void) context;
	if (info->si_code != SI_USER || info->si_pid != books->sender)
		books->wrong++;
	books->received[NORMAL]++;
}

static void pause_ns(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	(void) nanosleep(&t, NULL);
}

/* Thread 0 computes without a pause, but for its rests; the others compute and sleep in turn. */
static void *work(void *arg)
{
	self = (int) (long) arg;
	books->tids[self] = gettid();
	if (self != 0) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN + 1 + ORDERED);
		(void) pthread_sigmask(SIG_BLOCK, &set, NULL);
	} else {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN + 1 + ORDERED);
		(void) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	for (;;) {
		for (volatile int i = 0; i < 20000; i++)
			;
		books->beats[self]++;
		if (self != 0)
			pause_ns(300000);
		else
			rest(parts);
	}
	return NULL;
}

static void send_directed(pid_t target, long n)
{
	int thread = (int) (n % n_threads);
	siginfo_t info;
	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *) (n / n_threads);
	if (syscall(SYS_rt_tgsigqueueinfo, target, books->tids[thread], SIGRTMIN + 1 + DIRECTED,
		    &info) == 0)
		books->sent[DIRECTED]++;
}

static void send_queued(pid_t target, int kind, long limit)
{
	long n = books->sent[kind];
	if (n < limit &&
	    sigqueue(target, SIGRTMIN + 1 + kind, (union sigval){.sival_ptr = (void *) n}) == 0)
		books->sent[kind]++;
}

/* A full queue (EAGAIN) counts as not sent. */
static void send_signals(pid_t target, long rate)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	books->sender = getpid();
	for (;;) {
		while (books->hold) {
			books->held = true;
			pause_ns(100000);
		}
		books->held = false;
		send_queued(target, ORDERED, INT64_MAX);
		send_queued(target, SHARED, SEEN_MAX);
		send_directed(target, books->sent[DIRECTED]);
		if (books->received[NORMAL] == books->sent[NORMAL]) {
			books->sent[NORMAL]++; /* before, or the answer could come first */
			(void) kill(target, SIGUSR1);
		}
		pause_ns(1000000000 / rate);
	}
}

static bool all_arrived(void)
{
	for (int i = 0; i < KINDS; i++)
		if (books->sent[i] != books->received[i])
			return false;
	return books->held;
}

static void sync_and_say(void)
{
	books->held = false;
	books->hold = true;
	for (int ms = 0; ms < SYNC_MS && !all_arrived(); ms++)
		pause_ns(1000000);
	printf("sent %ld %ld %ld %ld received %ld %ld %ld %ld wrong %ld beats", books->sent[0],
	       books->sent[1], books->sent[2], books->sent[3], books->received[0],
	       books->received[1], books->received[2], books->received[3], books->wrong);
	for (int i = 0; i < n_threads; i++)
		printf(" %ld", books->beats[i]);
	printf("\n");
	books->hold = false;
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4 || (n_threads = atoi(argv[1])) < 1 || n_threads > THREADS_MAX)
		errx(2, "usage: signal_storm THREADS RATE [PARTS]");
	parts = argc > 3 ? atol(argv[3]) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	books = mmap(NULL, sizeof(*books), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (books == MAP_FAILED)
		err(1, "mmap");
	struct sigaction queued = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction normal = {.sa_sigaction = on_normal, .sa_flags = SA_SIGINFO | SA_RESTART};
	for (int kind = ORDERED; kind <= DIRECTED; kind++)
		(void) sigaction(SIGRTMIN + 1 + kind, &queued, NULL);
	(void) sigaction(SIGUSR1, &normal, NULL);

	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1 + ORDERED);
	(void) pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (long i = 0; i < n_threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, (void *) i) != 0)
			err(1, "pthread_create");
		while (books->beats[i] == 0)
			pause_ns(100000);
	}
	pid_t target = getpid();
	if (fork() == 0)
		send_signals(target, atol(argv[2]));
	puts("ready");

	char line[32];
	for (;;) {
		if (fgets(line, sizeof(line), stdin) == NULL)
			return 0;
		if (strcmp(line, "sync\n") == 0)
			sync_and_say();
	}
}
