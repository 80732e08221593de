/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A module's side of the symbolizer: its entries, and asking the providers for all of them at once.
 */
#include "entries.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "debugfile.h"
#include "elf_frames.h"
#include "languages.h"
#include "providers.h"
#include "arena.h"

#include <string.h>

struct sw_unit *sw_unit_create(struct sw_module *module)
{
	struct sw_unit *unit = calloc(1, sizeof(*unit));
	if (unit == NULL)
		return NULL;
	unit->module = module;
	unit->kind = UINT32_C(1) << sw_module_kind(module);
	return unit;
}

void sw_unit_destroy(struct sw_unit *unit)
{
	if (unit == NULL)
		return;
	for (size_t i = 0; i < sw_n_providers; i++)
		if (unit->slot[i] != NULL && sw_providers[i]->forget != NULL)
			sw_providers[i]->forget(unit->slot[i]);
	sw_debugfile_destroy(unit->debugfile);
	sw_map64_deinit(&unit->by_svma);
	free(unit->entries);
	free(unit);
}

int sw_unit_entry(struct sw_unit *unit, uint64_t svma, size_t *ret)
{
	uint64_t index;
	if (sw_map64_get(&unit->by_svma, svma, &index)) {
		*ret = (size_t) index;
		return 0;
	}
	struct sw_entry *grown =
		sw_grow(unit->entries, unit->n_entries, &unit->capacity, 16, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	unit->entries = grown;
	int r = sw_map64_put(&unit->by_svma, svma, unit->n_entries);
	if (r < 0)
		return r;
	unit->entries[unit->n_entries] = (struct sw_entry){.svma = svma};
	*ret = unit->n_entries++;
	return 0;
}

static int want_compare(const void *a, const void *b)
{
	const struct sw_want *x = a, *y = b;
	return (x->svma > y->svma) - (x->svma < y->svma);
}

/* The entries that this call asks for and that lack what it asks, as sorted wants. */
static int wants_collect(const struct sw_unit *unit, bool lines, struct sw_want **ret,
			 size_t *ret_n)
{
	struct sw_want *wants = calloc(unit->n_entries + 1, sizeof(*wants));
	if (wants == NULL)
		return -SW_E_NOMEM;
	size_t n = 0;
	for (size_t i = 0; i < unit->n_entries; i++) {
		const struct sw_entry *entry = &unit->entries[i];
		if (entry->generation != unit->generation || (lines ? entry->lined : entry->named))
			continue;
		wants[n].svma = entry->svma;
		if (entry->n_symbols > 0)
			wants[n].named = &entry->symbols[entry->n_symbols - 1];
		n++;
	}
	qsort(wants, n, sizeof(*wants), want_compare);
	*ret = wants;
	*ret_n = n;
	return 0;
}

static struct sw_entry *entry_of(struct sw_unit *unit, const struct sw_want *want)
{
	uint64_t index = 0;
	(void) sw_map64_get(&unit->by_svma, want->svma, &index); /* every want came from an entry */
	return &unit->entries[index];
}

/* Falls back to the symbol without size, when it is the nearest one and of the same section and function. */
static void want_settle(struct sw_unit *unit, struct sw_want *want)
{
	const struct sw_label *label = &want->label;
	const struct sw_elf *elf;
	uint64_t start;
	if (want->name != NULL || label->name == NULL || want->svma >= label->end_svma)
		return;
	/* Another function begins in between, says a table that does not need its name. */
	elf = sw_unit_elf(unit);
	if (elf != NULL && sw_elf_frame_start(elf, want->svma, &start) && start > label->start_svma)
		return;
	want->name = label->name;
	want->name_bytes = label->name_bytes;
	want->start_svma = label->start_svma;
	want->source = label->source;
}

/* Which languages the program has is looked up in all its symbols: only for a name that may be of one of them. */
static bool unit_is(struct sw_unit *unit, enum sw_unit_language language)
{
	const struct sw_elf *elf = sw_unit_elf(unit);
	if (!(unit->languages_tried & language)) {
		unit->languages_tried |= language;
		if (elf != NULL &&
		    (language == SW_UNIT_ADA ? sw_elf_is_ada(elf) : sw_elf_is_haskell(elf)))
			unit->languages |= language;
	}
	return unit->languages & language;
}

static char *name_demangle(struct sw_unit *unit, const char *raw)
{
	char *text = sw_demangle(raw);
	if (text != NULL || strchr(raw, '_') == NULL)
		return text;
	sw_cleanup(sw_free_p) char *ada =
		strstr(raw, "__") != NULL ? sw_demangle_ada(raw, true) : NULL;
	if (ada != NULL && unit_is(unit, SW_UNIT_ADA))
		return sw_take_ptr(ada);
	sw_cleanup(sw_free_p) char *haskell = sw_demangle_haskell(raw);
	if (haskell != NULL && !unit_is(unit, SW_UNIT_ADA) && unit_is(unit, SW_UNIT_HASKELL))
		return sw_take_ptr(haskell);
	return NULL;
}

/* Makes the public symbol of what was found. NULL: out of memory. */
static struct sw_symbol *symbol_make(struct sw_unit *unit, const struct sw_want *want,
				     struct sw_arena *arena)
{
	struct sw_symbol *symbol = sw_arena_calloc(arena, 1, sizeof(*symbol));
	char *raw = sw_arena_strndup(arena, want->name, want->name_bytes);
	if (symbol == NULL || raw == NULL)
		return NULL;
	sw_cleanup(sw_free_p) char *demangled = name_demangle(unit, raw);
	symbol->function = raw;
	if (demangled != NULL) {
		symbol->mangled = raw;
		symbol->function = sw_arena_strdup(arena, demangled);
		if (symbol->function == NULL)
			return NULL;
	}
	symbol->function_offset = want->svma - want->start_svma;
	symbol->line_offset = -1;
	symbol->source = want->source;
	return symbol;
}

static int names_store(struct sw_unit *unit, struct sw_want *wants, size_t n,
		       const struct sw_request *request)
{
	for (size_t i = 0; i < n; i++) {
		struct sw_entry *entry = entry_of(unit, &wants[i]);
		want_settle(unit, &wants[i]);
		entry->named = true;
		if (wants[i].name == NULL)
			continue;
		entry->symbols = symbol_make(unit, &wants[i], request->arena);
		if (entry->symbols == NULL)
			return -SW_E_NOMEM;
		entry->n_symbols = 1;
		if (wants[i].source > unit->source)
			unit->source = wants[i].source;
	}
	return 0;
}

int sw_unit_names(struct sw_unit *unit, const struct sw_request *request)
{
	sw_cleanup(sw_free_p) struct sw_want *wants = NULL;
	size_t n = 0;
	if (sw_deadline_passed(request->deadline_ns))
		return 0;
	int r = wants_collect(unit, false, &wants, &n);
	for (size_t i = 0; i < sw_n_providers && r == 0 && n > 0; i++)
		if (sw_providers[i]->names != NULL && (sw_providers[i]->kinds & unit->kind))
			r = sw_providers[i]->names(unit, &unit->slot[i], wants, n, request);
	return r < 0 ? r : names_store(unit, wants, n, request);
}

static void lines_store(struct sw_unit *unit, struct sw_want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sw_entry *entry = entry_of(unit, &wants[i]);
		entry->lined = wants[i].finished;
		if (wants[i].n_symbols == 0)
			continue;
		entry->symbols = wants[i].symbols;
		entry->n_symbols = wants[i].n_symbols;
		for (size_t k = 0; k < wants[i].n_symbols; k++)
			if (wants[i].symbols[k].source > unit->source)
				unit->source = wants[i].symbols[k].source;
	}
}

int sw_unit_lines(struct sw_unit *unit, const struct sw_request *request)
{
	sw_cleanup(sw_free_p) struct sw_want *wants = NULL;
	size_t n = 0;
	if (sw_deadline_passed(request->deadline_ns))
		return 0;
	int r = wants_collect(unit, true, &wants, &n);
	bool asked = false;
	for (size_t i = 0; i < sw_n_providers && r == 0 && n > 0; i++) {
		if (sw_providers[i]->lines == NULL || !(sw_providers[i]->kinds & unit->kind))
			continue;
		asked = true;
		r = sw_providers[i]->lines(unit, &unit->slot[i], wants, n, request);
	}
	for (size_t i = 0; i < n && !asked; i++)
		wants[i].finished = true; /* nobody has lines for this kind of code */
	if (r == 0)
		lines_store(unit, wants, n);
	return r;
}
