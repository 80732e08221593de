/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "urgent.h"
#include "priority.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

enum {
	LOWEST = 1, /* of real-time priorities: sched(7) */
	THREADS_MAX = 4096,
	US_PER_MS = 1000,
};

static volatile sig_atomic_t urgent;

/* Filters of system calls permit these arguments: sw_calls_add_own(). The flag cannot be taken away without a
 * privilege; it changes nothing for a process of ordinary priority. */
static void give_up(void)
{
	const struct sched_param none = {0};
	(void) sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK,
				  &none); /* less is always permitted */
	urgent = 0;
}

static void on_time_used(int signal_number)
{
	int kept = errno;
	(void) signal_number;
	give_up();
	errno = kept;
}

static void raise_priority(void)
{
	const struct sched_param lowest = {.sched_priority = LOWEST};
	const struct itimerval limit = {.it_value.tv_usec = SW_URGENT_CPU_MS * US_PER_MS};
	const struct sigaction used = {.sa_handler = on_time_used, .sa_flags = SA_RESTART};
	/* Without the handler the limit would end us. The priority is first: the next turn may be 30 ms away. */
	if (sigaction(SIGPROF, &used, NULL) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) < 0)
		return;
	urgent = 1;
	/* Without the limit a fault of ours could keep a CPU from all others. */
	if (setitimer(ITIMER_PROF, &limit, NULL) < 0)
		give_up();
}

void sw_urgent_begin(void)
{
	if (sched_getscheduler(0) == SCHED_OTHER)
		raise_priority();
}

void sw_urgent_child(void)
{
	if (urgent)
		raise_priority(); /* SCHED_RESET_ON_FORK has taken it away, and timers are not inherited */
}

void sw_urgent_end(void)
{
	const struct itimerval none = {0};
	(void) setitimer(ITIMER_PROF, &none, NULL); /* cannot fail */
	if (urgent)
		give_up();
}

static bool is_lowest(pid_t tid)
{
	struct sched_param param;
	int policy = sched_getscheduler(tid);
	return policy >= 0 &&
	       ((policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ||
		(policy & ~SCHED_RESET_ON_FORK) == SCHED_RR) &&
	       sched_getparam(tid, &param) == 0 && param.sched_priority == LOWEST;
}

void sw_urgent_spare(const pid_t *tids, size_t n)
{
	for (size_t i = 0; urgent && i < n && i < THREADS_MAX; i++)
		if (is_lowest(tids[i]))
			sw_urgent_end();
}

void sw_urgent_spare_priority(unsigned rt_priority)
{
	if (urgent && rt_priority == LOWEST)
		sw_urgent_end();
}

bool sw_urgent_beside(pthread_t *ret, void *(*function)(void *arg), void *arg, bool shares)
{
	const struct sched_param lowest = {.sched_priority = LOWEST};
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool begun = pthread_create(ret, NULL, function, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (begun && shares && sw_priority_is_own())
		(void) pthread_setschedparam(*ret, SCHED_FIFO,
					     &lowest); /* refused: it takes longer */
	return begun;
}
