/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables that JIT compilers register by <snapwalk/ftable.h>. They are found by a symbol or by a note
 * of the file, copied in the stop (ftable_capture.c) and read from the copy; what did not fit is read
 * from the running process, and believed when its table is still the one of the stop.
 */
#include "cleanup.h"
#include "errors.h"
#include "ftable_capture.h"
#include "ftable_read.h"
#include "jit.h"
#include "jit_cfi.h"
#include "jit_ranges.h"
#include "module.h"
#include "pread.h"
#include "snapshot.h"

#include <elf.h>
#include <inttypes.h>

enum {
	NOTES_MAX = 4096, /* of a file */
	PHDRS_MAX = 4096,
	NOTE_HEAD_BYTES = 12,
	NOTE_NAME_BYTES = 12, /* "snapwalk", NUL, and three to be a multiple of 4 */
	ENTRY_BYTES = 12,
	CANDIDATES_MAX = 16, /* tables about one address */
	LOOKS_MAX = 4096,    /* at tables, to find those where they overlap */
	UNWIND_INFO_BYTES = 4 + 2 * 255 + 2 + 12,
	RET_BYTES = 8,
};

/* ---- finding registries ------------------------------------------------------------------------ */

/* The note of <snapwalk/ftable.h> in one segment of notes: gABI 4.3, "Note Section". */
static void notes_probe(struct sw_bytes notes, uint64_t notes_svma, struct sw_jit_probe *probe)
{
	static const char name[NOTE_NAME_BYTES] = "snapwalk";
	uint64_t off = 0;
	for (size_t n = 0; n < NOTES_MAX; n++) {
		uint32_t head[3]; /* bytes of the name, of what it says; type */
		uint64_t distance;
		if (!sw_bytes_copy(notes, off, head, sizeof(head)))
			return;
		uint64_t says = off + NOTE_HEAD_BYTES + ((uint64_t) head[0] + 3) / 4 * 4;
		if (head[0] == strlen(name) + 1 && head[2] == SWFT_NOTE_TYPE &&
		    head[1] == sizeof(distance) &&
		    sw_bytes_has(notes, off + NOTE_HEAD_BYTES, sizeof(name)) &&
		    memcmp(notes.data + off + NOTE_HEAD_BYTES, name, sizeof(name)) == 0 &&
		    sw_bytes_u64(notes, says, &distance))
			(void) sw_jit_probe_add(probe, notes_svma + says + distance, 0);
		off = says + ((uint64_t) head[1] + 3) / 4 * 4;
	}
}

static void ftable_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct sw_elf_symbol symbol;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	/* Who has the symbol has notes, too, but all the same: the note of each of its files. */
	if (sw_elf_symbols_find(symbols, "snapwalk_ftable_v1", &symbol)) {
		(void) sw_jit_probe_add(probe, symbol.svma, 0); /* full: there are others */
		return;
	}
	if (!sw_bytes_copy(symbols->image, 0, &ehdr, sizeof(ehdr)) ||
	    ehdr.e_phentsize != sizeof(phdr))
		return;
	for (size_t i = 0; i < ehdr.e_phnum && i < PHDRS_MAX; i++) {
		struct sw_bytes notes;
		if (sw_bytes_copy(symbols->image, ehdr.e_phoff + i * sizeof(phdr), &phdr,
				  sizeof(phdr)) &&
		    phdr.p_type == PT_NOTE &&
		    sw_bytes_sub(symbols->image, phdr.p_offset, phdr.p_filesz, &notes))
			notes_probe(notes, phdr.p_vaddr, probe);
	}
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* A part of a table that was read. */
struct part {
	uint8_t *bytes; /* owned; NULL: not read yet, or in vain */
	size_t size;
	bool tried, live;
};

struct table {
	struct sw_ftable t;
	struct part data, symbols, names;
	struct sw_jit_fdes fdes;            /* owned; over data */
	struct sw_jit_ranges symbol_ranges; /* owned; value: index of a symbol */
	bool fdes_tried, ranges_tried;
	const char *problem; /* static: why it is not used; NULL */
};

struct registry {
	const struct sw_jit_anchor *anchor;
	size_t n, n_busy, n_bad;
	const char *problem; /* static; NULL */
};

struct ftable_state {
	const struct sw_snapshot *snap;
	const struct sw_jit_anchor *anchors;
	size_t n_anchors;
	struct registry *registries; /* owned */
	size_t n_registries;
	struct table *tables; /* owned; older ones first */
	size_t n_tables;
	struct sw_jit_ranges ranges; /* value: index of a table */
	struct sw_snapshot_memory still_memory, memory;
	size_t records_left, payloads_left; /* bytes */
	bool loaded, nomem;
};

/* Never from the pages that are kept: what is asked is whether something changed. */
static bool running_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_snapshot *snap = arg;
	return sw_pread(snap->priv->mem_fd, buffer, length, avma) == length;
}

static struct sw_memory running_memory(const struct ftable_state *st)
{
	static const struct sw_memory_ops ops = {.read = running_read};
	bool can = st->snap->live && st->snap->priv->mem_fd >= 0;
	return (struct sw_memory){can ? &ops : NULL, (void *) st->snap};
}

static int ftable_attach(const struct sw_snapshot *snap, const struct sw_jit_anchor *anchors,
			 size_t n_anchors, void **ret_state)
{
	if (n_anchors == 0)
		return 0;
	struct ftable_state *st = calloc(1, sizeof(*st));
	struct registry *registries = calloc(n_anchors, sizeof(*registries));
	if (st == NULL || registries == NULL) {
		free(st);
		free(registries);
		return -SW_E_NOMEM;
	}
	st->snap = snap;
	st->anchors = anchors;
	st->n_anchors = n_anchors;
	st->registries = registries;
	st->records_left = SW_FTABLE_RECORDS_BYTES;
	st->payloads_left = SW_FTABLE_PAYLOADS_BYTES;
	st->still_memory = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	st->memory = (struct sw_snapshot_memory){.snap = snap};
	*ret_state = st;
	return 0;
}

static void ftable_detach(void *state)
{
	struct ftable_state *st = state;
	if (st == NULL)
		return;
	for (size_t i = 0; i < st->n_tables; i++) {
		struct table *t = &st->tables[i];
		free(t->data.bytes);
		free(t->symbols.bytes);
		free(t->names.bytes);
		sw_jit_fdes_deinit(&t->fdes);
		sw_jit_ranges_deinit(&t->symbol_ranges);
	}
	sw_jit_ranges_deinit(&st->ranges);
	free(st->tables);
	free(st->registries);
	free(st);
}

static void registry_load(struct ftable_state *st, const struct sw_jit_anchor *anchor)
{
	struct registry *registry = &st->registries[st->n_registries];
	struct sw_ftables found = {0};
	for (size_t i = 0; i < st->n_registries; i++)
		if (st->registries[i].anchor->avma == anchor->avma)
			return; /* one note for each file that includes the header */
	st->n_registries++;
	st->nomem |= sw_ftables_read(sw_snapshot_memory(&st->still_memory), running_memory(st),
				     anchor->avma, &st->records_left, &found) < 0;
	*registry = (struct registry){.anchor = anchor,
				      .n = found.n,
				      .n_busy = found.n_busy,
				      .n_bad = found.n_bad,
				      .problem = found.problem};
	struct table *grown =
		reallocarray(st->tables, st->n_tables + found.n + 1, sizeof(*st->tables));
	if (grown != NULL) {
		st->tables = grown;
		for (size_t i = 0; i < found.n; i++)
			st->tables[st->n_tables++] = (struct table){.t = found.all[i]};
	}
	st->nomem |= grown == NULL;
	sw_ftables_deinit(&found);
}

static int compare_ids(const void *a, const void *b)
{
	const struct table *x = a, *y = b;
	return (x->t.id > y->t.id) - (x->t.id < y->t.id);
}

/* Tried once. */
static void load(struct ftable_state *st)
{
	if (st->loaded)
		return;
	st->loaded = true;
	for (size_t i = 0; i < st->n_anchors && !st->nomem; i++)
		registry_load(st, &st->anchors[i]);
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

/* What a table points to: from the copies, or from the process when the table is what it was. Tried
 * once. */
static bool part_get(struct ftable_state *st, struct table *t, struct part *part, uint64_t avma,
		     uint64_t bytes)
{
	if (part->tried || bytes == 0)
		return part->bytes != NULL;
	part->tried = true;
	if (bytes > SW_FTABLE_PAYLOAD_MAX || bytes > st->payloads_left) {
		t->problem = "a part of the table is larger than the limit";
		return false;
	}
	uint8_t *room = malloc((size_t) bytes);
	if (room == NULL) {
		t->problem = "not enough memory";
		return false;
	}
	bool ok = sw_memory_read(sw_snapshot_memory(&st->still_memory), avma, room, (size_t) bytes);
	if (!ok) {
		part->live = st->snap->live;
		ok = sw_memory_read(sw_snapshot_memory(&st->memory), avma, room, (size_t) bytes);
		t->problem = ok ? NULL : "a part of the table could not be read";
		if (ok && st->snap->live && !sw_ftable_unchanged(running_memory(st), &t->t)) {
			t->problem = "the table was removed or changed after the stop";
			ok = false;
		}
	}
	if (!ok) {
		free(room);
		return false;
	}
	st->payloads_left -= (size_t) bytes;
	part->bytes = room;
	part->size = (size_t) bytes;
	return true;
}

static bool data_get(struct ftable_state *st, struct table *t)
{
	return part_get(st, t, &t->data, t->t.data_avma, sw_ftable_data_bytes(&t->t));
}

/* ---- the way out of code ----------------------------------------------------------------------- */

static bool eh_frame_find(struct ftable_state *st, struct table *t, uint64_t avma,
			  struct sw_jit_entry *ret)
{
	if (!data_get(st, t))
		return false;
	ret->cfi = (struct sw_cfi_section){.bytes = {t->data.bytes, t->data.size},
					   .svma = t->t.data_avma};
	if (!t->fdes_tried) {
		t->fdes_tried = true;
		if (sw_jit_fdes_add(&t->fdes, &ret->cfi, 0) < 0)
			t->problem = "not enough memory";
		else if (t->fdes.bad)
			t->problem = "its call frame information is malformed";
		sw_jit_fdes_sort(&t->fdes);
	}
	const struct sw_jit_fde *fde = sw_jit_fdes_find(&t->fdes, avma);
	if (fde == NULL)
		return false;
	ret->how = SW_JIT_CFI;
	ret->cfi_off = fde->off;
	ret->start_avma = fde->start_avma;
	ret->end_avma = fde->end_avma;
	return true;
}

/* The last entry that does not begin behind rva. */
static bool entry_search(const struct part *data, uint32_t rva, struct sw_pe_function *ret)
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
static bool unwind_info_good(struct ftable_state *st, struct table *t, uint64_t avma)
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
	if (sw_ftable_unchanged(running_memory(st), &t->t))
		return true;
	t->problem = "the table was removed or changed after the stop";
	return false;
}

static bool function_find(struct ftable_state *st, struct table *t, uint64_t avma,
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

static bool symbol_at(struct ftable_state *st, struct table *t, uint64_t avma,
		      struct swft_symbol *ret);

/* At the first instruction of a symbol nothing was pushed yet. */
static void fixed_fill(struct ftable_state *st, struct table *t, uint64_t avma,
		       struct sw_jit_entry *ret)
{
	struct swft_symbol symbol;
	ret->how = SW_JIT_FIXED_CFA;
	ret->cfa_offset = t->t.cfa_offset;
	if (symbol_at(st, t, avma, &symbol) && t->t.start_avma + symbol.offset == avma)
		ret->cfa_offset = RET_BYTES;
}

static bool table_find(struct ftable_state *st, struct table *t, uint64_t avma,
		       struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){.start_avma = t->t.start_avma, .end_avma = t->t.end_avma};
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

/* Calls each for the tables about an address, the newest first, until one says true. */
static bool tables_about(struct ftable_state *st, uint64_t avma,
			 bool (*each)(struct ftable_state *st, struct table *t, uint64_t avma,
				      void *arg),
			 void *arg)
{
	if (st == NULL)
		return false;
	load(st);
	const struct sw_jit_range *range = sw_jit_ranges_find(&st->ranges, avma);
	size_t n = 0, last = range != NULL ? range->value + 1 : 0;
	size_t first = !st->ranges.overlap && last > 0 ? last - 1 : 0;
	if (last - first > LOOKS_MAX)
		first = last - LOOKS_MAX;
	for (size_t i = last; i > first && n < CANDIDATES_MAX; i--) {
		struct table *t = &st->tables[i - 1];
		if (avma < t->t.start_avma || avma >= t->t.end_avma)
			continue;
		if (each(st, t, avma, arg))
			return true;
		n++;
	}
	return false;
}

static bool each_find(struct ftable_state *st, struct table *t, uint64_t avma, void *arg)
{
	return table_find(st, t, avma, arg);
}

static bool ftable_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	return tables_about(state, avma, each_find, ret);
}

/* ---- names ------------------------------------------------------------------------------------- */

static bool symbol_read(const struct table *t, size_t index, struct swft_symbol *ret)
{
	struct sw_bytes b = {t->symbols.bytes, t->symbols.size};
	return sw_bytes_copy(b, (uint64_t) index * sizeof(*ret), ret, sizeof(*ret));
}

static void symbols_index(struct table *t)
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

static bool symbol_at(struct ftable_state *st, struct table *t, uint64_t avma,
		      struct swft_symbol *ret)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(t->t.n_symbols, sizeof(*ret), &bytes) ||
	    !part_get(st, t, &t->symbols, t->t.symbols_avma, bytes))
		return false;
	if (!t->ranges_tried)
		symbols_index(t);
	const struct sw_jit_range *range = sw_jit_ranges_find(&t->symbol_ranges, avma);
	return range != NULL && symbol_read(t, range->value, ret);
}

/* A name at an offset; the only one of a table may end without a NUL. */
static bool name_copy(struct ftable_state *st, struct table *t, uint64_t off, char *to, size_t room)
{
	if (!part_get(st, t, &t->names, t->t.names_avma, t->t.names_bytes) || off >= t->names.size)
		return false;
	size_t n = strnlen((const char *) t->names.bytes + off, t->names.size - (size_t) off);
	if (n >= room)
		n = room - 1;
	memcpy(to, t->names.bytes + off, n);
	to[n] = '\0';
	return n > 0;
}

static bool each_describe(struct ftable_state *st, struct table *t, uint64_t avma, void *arg)
{
	struct sw_description *ret = arg;
	struct swft_symbol symbol = {0};
	if (t->t.n_symbols > 0 && !symbol_at(st, t, avma, &symbol))
		return false;
	if (!name_copy(st, t, symbol.name, ret->function, sizeof(ret->function)))
		return false;
	ret->start_avma = t->t.start_avma + symbol.offset;
	if (symbol.line != 0 && name_copy(st, t, symbol.file, ret->file, sizeof(ret->file)))
		ret->line = symbol.line;
	return true;
}

static int ftable_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	return tables_about(state, avma, each_describe, ret) ? 1 : 0;
}

/* ---- words ------------------------------------------------------------------------------------- */

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[SWFT_EH_FRAME] = "EH_FRAME",
		[SWFT_RUNTIME_FUNCTION] = "RUNTIME_FUNCTION",
		[SWFT_FRAME_POINTER] = "FRAME_POINTER",
		[SWFT_FIXED] = "FIXED",
		[SWFT_DEFERRED] = "DEFERRED",
	};
	return names[kind]; /* checked when it was parsed */
}

static bool each_explain(struct ftable_state *st, struct table *t, uint64_t avma, void *arg)
{
	struct sw_text *text = arg;
	struct sw_description name = {0};
	(void) each_describe(st, t, avma, &name); /* "" when it has none */
	sw_text_printf(text,
		       "ftable: table %" PRIu64 " at 0x%" PRIx64 ", %s%s, [0x%" PRIx64
		       ", 0x%" PRIx64 "), %" PRIu64 " entries or bytes, %" PRIu64 " symbols%s%s",
		       t->t.id, t->t.record_avma, t->t.deferred ? "deferred: " : "",
		       kind_name(t->t.kind), t->t.start_avma, t->t.end_avma, t->t.count,
		       t->t.n_symbols, name.function[0] != '\0' ? ", " : "", name.function);
	if (t->t.deferred)
		sw_text_printf(text, ", format \"%s\"", t->t.format);
	sw_text_printf(text, "%s%s\n", t->problem != NULL ? ": " : "",
		       t->problem != NULL ? t->problem : "");
	return false; /* the next one, too */
}

static void ftable_explain(void *state, uint64_t avma, struct sw_text *text)
{
	(void) tables_about(state, avma, each_explain, text); /* all of them */
}

static size_t ftable_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct ftable_state *st = state;
	size_t n = 0;
	if (st == NULL)
		return 0;
	load(st);
	for (size_t i = 0; i < st->n_registries && n < max; i++) {
		const struct registry *r = &st->registries[i];
		if (r->n == 0 && r->n_busy == 0 && r->n_bad == 0 && r->problem == NULL)
			continue; /* a library that can, in a program that does not */
		ret[n] = (struct sw_runtime){.name = "ftable", .entries = (int64_t) r->n};
		(void) snprintf(ret[n].where, sizeof(ret[n].where), "%s",
				sw_module_path(r->anchor->place->module)); /* cut is fine */
		if (r->problem != NULL || st->nomem)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem), "%s",
					st->nomem ? "not enough memory" : r->problem);
		else if (r->n_bad > 0)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem),
					"%zu of its tables are malformed", r->n_bad);
		else if (r->n_busy > 0)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem),
					"%zu of its tables were being changed", r->n_busy);
		n++;
	}
	return n;
}

const struct sw_jit_source_ops sw_jit_ftable = {
	.name = "ftable",
	.probe = ftable_probe,
	.prepare = sw_ftable_prepare,
	.capture = sw_ftable_capture,
	.attach = ftable_attach,
	.detach = ftable_detach,
	.find = ftable_find,
	.describe = ftable_describe,
	.explain = ftable_explain,
	.recognise = ftable_recognise,
};
