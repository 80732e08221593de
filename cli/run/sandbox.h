/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SANDBOX_H
#define SW_CLI_SANDBOX_H

#include "run/output.h"
#include "run/select.h"

/*
 * The sandbox is entered before the command parses bytes that somebody else wrote. It gives up
 * capabilities, all system calls but those for reading files, memory and writing to what is open,
 * and, where the kernel has Landlock, all files but those that may be debug files, which are opened
 * with the permissions of the process's user. For good: nothing can be captured afterwards.
 *
 * 0; -SW_E_NOT_PERMITTED, -SW_E_IO: the process must not go on.
 */

/* Nothing of the process is held any more; of the snapshot it uses the names of modules alone.
 * Where the snapshot is kept (options->keep), files can be made there, and nowhere else. */
int sw_sandbox_enter(const struct sw_options *options, const struct sw_snapshot *snap,
		     struct sw_error *err);
/* Before a core file or a fixture is opened, with its owner's permissions: their modules may be
 * anywhere. For a core file that is root's own, root keeps the one capability that reads all files.
 * fd: what was opened with O_PATH; < 0: it is not there. */
int sw_sandbox_enter_saved(const struct sw_options *options, const struct sw_subject *subject,
			   int fd, struct sw_error *err);
/*
 * Captures are made afterwards, and what they read is parsed: everything that the kernel is asked
 * for once is there by now (the task iterator, perf events), files that are written are open. Kept
 * are the capabilities and the system calls of captures, so that other processes can be read and
 * held for a moment. No Landlock: a process in it may trace none outside of it
 * (Documentation/userspace-api/landlock.rst, linux v6.12, "Ptrace restrictions"). screen: on a
 * terminal, with keys.
 */
int sw_sandbox_enter_capturing(const struct sw_options *options, bool screen, struct sw_error *err);
/* The same, of processes that begin later, too. */
int sw_sandbox_enter_sampling_host(const struct sw_options *options, struct sw_error *err);
/* Files that dumps name are opened for reading, by our own permissions and without capabilities: they may be anywhere, and
 * only those with the right build-id are looked into. */
int sw_sandbox_enter_naming(const struct sw_options *options, struct sw_error *err);
/* Nothing is opened any more: what is parsed was read, what is written is open. */
int sw_sandbox_enter_parsing(const struct sw_options *options, struct sw_error *err);
/* Before one of the two above, unless nothing is given up: sw_output_entrust(). */
int sw_sandbox_entrust(const struct sw_options *options, struct sw_output *output,
		       struct sw_error *err);
/* Whether there is a process to be stopped, or a file that is hostile from its first byte on. */
bool sw_subject_is_saved(const struct sw_subject *subject);

#endif
