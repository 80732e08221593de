/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/waiting.h"

#include "cleanup.h"
#include "common/complain.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

/* Wart: a handler of signals has no argument. Set before the handler is. */
static struct {
	char line[512];
	size_t size;
	pid_t pid;           /* whose it is to say */
	bool children_reset; /* child_reset() is registered, which cannot be taken back */
} ending;

static void end_say(int number)
{
	if (getpid() == ending.pid)
		(void) !write(STDERR_FILENO, ending.line,
			      ending.size); /* nowhere left to complain */
	(void) raise(number);               /* its effect is the default one by now */
}

static const int ending_numbers[] = {SIGINT, SIGTERM};

/* A child that has a filter may not send itself the signal again: it has none of this. Also runs for those that are made
 * when the command does not say this any more. */
static void child_reset(void)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(ending_numbers); i++) {
		struct sigaction before;
		(void) sigaction(ending_numbers[i], NULL, &before); /* cannot fail */
		if (before.sa_handler == end_say)
			(void) signal(ending_numbers[i], SIG_DFL); /* likewise */
	}
}

void sw_wait_say(const char *about, const char *message)
{
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	const struct sigaction action = {.sa_handler = end_say,
					 .sa_flags = SA_RESETHAND | SA_NODEFER};
	sw_complain_line(&line, about, message, "interrupted", "");
	if (line.failed || line.size > sizeof(ending.line))
		return; /* it ends without a word */
	memcpy(ending.line, line.data, line.size);
	ending.size = line.size;
	ending.pid = getpid();
	if (!ending.children_reset && pthread_atfork(NULL, NULL, child_reset) != 0)
		return; /* there is no memory for it: likewise */
	ending.children_reset = true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ending_numbers); i++) {
		struct sigaction before;
		(void) sigaction(ending_numbers[i], NULL,
				 &before); /* cannot fail, as the following */
		if (before.sa_handler == SIG_DFL)
			(void) sigaction(ending_numbers[i], &action, NULL);
	}
}

void sw_wait_signals(sigset_t *ret, bool wanted)
{
	(void) sigemptyset(ret); /* cannot fail, as the following */
	if (wanted) {
		(void) sigaddset(ret, SIGINT);
		(void) sigaddset(ret, SIGTERM);
	}
	(void) sigprocmask(SIG_BLOCK, ret, NULL);
}

bool sw_wait_until(const sigset_t *signals, int64_t when_ns)
{
	int64_t left_ns = when_ns - sw_clock_ns();
	if (left_ns < 0)
		left_ns = 0;
	struct timespec t = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
	return sigtimedwait(signals, NULL, &t) > 0;
}

void sw_stop_signals_init(struct sw_stop_signals *ret)
{
	sigset_t signals;
	sw_wait_signals(&signals, true);
	*ret = (struct sw_stop_signals){.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
	if (ret->fd < 0) /* no descriptor is left: they end the command */
		sw_stop_signals_deinit(ret);
}

void sw_stop_signals_take(struct sw_stop_signals *signals)
{
	struct signalfd_siginfo one;
	signals->came |= read(signals->fd, &one, sizeof(one)) == sizeof(one);
}

void sw_stop_signals_deinit(struct sw_stop_signals *signals)
{
	sigset_t set;
	sw_close_p(&signals->fd);
	sw_wait_signals(&set, true);
	(void) sigprocmask(SIG_UNBLOCK, &set, NULL);
}
