/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All frames of a snapshot to names: each distinct address once, grouped by module, names for every
 * module before lines for any.
 */
#include "symbolizer.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "debugfile.h"
#include "errors.h"
#include "arena.h"
#include "providers.h"

#include <snapwalk/finder.h>

#include <string.h>

/* A distinct address of a snapshot, or a managed frame. */
struct result {
	uint64_t avma, cookie; /* of the frame: a hash that collides must not give a wrong name */
	struct sw_unit *unit;  /* NULL: named by the frame itself, or in no module */
	size_t entry;          /* of unit */
	const struct sw_symbol *symbols;
	size_t n_symbols;
};

struct sw_symbols_priv {
	struct sw_symbolizer *symbolizer; /* borrowed */
	bool without_files;
	struct sw_arena arena;    /* what is not kept for the next snapshot */
	struct sw_map64 by_frame; /* key_of() -> index */
	struct result *results;   /* owned */
	size_t n_results, capacity;
	struct sw_unit **units; /* owned array of those that this call asks for */
	size_t n_units;
};

/* Code has one name wherever it is seen; managed and interpreted frames have one per frame. */
static uint64_t key_of(const struct sw_frame *frame)
{
	if (frame->cookie == 0)
		return sw_frame_lookup_avma(frame);
	return sw_mix64(sw_frame_lookup_avma(frame) ^ sw_mix64(frame->cookie ^ frame->owner));
}

static struct result *result_find(const struct sw_symbols_priv *priv, const struct sw_frame *frame)
{
	uint64_t index;
	if (!sw_map64_get(&priv->by_frame, key_of(frame), &index))
		return NULL;
	struct result *result = &priv->results[index];
	bool same = result->avma == sw_frame_lookup_avma(frame) && result->cookie == frame->cookie;
	return same ? result : NULL;
}

static struct result *result_add(struct sw_symbols_priv *priv, const struct sw_frame *frame)
{
	struct result *grown =
		sw_grow(priv->results, priv->n_results, &priv->capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	priv->results = grown;
	if (sw_map64_put(&priv->by_frame, key_of(frame), priv->n_results) < 0)
		return NULL;
	struct result *result = &priv->results[priv->n_results++];
	*result = (struct result){.avma = sw_frame_lookup_avma(frame), .cookie = frame->cookie};
	return result;
}

/* 1 when a provider knows the frame by more than its address, 0, or -SW_E_NOMEM. */
static int frame_describe(struct sw_symbols_priv *priv, const struct sw_walks *walks,
			  const struct sw_frame *frame, struct result *result)
{
	int r = 0;
	for (size_t i = 0; i < sw_n_providers && r == 0; i++)
		if (sw_providers[i]->frame != NULL)
			r = sw_providers[i]->frame(walks, frame, &priv->arena, &result->symbols);
	result->n_symbols = r > 0 ? (size_t) r : 0;
	return r < 0 ? r : r > 0;
}

/* Asks for an address of a module, which is mapped with that bias. */
static int address_want(struct sw_symbols_priv *priv, const struct sw_address *address,
			uint64_t bias, struct result *result)
{
	struct sw_symbolizer *s = priv->symbolizer;
	struct sw_unit *unit = sw_symbolizer_unit(s, address->module);
	if (unit == NULL)
		return -SW_E_NOMEM;
	unit->bias = bias;
	size_t before = unit->n_entries;
	int r = sw_unit_entry(unit, address->svma, &result->entry);
	if (r < 0)
		return r;
	s->n_entries += unit->n_entries - before;
	result->unit = unit;
	unit->entries[result->entry].generation = s->generation;
	if (unit->generation != s->generation) {
		unit->generation = s->generation;
		struct sw_unit **grown =
			reallocarray(priv->units, priv->n_units + 1, sizeof(struct sw_unit *));
		if (grown == NULL)
			return -SW_E_NOMEM;
		priv->units = grown;
		priv->units[priv->n_units++] = unit;
	}
	return 0;
}

/* Code that nobody can look at later. */
static bool is_in_memory_alone(struct sw_module *module)
{
	return sw_module_kind(module) == SW_MODULE_VDSO;
}

static int frame_collect(struct sw_symbols_priv *priv, const struct sw_walks *walks,
			 const struct sw_frame *frame)
{
	if (result_find(priv, frame) != NULL)
		return 0;
	struct result *result = result_add(priv, frame);
	if (result == NULL)
		return -SW_E_NOMEM;
	int r = frame_describe(priv, walks, frame, result);
	if (r != 0)
		return r < 0 ? r : 0;
	const struct sw_place *place = frame->place;
	if (place == NULL || place->resolved != 1)
		return 0;
	if (priv->without_files && !is_in_memory_alone(place->module))
		return 0;
	const struct sw_address address = {place->module, result->avma - place->bias};
	return address_want(priv, &address, place->bias, result);
}

static int frames_collect(struct sw_symbols_priv *priv, const struct sw_walks *walks)
{
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *walk = &walks->walks[i];
		for (size_t k = 0; k < walk->n_frames; k++) {
			int r = frame_collect(priv, walks, &walk->frames[k]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* A result for each, in their order. */
static int addresses_collect(struct sw_symbols_priv *priv, const struct sw_address *addresses,
			     size_t n)
{
	int r = 0;
	priv->results = calloc(n + 1, sizeof(*priv->results));
	if (priv->results == NULL)
		return -SW_E_NOMEM;
	for (priv->n_results = 0; priv->n_results < n && r == 0; priv->n_results++)
		r = address_want(priv, &addresses[priv->n_results], 0,
				 &priv->results[priv->n_results]);
	return r;
}

/* More addresses first: when time runs out, most frames have what they can have. */
static int unit_compare(const void *a, const void *b)
{
	const struct sw_unit *const *x = a, *const *y = b;
	return ((*x)->n_entries < (*y)->n_entries) - ((*x)->n_entries > (*y)->n_entries);
}

static int units_look_up(struct sw_symbols_priv *priv, enum sw_symbol_level level,
			 const struct sw_request *request)
{
	int r = 0;
	if (priv->n_units > 0)
		qsort(priv->units, priv->n_units, sizeof(*priv->units), unit_compare);
	for (size_t i = 0; i < priv->n_units && r == 0; i++)
		r = sw_unit_names(priv->units[i], request);
	if (level != SW_SYMBOLS_LINES)
		return r;
	for (size_t i = 0; i < priv->n_units && r == 0; i++)
		r = sw_unit_lines(priv->units[i], request);
	return r;
}

/* The same symbols under their linkage names. */
static const struct sw_symbol *symbols_mangle(struct sw_arena *arena,
					      const struct sw_symbol *symbols, size_t n)
{
	struct sw_symbol *copy = sw_arena_calloc(arena, n, sizeof(*copy));
	if (copy == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		copy[i] = symbols[i];
		if (copy[i].mangled != NULL)
			copy[i].function = copy[i].mangled;
		copy[i].mangled = NULL;
	}
	return copy;
}

static int result_finish(struct sw_symbols *symbols, struct result *result,
			 const struct sw_symbolize_options *o)
{
	if (result->unit != NULL) {
		const struct sw_entry *entry = &result->unit->entries[result->entry];
		if (!entry->named || (o->level == SW_SYMBOLS_LINES && !entry->lined))
			symbols->n_unfinished++;
		result->symbols = entry->symbols;
		result->n_symbols = entry->n_symbols;
	}
	if (o->no_inlines && result->n_symbols > 1) {
		result->symbols += result->n_symbols - 1;
		result->n_symbols = 1;
	}
	if (o->no_demangle && result->unit != NULL && result->n_symbols > 0) {
		result->symbols =
			symbols_mangle(&symbols->priv->arena, result->symbols, result->n_symbols);
		if (result->symbols == NULL)
			return -SW_E_NOMEM;
	}
	return 0;
}

/* Looks up what was collected. */
static int symbols_fill(struct sw_symbols *symbols, const struct sw_symbolize_options *o)
{
	struct sw_symbols_priv *priv = symbols->priv;
	struct sw_request request = {
		.arena = &priv->symbolizer->arena,
		.debug_dir = o->debug_dir != NULL ? o->debug_dir : SW_DEBUG_DIR,
		.local = sw_context_local(priv->symbolizer->ctx),
		.search = priv->symbolizer->search,
		.deadline_ns = o->deadline_ns,
		.unpacked = o->unpacked,
		.tables = &priv->symbolizer->tables,
		.options = o,
	};
	int r = units_look_up(priv, o->level, &request);
	if (r == 0 && o->package_lists != NULL && !priv->without_files)
		r = sw_debug_packages_find(priv->units, priv->n_units, o->package_lists, &request);
	symbols->n_addresses = priv->n_results;
	for (size_t i = 0; i < priv->n_results && r == 0; i++)
		r = result_finish(symbols, &priv->results[i], o);
	return r;
}

SW_DEFINE_CLEANUP(struct sw_symbols *, sw_symbols_destroy);

static int symbols_begin(struct sw_symbolizer *symbolizer, const struct sw_symbolize_options *o,
			 struct sw_symbols **ret)
{
	struct sw_symbols *symbols = calloc(1, sizeof(*symbols));
	struct sw_symbols_priv *priv = calloc(1, sizeof(*priv));
	if (symbols == NULL || priv == NULL) {
		free(symbols);
		free(priv);
		return -SW_E_NOMEM;
	}
	symbols->priv = priv;
	symbols->without_files = priv->without_files = o->level == SW_SYMBOLS_NONE;
	sw_symbolizer_trim(symbolizer);
	priv->symbolizer = symbolizer;
	symbolizer->n_borrowers++;
	symbolizer->generation++;
	*ret = symbols;
	return 0;
}

int sw_symbolize(struct sw_symbolizer *symbolizer, const struct sw_walks *walks,
		 const struct sw_symbolize_options *options, struct sw_symbols **ret,
		 struct sw_error *err)
{
	static const struct sw_symbolize_options defaults = {0};
	const struct sw_symbolize_options *o = options != NULL ? options : &defaults;
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_symbols_destroy_p) struct sw_symbols *symbols = NULL;
	if (symbols_begin(symbolizer, o, &symbols) < 0 ||
	    frames_collect(symbols->priv, walks) < 0 || symbols_fill(symbols, o) < 0)
		return sw_fail_nomem(err);
	symbols->symbolize_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(symbols);
	return 0;
}

int sw_symbolize_addresses(struct sw_symbolizer *symbolizer, const struct sw_address *addresses,
			   size_t n, const struct sw_symbolize_options *options,
			   struct sw_symbols **ret, struct sw_error *err)
{
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_symbols_destroy_p) struct sw_symbols *symbols = NULL;
	if (symbols_begin(symbolizer, options, &symbols) < 0 ||
	    addresses_collect(symbols->priv, addresses, n) < 0 ||
	    symbols_fill(symbols, options) < 0)
		return sw_fail_nomem(err);
	symbols->symbolize_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(symbols);
	return 0;
}

void sw_symbols_destroy(struct sw_symbols *symbols)
{
	if (symbols == NULL)
		return;
	struct sw_symbols_priv *priv = symbols->priv;
	if (priv != NULL) {
		if (priv->symbolizer != NULL)
			priv->symbolizer->n_borrowers--;
		sw_arena_deinit(&priv->arena);
		sw_map64_deinit(&priv->by_frame);
		free(priv->results);
		free(priv->units);
	}
	free(priv);
	free(symbols);
}

size_t sw_symbols_find(const struct sw_symbols *symbols, const struct sw_frame *frame,
		       const struct sw_symbol **ret)
{
	const struct result *result = result_find(symbols->priv, frame);
	if (result == NULL || result->n_symbols == 0)
		return 0;
	*ret = result->symbols;
	return result->n_symbols;
}

size_t sw_symbols_at(const struct sw_symbols *symbols, size_t number, const struct sw_symbol **ret)
{
	const struct result *result = &symbols->priv->results[number];
	*ret = result->symbols;
	return result->n_symbols;
}

static const struct sw_unit *unit_of(const struct sw_symbols *symbols, const struct sw_place *place)
{
	const struct sw_symbolizer *s = symbols->priv->symbolizer;
	uint64_t index;
	/* A file that another call has read is no answer of a call that asks no files. */
	if (symbols->without_files && !is_in_memory_alone(place->module))
		return NULL;
	return sw_map64_get(&s->by_module, (uint64_t) (uintptr_t) place->module, &index)
		       ? s->units[index]
		       : NULL;
}

enum sw_symbol_source sw_symbols_source(const struct sw_symbols *symbols,
					const struct sw_place *place)
{
	const struct sw_unit *unit = unit_of(symbols, place);
	return unit != NULL ? unit->source : SW_SOURCE_NONE;
}

const char *sw_symbols_why(const struct sw_symbols *symbols, const struct sw_place *place)
{
	const struct sw_unit *unit = unit_of(symbols, place);
	return unit != NULL ? unit->lines_why : NULL;
}

const char *sw_symbols_debug_package(const struct sw_symbols *symbols, const struct sw_place *place)
{
	const struct sw_unit *unit = unit_of(symbols, place);
	return unit != NULL ? unit->debug_package : NULL;
}
