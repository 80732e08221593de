/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/waiting.h"

#include <snapwalk/clock.h>
#include <time.h>

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
