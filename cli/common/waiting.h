/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_WAITING_H
#define SW_CLI_WAITING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Blocks the signals that say to stop, SIGINT and SIGTERM. wanted is false: none says so. */
void sw_wait_signals(sigset_t *ret, bool wanted);
/* Waits until a time of sw_clock_ns(). True: one of these signals, which are blocked, has come and says to stop. */
bool sw_wait_until(const sigset_t *signals, int64_t when_ns);

#endif
