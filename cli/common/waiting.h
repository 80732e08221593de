/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_WAITING_H
#define SW_CLI_WAITING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Blocks the signals that say to stop, SIGINT and SIGTERM. wanted is false: none says so. */
void sw_wait_signals(sigset_t *ret, bool wanted);
/* Lets one of these signals, if it is not ignored, end the process at once until sw_wait_signals(): it complains before,
 * by sw_complain(). Children that are made meanwhile do not complain. */
void sw_wait_say(const char *about, const char *message);
/* Waits until a time of sw_clock_ns(). True: one of these signals, which are blocked, has come and says to stop. */
bool sw_wait_until(const sigset_t *signals, int64_t when_ns);

/* The same signals for what waits for a descriptor, too. */
struct sw_stop_signals {
	int fd; /* owned; readable: one has come; -EBADF: there are none, and signals are as before */
	bool came; /* one was read */
};

/* Blocks them until sw_stop_signals_deinit(). */
void sw_stop_signals_init(struct sw_stop_signals *ret);
/* Reads one that has come. */
void sw_stop_signals_take(struct sw_stop_signals *signals);
/* A signal that has come and was not read has its effect now. */
void sw_stop_signals_deinit(struct sw_stop_signals *signals);

#endif
