/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_WHOLE_H
#define SW_REPORT_WHOLE_H

#include "report/activity.h"

/* The troubles of the process as a whole, as far as the functions on its stacks tell. */

/* Whether the thread waits until the Java VM has stopped the program and done something: a collection of garbage, mostly. It
 * does not tell who holds up others that wait for a lock of it. */
bool sw_waits_for_machine(const struct sw_report *report, const struct sw_report_thread *thread);

/* The runtime whose garbage the thread collects: the runtime's wire name. NULL: it does not. */
const char *sw_collects(const struct sw_report *report, const struct sw_report_thread *thread);

/* The pool of which the thread is a worker that has work: "the .NET thread pool". NULL: the thread is no worker of a pool. */
const char *sw_works_for_pool(const struct sw_report *report,
			      const struct sw_report_thread *thread);

/* Whether a thread without work may be a worker of that pool: false if it has begun elsewhere. Threads of libuv's pool have
 * no name of their own. */
bool sw_may_be_worker(const struct sw_report *report, const struct sw_report_thread *thread,
		      const char *pool);

/* Whether a pool that sw_works_for_pool() names is that of libuv, or of .NET. */
bool sw_is_libuv_pool(const char *pool);
bool sw_is_dotnet_pool(const char *pool);

#endif
