/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The symbolizer: what outlives a call of sw_symbolize(). */
#include "symbolizer.h"
#include "cleanup.h"
#include "errors.h"
#include "arena.h"

/* Results kept for later snapshots. A process that makes new code all day must not fill memory. */
enum { CACHE_ENTRIES_MAX = 1 << 20 };

static void units_clear(struct sw_symbolizer *s)
{
	for (size_t i = 0; i < s->n_units; i++)
		sw_unit_destroy(s->units[i]);
	s->n_units = 0;
	s->n_entries = 0;
	sw_map64_deinit(&s->by_module);
	sw_arena_deinit(&s->arena);
}

int sw_symbolizer_create(struct sw_context *ctx, struct sw_symbolizer **ret, struct sw_error *err)
{
	struct sw_symbolizer *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	*ret = s;
	return 0;
}

void sw_symbolizer_destroy(struct sw_symbolizer *symbolizer)
{
	if (symbolizer == NULL)
		return;
	units_clear(symbolizer);
	free(symbolizer->units);
	free(symbolizer);
}

struct sw_unit *sw_symbolizer_unit(struct sw_symbolizer *s, struct sw_module *module)
{
	uint64_t index;
	if (sw_map64_get(&s->by_module, (uint64_t) (uintptr_t) module, &index))
		return s->units[index];
	struct sw_unit **grown = sw_grow(s->units, s->n_units, &s->capacity, 32, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	s->units = grown;
	struct sw_unit *unit = sw_unit_create(module);
	if (unit == NULL || sw_kept_recall(&s->kept, unit, &s->arena) < 0 ||
	    sw_map64_put(&s->by_module, (uint64_t) (uintptr_t) module, s->n_units) < 0) {
		sw_unit_destroy(unit);
		return NULL;
	}
	s->units[s->n_units++] = unit;
	s->n_entries += unit->n_entries;
	return unit;
}

void sw_symbolizer_recall(struct sw_symbolizer *s, const void *data, size_t size)
{
	(void) sw_kept_open(&s->kept, (struct sw_bytes){data, size}); /* else there is nothing */
}

size_t sw_symbolizer_keep(const struct sw_symbolizer *s, void *buffer, size_t size)
{
	return sw_kept_write(s->units, s->n_units, s->generation, buffer, size);
}

void sw_symbolizer_trim(struct sw_symbolizer *s)
{
	if (s->n_entries > CACHE_ENTRIES_MAX && s->n_borrowers == 0)
		units_clear(s);
}

const char *sw_symbol_source_name(enum sw_symbol_source source)
{
	static const char *const names[] = {
		[SW_SOURCE_NONE] = "none",       [SW_SOURCE_DYNSYM] = "dynsym",
		[SW_SOURCE_EXPORTS] = "exports", [SW_SOURCE_MINIDEBUG] = "minidebug",
		[SW_SOURCE_SYMTAB] = "symtab",   [SW_SOURCE_DEBUGFILE] = "debugfile",
		[SW_SOURCE_DWARF] = "dwarf",     [SW_SOURCE_RUNTIME] = "runtime",
		[SW_SOURCE_JIT] = "jit",
	};
	return (size_t) source < SW_ARRAY_SIZE(names) ? names[source] : "unknown";
}
