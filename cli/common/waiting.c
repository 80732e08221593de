/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/waiting.h"

#include "cleanup.h"

#include <snapwalk/clock.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

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
