/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Results as bytes, for the symbolizer of another process on the same machine:
 *
 *	head, then for each unit: unit_head, text (why there are no lines), and for each address
 *	entry_head, and for each symbol symbol_head and its texts, each with its NUL.
 *
 * Only of modules that are files: those are known by device, inode, size and time of modification, as the
 * context knows them. Whoever wrote the bytes parsed hostile files, and may be taken over: they are read as
 * those files are.
 */
#include "kept.h"
#include "entries.h"
#include "errors.h"

#include <string.h>
#include <sys/stat.h>

enum {
	MAGIC = 0x31746b73,
	ENTRY_NAMED = 1 << 0,
	ENTRY_LINED = 1 << 1,
	SYMBOL_INLINED = 1 << 0,
	SYMBOL_FUNCTION = 1 << 1,
	SYMBOL_MANGLED = 1 << 2,
	SYMBOL_FILE = 1 << 3,
};

struct head {
	uint32_t magic, reserved;
	uint64_t bytes; /* of what follows */
	uint64_t hash;  /* of that: a writer may have been killed half-way */
};

struct unit_head {
	uint64_t dev, inode, size, mtime_s, mtime_ns;
	uint32_t source, n_entries;
	uint64_t bytes; /* of what follows */
};

struct entry_head {
	uint64_t svma;
	uint32_t flags, n_symbols;
};

struct symbol_head {
	uint64_t function_offset;
	uint32_t line;
	int32_t line_offset;
	uint32_t source, flags;
};

static uint64_t hash_of(struct sw_bytes b)
{
	uint64_t hash = b.size;
	for (uint64_t off = 0; off < b.size; off += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t left = b.size - (size_t) off;
		memcpy(&word, b.data + off, left < sizeof(word) ? left : sizeof(word));
		hash = sw_mix64(hash ^ word);
	}
	return hash;
}

static bool identity_of(const struct sw_unit *unit, struct unit_head *ret)
{
	struct stat st;
	int fd = sw_module_fd(unit->module);
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ret = (struct unit_head){.dev = st.st_dev,
				  .inode = st.st_ino,
				  .size = (uint64_t) st.st_size,
				  .mtime_s = (uint64_t) st.st_mtim.tv_sec,
				  .mtime_ns = (uint64_t) st.st_mtim.tv_nsec};
	return true;
}

static bool is_same_file(const struct unit_head *a, const struct unit_head *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

/* ---- write ---------------------------------------------------------------------------------- */

struct out {
	uint8_t *data; /* borrowed */
	size_t size, used;
	bool full;
};

static void put(struct out *o, const void *bytes, size_t n)
{
	if (o->full || n > o->size - o->used) {
		o->full = true;
		return;
	}
	memcpy(o->data + o->used, bytes, n);
	o->used += n;
}

static void put_text(struct out *o, const char *text)
{
	if (text != NULL)
		put(o, text, strlen(text) + 1);
}

static void symbol_write(struct out *o, const struct sw_symbol *s)
{
	const struct symbol_head head = {
		.function_offset = s->function_offset,
		.line = s->line,
		.line_offset = s->line_offset,
		.source = s->source,
		.flags = (s->inlined ? SYMBOL_INLINED : 0U) |
			 (s->function != NULL ? SYMBOL_FUNCTION : 0U) |
			 (s->mangled != NULL ? SYMBOL_MANGLED : 0U) |
			 (s->file != NULL ? SYMBOL_FILE : 0U),
	};
	put(o, &head, sizeof(head));
	put_text(o, s->function);
	put_text(o, s->mangled);
	put_text(o, s->file);
}

/* False: there was no space, and nothing of it is there. */
static bool entry_write(struct out *o, const struct sw_entry *entry)
{
	const struct entry_head head = {
		.svma = entry->svma,
		.flags = ENTRY_NAMED | (entry->lined ? ENTRY_LINED : 0U),
		.n_symbols = (uint32_t) entry->n_symbols,
	};
	size_t before = o->used;
	put(o, &head, sizeof(head));
	for (size_t i = 0; i < entry->n_symbols; i++)
		symbol_write(o, &entry->symbols[i]);
	if (o->full)
		o->used = before;
	return !o->full;
}

/* The entries that this generation asked for, or the others. */
static void unit_write(struct out *o, const struct sw_unit *unit, uint64_t generation, bool asked)
{
	struct unit_head head;
	size_t begin = o->used;
	if (unit->n_entries == 0 || !identity_of(unit, &head))
		return;
	head.source = unit->source;
	put(o, &head, sizeof(head));
	size_t body = o->used;
	put_text(o, unit->lines_why != NULL ? unit->lines_why : "");
	for (size_t i = 0; i < unit->n_entries && !o->full; i++) {
		const struct sw_entry *entry = &unit->entries[i];
		if (entry->named && (entry->generation == generation) == asked &&
		    entry_write(o, entry))
			head.n_entries++;
	}
	if (head.n_entries == 0) {
		o->used = begin;
		return;
	}
	head.bytes = o->used - body;
	memcpy(o->data + begin, &head, sizeof(head));
}

size_t sw_kept_write(struct sw_unit *const *units, size_t n_units, uint64_t generation,
		     void *buffer, size_t size)
{
	struct head head = {.magic = MAGIC};
	struct out o = {.data = buffer, .size = size, .used = sizeof(head)};
	if (size < sizeof(head))
		return 0;
	for (int asked = 1; asked >= 0; asked--)
		for (size_t i = 0; i < n_units && !o.full; i++)
			unit_write(&o, units[i], generation, asked != 0);
	if (o.used == sizeof(head))
		return 0;
	head.bytes = o.used - sizeof(head);
	head.hash = hash_of((struct sw_bytes){o.data + sizeof(head), (size_t) head.bytes});
	memcpy(o.data, &head, sizeof(head));
	return o.used;
}

/* ---- read ----------------------------------------------------------------------------------- */

bool sw_kept_open(struct sw_kept *kept, struct sw_bytes bytes)
{
	struct head head;
	struct sw_bytes units;
	if (!sw_bytes_copy(bytes, 0, &head, sizeof(head)) || head.magic != MAGIC ||
	    !sw_bytes_sub(bytes, sizeof(head), head.bytes, &units) || hash_of(units) != head.hash)
		return false;
	kept->units = units;
	return true;
}

static bool get(struct sw_bytes b, uint64_t *off, void *to, size_t n)
{
	if (!sw_bytes_copy(b, *off, to, n))
		return false;
	*off += n;
	return true;
}

static bool get_text(struct sw_bytes b, uint64_t *off, bool there, const char **ret)
{
	*ret = NULL;
	if (!there)
		return true;
	if (!sw_bytes_str(b, *off, ret))
		return false;
	*off += strlen(*ret) + 1;
	return true;
}

static bool source_is_good(uint32_t source)
{
	return source <= SW_SOURCE_JIT;
}

static bool symbol_read(struct sw_bytes b, uint64_t *off, struct sw_symbol *ret)
{
	struct symbol_head head;
	if (!get(b, off, &head, sizeof(head)) || !source_is_good(head.source))
		return false;
	*ret = (struct sw_symbol){.function_offset = head.function_offset,
				  .line = head.line,
				  .line_offset = head.line_offset,
				  .inlined = (head.flags & SYMBOL_INLINED) != 0,
				  .source = (enum sw_symbol_source) head.source};
	return get_text(b, off, head.flags & SYMBOL_FUNCTION, &ret->function) &&
	       get_text(b, off, head.flags & SYMBOL_MANGLED, &ret->mangled) &&
	       get_text(b, off, head.flags & SYMBOL_FILE, &ret->file);
}

/* 1; 0: the bytes are not what they should be; -SW_E_NOMEM. */
static int entry_read(struct sw_bytes b, uint64_t *off, struct sw_unit *unit,
		      struct sw_arena *arena)
{
	struct entry_head head;
	struct sw_symbol *symbols = NULL;
	size_t index;
	if (!get(b, off, &head, sizeof(head)) ||
	    head.n_symbols > (b.size - *off) / sizeof(struct symbol_head))
		return 0;
	if (head.n_symbols > 0)
		symbols = sw_arena_calloc(arena, head.n_symbols, sizeof(*symbols));
	if (head.n_symbols > 0 && symbols == NULL)
		return -SW_E_NOMEM;
	for (uint32_t i = 0; i < head.n_symbols; i++)
		if (!symbol_read(b, off, &symbols[i]))
			return 0;
	int r = sw_unit_entry(unit, head.svma, &index);
	if (r < 0)
		return r;
	struct sw_entry *entry = &unit->entries[index];
	entry->symbols = symbols;
	entry->n_symbols = head.n_symbols;
	entry->named = (head.flags & ENTRY_NAMED) != 0;
	entry->lined = (head.flags & ENTRY_LINED) != 0;
	return 1;
}

static int unit_read(struct sw_bytes b, const struct unit_head *head, struct sw_unit *unit,
		     struct sw_arena *arena)
{
	uint64_t off = 0;
	const char *why;
	int r = 1;
	if (!source_is_good(head->source) || !get_text(b, &off, true, &why))
		return 0;
	if (head->source > unit->source)
		unit->source = (enum sw_symbol_source) head->source;
	if (why[0] != '\0')
		unit->lines_why = why;
	for (uint32_t i = 0; i < head->n_entries && r > 0; i++)
		r = entry_read(b, &off, unit, arena);
	return r;
}

int sw_kept_recall(const struct sw_kept *kept, struct sw_unit *unit, struct sw_arena *arena)
{
	struct unit_head wanted, head;
	struct sw_bytes body;
	uint64_t off = 0;
	int r = 0;
	if (kept->units.size == 0 || !identity_of(unit, &wanted))
		return 0;
	while (r >= 0 && get(kept->units, &off, &head, sizeof(head)) &&
	       sw_bytes_sub(kept->units, off, head.bytes, &body)) {
		if (is_same_file(&head, &wanted))
			r = unit_read(body, &head, unit, arena);
		off += head.bytes;
	}
	return r < 0 ? r : 0;
}
