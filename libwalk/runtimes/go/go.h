/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_H
#define SW_GO_H

#include "runtimes/go/image.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

struct sw_go_window;

enum {
	SW_GO_MODULES_MAX = 8, /* the program, libraries with a runtime of their own, plugins */
	SW_GO_INLINED_MAX = 64,
};

/* A stack of Go, as its g says. */
struct sw_go_stack {
	uint64_t g_avma;              /* 0: none */
	uint64_t low_avma, high_avma; /* [low, high); 0: it has none yet */
	uint64_t m_avma;
	uint64_t sched_sp_avma, sched_pc_avma; /* where it went on when it was last left */
};

/* The stacks between which a thread switches. */
struct sw_go_thread {
	bool known;
	struct sw_go_stack g0;      /* the runtime's own */
	struct sw_go_stack curg;    /* the goroutine's that it runs; none: it runs none */
	struct sw_go_stack gsignal; /* for signals */
};

/* A file with Go code, where it is mapped. */
struct sw_go_module {
	const struct sw_place *place; /* borrowed from the snapshot */
	struct sw_go_image image;
};

struct sw_go_modules {
	struct sw_go_module all[SW_GO_MODULES_MAX];
	size_t n;
};

struct sw_go_goroutines;

/* A process with Go code. */
struct sw_go {
	const struct sw_snapshot *snap;   /* borrowed */
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;
	struct sw_go_modules modules;
	const struct sw_go_window
		*window; /* borrowed from the snapshot; NULL: nothing was copied for it */
	/* The thread that is walked. */
	const struct sw_thread *thread; /* borrowed; NULL: none yet */
	const struct sw_go_module *of;  /* by whose TLS */
	struct sw_go_thread stacks;
	bool stacks_live; /* read when the process ran again */
	bool stale;       /* it ran on after they were copied */
	bool scheduled;   /* a frame of the scheduler was passed: the goroutine was left */
	bool vdso_passed; /* the frame for which m has vdsoSP was */
	/* All goroutines, owned; NULL: not asked for. parked_stack is that of the goroutine that is
	 * walked. */
	struct sw_go_goroutines *goroutines;
	const struct sw_thread *parked; /* borrowed: cursor->thread of its walk */
	struct sw_go_stack parked_stack;
};

static inline bool sw_go_on_stack(const struct sw_go_stack *s, uint64_t sp_avma)
{
	return s->g_avma != 0 && s->low_avma != 0 && sp_avma >= s->low_avma &&
	       sp_avma <= s->high_avma;
}

#endif
