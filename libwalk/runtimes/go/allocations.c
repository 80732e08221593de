/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The runtime's profile of its heap: a list of buckets, each a head, its stack, and counts of four cycles of collections.
 *
 *	next allnext type hash size nstk | pc * nstk | 4 * (allocs frees alloc_bytes free_bytes)
 *
 * Source: bucket and memRecord in src/runtime/mprof.go, go1.19.8 to go1.25.
 */
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "runtimes/go/find.h"
#include "snapshot/bias.h"
#include "snapshot/live.h"
#include "snapshot/module.h"

#include <snapwalk/allocations.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUCKETS_MAX = 1 << 18,
	PCS_MAX = 1024, /* of one bucket; the runtime has up to 128 */
	SYMBOLS_MAX = 1 << 22,
	HEAD_WORDS = 6,
	CYCLES = 4, /* that which is published, and three to come */
	CYCLE_WORDS = 4,
	MEMORY = 1, /* memProfile of bucketType */
};

struct symbols {
	uint64_t buckets_svma, rate_svma, disabled_svma; /* 0: not found */
};

void sw_allocations_destroy(struct sw_allocations *a)
{
	if (a == NULL)
		return;
	free(a->buckets);
	free(a->pcs);
	free(a);
}

static void symbols_find(const struct sw_elf *elf, struct symbols *ret)
{
	const struct {
		const char *name;
		uint64_t *to;
	} wanted[] = {{"runtime.mbuckets", &ret->buckets_svma},
		      {"runtime.MemProfileRate", &ret->rate_svma},
		      {"runtime.disableMemoryProfiling", &ret->disabled_svma}};
	struct sw_elf_table table;
	Elf64_Sym symbol;
	const char *name;
	*ret = (struct symbols){0};
	if (!sw_elf_table_typed(elf, SHT_SYMTAB, &table))
		return;
	for (uint64_t i = 1; i < SYMBOLS_MAX && sw_elf_symbol_read(&table, i, &symbol); i++) {
		if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
		    !sw_bytes_str(table.strings, symbol.st_name, &name) ||
		    strncmp(name, "runtime.", strlen("runtime.")) != 0)
			continue;
		for (size_t k = 0; k < SW_ARRAY_SIZE(wanted); k++)
			if (strcmp(name, wanted[k].name) == 0)
				*wanted[k].to = symbol.st_value;
	}
}

struct growing {
	struct sw_allocations *a;
	size_t buckets_max, pcs_max;
	struct sw_allocations_bucket *future; /* owned: what the cycles to come add to each */
	size_t future_max;
};

static void growing_deinit(struct growing *g)
{
	sw_allocations_destroy(g->a);
	free(g->future);
}

static int space_make(struct growing *g, size_t n_pcs)
{
	struct sw_allocations *a = g->a;
	struct sw_allocations_bucket *buckets =
		sw_grow(a->buckets, a->n, &g->buckets_max, 64, sizeof(*buckets));
	if (buckets == NULL)
		return -SW_E_NOMEM;
	a->buckets = buckets;
	struct sw_allocations_bucket *future =
		sw_grow(g->future, a->n, &g->future_max, 64, sizeof(*future));
	if (future == NULL)
		return -SW_E_NOMEM;
	g->future = future;
	if (a->n_pcs + n_pcs > g->pcs_max) {
		size_t max = 2 * (a->n_pcs + n_pcs);
		uint64_t *pcs = reallocarray(a->pcs, max, sizeof(*pcs));
		if (pcs == NULL)
			return -SW_E_NOMEM;
		a->pcs = pcs;
		g->pcs_max = max;
	}
	return 0;
}

static void cycle_add(struct sw_allocations_bucket *to, const uint64_t words[CYCLE_WORDS])
{
	to->allocs += words[0];
	to->frees += words[1];
	to->alloc_bytes += words[2];
	to->free_bytes += words[3];
}

/* A bucket; false: it cannot be read, or is none. *ret_r: below 0 where there is no memory. */
static bool bucket_take(struct growing *g, struct sw_memory memory, uint64_t at, uint64_t *ret_next,
			int *ret_r)
{
	struct sw_allocations *a = g->a;
	uint64_t head[HEAD_WORDS], record[CYCLES][CYCLE_WORDS];
	if (!sw_memory_read(memory, at, head, sizeof(head)) || head[2] != MEMORY ||
	    head[5] > PCS_MAX)
		return false;
	size_t n_pcs = (size_t) head[5];
	*ret_r = space_make(g, n_pcs);
	if (*ret_r < 0)
		return false;
	uint64_t pcs = at + sizeof(head), records = pcs + n_pcs * sizeof(uint64_t);
	if ((n_pcs > 0 &&
	     !sw_memory_read(memory, pcs, a->pcs + a->n_pcs, n_pcs * sizeof(*a->pcs))) ||
	    !sw_memory_read(memory, records, record, sizeof(record)))
		return false;
	struct sw_allocations_bucket *bucket = &a->buckets[a->n], *future = &g->future[a->n];
	*bucket = (struct sw_allocations_bucket){.first_pc = a->n_pcs, .n_pcs = n_pcs};
	*future = (struct sw_allocations_bucket){0};
	cycle_add(bucket, record[0]);
	for (size_t i = 1; i < CYCLES; i++)
		cycle_add(future, record[i]);
	a->n_pcs += n_pcs;
	a->n++;
	*ret_next = head[1];
	return true;
}

/* Without a collection nothing is published. */
static void futures_add(struct growing *g)
{
	struct sw_allocations *a = g->a;
	uint64_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		n += a->buckets[i].allocs;
	for (size_t i = 0; n == 0 && i < a->n; i++) {
		const struct sw_allocations_bucket *f = &g->future[i];
		cycle_add(&a->buckets[i],
			  (const uint64_t[]){f->allocs, f->frees, f->alloc_bytes, f->free_bytes});
	}
}

static int buckets_read(const struct sw_snapshot *snap, const struct symbols *symbols,
			uint64_t bias, struct growing *g, struct sw_error *err)
{
	struct sw_memory memory = sw_live_memory(snap);
	uint8_t disabled = 0;
	uint64_t at = 0;
	int r = 0;
	if (!sw_memory_u64(memory, symbols->buckets_svma + bias, &at) ||
	    (symbols->disabled_svma != 0 &&
	     !sw_memory_read(memory, symbols->disabled_svma + bias, &disabled, sizeof(disabled))) ||
	    (symbols->rate_svma != 0 &&
	     !sw_memory_u64(memory, symbols->rate_svma + bias, &g->a->rate_bytes)))
		return sw_fail(err, SW_E_IO, "its memory cannot be read");
	if (disabled != 0 || g->a->rate_bytes == 0)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the runtime keeps no profile of its heap: the program does not use "
			       "runtime.MemProfile (runtime/pprof, net/http/pprof), or has set "
			       "runtime.MemProfileRate to 0");
	for (; r == 0 && at != 0;) {
		if (g->a->n == BUCKETS_MAX) {
			g->a->cut = true;
			break;
		}
		if (!bucket_take(g, memory, at, &at, &r))
			break;
	}
	if (r < 0)
		return sw_fail_nomem(err);
	if (at != 0 && !g->a->cut)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its profile of the heap is laid out in another way than is known");
	futures_add(g);
	return 0;
}

int sw_go_allocations_read(const struct sw_snapshot *snap, struct sw_allocations **ret,
			   struct sw_error *err)
{
	sw_cleanup(growing_deinit) struct growing g = {.a = calloc(1, sizeof(*g.a))};
	struct sw_go_modules modules;
	struct symbols symbols = {0};
	if (g.a == NULL)
		return sw_fail_nomem(err);
	g.a->rate_bytes = 1;
	sw_go_find(snap, &modules);
	if (modules.n == 0)
		return sw_fail(err, SW_E_NOT_FOUND, "it is no program in Go");
	for (size_t i = 0; i < modules.n && symbols.buckets_svma == 0; i++) {
		const struct sw_place *place = modules.all[i].place;
		symbols_find(sw_module_elf(place->module), &symbols);
		if (symbols.buckets_svma == 0)
			continue;
		int r = buckets_read(snap, &symbols, place->bias, &g, err);
		if (r < 0)
			return r;
	}
	if (symbols.buckets_svma == 0)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its symbols are stripped, or it has no profile of the heap: where "
			       "the runtime has it is not known");
	*ret = sw_take_ptr(g.a);
	return 0;
}
