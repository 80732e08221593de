/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that runs an async method has its box on its stack. A thousand threads that wait for
 * something else each have a hundred words that are objects, too: these are looked at, and not kept; only boxes are.
 *
 * Stacks, and then the objects to which their words lead, are fetched for some threads together: a turn for each page would
 * take several times as long.
 */
#include "runtimes/clr/objects/awaits_touch.h"
#include "map.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/chain.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	CHUNK_WORDS = 64,
	PAGE_SHIFT = 12,
	PAGE_BYTES = 1 << PAGE_SHIFT,
	TOGETHER = 64, /* threads whose stacks are fetched in one turn */
};

/* The thread whose stack is looked at. */
struct taking {
	uint32_t index;  /* in snap->threads */
	bool has_handle; /* its stack leads to a SafeWaitHandle */
	bool unlisted;   /* there is no space for all of its words */
};

/* Threads that are looked at together. */
struct group {
	struct sw_clr_tasks_touching *w;
	uint32_t all[TOGETHER];
	size_t n;
	size_t bytes; /* of each stack, at most, from the stack pointer on */
	/* The first ones have their words that may be objects in w->words, up to these indices. */
	size_t ends[TOGETHER], n_listed;
};

/* Asked once for each page. */
static size_t page_look(struct sw_clr_tasks_touching *w, uint64_t page)
{
	size_t i = (size_t) (page ^ page >> 12) % SW_CLR_VERDICTS;
	if (w->verdicts[i].page == page)
		return i;
	const struct sw_map *map = sw_snapshot_map(w->snap, page << PAGE_SHIFT);
	w->verdicts[i].page = page;
	w->verdicts[i].fetched = false;
	w->verdicts[i].objects = sw_clr_may_be_object(&w->graph, page << PAGE_SHIFT);
	w->verdicts[i].classes = map != NULL && map->prot & SW_MAP_READ;
	return i;
}

static bool may_be_object(struct sw_clr_tasks_touching *w, uint64_t word)
{
	return word >> PAGE_SHIFT != 0 && word % 8 == 0 &&
	       w->verdicts[page_look(w, word >> PAGE_SHIFT)].objects;
}

static bool may_be_class(struct sw_clr_tasks_touching *w, uint64_t word)
{
	return word >> PAGE_SHIFT != 0 && w->verdicts[page_look(w, word >> PAGE_SHIFT)].classes;
}

/* The node, which is added where it is missing (*ret_new); NULL: there is no space. */
static struct sw_clr_node *node_get(struct sw_clr_graph *g, uint64_t avma, bool *ret_new)
{
	size_t i = (size_t) sw_mix64(avma) % SW_CLR_NODE_SLOTS;
	while (g->seen[i] != 0 && g->nodes[g->seen[i] - 1].avma != avma)
		i = (i + 1) % SW_CLR_NODE_SLOTS;
	*ret_new = g->seen[i] == 0;
	if (g->seen[i] != 0)
		return &g->nodes[g->seen[i] - 1];
	if (g->n == SW_CLR_NODES_MAX) {
		g->incomplete = true;
		return NULL;
	}
	g->nodes[g->n] = (struct sw_clr_node){.avma = avma, .kind = SW_CLR_OTHER};
	g->seen[i] = (uint32_t) ++g->n;
	return &g->nodes[g->n - 1];
}

/* The kind of an object's class. Only the libraries that are known have such: nothing more is read of other classes. */
static unsigned kind_of(struct sw_clr_tasks_touching *w, uint64_t object)
{
	struct sw_memory m = w->looks;
	uint64_t table, module;
	if (!sw_memory_u64(m, object, &table))
		return SW_CLR_OTHER;
	table &= ~(uint64_t) SW_CLR_TABLE_UNMASK;
	size_t i = (size_t) sw_mix64(table) % SW_CLR_VERDICTS;
	if (w->tables[i].avma != table) {
		w->tables[i].avma = table;
		w->tables[i].kind = SW_CLR_OTHER;
		if (!may_be_class(w, table) ||
		    (module = sw_clr_table_module(w->at, m, table)) == 0 ||
		    (module != w->at->library_avma &&
		     module != w->at->parts[SW_CLR_THREADING].avma))
			return SW_CLR_OTHER;
		const struct sw_clr_class *c = sw_clr_class_get(w->at, &w->classes, table);
		w->tables[i].kind = c != NULL ? c->kind : SW_CLR_OTHER;
	}
	return w->tables[i].kind;
}

static bool is_box(struct sw_clr_tasks_touching *w, uint64_t object)
{
	return sw_clr_kind_is_box(kind_of(w, object));
}

static void box_add(struct sw_clr_tasks_touching *w, uint64_t avma)
{
	bool is_new;
	struct sw_clr_node *node = node_get(&w->graph, avma, &is_new);
	if (node != NULL && is_new) /* else its turn comes, or was */
		node->kind = SW_CLR_BOX;
}

/* The object itself, and with any the boxes that its fields lead to. */
static void object_read(struct sw_clr_tasks_touching *w, uint64_t avma, bool any)
{
	struct sw_clr_graph *g = &w->graph;
	const struct sw_clr_class *c = sw_clr_class_of(w->at, &w->classes, g->memory, avma);
	uint64_t words[CHUNK_WORDS], bytes = c != NULL ? c->base_bytes - 2 * SW_CLR_OBJECT_HEAD : 0;
	g->incomplete |= bytes > SW_CLR_SCAN_BYTES;
	bytes = bytes > SW_CLR_SCAN_BYTES ? SW_CLR_SCAN_BYTES : bytes & ~UINT64_C(7);
	for (uint64_t at = 0; at < bytes; at += sizeof(words)) {
		size_t n = bytes - at < sizeof(words) ? (size_t) (bytes - at) : sizeof(words);
		if (!sw_clr_read(g->memory, avma, SW_CLR_OBJECT_HEAD + at, words, n))
			return;
		for (size_t i = 0; any && i < n / 8; i++) {
			if (may_be_object(w, words[i]) && is_box(w, words[i]))
				box_add(w, words[i]);
		}
	}
}

/* The box's awaiter is found, and all that is read of it afterwards is copied. */
static void box_follow(struct sw_clr_tasks_touching *w, const struct sw_clr_chain *chain,
		       uint64_t box)
{
	uint64_t table, fields, next;
	bool forks;
	if (!sw_clr_box_pending(chain, box))
		return;
	next = sw_clr_chain_next(chain, box, &forks);
	if (next != 0)
		box_add(w, next);
	/* An iterator has its caller among its fields. */
	object_read(w, box, next == 0);
	if (sw_clr_machine_find(chain, box, &table, &fields) &&
	    (fields < box || fields - box > SW_CLR_SCAN_BYTES)) /* an object of its own */
		object_read(w, fields - SW_CLR_OBJECT_HEAD, next == 0);
}

/* An object that may be what the thread waits for. */
static void waited_take(struct sw_clr_tasks_touching *w, uint64_t avma, unsigned kind,
			struct taking *t)
{
	switch (kind) {
	case SW_CLR_RWLOCK_SLIM:
	case SW_CLR_RWLOCK:
	case SW_CLR_THREAD: object_read(w, avma, false); break;
	case SW_CLR_WAIT_HANDLE: t->has_handle = true; break;
	default: break;
	}
}

static void word_take(struct sw_clr_tasks_touching *w, uint64_t word, struct taking *t)
{
	bool is_new;
	struct sw_clr_node *node =
		may_be_object(w, word) ? node_get(&w->graph, word, &is_new) : NULL;
	if (node == NULL)
		return;
	if (is_new) {
		node->kind = (uint8_t) kind_of(w, word);
		node->thread = t->index;
	}
	/* A thread has its own System.Threading.Thread on its stack, which is not copied: only those that lie on the stacks
	 * of several threads. */
	if (node->kind == SW_CLR_THREAD ? node->thread != t->index
					: is_new || node->kind == SW_CLR_WAIT_HANDLE)
		waited_take(w, word, node->kind, t);
}

static void waited_look(struct sw_clr_tasks_touching *w, uint64_t word, struct taking *t)
{
	if (may_be_object(w, word))
		waited_take(w, word, kind_of(w, word), t);
}

/* The part of a thread's stack that is looked at; of no bytes where its registers are not known. */
static void stack_of(const struct sw_thread *thread, size_t bytes, uint64_t *ret_avma,
		     uint64_t *ret_end_avma)
{
	uint64_t at = thread->regs.sp_avma & ~UINT64_C(7), end;
	if (__builtin_add_overflow(at, bytes, &end) || end > thread->stack_end_avma)
		end = thread->stack_end_avma & ~UINT64_C(7);
	*ret_avma = at;
	*ret_end_avma = end;
}

/* Up to the end of a page: the next one may not be there. */
static size_t chunk_bytes(uint64_t at, uint64_t end)
{
	size_t n = CHUNK_WORDS * sizeof(uint64_t), page = PAGE_BYTES - at % PAGE_BYTES;
	n = n < page ? n : page;
	return end - at < n ? (size_t) (end - at) : n;
}

/* Calls each for the words of a stack, up to so many bytes, as far as there is time. */
static void stack_take(struct sw_clr_tasks_touching *w, struct taking *t, size_t bytes,
		       void (*each)(struct sw_clr_tasks_touching *w, uint64_t word,
				    struct taking *t))
{
	uint64_t words[CHUNK_WORDS], at, end;
	stack_of(&w->snap->threads[t->index], bytes, &at, &end);
	for (size_t n; at < end; at += n) {
		n = chunk_bytes(at, end);
		w->cut |= sw_clock_ns() >= w->end_ns;
		if (w->cut || !sw_memory_read(w->looks, at, words, n))
			return;
		for (size_t i = 0; i < n / 8; i++)
			each(w, words[i], t);
	}
}

/* Reads the mutex that a thread waits for. */
static void mutex_take(struct sw_clr_tasks_touching *w, uint64_t word, struct taking *t)
{
	uint64_t data;
	uint32_t owner;
	(void) t;
	if (!may_be_class(w, word) || sw_clr_pal_thread(w->pal, w->looks, word) == 0)
		return;
	(void) sw_clr_pal_thread(w->pal, w->memory, word);
	(void) sw_clr_pal_mutex(w->pal, w->memory, word, &data, &owner);
}

/* ---- what is fetched in one turn ---------------------------------------------------------------- */

static void stacks_fetch(const struct group *g)
{
	struct sw_memory m = g->w->memory;
	uint64_t at, end;
	uint8_t byte;
	for (size_t i = 0; i < g->n; i++) {
		stack_of(&g->w->snap->threads[g->all[i]], g->bytes, &at, &end);
		for (; at < end; at = (at | (PAGE_BYTES - 1)) + 1) {
			(void) m.ops->part(m.arg);
			(void) sw_memory_look(m, at, &byte, 1); /* missed, or there */
		}
	}
	(void) m.ops->fetch(m.arg); /* what does not come is not looked at */
}

/* Fetches the page of an address, once. */
static void page_fetch(struct sw_clr_tasks_touching *w, uint64_t avma)
{
	struct sw_memory m = w->memory;
	size_t i = page_look(w, avma >> PAGE_SHIFT);
	uint8_t byte;
	if (w->verdicts[i].fetched)
		return;
	w->verdicts[i].fetched = true;
	(void) m.ops->part(m.arg);
	(void) sw_memory_look(m, avma, &byte, sizeof(byte)); /* missed, or there */
	(void) m.ops->part(m.arg);
}

/* Lists the word, and fetches what it leads to. */
static void head_fetch(struct sw_clr_tasks_touching *w, uint64_t word, struct taking *t)
{
	if (!may_be_object(w, word))
		return;
	t->unlisted |= w->n_words == SW_CLR_WORDS_MAX;
	if (!t->unlisted)
		w->words[w->n_words++] = word;
	page_fetch(w, word);
}

static void heads_fetch(struct group *g)
{
	struct sw_memory m = g->w->memory;
	(void) m.ops->part(m.arg);
	for (size_t i = 0; i < g->n; i++) {
		struct taking t = {.index = g->all[i]};
		stack_take(g->w, &t, g->bytes, head_fetch);
		if (t.unlisted || g->n_listed < i)
			continue;
		g->ends[i] = g->w->n_words;
		g->n_listed = i + 1;
	}
	(void) m.ops->fetch(m.arg);
}

/* The classes of the objects. */
static void tables_fetch(struct sw_clr_tasks_touching *w)
{
	struct sw_memory m = w->memory;
	uint64_t table;
	for (size_t i = 0; i < w->n_words; i++) {
		(void) m.ops->part(m.arg);
		if (!sw_memory_look(m, w->words[i], &table, sizeof(table)))
			continue;
		table &= ~(uint64_t) SW_CLR_TABLE_UNMASK;
		if (may_be_class(w, table))
			page_fetch(w, table);
	}
	(void) m.ops->fetch(m.arg);
}

static void group_fetch(struct group *g)
{
	g->n_listed = g->w->n_words = 0;
	if (g->w->memory.ops->part == NULL)
		return;
	stacks_fetch(g);
	heads_fetch(g);
	tables_fetch(g->w);
}

/* Calls each for the words of a thread's stack that may be objects, or for all of them. */
static void words_take(const struct group *g, size_t i, struct taking *t,
		       void (*each)(struct sw_clr_tasks_touching *w, uint64_t word,
				    struct taking *t))
{
	if (i >= g->n_listed) {
		stack_take(g->w, t, g->bytes, each);
		return;
	}
	for (size_t k = i > 0 ? g->ends[i - 1] : 0; k < g->ends[i]; k++)
		each(g->w, g->w->words[k], t);
}

void sw_clr_stacks_fetch(struct sw_clr_tasks_touching *w)
{
	struct group g = {.w = w, .bytes = SW_CLR_ROOT_STACK_BYTES};
	for (size_t i = 0; i < w->snap->n_threads; i++) {
		if (w->snap->threads[i].stack_end_avma != 0)
			g.all[g.n++] = (uint32_t) i;
		if (g.n == TOGETHER || i + 1 == w->snap->n_threads) {
			if (w->memory.ops->part != NULL)
				stacks_fetch(&g);
			g.n = 0;
		}
	}
}

/* ---- threads ------------------------------------------------------------------------------------ */

/* Threads that run, and workers of the thread pool, run async methods more often than others. */
static bool comes_first(const struct sw_thread *t)
{
	return t->state == 'R' || strcmp(t->comm, ".NET TP Worker") == 0;
}

static bool go_on(const struct sw_clr_tasks_touching *w)
{
	return w->graph.n < SW_CLR_NODES_MAX && sw_clock_ns() < w->end_ns;
}

/* The thread with all that its stack leads to, so that what there is time for is whole. */
static void thread_take(const struct group *group, const struct sw_clr_chain *chain, size_t i,
			size_t *looked)
{
	struct sw_clr_tasks_touching *w = group->w;
	struct sw_clr_graph *g = &w->graph;
	const struct sw_thread *thread = &w->snap->threads[group->all[i]];
	struct taking t = {.index = group->all[i]};
	for (unsigned r = 0; r < SW_REGS_MAX && r < 32; r++)
		if (thread->regs.known >> r & 1)
			word_take(w, thread->regs.val[r], &t);
	words_take(group, i, &t, word_take);
	if (t.has_handle && thread->syscall == SYS_futex)
		stack_take(w, &t, SW_CLR_PAL_STACK_BYTES, mutex_take);
	for (; *looked < g->n && go_on(w); ++*looked)
		if (sw_clr_kind_is_box(g->nodes[*looked].kind))
			box_follow(w, chain, g->nodes[*looked].avma);
}

static void group_take(struct group *g, const struct sw_clr_chain *chain, size_t *looked)
{
	group_fetch(g);
	for (size_t i = 0; i < g->n && go_on(g->w); i++)
		thread_take(g, chain, i, looked);
	g->n = 0;
}

void sw_clr_awaits_touch(struct sw_clr_tasks_touching *w)
{
	const struct sw_snapshot *snap = w->snap;
	struct sw_clr_chain chain = {.at = w->at, .classes = &w->classes, .memory = w->memory};
	struct group g = {.w = w, .bytes = SW_CLR_ROOT_STACK_BYTES};
	size_t looked = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < snap->n_threads && go_on(w); i++) {
			if (snap->threads[i].stack_end_avma == 0 ||
			    comes_first(&snap->threads[i]) != (pass == 0))
				continue;
			g.all[g.n++] = (uint32_t) i;
			if (g.n == TOGETHER)
				group_take(&g, &chain, &looked);
		}
	group_take(&g, &chain, &looked);
	w->cut |= !go_on(w);
}

static void group_waited_take(struct group *g)
{
	struct sw_clr_tasks_touching *w = g->w;
	group_fetch(g);
	for (size_t i = 0; i < g->n && !w->cut; i++) {
		struct taking t = {.index = g->all[i]};
		words_take(g, i, &t, waited_look);
		if (t.has_handle)
			stack_take(w, &t, SW_CLR_PAL_STACK_BYTES, mutex_take);
	}
	g->n = 0;
}

void sw_clr_waited_touch(struct sw_clr_tasks_touching *w)
{
	const struct sw_snapshot *snap = w->snap;
	struct group g = {.w = w, .bytes = SW_CLR_WAITED_STACK_BYTES};
	for (size_t i = 0; i < snap->n_threads && !w->cut; i++) {
		if (snap->threads[i].stack_end_avma == 0 || snap->threads[i].syscall != SYS_futex)
			continue;
		g.all[g.n++] = (uint32_t) i;
		if (g.n == TOGETHER)
			group_waited_take(&g);
	}
	group_waited_take(&g);
}
