/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_ROLES_H
#define SW_DAEMON_SANDBOX_ROLES_H

#include "config/settings.h"

struct sw_unpacked;

/*
 * Started as root, spawner and broker become User=; started as that user with ambient capabilities
 * (the unit) or as anybody with --user, they stay who they are. -SW_E_NOT_FOUND when there is no such
 * user, -SW_E_INVALID when it is root: even without capabilities root owns its files. After an error
 * the process must not go on.
 */

/* Is there a user to become? As above. */
int sw_sandbox_check_user(const struct sw_config *config, struct sw_error *err);

/* Keeps CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_PERFMON, as far as they are there, and CAP_BPF unless Events= is
 * "no"; with --user nothing. No new privileges, not dumpable, no core file. */
int sw_sandbox_spawner(const struct sw_config *config, struct sw_error *err);
/* The spawner enters a seccomp filter before its first order, which its workers inherit: it allows their calls. A call
 * that would start a program, connect a socket, make or change a file, or change the machine kills. */
int sw_sandbox_spawner_begin(const struct sw_config *config, struct sw_error *err);
/* The process that opens probes keeps CAP_SYS_ADMIN and CAP_PERFMON, and has a filter that allows little else. */
int sw_sandbox_prober(const struct sw_config *config, struct sw_error *err);
/* Whether there are probes: of Events= and FunctionEvents=. */
bool sw_sandbox_has_probes(const struct sw_config *config);
enum sw_worker_needs {
	SW_WORKER_NEEDS_CAPTURES,
	SW_WORKER_NEEDS_EVENTS,   /* it opens events of the kernel: CAP_PERFMON */
	SW_WORKER_NEEDS_PROGRAMS, /* it also loads programs into the kernel: CAP_BPF */
};
/* Confine a worker at its start: what it does not need of the spawner's capabilities goes, and without the last of them
 * the system call that loads programs. */
int sw_sandbox_worker_begin(enum sw_worker_needs needs, struct sw_error *err);
/* The same as the spawner without any capability. A seccomp filter allows the broker's calls; one that would
 * start a program, trace, or change the machine kills. */
int sw_sandbox_broker(const struct sw_config *config, struct sw_error *err);
/* The user as above and no capability: for a process that confines itself further. */
int sw_sandbox_unprivileged(const struct sw_config *config, struct sw_error *err);
/*
 * A worker after its snapshot and before what was captured is parsed: no capability; memory_mib more
 * address space than now; names_timeout_ms and some seconds more of CPU; only files below /usr/lib/debug and what was unpacked of
 * them, where the kernel has Landlock; a seccomp filter for reading, mapping and writing to what is open.
 */
int sw_sandbox_worker(uint32_t memory_mib, uint32_t names_timeout_ms,
		      const struct sw_unpacked *unpacked, struct sw_error *err);
/* The same of one that has probes in code, and looks whose memory is locked before it takes them out. */
int sw_sandbox_worker_with_probes(uint32_t memory_mib, uint32_t names_timeout_ms,
				  const struct sw_unpacked *unpacked, struct sw_error *err);

#endif
