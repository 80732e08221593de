/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Children, one after another, each of which computes for COMPUTE milliseconds of CPU time, waits for PAUSE, and ends:
 * brief COMPUTE PAUSE. */
#include "target.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static long cpu_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static NOINLINE void compute(long ns)
{
	while (cpu_ns() < ns)
		for (volatile int i = 0; i < 1000; i++)
			continue;
	KEEP();
}

static NOINLINE void live(long compute_ms, long pause_ms)
{
	const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * NS_PER_MS};
	compute(compute_ms * NS_PER_MS);
	(void) nanosleep(&pause, NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	const long compute_ms = argc > 1 ? atol(argv[1]) : 5, pause_ms = argc > 2 ? atol(argv[2]) : 10;
	ready();
	for (;;) {
		pid_t pid = fork();
		if (pid == 0)
			live(compute_ms, pause_ms);
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			return 1;
	}
}
