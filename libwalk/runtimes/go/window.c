/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: for each thread its m, the three g that it has, and
 * the stacks of the two that are not running. Goroutines' stacks lie in the heap, whose mappings
 * are large: without their bounds all of it would be copied that fits.
 *
 * In the window: nothing is allocated, opened or parsed; pointers are followed for many threads with one
 * system call.
 */
#include "runtimes/go/window.h"
#include "map.h"
#include "runtimes/go/stacks.h"

enum {
	G_BYTES = 8 * SW_GO_G_WORDS,
	M_BYTES = 8 * SW_GO_M_WORDS,
	G0_BYTES_MAX =
		64 << 10, /* of those that Go has made: 16 KiB, more in programs with -race */
	VDSO_CALLER_BYTES =
		64, /* the frame that calls the vDSO: 16 to 32, and its return address */
};

static void read_add(struct sw_go_window *w, size_t *n, uint64_t avma, void *buffer, size_t bytes)
{
	w->reads[(*n)++] = (struct sw_capture_read){avma, buffer, bytes, false};
}

/* Keeps those of the first n that one more read was right for. */
static size_t kept(struct sw_go_window *w, size_t n)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++)
		if (w->reads[i].ok)
			w->found[left++] = w->found[i];
	return left;
}

/* From the slot to m, for the first n. Without a g the thread is not Go's now. */
static size_t m_read(struct sw_capture *capture, struct sw_go_window *w, size_t n)
{
	size_t reads = 0, left = 0;
	for (size_t i = 0; i < n; i++)
		read_add(w, &reads, w->found[i].slot_avma, &w->found[i].g_avma, 8);
	sw_capture_read_many(capture, w->reads, reads);
	n = kept(w, n);
	for (size_t i = 0; i < n; i++)
		if (w->found[i].g_avma != 0 && w->found[i].g_avma % 8 == 0)
			w->found[left++] = w->found[i];
	n = left;
	reads = 0;
	for (size_t i = 0; i < n; i++)
		read_add(w, &reads, w->found[i].g_avma, w->found[i].g[0], G_BYTES);
	sw_capture_read_many(capture, w->reads, reads);
	n = kept(w, n);
	reads = 0;
	for (size_t i = 0; i < n; i++) {
		struct sw_go_found *f = &w->found[i];
		f->m_avma = sw_go_g_parse(f->g_avma, f->g[0]).m_avma;
		read_add(w, &reads, f->m_avma, f->words, M_BYTES);
	}
	sw_capture_read_many(capture, w->reads, reads);
	return kept(w, n);
}

static void g_read(struct sw_capture *capture, struct sw_go_window *w, size_t n)
{
	size_t reads = 0;
	for (size_t i = 0; i < n; i++) {
		struct sw_go_found *f = &w->found[i];
		f->m = sw_go_m_parse(f->module, f->words);
		read_add(w, &reads, f->m.g0_avma, f->g[0], G_BYTES);
		read_add(w, &reads, f->m.curg_avma, f->g[1], G_BYTES);
		read_add(w, &reads, f->m.gsignal_avma, f->g[2], G_BYTES);
		read_add(w, &reads, f->m_avma + f->module->image.vdso_off, &f->vdso_sp_avma, 8);
	}
	sw_capture_read_many(capture, w->reads, reads);
}

static struct sw_go_stack stack_of(const struct sw_go_window *w, size_t i, unsigned which)
{
	const struct sw_go_found *f = &w->found[i];
	const uint64_t avma[] = {f->m.g0_avma, f->m.curg_avma, f->m.gsignal_avma};
	if (!w->reads[SW_GO_THREAD_READS * i + which].ok || avma[which] == 0)
		return (struct sw_go_stack){0};
	return sw_go_g_parse(avma[which], f->g[which]);
}

/* The bounds of stacks that the system made, the first thread's and those of C's threads, are a guess. */
static bool is_from_go(const struct sw_go_stack *g0)
{
	uint64_t bytes = g0->high_avma - g0->low_avma;
	return bytes <= G0_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

/* The sp that the goroutine had when it called the vDSO, which runs on g0's stack; 0: it did not. */
static uint64_t vdso_sp_of(const struct sw_go_window *w, size_t i)
{
	const struct sw_go_found *f = &w->found[i];
	bool known = f->module->image.vdso_off != 0 && w->reads[SW_GO_THREAD_READS * i + 3].ok;
	return known ? f->vdso_sp_avma : 0;
}

/* Where to begin with a stack that the thread has left, by where it left it. */
static uint64_t left_at(const struct sw_go_stack *s, uint64_t vdso_sp)
{
	if (vdso_sp < s->low_avma + VDSO_CALLER_BYTES || vdso_sp >= s->high_avma)
		return s->sched_sp_avma;
	/* The scheduler has not seen it since, and its sp may be of long ago, or none. */
	uint64_t from = vdso_sp - VDSO_CALLER_BYTES;
	return s->sched_sp_avma >= s->low_avma && s->sched_sp_avma < from ? s->sched_sp_avma : from;
}

static void thread_stacks(struct sw_capture *capture, const struct sw_thread *t, size_t n,
			  const struct sw_go_thread *go, uint64_t vdso_sp)
{
	const struct sw_go_stack *all[] = {&go->curg, &go->g0, &go->gsignal};
	uint64_t sp = t->regs.sp_avma;
	size_t here = 3;
	for (size_t i = 0; i < 3 && here == 3; i++)
		if (sw_go_on_stack(all[i], sp))
			here = i;
	if (here < 3 && (here != 1 || is_from_go(&go->g0)))
		sw_capture_stack_known(capture, n, all[here]->high_avma);
	for (size_t i = 0; i < 2; i++) {
		const struct sw_go_stack *s = all[i];
		if (i == here || s->g_avma == 0 || s->high_avma == 0)
			continue;
		/* A goroutine that was interrupted by a signal has no sp that is known here. */
		uint64_t from = here == 2 ? s->low_avma : left_at(s, vdso_sp);
		if (from >= s->low_avma && from < s->high_avma)
			(void) sw_capture_stack(capture, from, s->high_avma); /* else: read later */
	}
}

static void thread_copy(struct sw_capture *capture, const struct sw_go_found *f)
{
	const uint64_t g[] = {f->m.g0_avma, f->m.curg_avma, f->m.gsignal_avma};
	uint64_t vdso_end = f->module->image.vdso_off + 16;
	const uint8_t *copy;
	/* Memory that cannot be copied is read later. */
	(void) sw_capture_copy(capture, f->slot_avma, 8, &copy);
	(void) sw_capture_copy(capture, f->m_avma, vdso_end > M_BYTES ? vdso_end : M_BYTES, &copy);
	for (size_t i = 0; i < 3; i++)
		if (g[i] != 0)
			(void) sw_capture_copy(capture, g[i], G_BYTES, &copy);
	if (f->g_avma != g[0] && f->g_avma != g[1] && f->g_avma != g[2])
		(void) sw_capture_copy(capture, f->g_avma, G_BYTES, &copy);
}

/* The first n threads of found are used, as far as their structures can be read. */
static void found_use(struct sw_capture *capture, struct sw_go_window *w, size_t n, bool stacks)
{
	n = m_read(capture, w, n);
	g_read(capture, w, n);
	for (size_t i = 0; i < n; i++) {
		struct sw_go_thread go = {.g0 = stack_of(w, i, 0),
					  .curg = stack_of(w, i, 1),
					  .gsignal = stack_of(w, i, 2)};
		size_t thread = w->found[i].thread;
		if (!stacks)
			thread_copy(capture, &w->found[i]);
		else if (sw_go_thread_check(&go))
			thread_stacks(capture, &capture->snap->threads[thread], thread, &go,
				      vdso_sp_of(w, i));
	}
}

static int window_use(struct sw_capture *capture, bool stacks)
{
	struct sw_go_window *w = *capture->found;
	if (w == NULL)
		return 0;
	for (size_t k = 0; k < w->modules.n; k++) {
		size_t n = 0;
		if (!w->usable[k])
			continue;
		for (size_t i = 0; i < capture->snap->n_threads; i++) {
			const struct sw_thread *t = &capture->snap->threads[i];
			if (t->regs.sp_avma == 0 || t->fs_base == 0)
				continue;
			w->found[n++] =
				(struct sw_go_found){.thread = i,
						     .module = &w->modules.all[k],
						     .slot_avma = t->fs_base + w->offsets[k]};
			if (n == SW_GO_TOGETHER) {
				found_use(capture, w, n, stacks);
				n = 0;
			}
		}
		found_use(capture, w, n, stacks);
	}
	return 0;
}

int sw_go_window_stacks(struct sw_capture *capture)
{
	return window_use(capture, true);
}

int sw_go_in_window(struct sw_capture *capture)
{
	struct sw_go_window *w = *capture->found;
	if (w == NULL)
		return 0;
	w->copied = true;
	w->n_seen = 0; /* the window may be repeated */
	for (size_t i = 0; i < capture->snap->n_threads && i < w->seen_max; i++) {
		const struct sw_thread *t = &capture->snap->threads[i];
		w->seen[w->n_seen++] = (struct sw_go_seen){t->tid, sw_go_window_mark(t)};
	}
	w->whole = sw_capture_is_whole(capture);
	int r = window_use(capture, false);
	/* Last: what threads need comes first. */
	for (size_t k = 0; w->lists != NULL && k < w->modules.n; k++)
		sw_go_list_copy(capture, &w->lists[k]);
	return r;
}

uint64_t sw_go_window_mark(const struct sw_thread *thread)
{
	const struct sw_regs *r = &thread->regs;
	uint64_t mark = sw_mix64(r->pc_avma ^ sw_mix64(r->sp_avma));
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if (r->known & (UINT32_C(1) << i))
			mark = sw_mix64(mark ^ r->val[i]);
	return mark;
}

bool sw_go_window_fits(const struct sw_go_window *window, const struct sw_thread *thread)
{
	for (size_t i = 0; i < window->n_seen; i++) {
		const struct sw_go_seen *s = &window->seen[i];
		if (s->tid == thread->tid)
			return s->mark == sw_go_window_mark(thread);
	}
	return false;
}
