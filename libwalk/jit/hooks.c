/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/hooks.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/common/probe.h"
#include "jit/ftable/source.h"
#include "jit/gdb/source.h"
#include "jit/libgcc/source.h"
#include "jit/perf/jitdump.h"
#include "jit/perf/perfmap.h"
#include "jit/trampoline.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

const struct sw_jit_hook_ops *const sw_jit_hook_table[] = {
	&sw_jit_ftable_hooks,  &sw_jit_gdb_hooks,        &sw_jit_libgcc_hooks,
	&sw_jit_jitdump_hooks, &sw_jit_trampoline_hooks, &sw_jit_perfmap_hooks,
};

const size_t sw_n_jit_hooks = SW_ARRAY_SIZE(sw_jit_hook_table);

_Static_assert(SW_ARRAY_SIZE(sw_jit_hook_table) <= SW_JIT_SOURCES_MAX, "each has its roots");

/* Roots of one source: a file that is mapped thousands of times has as many, and each is followed in
 * the stop. */
enum { ROOTS_MAX = 256 };

static const char slot_key; /* of what is kept with a module */

static void variable_found(void *arg, const char *name, const struct sw_elf_symbol *symbol)
{
	struct sw_jit_probe *probe = arg;
	probe->each(probe, name, symbol);
}

static void symbols_probe(const struct sw_elf_symbols *symbols, struct sw_jit_module *module)
{
	struct sw_jit_probe probes[SW_JIT_SOURCES_MAX];
	struct sw_elf_wanted wanted[SW_JIT_SOURCES_MAX];
	size_t n_wanted = 0;
	for (size_t i = 0; i < sw_n_jit_hooks; i++) {
		struct sw_jit_probe *p = &probes[i];
		*p = (struct sw_jit_probe){.module = module, .source = (uint8_t) i};
		if (sw_jit_hook_table[i]->probe != NULL)
			sw_jit_hook_table[i]->probe(symbols, p);
		if (p->names != NULL)
			wanted[n_wanted++] = (struct sw_elf_wanted){p->names, variable_found, p};
	}
	sw_elf_symbols_variables(symbols, wanted, n_wanted);
}

/* NULL when there is no memory. */
static const struct sw_jit_module *module_probe(struct sw_module *module)
{
	void **slot = sw_slots_get(&module->slots, &slot_key, free);
	if (slot == NULL || *slot != NULL)
		return slot != NULL ? *slot : NULL;
	struct sw_jit_module *m = calloc(1, sizeof(*m));
	if (m == NULL)
		return NULL;
	struct sw_elf_symbols symbols;
	if (sw_elf_symbols_open(sw_module_elf(module), &symbols))
		symbols_probe(&symbols, m);
	*slot = m;
	return m;
}

/* Adds those of one source; counts only while all is NULL. */
static void roots_collect(const struct sw_snapshot *snap, size_t source, struct sw_jit_roots *a)
{
	size_t first = a->n;
	a->first[source] = first;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		if (sw_module_kind(place->module) != SW_MODULE_ELF)
			continue;
		const struct sw_jit_module *m = module_probe(place->module);
		for (size_t k = 0; m != NULL && k < m->n; k++) {
			if (m->found[k].source != source || !sw_place_resolve(place, snap))
				continue;
			if (a->n - first == ROOTS_MAX) {
				a->limited = true;
				break;
			}
			if (a->all != NULL)
				a->all[a->n] =
					(struct sw_jit_root){.avma = m->found[k].svma + place->bias,
							     .detail = m->found[k].detail,
							     .place = place};
			a->n++;
		}
	}
	a->count[source] = a->n - first;
}

static void roots_walk(const struct sw_snapshot *snap, struct sw_jit_roots *a)
{
	a->n = 0;
	for (size_t i = 0; i < sw_n_jit_hooks; i++)
		roots_collect(snap, i, a);
}

int sw_jit_roots_make(const struct sw_snapshot *snap, struct sw_arena *arena,
		      struct sw_jit_roots *a)
{
	*a = (struct sw_jit_roots){0};
	roots_walk(snap, a);
	a->all = sw_arena_calloc(arena, a->n + 1, sizeof(*a->all));
	if (a->all == NULL)
		return -SW_E_NOMEM;
	roots_walk(snap, a);
	return 0;
}
