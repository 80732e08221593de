/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_threads.h"
#include "clr_memory.h"
#include "clr_notes.h"

#include <unistd.h>

/* The running process as it is now: what the snapshot's own memory reads is kept, and then is too old
 * after the stop. */
static bool direct_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const int *fd = arg;
	return *fd >= 0 && avma <= INT64_MAX &&
	       pread(*fd, buffer, length, (off_t) avma) == (ssize_t) length;
}

/* Calls each for the Thread objects of a runtime; stops when it answers false. */
static void threads_each(const struct sw_clr_runtime *r, struct sw_memory m,
			 bool (*each)(void *arg, uint64_t thread_avma), void *arg)
{
	uint64_t store, link;
	if (!r->usable || r->at.store_avma == 0 || !sw_memory_u64(m, r->at.store_avma, &store) ||
	    !sw_clr_u64(m, store, r->at.store_first, &link))
		return;
	for (size_t i = 0; i < SW_CLR_THREADS_MAX && link > r->at.thread_next; i++) {
		uint64_t thread = link - r->at.thread_next;
		if (!each(arg, thread) || !sw_clr_u64(m, link, 0, &link))
			return;
	}
}

/* ---- before the stop ---------------------------------------------------------------------- */

struct wanting {
	struct sw_capture *capture;
	size_t n;
};

static bool want_thread(void *arg, uint64_t thread_avma)
{
	struct wanting *w = arg;
	return w->n++ < SW_CLR_THREADS_COPIED &&
	       sw_capture_want(w->capture, thread_avma, SW_CLR_THREAD_BYTES) == 0;
}

int sw_clr_prepare(struct sw_capture *capture)
{
	static const struct sw_memory_ops ops = {.read = direct_read};
	const struct sw_snapshot *snap = capture->snap;
	struct sw_memory memory = {&ops, &snap->priv->mem_fd};
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	struct wanting w = {.capture = capture};
	size_t n;
	int r = sw_clr_runtimes_find(snap, memory, true, runtimes, &n);
	/* Threads that come after this, or are too many, are read when the process runs again. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		threads_each(&runtimes[i], memory, want_thread, &w);
		sw_clr_notes_prepare(capture, &runtimes[i]);
	}
	sw_clr_runtimes_deinit(runtimes, n);
	return r;
}

/* ---- after the stop ----------------------------------------------------------------------- */

static bool count_thread(void *arg, uint64_t thread_avma)
{
	(void) thread_avma;
	++*(size_t *) arg;
	return true;
}

static bool keep_thread(void *arg, uint64_t thread_avma)
{
	struct sw_clr *clr = arg;
	if (clr->n_threads == clr->threads_capacity)
		return false; /* the list has grown since it was counted */
	clr->threads[clr->n_threads++] = thread_avma;
	return true;
}

size_t sw_clr_threads_get(struct sw_clr *clr, const uint64_t **ret)
{
	if (!clr->threads_tried) {
		clr->threads_tried = true;
		size_t n = 0;
		for (size_t i = 0; i < clr->n_runtimes; i++)
			threads_each(&clr->runtimes[i], clr->memory, count_thread, &n);
		clr->threads = sw_arena_calloc(&clr->arena, n, sizeof(*clr->threads));
		clr->threads_capacity = n;
		for (size_t i = 0; clr->threads != NULL && i < clr->n_runtimes; i++)
			threads_each(&clr->runtimes[i], clr->memory, keep_thread, clr);
	}
	*ret = clr->threads;
	return clr->n_threads;
}

/*
 * struct Thread has {m_pvHJRetAddr, m_ppvHJRetAddrPtr}: the address and where it was. No descriptor
 * says at which offset, but no other word of it can be the address of that slot.
 * Source: dotnet/runtime v10.0.0, src/coreclr/vm/threads.h and threadsuspend.cpp,
 * Thread::HijackThread().
 */
static bool pair_find(struct sw_clr *clr, uint64_t thread_avma, uint64_t slot_avma,
		      uint64_t *ret_avma)
{
	enum { WORDS = SW_CLR_THREAD_BYTES / 8 };
	uint64_t words[WORDS];
	if (!sw_memory_read(clr->memory, thread_avma, words, sizeof(words)))
		return false;
	size_t first = 1, last = WORDS - 1;
	if (clr->hijack_off != 0)
		first = last = clr->hijack_off / 8 + 1;
	for (size_t i = first; i <= last; i++) {
		if (words[i] != slot_avma)
			continue;
		const struct sw_clr_code *code = sw_clr_code_find(clr, words[i - 1]);
		if (code == NULL || code->kind == SW_CLR_CODE_STUB)
			continue;
		clr->hijack_off = (uint32_t) (i - 1) * 8;
		*ret_avma = words[i - 1];
		return true;
	}
	return false;
}

bool sw_clr_hijacked_find(struct sw_clr *clr, uint64_t slot_avma, uint64_t *ret_avma)
{
	const uint64_t *threads;
	size_t n = sw_clr_threads_get(clr, &threads);
	for (size_t i = 0; i < n; i++)
		if (pair_find(clr, threads[i], slot_avma, ret_avma))
			return true;
	return false;
}
