/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that runs an async method has its box on its stack. A thousand threads that wait for
 * something else each have a hundred words that are objects, too: they are read a page at a time,
 * and not kept; only boxes are copied. In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/clr/objects/awaits_window.h"
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
};

/* The thread whose stack is looked at. */
struct taking {
	uint32_t index;  /* in snap->threads */
	bool has_handle; /* its stack leads to a SafeWaitHandle */
	int64_t end_ns;
};

static bool go_on(const struct sw_clr_tasks_window *w, int64_t end_ns)
{
	return sw_clr_tasks_go_on((void *) w) && sw_clock_ns() < end_ns;
}

static bool plain_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return sw_capture_read(arg, avma, buffer, length);
}

/* Asked once for each page. */
static size_t page_look(struct sw_clr_tasks_window *w, uint64_t page)
{
	size_t i = (size_t) (page ^ page >> 12) % SW_CLR_VERDICTS;
	if (w->verdicts[i].page == page)
		return i;
	const struct sw_map *map = sw_snapshot_map(w->capture->snap, page << PAGE_SHIFT);
	w->verdicts[i].page = page;
	w->verdicts[i].objects = sw_clr_may_be_object(&w->graph, page << PAGE_SHIFT);
	w->verdicts[i].classes = map != NULL && map->prot & SW_MAP_READ;
	return i;
}

static bool may_be_object(struct sw_clr_tasks_window *w, uint64_t word)
{
	return word >> PAGE_SHIFT != 0 && word % 8 == 0 &&
	       w->verdicts[page_look(w, word >> PAGE_SHIFT)].objects;
}

static bool may_be_class(struct sw_clr_tasks_window *w, uint64_t word)
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
static unsigned kind_of(struct sw_clr_tasks_window *w, uint64_t object)
{
	struct sw_memory m = sw_memory_by_blocks(&w->reads);
	uint64_t table, module;
	if (!sw_memory_u64(m, object, &table))
		return SW_CLR_OTHER;
	table &= ~(uint64_t) SW_CLR_TABLE_UNMASK;
	size_t i = (size_t) sw_mix64(table) % SW_CLR_VERDICTS;
	if (w->tables[i].avma != table) {
		w->tables[i].avma = table;
		w->tables[i].kind = SW_CLR_OTHER;
		if (!may_be_class(w, table) ||
		    (module = sw_clr_table_module(&w->at, m, table)) == 0 ||
		    (module != w->at.library_avma && module != w->at.parts[SW_CLR_THREADING].avma))
			return SW_CLR_OTHER;
		const struct sw_clr_class *c = sw_clr_class_get(&w->at, &w->classes, table);
		w->tables[i].kind = c != NULL ? c->kind : SW_CLR_OTHER;
	}
	return w->tables[i].kind;
}

static bool is_box(struct sw_clr_tasks_window *w, uint64_t object)
{
	return sw_clr_kind_is_box(kind_of(w, object));
}

static void box_add(struct sw_clr_tasks_window *w, uint64_t avma)
{
	bool is_new;
	struct sw_clr_node *node = node_get(&w->graph, avma, &is_new);
	if (node != NULL && is_new) /* else its turn comes, or was */
		node->kind = SW_CLR_BOX;
}

/* The object itself, and with any the boxes that its fields lead to. */
static void object_read(struct sw_clr_tasks_window *w, uint64_t avma, bool any)
{
	struct sw_clr_graph *g = &w->graph;
	const struct sw_clr_class *c = sw_clr_class_of(&w->at, &w->classes, g->memory, avma);
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
static void box_follow(struct sw_clr_tasks_window *w, const struct sw_clr_chain *chain,
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
static void waited_take(struct sw_clr_tasks_window *w, uint64_t avma, unsigned kind,
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

static void word_take(struct sw_clr_tasks_window *w, uint64_t word, struct taking *t)
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

static void waited_look(struct sw_clr_tasks_window *w, uint64_t word, struct taking *t)
{
	if (may_be_object(w, word))
		waited_take(w, word, kind_of(w, word), t);
}

/* each() for the words of a stack, up to so many bytes, as far as there is time. */
static void stack_take(struct sw_clr_tasks_window *w, struct taking *t, size_t bytes,
		       void (*each)(struct sw_clr_tasks_window *w, uint64_t word, struct taking *t))
{
	struct sw_memory stacks = sw_clr_tasks_stacks(w);
	const struct sw_thread *thread = &w->capture->snap->threads[t->index];
	uint64_t words[CHUNK_WORDS], at = thread->regs.sp_avma & ~UINT64_C(7), end;
	if (__builtin_add_overflow(at, bytes, &end) || end > thread->stack_end_avma)
		end = thread->stack_end_avma;
	while (at < end) {
		w->cut |= !go_on(w, t->end_ns);
		if (w->cut)
			return;
		size_t n = end - at < sizeof(words) ? (size_t) (end - at) & ~(size_t) 7
						    : sizeof(words);
		/* Copied memory may end anywhere. */
		if (n == 0 || (!sw_memory_read(stacks, at, words, n) &&
			       !sw_memory_read(stacks, at, words, n = sizeof(*words))))
			return;
		for (size_t i = 0; i < n / 8; i++)
			each(w, words[i], t);
		at += n;
	}
}

/* Copies the mutex that a thread waits for. */
static void mutex_take(struct sw_clr_tasks_window *w, uint64_t word, struct taking *t)
{
	uint64_t data;
	uint32_t owner;
	(void) t;
	if (!may_be_class(w, word) ||
	    sw_clr_pal_thread(&w->pal, sw_memory_by_blocks(&w->reads), word) == 0)
		return;
	(void) sw_clr_pal_thread(&w->pal, w->graph.memory, word);
	(void) sw_clr_pal_mutex(&w->pal, w->graph.memory, word, &data, &owner);
}

/* Threads that run, and workers of the thread pool, run async methods more often than others. */
static bool comes_first(const struct sw_thread *t)
{
	return t->state == 'R' || strcmp(t->comm, ".NET TP Worker") == 0;
}

/* Each thread with all that its stack leads to, so that what there is time for is whole. */
static void thread_take(struct sw_clr_tasks_window *w, const struct sw_clr_chain *chain, size_t i,
			size_t *looked, int64_t end_ns)
{
	struct sw_clr_graph *g = &w->graph;
	const struct sw_thread *thread = &w->capture->snap->threads[i];
	struct taking t = {.index = (uint32_t) i, .end_ns = end_ns};
	for (unsigned r = 0; r < SW_REGS_MAX && r < 32; r++)
		if (thread->regs.known >> r & 1)
			word_take(w, thread->regs.val[r], &t);
	stack_take(w, &t, SW_CLR_ROOT_STACK_BYTES, word_take);
	if (t.has_handle && thread->syscall == SYS_futex)
		stack_take(w, &t, SW_CLR_PAL_STACK_BYTES, mutex_take);
	for (; *looked < g->n && go_on(w, end_ns); ++*looked)
		if (sw_clr_kind_is_box(g->nodes[*looked].kind))
			box_follow(w, chain, g->nodes[*looked].avma);
}

/* Nothing is known of the memory of the last window. */
static void reads_begin(struct sw_clr_tasks_window *w)
{
	static const struct sw_memory_ops plain_ops = {.read = plain_read};
	memset(w->verdicts, 0, sizeof(w->verdicts));
	memset(w->tables, 0, sizeof(w->tables));
	for (size_t i = 0; i < SW_CLR_READ_BLOCKS; i++)
		w->blocks[i].avma = 0;
	w->reads =
		(struct sw_memory_blocks){{&plain_ops, w->capture}, w->blocks, SW_CLR_READ_BLOCKS};
	sw_clr_graph_stacks(&w->graph);
}

void sw_clr_awaits_copy(struct sw_clr_tasks_window *w)
{
	const struct sw_snapshot *snap = w->capture->snap;
	struct sw_clr_graph *g = &w->graph;
	struct sw_clr_chain chain = {.at = &w->at, .classes = &w->classes, .memory = g->memory};
	int64_t end_ns = sw_clock_ns() + SW_CLR_AWAITS_NS;
	size_t looked = 0;
	reads_begin(w);
	/* Classes stay where they are, and are read again afterwards. */
	w->classes.memory = sw_memory_by_blocks(&w->reads);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < snap->n_threads && go_on(w, end_ns); i++)
			if (snap->threads[i].stack_end_avma != 0 &&
			    comes_first(&snap->threads[i]) == (pass == 0))
				thread_take(w, &chain, i, &looked, end_ns);
	w->cut |= g->n == SW_CLR_NODES_MAX || !go_on(w, end_ns);
}

void sw_clr_waited_copy(struct sw_clr_tasks_window *w)
{
	const struct sw_snapshot *snap = w->capture->snap;
	int64_t end_ns = sw_clock_ns() + SW_CLR_AWAITS_NS;
	reads_begin(w);
	for (size_t i = 0; i < snap->n_threads && !w->cut; i++) {
		struct taking t = {.index = (uint32_t) i, .end_ns = end_ns};
		if (snap->threads[i].stack_end_avma == 0 || snap->threads[i].syscall != SYS_futex)
			continue;
		stack_take(w, &t, SW_CLR_WAITED_STACK_BYTES, waited_look);
		if (t.has_handle)
			stack_take(w, &t, SW_CLR_PAL_STACK_BYTES, mutex_take);
	}
}
