/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SANDBOX_H
#define SW_CLI_SANDBOX_H

#include "select.h"

/*
 * What the command gives up before it parses bytes that somebody else wrote: capabilities, all system
 * calls but those for reading files, memory and writing to what is open, and, where the kernel has
 * Landlock, all files but those that may be debug files. For good: nothing can be captured afterwards.
 *
 * 0; -SW_E_NOT_PERMITTED, -SW_E_IO: the process must not go on.
 */

/* Nothing of the process is held any more; of the snapshot it uses the names of modules alone. writable
 * is a directory below which files are to be made, NULL for none. */
int sw_sandbox_enter(const struct sw_options *options, const struct sw_snapshot *snap,
		     const char *writable, struct sw_error *err);
/* Before a core file or a fixture is opened: their modules may be anywhere. */
int sw_sandbox_enter_saved(const struct sw_options *options, const char *writable,
			   struct sw_error *err);
/* Whether there is a process to be stopped, or a file that is hostile from its first byte on. */
bool sw_subject_is_saved(const struct sw_subject *subject);

#endif
