/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/returns.h"
#include "arch/arch.h"
#include "bytes.h"
#include "cleanup.h"
#include "iterate/record.h"
#include "iterate/tasks.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum {
	PER_THREAD = 16, /* replaced addresses for which there is space, of all threads together */
	INSN_MAX = 16,   /* bytes of an instruction that is executed elsewhere: MAX_UINSN_BYTES */
	/*
	 * The code to which they all return, arch/x86/kernel/uprobes.c, v6.11 to v6.18 (before, and for i386, it is
	 * INT3):	+0 push %rax  +1 push %rcx  +2 push %r11  +4 mov $N,%rax  +11 syscall
	 *	+13 pop %r11  +15 pop %rcx  +16 ret
	 */
	ASKED_AT = 13,
	ASKED_POPPED = 15,
	ASKED_END = 16,
};

/* The words that it has pushed there: at most *ret_max. -1: it does not ask any more. */
static int pushed_words(uint64_t at, unsigned *ret_max)
{
	*ret_max = at == 0 ? 0 : at < 4 ? (unsigned) at : 3;
	if (at > ASKED_AT)
		return -1;
	return at == 1 ? 0 /* behind INT3 */ : (int) *ret_max;
}

/* ---- before ---------------------------------------------------------------------------------- */

const struct sw_map *sw_returns_page(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if (strcmp(snap->maps[i].path, "[uprobes]") == 0)
			return &snap->maps[i];
	return NULL;
}

void sw_returns_load(struct sw_context *ctx)
{
	if (!ctx->returns_tried)
		(void) sw_iterate_load(SW_ITERATE_RETURNS, &ctx->returns_fd, NULL); /* -EBADF */
	ctx->returns_tried = true;
}

/* Lent, or loaded. */
static int program_of(const struct sw_take *take)
{
	struct sw_context *ctx = take->snap->ctx;
	if (take->options.returns_fd > 0)
		return take->options.returns_fd;
	if (take->options.iterator_refused == NULL)
		sw_returns_load(ctx);
	return ctx->returns_fd;
}

static int link_open(const struct sw_take *take, int *ret_fd)
{
	const struct sw_target *target = take->target;
	int program_fd = program_of(take);
	if (program_fd < 0)
		return -1;
	return target->pidfd >= 0 ? sw_iterate_link(program_fd, target->pidfd, ret_fd, NULL)
				  : sw_iterate_link_pid(program_fd, target->pid, ret_fd, NULL);
}

void sw_returns_prepare(struct sw_take *take)
{
	const struct sw_map *page = sw_returns_page(take->snap);
	if (page == NULL)
		return;
	struct sw_arena *arena = &take->snap->priv->arena;
	struct sw_returns *r = sw_arena_calloc(arena, 1, sizeof(*r));
	size_t max = take->stop.capacity * PER_THREAD;
	struct sw_iterate_return *all = sw_arena_alloc(arena, max * sizeof(*all));
	int link_fd = -EBADF;
	if (r == NULL || all == NULL || link_open(take, &link_fd) < 0)
		return;
	*r = (struct sw_returns){.page_avma = page->start_avma,
				 .link_fd = link_fd,
				 .fd = -EBADF,
				 .all = all,
				 .max = max};
	take->space->returns = r;
}

void sw_returns_deinit(struct sw_returns *r)
{
	if (r == NULL)
		return;
	sw_close_p(&r->fd);
	sw_close_p(&r->link_fd);
}

void sw_returns_begin(struct sw_returns *r)
{
	if (r == NULL)
		return;
	r->told = false;
	(void) sw_iterate_open(r->link_fd, &r->fd, NULL); /* -EBADF is not read */
}

/* ---- after a window -------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
	const struct sw_iterate_return *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_place(const void *a, const void *b)
{
	const struct sw_iterate_return *x = a, *y = b;
	return (x->at_avma > y->at_avma) - (x->at_avma < y->at_avma);
}

/* The first of those that are sorted by thread, or by place. */
static size_t first_of(const struct sw_iterate_return *all, size_t n,
		       const struct sw_iterate_return *key,
		       int (*compare)(const void *, const void *))
{
	size_t low = 0;
	while (low < n) {
		size_t middle = low + (n - low) / 2;
		if (compare(&all[middle], key) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* The word at avma of a thread's copied stack. */
static bool word_of(const struct sw_capture_space *space, size_t thread, uint64_t avma,
		    uint64_t *ret)
{
	for (size_t i = space->first; i < space->n_parts; i++) {
		const struct sw_capture_part *p = &space->parts[i];
		if (p->owner != (int32_t) thread || avma - p->avma >= p->bytes ||
		    p->bytes - (avma - p->avma) < sizeof(*ret))
			continue;
		memcpy(ret, p->to + (avma - p->avma), sizeof(*ret));
		return true;
	}
	return false;
}

/* In the code of the page, when the kernel has said the address: it is on the stack. */
static void asked_put_back(const struct sw_capture_space *space, size_t thread,
			   struct sw_regs *regs)
{
	const uint64_t at = regs->pc_avma - space->returns->page_avma;
	uint64_t slot_avma = regs->sp_avma, is_avma;
	if (at == ASKED_AT)
		slot_avma += 2 * sizeof(uint64_t);
	else if (at == ASKED_POPPED)
		slot_avma += sizeof(uint64_t);
	else if (at != ASKED_END)
		return;
	if (!word_of(space, thread, slot_avma, &is_avma))
		return;
	sw_regs_set(regs, SW_ARCH_RA, is_avma);
	sw_regs_set(regs, SW_ARCH_SP, slot_avma + sizeof(uint64_t));
}

static bool is_pushed(uint64_t bytes, unsigned least, unsigned most, unsigned word_bytes)
{
	return bytes >= (uint64_t) least * word_bytes && bytes <= (uint64_t) most * word_bytes;
}

/* Where the thread would be without the kernel's help: on its way, or back where it returns to. */
static void registers_put_back(const struct sw_capture_space *space,
			       const struct sw_iterate_return *mine, size_t n, unsigned word_bytes,
			       size_t thread)
{
	const struct sw_returns *r = space->returns;
	struct sw_regs *regs = &space->snap->threads[thread].regs;
	const uint64_t pc = regs->pc_avma, sp = regs->sp_avma;
	const struct sw_iterate_return *found = NULL;
	unsigned most;
	const int least = pushed_words(pc - r->page_avma, &most);
	for (size_t i = 0; i < n; i++) {
		const struct sw_iterate_return *m = &mine[i];
		if (m->what == SW_ITERATE_STEP) {
			if (pc - m->at_avma <= INSN_MAX) {
				sw_regs_set(regs, SW_ARCH_RA, m->is_avma + (pc - m->at_avma));
				return;
			}
		} else if (least >= 0 && m->is_avma != r->page_avma &&
			   is_pushed(m->at_avma + word_bytes - sp, (unsigned) least, most,
				     word_bytes) &&
			   (found == NULL || m->at_avma < found->at_avma)) {
			found = m;
		}
	}
	if (found != NULL) {
		sw_regs_set(regs, SW_ARCH_RA, found->is_avma);
		sw_regs_set(regs, SW_ARCH_SP, found->at_avma + word_bytes);
	} else if (word_bytes == sizeof(uint64_t)) {
		asked_put_back(space, thread, regs);
	}
}

/* The return addresses are put back in the registers of the threads that are taken; those of other
 * threads are dropped. */
static void threads_put_back(struct sw_returns *r, const struct sw_capture_space *space,
			     unsigned word_bytes)
{
	const struct sw_stop *stop = space->stop;
	qsort(r->all, r->n, sizeof(*r->all), by_thread);
	for (size_t i = 0; i < stop->n; i++) {
		const struct sw_iterate_return key = {.tid = (uint32_t) stop->tracees[i].tid};
		size_t first = first_of(r->all, r->n, &key, by_thread), end = first;
		while (end < r->n && r->all[end].tid == key.tid)
			end++;
		if (stop->tracees[i].has_regs && (space->chosen == NULL || space->chosen[i]))
			registers_put_back(space, &r->all[first], end - first, word_bytes, i);
		else
			for (size_t k = first; k < end; k++)
				r->all[k].what = SW_ITERATE_STEP; /* not looked for in stacks */
	}
}

/* The return addresses in a copy of [avma, avma + bytes) are put back. */
static void copy_put_back(const struct sw_returns *r, uint64_t avma, uint8_t *to, size_t bytes,
			  unsigned word_bytes)
{
	const struct sw_iterate_return key = {.at_avma = avma};
	for (size_t i = first_of(r->all, r->n, &key, by_place);
	     i < r->n && r->all[i].at_avma - avma < bytes; i++) {
		const struct sw_iterate_return *m = &r->all[i];
		uint8_t *word = to + (m->at_avma - avma);
		uint64_t now = 0;
		if (m->what != SW_ITERATE_RETURN || bytes - (m->at_avma - avma) < word_bytes)
			continue;
		memcpy(&now, word, word_bytes); /* as any number of this machine's */
		/* Not by the page's own: a place with the returns of two has another entry. */
		if (now == r->page_avma && m->is_avma != r->page_avma)
			memcpy(word, &m->is_avma, word_bytes);
	}
}

void sw_returns_put_back(struct sw_capture_space *space)
{
	struct sw_returns *r = space->returns;
	if (r == NULL)
		return;
	sw_close_p(&r->fd);
	if (!r->told)
		return;
	const struct sw_snapshot *snap = space->snap;
	unsigned word_bytes = space->stop->is_32bit ? sizeof(uint32_t) : sizeof(uint64_t);
	threads_put_back(r, space, word_bytes);
	qsort(r->all, r->n, sizeof(*r->all), by_place);
	for (size_t i = space->first; i < space->n_parts; i++) {
		const struct sw_capture_part *p = &space->parts[i];
		if (p->bytes > 0 && !p->wait)
			copy_put_back(r, p->avma, p->to, p->bytes, word_bytes);
	}
	/* Copies of hooks lie in memory of ours. */
	for (size_t i = 0; i < snap->n_ranges && !space->only_rest; i++)
		copy_put_back(r, snap->ranges[i].start_avma,
			      snap->priv->pool + (snap->ranges[i].data - snap->priv->pool),
			      snap->ranges[i].bytes, word_bytes);
}
