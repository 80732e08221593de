/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All goroutines, by the runtime's own list of them. A goroutine that no thread runs goes on where sched in
 * its g says; what it did last has put there its stack pointer and where it goes on: behind a call, mostly.
 */
#include "runtimes/go/goroutines.h"
#include "arch/arch.h"
#include "arena.h"
#include "map.h"
#include "runtimes/go/list.h"
#include "runtimes/go/names.h"
#include "runtimes/go/stacks.h"
#include "runtimes/go/step.h"
#include "runtimes/go/window.h"
#include "snapshot/module.h"

#include <snapwalk/clock.h>

#include <stdio.h>
#include <stdlib.h>

enum {
	/* In g, from the status on. */
	GOID = 8,
	WAITSINCE = 24,
	WAITREASON = 32,
	CREATED_MAX = 1 << 16, /* go statements whose place is looked up */
	LISTS_MAX = SW_GO_MODULES_MAX,
};

/* The goroutines of one runtime. */
struct list {
	const struct sw_go_module *module;
	struct sw_go_layout layout;
	uint64_t pointers_avma;
	size_t n;
};

/* Which thread has an m. */
struct of_m {
	uint64_t m_avma;
	pid_t tid;
};

struct created {
	const char *function, *file; /* the arena's; NULL: unknown */
	uint32_t line;
};

struct sw_go_goroutines {
	struct list lists[LISTS_MAX];
	size_t n_lists, n;
	struct of_m *threads; /* owned */
	size_t n_threads;
	int64_t now_ns; /* of the monotonic clock, as in the process; 0: unknown */
	bool torn;      /* they were copied while threads ran */
	struct sw_arena arena;
	struct sw_map64 by_pc; /* -> index into created */
	struct created *created;
	size_t n_created, created_capacity;
	char reasons[LISTS_MAX][SW_GO_REASONS_MAX][SW_GO_REASON_BYTES_MAX];
	bool reason_asked[LISTS_MAX][SW_GO_REASONS_MAX];
	char why[256];
};

/* ---- the lists ------------------------------------------------------------------------------- */

static void why_add(struct sw_go_goroutines *all, const char *fmt, size_t a, size_t b)
{
	size_t used = strlen(all->why);
	char text[128];
	(void) snprintf(text, sizeof(text), fmt, a, b);
	(void) snprintf(all->why + used, sizeof(all->why) - used, "%s%s", used > 0 ? "; " : "",
			text); /* cut to fit */
}

static void list_add(struct sw_go *go, const struct sw_go_module *module)
{
	struct sw_go_goroutines *all = go->goroutines;
	struct list *list = &all->lists[all->n_lists];
	const struct sw_elf *elf = sw_module_elf(module->place->module);
	uint64_t n, bias = module->place->bias;
	*list = (struct list){.module = module};
	if (elf == NULL || !sw_go_layout_read(elf, &module->image, &list->layout) ||
	    !sw_memory_u64(go->memory, list->layout.length_svma + bias, &n) ||
	    !sw_memory_u64(go->memory, list->layout.list_svma + bias, &list->pointers_avma)) {
		why_add(all, "where a Go runtime has its goroutines was not found", 0, 0);
		return;
	}
	if (n > SW_GO_LIST_MAX)
		why_add(all, "of %zu goroutines only the first %zu were looked at", (size_t) n,
			(size_t) SW_GO_LIST_MAX);
	list->n = n < SW_GO_LIST_MAX ? (size_t) n : SW_GO_LIST_MAX;
	all->n += list->n;
	all->n_lists++;
}

static void threads_find(struct sw_go *go)
{
	struct sw_go_goroutines *all = go->goroutines;
	const struct sw_snapshot *snap = go->snap;
	all->threads = calloc(snap->n_threads * go->modules.n + 1, sizeof(*all->threads));
	for (size_t k = 0; all->threads != NULL && k < go->modules.n; k++)
		for (size_t i = 0; i < snap->n_threads; i++) {
			const struct sw_thread *t = &snap->threads[i];
			struct sw_go_thread stacks;
			uint64_t slot;
			if (!t->captured ||
			    (go->window != NULL && !sw_go_window_fits(go->window, t)) ||
			    !sw_go_tls_slot(&go->modules.all[k], go->memory, t->fs_base, &slot) ||
			    !sw_go_thread_read(&go->modules.all[k], go->memory, slot, &stacks))
				continue;
			all->threads[all->n_threads++] = (struct of_m){stacks.g0.m_avma, t->tid};
		}
}

size_t sw_go_goroutines(struct sw_go *go, const char **ret_why)
{
	struct sw_go_goroutines *all = calloc(1, sizeof(*all));
	*ret_why = "out of memory";
	if (all == NULL)
		return 0;
	go->goroutines = all;
	all->now_ns = go->snap->live ? sw_clock_ns() : 0;
	all->torn = go->snap->live &&
		    (go->window == NULL || !go->window->whole || go->snap->priv->hooks_torn);
	for (size_t i = 0; i < go->modules.n; i++)
		list_add(go, &go->modules.all[i]);
	threads_find(go);
	*ret_why = all->why[0] != '\0' ? all->why : NULL;
	return all->n;
}

void sw_go_goroutines_destroy(struct sw_go_goroutines *all)
{
	if (all == NULL)
		return;
	sw_arena_deinit(&all->arena);
	sw_map64_deinit(&all->by_pc);
	free(all->threads);
	free(all->created);
	free(all);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static uint64_t word_of(const uint8_t *g, uint64_t off)
{
	uint64_t word;
	memcpy(&word, g + off, sizeof(word));
	return word;
}

static const char *state_name(uint32_t status)
{
	switch (status & ~(uint32_t) SW_GO_SCAN) {
	case SW_GO_RUNNABLE: return "runnable";
	case SW_GO_RUNNING: return "running";
	case SW_GO_SYSCALL: return "syscall";
	case SW_GO_WAITING: return "waiting";
	case SW_GO_COPYSTACK: return "copystack";
	case SW_GO_PREEMPTED: return "preempted";
	case SW_GO_LEAKED: return "leaked";
	default: return "unknown";
	}
}

static const char *reason_name(struct sw_go_goroutines *all, size_t list, uint8_t reason)
{
	const struct list *l = &all->lists[list];
	if (reason >= SW_GO_REASONS_MAX)
		return NULL;
	char *text = all->reasons[list][reason];
	if (!all->reason_asked[list][reason]) {
		all->reason_asked[list][reason] = true;
		if (!sw_go_reason(sw_module_elf(l->module->place->module), &l->layout, reason,
				  text))
			text[0] = '\0';
	}
	return text[0] != '\0' ? text : NULL;
}

static struct created created_look(struct sw_go *go, uint64_t pc)
{
	static const struct created unknown;
	struct sw_go_goroutines *all = go->goroutines;
	struct sw_description *d = malloc(sizeof(*d));
	const struct sw_frame frame = {.pc_avma = pc, .place = sw_snapshot_place(go->snap, pc - 1)};
	struct created found = unknown;
	if (d != NULL)
		*d = (struct sw_description){0};
	if (d != NULL && sw_go_describe(go, &frame, SW_GO_OUTERMOST, d) == 1) {
		found.function = sw_arena_strdup(&all->arena, d->function);
		found.file = d->file[0] != '\0' ? sw_arena_strdup(&all->arena, d->file) : NULL;
		found.line = d->line;
	}
	free(d);
	return found;
}

/* The place of a go statement, which many goroutines have in common. */
static struct created created_by(struct sw_go *go, uint64_t pc)
{
	static const struct created unknown;
	struct sw_go_goroutines *all = go->goroutines;
	uint64_t index;
	if (pc == 0)
		return unknown;
	if (sw_map64_get(&all->by_pc, pc, &index))
		return all->created[index];
	if (all->n_created == CREATED_MAX)
		return unknown;
	struct created *grown =
		sw_grow(all->created, all->n_created, &all->created_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return unknown;
	all->created = grown;
	if (sw_map64_put(&all->by_pc, pc, all->n_created) < 0)
		return unknown;
	all->created[all->n_created] = created_look(go, pc);
	return all->created[all->n_created++];
}

static void info_fill(struct sw_go *go, size_t list, const uint8_t *g, uint32_t status,
		      struct sw_goroutine *ret)
{
	struct sw_go_goroutines *all = go->goroutines;
	const struct sw_go_layout *l = &all->lists[list].layout;
	bool waits = (status & ~(uint32_t) SW_GO_SCAN) == SW_GO_WAITING;
	int64_t since = (int64_t) word_of(g, l->status_off + WAITSINCE);
	*ret = (struct sw_goroutine){.id = word_of(g, l->status_off + GOID),
				     .state = state_name(status),
				     .scanned = status & SW_GO_SCAN,
				     .since_ns = -1};
	if (waits)
		ret->wait_reason = reason_name(all, list, g[l->status_off + WAITREASON]);
	if (since > 0 && since <= all->now_ns)
		ret->since_ns = all->now_ns - since;
	/* The first one was made before there was Go code to make it. */
	if (l->created_off != 0 && ret->id != 1) {
		struct created c = created_by(go, word_of(g, l->created_off));
		ret->created_by = c.function;
		ret->created_file = c.file;
		ret->created_line = c.line;
	}
	if (l->has_parent && ret->id != 1)
		ret->created_by_id = word_of(g, l->created_off - 8);
	uint64_t m = word_of(g, 8 * SW_GO_G_M);
	for (size_t i = 0; m != 0 && i < all->n_threads && ret->tid == 0; i++)
		if (all->threads[i].m_avma == m)
			ret->tid = all->threads[i].tid;
}

/* sched counts only if it is of this stack and of Go's code. */
static void stack_fill(struct sw_go *go, const struct sw_go_stack *s,
		       struct sw_runtime_goroutine *ret)
{
	uint64_t sp = s->sched_sp_avma, pc = s->sched_pc_avma;
	struct sw_go_func func;
	struct sw_thread *t = &ret->stack;
	*t = (struct sw_thread){.state = '?',
				.stack_avma = s->low_avma,
				.stack_end_avma = s->high_avma,
				.syscall = -1,
				.cpu_ns = -1,
				.stop_ns = -1,
				.since_ns = -1};
	const struct sw_go_module *m = sw_go_module_at(go, sw_snapshot_place(go->snap, pc), pc);
	if (s->high_avma == 0 || sp < s->low_avma || sp >= s->high_avma || sp % 8 != 0 ||
	    m == NULL || !sw_go_image_func(&m->image, pc - m->place->bias, &func))
		return;
	sw_regs_set(&t->regs, SW_ARCH_SP, sp);
	sw_regs_set(&t->regs, SW_ARCH_RA, pc);
	ret->exact_pc = pc - m->place->bias == m->image.text_svma + func.start_off;
}

bool sw_go_goroutine(struct sw_go *go, size_t n, struct sw_runtime_goroutine *ret)
{
	struct sw_go_goroutines *all = go->goroutines;
	uint8_t g[SW_GO_G_BYTES_MAX] = {0};
	uint64_t words[SW_GO_G_WORDS], g_avma;
	uint32_t status;
	size_t k = 0, live = go->source.live_reads;
	while (k < all->n_lists && n >= all->lists[k].n)
		n -= all->lists[k++].n;
	if (k == all->n_lists)
		return false;
	const struct list *list = &all->lists[k];
	/* A goroutine that cannot be read has no stack: it is missing in the result, and not
	 * gone. */
	if (!sw_memory_u64(go->memory, list->pointers_avma + 8 * n, &g_avma) || g_avma == 0 ||
	    g_avma % 8 != 0 || !sw_memory_read(go->memory, g_avma, g, list->layout.g_bytes))
		return true;
	memcpy(&status, g + list->layout.status_off, sizeof(status));
	if (!sw_go_status_is_alive(status))
		return false;
	memcpy(words, g, sizeof(words));
	go->parked_stack = sw_go_g_parse(g_avma, words);
	info_fill(go, k, g, status, &ret->info);
	stack_fill(go, &go->parked_stack, ret);
	ret->runs = (status & ~(uint32_t) SW_GO_SCAN) == SW_GO_RUNNING;
	ret->live_read = all->torn || go->source.live_reads != live;
	go->parked = &ret->stack;
	go->thread = NULL;
	return true;
}
