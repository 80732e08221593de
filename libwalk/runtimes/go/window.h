/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_WINDOW_H
#define SW_GO_WINDOW_H

#include "runtimes/go/go.h"
#include "runtimes/go/list.h"
#include "runtimes/go/stacks.h"
#include "unwind/capture.h"

enum {
	SW_GO_THREAD_READS = 4, /* of one thread with one call: its three g, and a word of m */
	SW_GO_TOGETHER = SW_CAPTURE_READS / SW_GO_THREAD_READS, /* threads, with one call */
};

/*
 * Where a thread was when its g and m were copied. A thread that was on a CPU may be captured later
 * than what hooks copy: then these say nothing of it.
 */
struct sw_go_seen {
	pid_t tid;
	uint64_t mark; /* of its registers: it may be at the same place again */
};

/* The structures of one thread, found level by level. */
struct sw_go_found {
	size_t thread; /* its index */
	const struct sw_go_module *module;
	uint64_t slot_avma, g_avma, m_avma;
	uint64_t words[SW_GO_M_WORDS];
	struct sw_go_m m;
	uint64_t g[3][SW_GO_G_WORDS]; /* g0, curg, gsignal */
	uint64_t vdso_sp_avma;
};

/* The state of the window, set aside before it: *sw_capture.found, which open() gets. */
struct sw_go_window {
	struct sw_go_modules modules;
	uint64_t offsets[SW_GO_MODULES_MAX]; /* of the slot in the thread's TLS */
	bool usable[SW_GO_MODULES_MAX];
	struct sw_go_list *lists; /* of modules.n, the snapshot's arena's; NULL: not asked for */
	struct sw_go_found found[SW_GO_TOGETHER];
	struct sw_capture_read reads[SW_CAPTURE_READS];
	struct sw_go_seen *seen; /* the snapshot's arena's */
	size_t n_seen, seen_max;
	bool copied; /* it was a process, and no core file */
	bool whole;  /* nobody seemed to run meanwhile */
};

/* As sw_runtime_ops.stacks: where the threads' stacks end, and those that they have left for a while. */
int sw_go_window_stacks(struct sw_capture *capture);
/* As sw_runtime_ops.in_window: the g and m of each thread. */
int sw_go_in_window(struct sw_capture *capture);

uint64_t sw_go_window_mark(const struct sw_thread *thread);

/* Whether they are those of the thread as it is in the snapshot. */
bool sw_go_window_fits(const struct sw_go_window *window, const struct sw_thread *thread);

#endif
