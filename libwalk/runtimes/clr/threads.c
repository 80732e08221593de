/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/threads.h"
#include "arch/arch.h"
#include "runtimes/clr/tasks/prepare.h"
#include "native/call_site.h"
#include "runtimes/clr/code/collectible.h"
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/locks.h"
#include "runtimes/clr/metadata/pdb_files.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/thread_infos.h"
#include "runtimes/clr/find.h"
#include "runtimes/clr/code/ranges.h"

#include <stdlib.h>

/* The thread has no stack any more; another one may have got it. */
enum { STATE_GONE = SW_CLR_STATE_DEAD | SW_CLR_STATE_DETACHED };

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
	size_t bytes; /* of each */
	size_t n;
};

static bool want_thread(void *arg, uint64_t thread_avma)
{
	struct wanting *w = arg;
	return w->n++ < SW_CLR_THREADS_COPIED &&
	       sw_capture_want(w->capture, thread_avma, w->bytes) == 0;
}

/* The locks and tasks are those of the first runtime that says what its threads wait for, or whose
 * tasks are read. */
static int locks_prepare(struct sw_capture *capture, const struct sw_clr_runtime *r)
{
	const struct sw_clr_locks_at at = sw_clr_locks_at(r);
	bool tasks = (capture->snap->priv->tasks || capture->snap->priv->awaits) && r->usable &&
		     !r->is_windows;
	if ((!at.usable && !tasks) || *capture->found != NULL)
		return 0;
	struct sw_clr_locks_plan *plan =
		sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*plan));
	if (plan == NULL)
		return -SW_E_NOMEM;
	plan->at = at;
	plan->tasks = tasks ? sw_clr_tasks_prepare(capture, r) : NULL;
	if (tasks && plan->tasks == NULL)
		return -SW_E_NOMEM;
	plan->has_our_clock = sw_capture_has_our_clock(capture);
	*capture->found = plan;
	return 0;
}

int sw_clr_before(struct sw_capture *capture)
{
	struct sw_memory memory = capture->memory;
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	struct wanting w = {.capture = capture};
	size_t n;
	int r = sw_clr_runtimes_find(capture->snap, memory, true, runtimes, &n);
	/* Threads that come after this, or are too many, are read when the process runs again. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct sw_clr_locks_at at = sw_clr_locks_at(&runtimes[i]);
		w.bytes = at.usable ? sw_clr_lock_thread_bytes(&at) : SW_CLR_THREAD_BYTES;
		threads_each(&runtimes[i], memory, want_thread, &w);
		sw_clr_thread_infos_prepare(capture, &runtimes[i]);
		r = locks_prepare(capture, &runtimes[i]);
	}
	for (size_t i = 0; r == 0 && i < n; i++) /* last: it may use all that may be copied */
		sw_clr_collectible_want(capture, &runtimes[i], memory);
	sw_clr_runtimes_deinit(runtimes, n);
	if (r == 0 && n > 0)
		sw_clr_pdb_files_prepare(capture);
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

/* ---- replaced return addresses ------------------------------------------------------------ */

struct replaced {
	struct sw_clr *clr;
	const struct sw_clr_runtime *runtime;
	/* By copies: */
	struct sw_memory memory; /* the copy */
	uint64_t slot_avma, avma;
};

/*
 * struct Thread has {m_pvHJRetAddr, m_ppvHJRetAddrPtr}: the address and where it was. No descriptor
 * says at which offset; but behind no other word that is an address of managed code comes the address
 * of the slot that somebody asks for.
 * Source: dotnet/runtime v10.0.0, src/coreclr/vm/threads.h and threadsuspend.cpp,
 * Thread::HijackThread().
 */
static bool replaced_add(void *arg, uint64_t thread_avma)
{
	const struct replaced *r = arg;
	struct sw_clr *clr = r->clr;
	uint64_t words[SW_CLR_THREAD_WORDS], kept;
	uint32_t state;
	if (!sw_memory_read(clr->memory, thread_avma, words, sizeof(words)) ||
	    !sw_clr_u32(clr->memory, thread_avma, r->runtime->at.thread_state, &state) ||
	    state & (uint32_t) STATE_GONE)
		return true;
	for (size_t i = 1; i < SW_CLR_THREAD_WORDS; i++) {
		if (words[i] == 0 || words[i] % SW_ARCH_WORD != 0 ||
		    !sw_is_executable(clr->snap, words[i - 1]) ||
		    sw_map64_get(&clr->replaced, words[i], &kept))
			continue;
		const struct sw_clr_code *code = sw_clr_code_find(clr, words[i - 1]);
		/* Lost when there is no memory: then it is not known, and the walk says so. */
		if (code != NULL && code->kind != SW_CLR_CODE_STUB)
			(void) sw_map64_put(&clr->replaced, words[i],
					    thread_avma + (i - 1) * SW_ARCH_WORD);
	}
	return true;
}

/* By copies: the Thread that was copied counts, and no other. */
static bool replaced_look(void *arg, uint64_t thread_avma)
{
	struct replaced *r = arg;
	uint64_t words[SW_CLR_THREAD_WORDS];
	if (!sw_memory_read(r->memory, thread_avma, words, sizeof(words)))
		return true;
	for (size_t i = 1; i < SW_CLR_THREAD_WORDS && r->avma == 0; i++) {
		if (words[i] != r->slot_avma)
			continue;
		const struct sw_clr_code *code = sw_clr_code_find(r->clr, words[i - 1]);
		if (code != NULL && code->kind != SW_CLR_CODE_STUB)
			r->avma = words[i - 1];
	}
	return r->avma == 0;
}

static bool copied_find(struct sw_clr *clr, struct sw_memory memory, uint64_t slot_avma,
			uint64_t *ret_avma)
{
	struct replaced r = {.clr = clr, .memory = memory, .slot_avma = slot_avma};
	for (size_t i = 0; i < clr->n_runtimes && r.avma == 0; i++)
		threads_each(&clr->runtimes[i], clr->memory, replaced_look, &r);
	*ret_avma = r.avma;
	return r.avma != 0;
}

bool sw_clr_hijacked_find(struct sw_clr *clr, struct sw_memory memory, uint64_t slot_avma,
			  uint64_t *ret_avma)
{
	uint64_t pair_avma;
	if (clr->by_copies)
		return copied_find(clr, memory, slot_avma, ret_avma);
	for (size_t i = 0; i < clr->n_runtimes && !clr->replaced_tried; i++) {
		struct replaced r = {.clr = clr, .runtime = &clr->runtimes[i]};
		threads_each(r.runtime, clr->memory, replaced_add, &r);
	}
	clr->replaced_tried = true;
	/* Once more, by the memory that counts: a Thread that was not copied may have changed. */
	return sw_map64_get(&clr->replaced, slot_avma, &pair_avma) &&
	       sw_memory_u64(memory, pair_avma, ret_avma);
}
