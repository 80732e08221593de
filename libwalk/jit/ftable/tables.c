/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "jit/ftable/tables.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/ftable/capture.h"
#include "bytes.h"
#include "jit/ftable/record.h"
#include "snapshot/read.h"

#include <stdlib.h>
#include <string.h>

enum {
	CANDIDATES_MAX = 16, /* tables about one address */
	LOOKS_MAX = 4096,    /* at tables, to find those where they overlap */
	ENTRY_BYTES = 12,
	UNWIND_INFO_BYTES = 4 + 2 * 255 + 2 + 12,
	RET_BYTES = 8,
};

/* Never from the pages that are kept: what is asked is whether something changed. */
static bool running_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_snapshot *snap = arg;
	struct sw_snapshot_priv *priv = snap->priv;
	return sw_pages_read(&priv->pages, priv->mem_fd, buffer, length, avma) == length;
}

struct sw_memory sw_ftable_running(const struct sw_ftable_all *st)
{
	static const struct sw_memory_ops ops = {.read = running_read};
	bool can = st->snap->live && st->snap->priv->mem_fd >= 0;
	return (struct sw_memory){can ? &ops : NULL, (void *) st->snap};
}

int sw_ftable_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
		     size_t n_roots, void *found, void **ret_state)
{
	(void) found; /* the copies are among the snapshot's ranges */
	if (n_roots == 0)
		return 0;
	struct sw_ftable_all *st = calloc(1, sizeof(*st));
	struct sw_ftable_registry *registries = calloc(n_roots, sizeof(*registries));
	if (st == NULL || registries == NULL) {
		free(st);
		free(registries);
		return -SW_E_NOMEM;
	}
	st->snap = snap;
	st->roots = roots;
	st->n_roots = n_roots;
	st->registries = registries;
	st->records_left = SW_FTABLE_RECORDS_BYTES;
	st->payloads_left = SW_FTABLE_PAYLOADS_BYTES;
	/* Beside the copy of an event there is none of the tables. */
	st->still_memory =
		(struct sw_snapshot_memory){.snap = snap, .no_live = !snap->priv->by_copies};
	st->memory = (struct sw_snapshot_memory){.snap = snap};
	*ret_state = st;
	return 0;
}

void sw_ftable_detach(void *state)
{
	struct sw_ftable_all *st = state;
	if (st == NULL)
		return;
	for (size_t i = 0; i < st->n_tables; i++) {
		struct sw_ftable_table *t = &st->tables[i];
		free(t->data.bytes);
		free(t->symbols.bytes);
		free(t->names.bytes);
		sw_cfi_fdes_deinit(&t->fdes);
		sw_jit_ranges_deinit(&t->symbol_ranges);
	}
	sw_jit_ranges_deinit(&st->ranges);
	free(st->tables);
	free(st->registries);
	free(st);
}

static void registry_load(struct sw_ftable_all *st, const struct sw_jit_root *root)
{
	struct sw_ftable_registry *registry = &st->registries[st->n_registries];
	struct sw_ftables found = {0};
	for (size_t i = 0; i < st->n_registries; i++)
		if (st->registries[i].root->avma == root->avma)
			return; /* one note for each file that includes the header */
	st->n_registries++;
	st->nomem |= sw_ftables_read(sw_snapshot_memory(&st->still_memory), sw_ftable_running(st),
				     root->avma, &st->records_left, &found) < 0;
	*registry = (struct sw_ftable_registry){.root = root,
						.n = found.n,
						.n_busy = found.n_busy,
						.n_bad = found.n_bad,
						.problem = found.problem};
	struct sw_ftable_table *grown =
		reallocarray(st->tables, st->n_tables + found.n + 1, sizeof(*st->tables));
	if (grown != NULL) {
		st->tables = grown;
		for (size_t i = 0; i < found.n; i++)
			st->tables[st->n_tables++] = (struct sw_ftable_table){.t = found.all[i]};
	}
	st->nomem |= grown == NULL;
	sw_ftables_deinit(&found);
}

static int compare_ids(const void *a, const void *b)
{
	const struct sw_ftable_table *x = a, *y = b;
	return (x->t.id > y->t.id) - (x->t.id < y->t.id);
}

void sw_ftable_load(struct sw_ftable_all *st)
{
	if (st->loaded)
		return;
	st->loaded = true;
	for (size_t i = 0; i < st->n_roots && !st->nomem; i++)
		registry_load(st, &st->roots[i]);
	if (st->n_tables > 1)
		qsort(st->tables, st->n_tables, sizeof(*st->tables), compare_ids);
	for (size_t i = 0; i < st->n_tables && !st->nomem; i++) {
		const struct sw_ftable *t = &st->tables[i].t;
		st->nomem |= sw_jit_ranges_add(&st->ranges, t->start_avma,
					       t->end_avma - t->start_avma, (uint32_t) i) < 0;
	}
	st->nomem |= sw_jit_ranges_finish(&st->ranges) < 0;
	if (st->nomem) /* not sorted */
		sw_jit_ranges_deinit(&st->ranges);
}

bool sw_ftable_part_get(struct sw_ftable_all *st, struct sw_ftable_table *t,
			struct sw_ftable_part *part, uint64_t avma, uint64_t bytes)
{
	if (part->tried || bytes == 0)
		return part->bytes != NULL;
	part->tried = true;
	if (bytes > SW_FTABLE_PAYLOAD_MAX || bytes > st->payloads_left) {
		t->problem = "a part of the table is larger than the limit";
		return false;
	}
	uint8_t *space = malloc((size_t) bytes);
	if (space == NULL) {
		t->problem = "not enough memory";
		return false;
	}
	bool ok =
		sw_memory_read(sw_snapshot_memory(&st->still_memory), avma, space, (size_t) bytes);
	if (!ok) {
		part->live = st->snap->live;
		ok = sw_memory_read(sw_snapshot_memory(&st->memory), avma, space, (size_t) bytes);
		t->problem = ok ? NULL : "a part of the table could not be read";
		if (ok && st->snap->live && !sw_ftable_unchanged(sw_ftable_running(st), &t->t)) {
			t->problem = "the table was removed or changed after the stop";
			ok = false;
		}
	}
	if (!ok) {
		free(space);
		return false;
	}
	st->payloads_left -= (size_t) bytes;
	part->bytes = space;
	part->size = (size_t) bytes;
	return true;
}

bool sw_ftable_about(struct sw_ftable_all *st, uint64_t avma,
		     bool (*each)(struct sw_ftable_all *st, struct sw_ftable_table *t,
				  uint64_t avma, void *arg),
		     void *arg)
{
	if (st == NULL)
		return false;
	sw_ftable_load(st);
	const struct sw_jit_range *range = sw_jit_ranges_find(&st->ranges, avma);
	size_t n = 0, last = range != NULL ? range->value + 1 : 0;
	size_t first = !st->ranges.overlap && last > 0 ? last - 1 : 0;
	if (last - first > LOOKS_MAX)
		first = last - LOOKS_MAX;
	for (size_t i = last; i > first && n < CANDIDATES_MAX; i--) {
		struct sw_ftable_table *t = &st->tables[i - 1];
		if (avma < t->t.start_avma || avma >= t->t.end_avma)
			continue;
		if (each(st, t, avma, arg))
			return true;
		n++;
	}
	return false;
}

/* ---- names -------------------------------------------------------------------------------------- */

static bool symbol_read(const struct sw_ftable_table *t, size_t index, struct swft_symbol *ret)
{
	struct sw_bytes b = {t->symbols.bytes, t->symbols.size};
	return sw_bytes_copy(b, (uint64_t) index * sizeof(*ret), ret, sizeof(*ret));
}

static void symbols_index(struct sw_ftable_table *t)
{
	struct swft_symbol s;
	t->ranges_tried = true;
	for (size_t i = 0; symbol_read(t, i, &s); i++)
		if (sw_jit_ranges_add(&t->symbol_ranges, t->t.start_avma + s.offset, s.bytes,
				      (uint32_t) i) < 0)
			break;
	if (sw_jit_ranges_finish(&t->symbol_ranges) < 0)
		sw_jit_ranges_deinit(&t->symbol_ranges);
}

bool sw_ftable_symbol(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		      struct swft_symbol *ret)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(t->t.n_symbols, sizeof(*ret), &bytes) ||
	    !sw_ftable_part_get(st, t, &t->symbols, t->t.symbols_avma, bytes))
		return false;
	if (!t->ranges_tried)
		symbols_index(t);
	const struct sw_jit_range *range = sw_jit_ranges_find(&t->symbol_ranges, avma);
	return range != NULL && symbol_read(t, range->value, ret);
}

/* A name at an offset; the only one of a table may end without a NUL. */
static bool name_copy(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t off, char *to,
		      size_t space)
{
	if (!sw_ftable_part_get(st, t, &t->names, t->t.names_avma, t->t.names_bytes) ||
	    off >= t->names.size)
		return false;
	size_t n = strnlen((const char *) t->names.bytes + off, t->names.size - (size_t) off);
	if (n >= space)
		n = space - 1;
	memcpy(to, t->names.bytes + off, n);
	to[n] = '\0';
	return n > 0;
}

bool sw_ftable_name(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_description *ret)
{
	struct swft_symbol symbol = {0};
	if (t->t.n_symbols > 0 && !sw_ftable_symbol(st, t, avma, &symbol))
		return false;
	if (!name_copy(st, t, symbol.name, ret->function, sizeof(ret->function)))
		return false;
	ret->start_avma = t->t.start_avma + symbol.offset;
	if (symbol.line != 0 && name_copy(st, t, symbol.file, ret->file, sizeof(ret->file)))
		ret->line = symbol.line;
	return true;
}

/* ---- the way out of code: what each kind of table says -------------------------------------------- */

static bool data_get(struct sw_ftable_all *st, struct sw_ftable_table *t)
{
	return sw_ftable_part_get(st, t, &t->data, t->t.data_avma, sw_ftable_data_bytes(&t->t));
}

static bool eh_frame_find(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			  struct sw_jit_entry *ret)
{
	if (!data_get(st, t))
		return false;
	ret->cfi = (struct sw_cfi_section){.bytes = {t->data.bytes, t->data.size},
					   .svma = t->t.data_avma};
	if (!t->fdes_tried) {
		t->fdes_tried = true;
		if (sw_cfi_fdes_add(&t->fdes, &ret->cfi, 0) < 0)
			t->problem = "not enough memory";
		else if (t->fdes.bad)
			t->problem = "its call frame information is malformed";
		sw_cfi_fdes_sort(&t->fdes);
	}
	const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&t->fdes, avma);
	if (fde == NULL)
		return false;
	ret->how = SW_JIT_CFI;
	ret->cfi_off = fde->off;
	ret->start_avma = fde->start_avma;
	ret->end_avma = fde->end_avma;
	return true;
}

/* The last entry that does not begin behind rva. */
static bool entry_search(const struct sw_ftable_part *data, uint32_t rva,
			 struct sw_pe_function *ret)
{
	struct sw_bytes b = {data->bytes, data->size};
	size_t low = 0, high = data->size / ENTRY_BYTES;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t begin;
		if (!sw_bytes_u32(b, (uint64_t) middle * ENTRY_BYTES, &begin))
			return false;
		if (begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t off = (uint64_t) (low - 1) * ENTRY_BYTES;
	return low > 0 && sw_bytes_u32(b, off, &ret->begin_rva) &&
	       sw_bytes_u32(b, off + 4, &ret->end_rva) &&
	       sw_bytes_u32(b, off + 8, &ret->unwind_rva) && rva < ret->end_rva;
}

/* UNWIND_INFO is read while stepping: here it is made sure that it is still what the table meant. What
 * is read now is kept. */
static bool unwind_info_good(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma)
{
	uint8_t head[UNWIND_INFO_BYTES];
	if (t->t.info_bytes > 0 &&
	    sw_memory_read(sw_snapshot_memory(&st->still_memory), t->t.info_avma, head, 1))
		return true;
	if (!st->snap->live)
		return true;
	for (size_t n = sizeof(head); n > 0; n /= 2) /* it may lie at the end of a mapping */
		if (sw_memory_read(sw_snapshot_memory(&st->memory), avma, head, n))
			break;
	if (sw_ftable_unchanged(sw_ftable_running(st), &t->t))
		return true;
	t->problem = "the table was removed or changed after the stop";
	return false;
}

static bool function_find(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			  struct sw_jit_entry *ret)
{
	if (avma < t->t.base_avma || avma - t->t.base_avma > UINT32_MAX || !data_get(st, t) ||
	    !entry_search(&t->data, (uint32_t) (avma - t->t.base_avma), &ret->function) ||
	    !unwind_info_good(st, t, t->t.base_avma + ret->function.unwind_rva))
		return false;
	ret->how = SW_JIT_PE;
	ret->base_avma = t->t.base_avma;
	ret->start_avma = t->t.base_avma + ret->function.begin_rva;
	ret->end_avma = t->t.base_avma + ret->function.end_rva;
	return true;
}

/* At the first instruction of a symbol nothing was pushed yet. */
static void fixed_fill(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		       struct sw_jit_entry *ret)
{
	struct swft_symbol symbol;
	ret->how = SW_JIT_FIXED_CFA;
	ret->cfa_offset = t->t.cfa_offset;
	if (sw_ftable_symbol(st, t, avma, &symbol) && t->t.start_avma + symbol.offset == avma)
		ret->cfa_offset = RET_BYTES;
}

bool sw_ftable_rule(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){.start_avma = t->t.start_avma,
				     .end_avma = t->t.end_avma,
				     .id = t->t.id};
	bool found = true;
	switch (t->t.kind) {
	case SWFT_EH_FRAME: found = eh_frame_find(st, t, avma, ret); break;
	case SWFT_RUNTIME_FUNCTION: found = function_find(st, t, avma, ret); break;
	case SWFT_FRAME_POINTER: ret->how = SW_JIT_FRAME_POINTER; break;
	case SWFT_FIXED: fixed_fill(st, t, avma, ret); break;
	default: ret->how = SW_JIT_UNKNOWN; break; /* SWFT_DEFERRED */
	}
	ret->live = t->t.live || t->data.live;
	ret->where = t->t.deferred ? "deferred" : NULL;
	return found;
}
