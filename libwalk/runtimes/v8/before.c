/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which module has V8, and where threads wait in the kernel: for touch.c. */
#include "runtimes/v8/before.h"
#include "arena.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/loop.h"
#include "runtimes/v8/touch.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <snapwalk/error.h>
#include <stdio.h>
#include <string.h>

enum {
	SEEN_MAX = 64,               /* threads that the rehearsal looks at */
	MAIN_STACK_BYTES = 32 << 10, /* that it looks at of a first thread that runs */
};

/* The stack pointer of a thread that waits in the kernel, by /proc/PID/task/TID/syscall: the number of the system call and its
 * six arguments, or -1, then sp and pc. False: it runs. */
static bool sp_read(struct sw_capture *capture, pid_t tid, uint64_t *ret)
{
	char name[64], text[256];
	(void) snprintf(name, sizeof(name), "task/%d/syscall", (int) tid); /* fits */
	return sw_capture_proc_read(capture, name, text, sizeof(text)) > 0 &&
	       (sscanf(text, "-1 %" SCNx64, ret) == 1 ||
		sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64, ret) == 1);
}

/* The upper end of the first thread's stack, where it may be. */
static bool main_sp_guess(const struct sw_snapshot *snap, uint64_t *ret)
{
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i];
		if (strcmp(m->path, "[stack]") != 0)
			continue;
		*ret = m->end_avma - m->start_avma > MAIN_STACK_BYTES
			       ? m->end_avma - MAIN_STACK_BYTES
			       : m->start_avma;
		return true;
	}
	return false;
}

void sw_v8_threads_see(struct sw_capture *capture, struct sw_v8_before *b)
{
	const struct sw_snapshot *snap = capture->snap;
	b->seen = sw_arena_calloc(&snap->priv->arena, SEEN_MAX, sizeof(*b->seen));
	for (size_t i = 0; i < snap->n_threads && i < SEEN_MAX && b->seen != NULL; i++) {
		pid_t tid = snap->threads[i].tid;
		uint64_t sp;
		if (sp_read(capture, tid, &sp) ||
		    (tid == snap->process.pid && main_sp_guess(snap, &sp)))
			b->seen[b->n_seen++] =
				(struct sw_thread){.tid = tid, .regs = {.sp_avma = sp}};
	}
}

int sw_v8_before(struct sw_capture *capture)
{
	struct sw_place *place;
	const struct sw_snapshot *snap = capture->snap;
	const struct sw_v8_program *p = sw_v8_find(snap, &place);
	if (p == NULL || !p->usable)
		return 0;
	struct sw_v8_before *b = sw_arena_calloc(&snap->priv->arena, 1, sizeof(*b));
	if (b == NULL)
		return -SW_E_NOMEM;
	b->program = p;
	b->place = place;
	if (sw_place_resolve(place, snap) && p->loop_svma != 0 && sw_capture_has_our_clock(capture))
		b->loop_avma = p->loop_svma + place->bias;
	sw_v8_threads_see(capture, b);
	*capture->found = b;
	return 0;
}
