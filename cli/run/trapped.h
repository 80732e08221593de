/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TRAPPED_H
#define SW_CLI_TRAPPED_H

#include "common/options.h"

/*
 * A command that parses by itself, once or between captures, has no parent that could say why it was killed. From now on a
 * SIGSYS of its filter of system calls is said on standard error before the command ends by it. A child of sw_apart_start()
 * leaves that to its parent.
 *
 * Returns what is to be given to sw_seccomp_parser(), which is next: SW_SECCOMP_TRAPS; 0 where nothing will be said.
 */
unsigned sw_trapped_begin(const struct sw_options *options);

/* Says it of the child that opens debug files (owner_files.h), which has no standard error. */
void sw_trapped_say_of_child(int call);

/* Called before that is said, in a signal handler: gives the terminal back. */
void sw_trapped_first(void (*restore)(void));

#endif
