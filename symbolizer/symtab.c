/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symtab.h"
#include "cleanup.h"
#include "dwarf/deadline.h"

enum {
	STEPS_MAX = 1 << 26,       /* of one call: see went_on() */
	DEADLINE_EVERY = 1 << 14,  /* steps */
	STEP_NAME_BYTES = 16,      /* of a name that is read or compared */
	EXPORTED_LABEL_MAX = 256,  /* bytes: musl's functions in assembly are no larger */
	SYMBOL_NAME_MAX = 1 << 20, /* bytes; longer names are cut by nobody's linker */
	INDEX_SCANS = 16, /* sorting takes as long as some scans; a dump makes one or two */
	INDEX_STARTS_MAX = 1 << 20, /* functions; a larger table is scanned each time */
};

struct symbol {
	uint32_t name;
	uint8_t info;
	uint16_t section;
	uint64_t start_svma, size_bytes;
};

/* Executable sections of the file as a set, so that NOTYPE symbols of data are told apart. */
struct scan {
	const struct sw_symtab *table;
	struct sw_want *wants;
	const uint64_t *keys; /* the wants' svma, close together */
	size_t n;             /* at least 1 */
	int64_t deadline_ns;
	size_t steps, next_look; /* so far; when the clock is looked at again */
	bool stopped;            /* by the deadline or the limit */
	/* The last section asked about: symbols of one section stand together. */
	uint32_t cached_index;
	struct sw_elf_section cached;
	bool cached_valid;
};

/*
 * Counts work by its cost: a symbol, a pair of a symbol and an address, or some bytes of a name are a step each. A file may have
 * a million symbols that hold the same address, and names of a megabyte. False: the deadline or the limit came.
 */
static inline bool went_on(struct scan *scan, size_t steps)
{
	scan->steps += steps;
	if (scan->steps < scan->next_look)
		return !scan->stopped;
	scan->next_look = scan->steps + DEADLINE_EVERY;
	if (scan->steps > STEPS_MAX || sw_deadline_passed(scan->deadline_ns))
		scan->stopped = true;
	return !scan->stopped;
}

/* Fewer is better; see symtab.h. Names are compared only when this is equal. */
static uint32_t symbol_rank(const struct symbol *s)
{
	uint32_t rank = 0;
	if (ELF64_ST_TYPE(s->info) == STT_NOTYPE)
		rank += 4;
	switch (ELF64_ST_BIND(s->info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE: break;
	case STB_WEAK: rank += 1; break;
	default: rank += 2; break;
	}
	return rank;
}

static bool is_version_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-' || c == '+';
}

/* Bytes of the name without its version ("memcpy@@GLIBC_2.14"). Names of Crystal have "@" in them:
 * "*Shop(Int32)@Shop(T)#nap<Int32>:Int32". */
static size_t without_version(const char *name, size_t bytes)
{
	size_t version = bytes;
	while (version > 0 && is_version_char(name[version - 1]))
		version--;
	if (version == bytes || version < 2 || name[version - 1] != '@')
		return bytes;
	return version - (name[version - 2] == '@' ? 2 : 1);
}

/* Without its version. False when there is none. */
static bool symbol_name(struct scan *scan, const struct symbol *s, const char **ret,
			size_t *ret_bytes)
{
	struct sw_bytes strings = scan->table->table.strings;
	if (s->name >= strings.size)
		return false;
	const char *name = (const char *) strings.data + s->name;
	size_t max = strings.size - s->name;
	if (max > SYMBOL_NAME_MAX)
		max = SYMBOL_NAME_MAX;
	size_t bytes = strnlen(name, max);
	if (!went_on(scan, bytes / STEP_NAME_BYTES) || bytes == max)
		return false;
	*ret = name;
	*ret_bytes = without_version(name, bytes);
	return *ret_bytes > 0;
}

static size_t underscores(const char *name, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && name[n] == '_')
		n++;
	return n;
}

bool sw_symbol_name_better(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t a_lead = underscores(a, a_bytes), b_lead = underscores(b, b_bytes);
	if (a_lead != b_lead)
		return a_lead < b_lead;
	if (a_bytes != b_bytes)
		return a_bytes < b_bytes;
	return memcmp(a, b, a_bytes) < 0;
}

static void consider_sized(struct scan *scan, const struct symbol *s, struct sw_want *want)
{
	uint32_t rank = symbol_rank(s);
	if (want->name != NULL) {
		if (s->start_svma != want->start_svma) {
			if (s->start_svma < want->start_svma)
				return;
		} else if (rank != want->rank) {
			if (rank > want->rank)
				return;
		} else if (s->size_bytes > want->size_bytes) {
			return;
		}
	}
	const char *name;
	size_t bytes;
	if (!symbol_name(scan, s, &name, &bytes))
		return;
	bool tie = want->name != NULL && s->start_svma == want->start_svma && rank == want->rank &&
		   s->size_bytes == want->size_bytes;
	if (tie && !sw_symbol_name_better(name, bytes, want->name, want->name_bytes))
		return;
	want->name = name;
	want->name_bytes = bytes;
	want->start_svma = s->start_svma;
	want->size_bytes = s->size_bytes;
	want->rank = rank;
	want->source = scan->table->source;
}

static const struct sw_elf_section *section_of(struct scan *scan, uint32_t index)
{
	if (!scan->cached_valid || scan->cached_index != index) {
		scan->cached_index = index;
		scan->cached_valid = true;
		if (!sw_elf_section(scan->table->elf, index, &scan->cached))
			scan->cached = (struct sw_elf_section){0};
	}
	return &scan->cached;
}

/* Keeps a symbol that starts nowhere before the label, and the best one of size 0 that starts there. */
static void label_keep(struct scan *scan, const struct symbol *s, struct sw_label *label)
{
	bool same = label->seen && s->start_svma == label->start_svma;
	if (!same)
		*label = (struct sw_label){.seen = true, .start_svma = s->start_svma};
	if (s->size_bytes != 0)
		return;
	uint32_t rank = symbol_rank(s);
	const char *name;
	size_t bytes;
	if ((label->name != NULL && rank > label->rank) || !symbol_name(scan, s, &name, &bytes))
		return;
	if (label->name != NULL && rank == label->rank &&
	    !sw_symbol_name_better(name, bytes, label->name, label->name_bytes))
		return;
	/* Without a size only an executable section got it past is_function(). */
	const struct sw_elf_section *section = section_of(scan, s->section);
	label->end_svma = section->svma + section->size;
	/* A stripped file does not tell which functions lie behind the label. */
	if (scan->table->source == SW_SOURCE_DYNSYM &&
	    label->end_svma - s->start_svma > EXPORTED_LABEL_MAX)
		label->end_svma = s->start_svma + EXPORTED_LABEL_MAX;
	label->name = name;
	label->name_bytes = bytes;
	label->rank = rank;
	label->source = scan->table->source;
}

/* Keeps the last start before the address: most symbols come before another one. */
static inline void consider_label(struct scan *scan, const struct symbol *s, struct sw_label *label)
{
	if (!label->seen || s->start_svma >= label->start_svma)
		label_keep(scan, s, label);
}

/*
 * Symbols without a type or without a size could be anything: they count only in an executable
 * section. A file without section headers cannot say; then only typed ones with a size count.
 * Inlined, as symbol_at(): the compiler makes calls of what the index uses, too, and a scan asks 10,000 times.
 */
static inline __attribute__((always_inline)) bool is_function(struct scan *scan,
							      const struct symbol *s)
{
	uint8_t type = ELF64_ST_TYPE(s->info);
	if (s->section == SHN_UNDEF || s->section == SHN_COMMON)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (type != STT_NOTYPE && s->size_bytes != 0)
		return true;
	if (s->section >= SHN_LORESERVE)
		return false;
	return section_of(scan, s->section)->flags & SHF_EXECINSTR;
}

/* Index of the first want at or after svma. Without branches (gcc makes one of "?:"): for a table
 * of 100,000 symbols in no order, wrong guesses at them are half of the time. */
static size_t wants_from(const struct scan *scan, uint64_t svma)
{
	const uint64_t *key = scan->keys;
	for (size_t n = scan->n; n > 1;) {
		size_t half = n / 2;
		key += half & -(size_t) (key[half - 1] < svma);
		n -= half;
	}
	return (size_t) (key - scan->keys) + (*key < svma);
}

static void consider(struct scan *scan, const struct symbol *s)
{
	if (ELF64_ST_TYPE(s->info) == STT_OBJECT)
		return;
	size_t first = wants_from(scan, s->start_svma);
	if (first == scan->n || !is_function(scan, s))
		return;
	/* Only at the first want that it precedes: labels_spread() carries it on to the others. */
	consider_label(scan, s, &scan->wants[first].label);
	for (size_t i = first; i < scan->n; i++) {
		if (scan->wants[i].svma - s->start_svma >= s->size_bytes || !went_on(scan, 1))
			break;
		consider_sized(scan, s, &scan->wants[i]);
	}
}

/* A want whose nearest symbol lies before the previous want shares that one's. */
static void labels_spread(struct sw_want *wants, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!wants[i].label.seen ||
		    (wants[i - 1].label.seen &&
		     wants[i - 1].label.start_svma > wants[i].label.start_svma))
			wants[i].label = wants[i - 1].label;
}

/* The entry at an index, which is whole: none of these can fail. */
static inline __attribute__((always_inline)) struct symbol
symbol_at(const struct sw_elf_table *table, size_t i)
{
	struct sw_bytes raw = {table->symbols.data + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym)};
	struct symbol s = {0};
	(void) sw_bytes_u32(raw, offsetof(Elf64_Sym, st_name), &s.name);
	(void) sw_bytes_u8(raw, offsetof(Elf64_Sym, st_info), &s.info);
	(void) sw_bytes_u16(raw, offsetof(Elf64_Sym, st_shndx), &s.section);
	(void) sw_bytes_u64(raw, offsetof(Elf64_Sym, st_value), &s.start_svma);
	(void) sw_bytes_u64(raw, offsetof(Elf64_Sym, st_size), &s.size_bytes);
	return s;
}

static struct symbol symbol32_at(const struct sw_elf_table *table, size_t i)
{
	Elf64_Sym sym = {0};
	(void) sw_elf_symbol_read(table, i, &sym);
	return (struct symbol){.name = sym.st_name,
			       .info = sym.st_info,
			       .section = sym.st_shndx,
			       .start_svma = sym.st_value,
			       .size_bytes = sym.st_size};
}

static bool scan_symbols(struct scan *scan)
{
	const struct sw_elf_table *table = &scan->table->table;
	size_t n = table->symbols.size / sw_elf_symbol_bytes(table->is_32bit);
	for (size_t i = 1; i < n && went_on(scan, 1); i++) {
		struct symbol s = table->is_32bit ? symbol32_at(table, i) : symbol_at(table, i);
		consider(scan, &s);
	}
	return !scan->stopped;
}

bool sw_symtab_scan(const struct sw_symtab *table, struct sw_want *wants, size_t n,
		    int64_t deadline_ns)
{
	sw_cleanup(sw_free_p) uint64_t *keys = calloc(n + 1, sizeof(*keys));
	if (keys == NULL)
		return false;
	if (n == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		keys[i] = wants[i].svma;
	struct scan scan = {.table = table,
			    .wants = wants,
			    .keys = keys,
			    .n = n,
			    .deadline_ns = deadline_ns,
			    .next_look = DEADLINE_EVERY};
	bool whole = scan_symbols(&scan);
	labels_spread(wants, n);
	return whole;
}

/* ---- the index ------------------------------------------------------------------------------- */

static size_t symbols_count(const struct sw_elf_table *table)
{
	return table->symbols.size / sw_elf_symbol_bytes(table->is_32bit);
}

static struct symbol any_symbol_at(const struct sw_elf_table *table, size_t i)
{
	return table->is_32bit ? symbol32_at(table, i) : symbol_at(table, i);
}

static int start_compare(const void *a, const void *b)
{
	const struct sw_symtab_start *x = a, *y = b;
	if (x->start_svma != y->start_svma)
		return x->start_svma < y->start_svma ? -1 : 1;
	return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

/* False: there is no memory, there are too many functions, or the deadline came. */
static bool starts_collect(struct scan *scan, struct sw_symtab_index *index)
{
	enum { FIRST = 256 };
	const struct sw_elf_table *table = &scan->table->table;
	size_t capacity = 0;
	for (size_t i = 1; i < symbols_count(table); i++) {
		if (!went_on(scan, 1))
			return false;
		struct symbol s = any_symbol_at(table, i);
		if (!is_function(scan, &s))
			continue;
		struct sw_symtab_start *grown =
			sw_grow(index->starts, index->n, &capacity, FIRST, sizeof(*grown));
		if (grown == NULL)
			return false;
		index->starts = grown;
		if (!sw_table_memory_take(index->memory, sizeof(*grown)))
			return false;
		uint64_t last;
		if (__builtin_add_overflow(s.start_svma, s.size_bytes - (s.size_bytes != 0), &last))
			last = UINT64_MAX;
		index->starts[index->n++] = (struct sw_symtab_start){s.start_svma, last, i};
		if (index->n == INDEX_STARTS_MAX)
			return false;
	}
	return index->n > 0;
}

static void index_make(struct scan *scan, struct sw_symtab_index *index,
		       struct sw_table_memory *memory)
{
	index->memory = memory;
	bool made = starts_collect(scan, index);
	if (!made)
		sw_symtab_index_deinit(index);
	index->tried = true;
	if (!made)
		return;
	index->starts = sw_table_shrink(index->starts, index->n, sizeof(*index->starts));
	qsort(index->starts, index->n, sizeof(*index->starts), start_compare);
	for (size_t i = 1; i < index->n; i++)
		if (index->starts[i].last_svma < index->starts[i - 1].last_svma)
			index->starts[i].last_svma = index->starts[i - 1].last_svma;
}

/* How many functions start at the address or before it. */
static size_t starts_until(const struct sw_symtab_index *index, uint64_t svma)
{
	size_t low = 0, high = index->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (index->starts[middle].start_svma <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* From the nearest start on backwards, until no function before may hold the address. */
static void want_look_up(struct scan *scan, const struct sw_symtab_index *index,
			 struct sw_want *want)
{
	const struct sw_elf_table *table = &scan->table->table;
	size_t n = starts_until(index, want->svma);
	uint64_t nearest = n > 0 ? index->starts[n - 1].start_svma : 0;
	for (size_t i = n; i > 0; i--) {
		const struct sw_symtab_start *start = &index->starts[i - 1];
		if (start->start_svma != nearest && start->last_svma < want->svma)
			break;
		if (start->symbol >= symbols_count(table) || !went_on(scan, 1))
			break;
		struct symbol s = any_symbol_at(table, start->symbol);
		if (s.start_svma > want->svma || !is_function(scan, &s))
			continue; /* the file has changed */
		if (start->start_svma == nearest)
			consider_label(scan, &s, &want->label);
		if (want->svma - s.start_svma < s.size_bytes)
			consider_sized(scan, &s, want);
	}
}

bool sw_symtab_look_up(const struct sw_symtab *table, struct sw_symtab_index *index,
		       struct sw_want *wants, size_t n, const struct sw_request *request)
{
	struct scan scan = {.table = table,
			    .wants = wants,
			    .n = n,
			    .deadline_ns = request->deadline_ns,
			    .next_look = DEADLINE_EVERY};
	if (index->n_scans >= INDEX_SCANS && !index->tried)
		index_make(&scan, index, request->tables);
	if (index->starts == NULL) {
		index->n_scans++;
		return sw_symtab_scan(table, wants, n, request->deadline_ns);
	}
	for (size_t i = 0; i < n && !scan.stopped; i++)
		want_look_up(&scan, index, &wants[i]);
	return !scan.stopped;
}

void sw_symtab_index_deinit(struct sw_symtab_index *index)
{
	sw_table_memory_give(index->memory, index->n * sizeof(*index->starts));
	free(index->starts);
	*index = (struct sw_symtab_index){0};
}

bool sw_symtab_find(const struct sw_elf *elf, uint32_t section_type, enum sw_symbol_source source,
		    struct sw_symtab *ret)
{
	struct sw_symtab table = {.elf = elf, .source = source};
	if (!sw_elf_table_typed(elf, section_type, &table.table))
		return false;
	*ret = table;
	return true;
}

/* The number of symbols is nowhere: linkers put the strings right behind them, and a reader may not
 * go further than that (the way of eu-readelf -D and gdb; DT_GNU_HASH would need a walk). */
static void symbols_bound(struct sw_elf_table *table)
{
	struct sw_bytes *symbols = &table->symbols, strings = table->strings;
	if (strings.data > symbols->data && (size_t) (strings.data - symbols->data) < symbols->size)
		symbols->size = (size_t) (strings.data - symbols->data);
}

bool sw_symtab_find_dynamic(const struct sw_elf *elf, uint64_t bias, enum sw_symbol_source source,
			    struct sw_symtab *ret)
{
	struct sw_elf_dynamic d;
	struct sw_symtab found = {.elf = elf, .source = source, .table.is_32bit = elf->is_32bit};
	struct sw_elf_table *table = &found.table;
	if (!sw_elf_dynamic(elf, &d) ||
	    (!sw_elf_loaded(elf, d.symbols_svma, &table->symbols) &&
	     !sw_elf_loaded(elf, d.symbols_svma - bias, &table->symbols)) ||
	    (!sw_elf_loaded(elf, d.strings_svma, &table->strings) &&
	     !sw_elf_loaded(elf, d.strings_svma - bias, &table->strings)))
		return false;
	symbols_bound(table);
	if (d.strings_bytes < table->strings.size)
		table->strings.size = (size_t) d.strings_bytes;
	*ret = found;
	return true;
}

bool sw_wants_settled(const struct sw_want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].name == NULL)
			return false;
	return true;
}
