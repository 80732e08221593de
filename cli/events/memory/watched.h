/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_WATCHED_H
#define SW_CLI_MEMORY_WATCHED_H

#include <snapwalk/event.h>

/* A process whose events are counted by the kernel, and not read. */
struct sw_watched {
	struct sw_context *ctx; /* owned, as the following */
	struct sw_target *target;
	struct sw_cpu_sampler *sampler;
};

/* starttime: of the process that is meant; 0: any. 0; -SW_E_EXITED: it is another one; as sw_event_sampler_create(). *ret is valid
 * either way. */
int sw_watched_open(struct sw_watched *ret, pid_t pid, uint64_t starttime,
		    const struct sw_event_options *wanted, struct sw_error *err);
void sw_watched_close(struct sw_watched *watched);

#endif
