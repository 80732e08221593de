/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/jitdump_parse.h"
#include "jit/perf/jitdump.h"
#include "cleanup.h"
#include "errors.h"
#include "map.h"

enum record_kind { LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO };

enum {
	HEADER_BYTES = 40,
	RECORD_BYTES = 16, /* of what all have */
	LOAD_BYTES = 40,   /* behind that, before the name */
	MOVE_BYTES = 48,
	DEBUG_BYTES = 16,
	UNWIND_BYTES = 24,
	ENTRY_BYTES = 16, /* of DEBUG_INFO, before the file's name */
	ENTRIES_MAX = 1 << 20,
	FUNCTIONS_FIRST = 256,
	EH_FRAME_ALIGN = 8,
	RECORD_ALIGN = 8,
	V8_TEXT_OFF = 0x40,
	DIGITS_MAX = 10,       /* of a line or a column */
	V8_NAME_MAX = 8192,    /* longer ones are not searched for a file */
	UNWIND_MAX = 64 << 10, /* of one function: searched for each of its addresses */
};

static const uint32_t magic = 0x4a695444; /* "JiTD", in the byte order of the writer */

/* Records of lines and of unwinding that wait for their LOAD. */
struct pending {
	uint64_t lines_avma;
	uint32_t lines_off, lines_end, unwind_off, unwind_bytes;
};

struct parser {
	struct sw_jitdump *dump;
	struct sw_map64 by_start; /* address -> index of the newest function there */
	struct pending pending;
	bool nomem;
};

static struct sw_jitdump_function *function_add(struct parser *p)
{
	struct sw_jitdump *d = p->dump;
	if (d->n == SW_JITDUMP_FUNCTIONS_MAX) {
		d->problem = "it has more functions than the limit";
		return NULL;
	}
	if (d->n == d->capacity) {
		size_t capacity = d->capacity == 0 ? FUNCTIONS_FIRST : d->capacity * 2;
		struct sw_jitdump_function *grown =
			reallocarray(d->functions, capacity, sizeof(*grown));
		p->nomem |= grown == NULL;
		if (grown == NULL)
			return NULL;
		d->functions = grown;
		d->capacity = capacity;
	}
	struct sw_jitdump_function *f = &d->functions[d->n++];
	*f = (struct sw_jitdump_function){0};
	return f;
}

static void function_index(struct parser *p, const struct sw_jitdump_function *f)
{
	if (sw_map64_put(&p->by_start, f->start_avma, (uint64_t) (f - p->dump->functions)) < 0)
		p->nomem = true;
}

static bool take_load(struct parser *p, struct sw_bytes r, uint32_t off)
{
	uint64_t start, bytes;
	const char *name;
	if (!sw_bytes_u64(r, RECORD_BYTES + 16, &start) ||
	    !sw_bytes_u64(r, RECORD_BYTES + 24, &bytes) ||
	    !sw_bytes_str(r, RECORD_BYTES + LOAD_BYTES, &name))
		return false;
	struct sw_jitdump_function *f = function_add(p);
	if (f == NULL)
		return false;
	f->start_avma = start;
	f->bytes = bytes;
	f->name_off = off + RECORD_BYTES + LOAD_BYTES;
	if (p->pending.lines_off != 0 && p->pending.lines_avma == start) {
		f->lines_off = p->pending.lines_off;
		f->lines_end = p->pending.lines_end;
	}
	f->unwind_off = p->pending.unwind_off;
	f->unwind_bytes = p->pending.unwind_bytes;
	p->pending = (struct pending){0};
	function_index(p, f);
	return true;
}

/* The same function elsewhere; a move of what was never loaded says nothing. */
static bool take_move(struct parser *p, struct sw_bytes r)
{
	uint64_t from, to, index;
	if (!sw_bytes_has(r, RECORD_BYTES, MOVE_BYTES) ||
	    !sw_bytes_u64(r, RECORD_BYTES + 16, &from) || !sw_bytes_u64(r, RECORD_BYTES + 24, &to))
		return false;
	if (!sw_map64_get(&p->by_start, from, &index) || p->dump->functions[index].gone)
		return true;
	struct sw_jitdump_function *f = function_add(p);
	if (f == NULL)
		return false;
	*f = p->dump->functions[index];
	f->start_avma = to;
	f->lines_off = 0; /* its addresses are those of before */
	p->dump->functions[index].gone = true;
	function_index(p, f);
	return true;
}

static bool take_debug(struct parser *p, struct sw_bytes r, uint32_t off)
{
	uint64_t start;
	if (!sw_bytes_has(r, RECORD_BYTES, DEBUG_BYTES) || !sw_bytes_u64(r, RECORD_BYTES, &start))
		return false;
	p->pending.lines_avma = start;
	p->pending.lines_off = off + RECORD_BYTES + DEBUG_BYTES;
	p->pending.lines_end = off + (uint32_t) r.size;
	return true;
}

/* V8 writes records that hold a header alone, which has no entry: they say nothing. A record that
 * is too large for one function is not used. */
static bool take_unwinding(struct parser *p, struct sw_bytes r, uint32_t off)
{
	uint64_t bytes, hdr_bytes;
	if (!sw_bytes_u64(r, RECORD_BYTES, &bytes) ||
	    !sw_bytes_u64(r, RECORD_BYTES + 8, &hdr_bytes) || hdr_bytes > bytes ||
	    !sw_bytes_has(r, RECORD_BYTES + UNWIND_BYTES, bytes))
		return false;
	bytes -= hdr_bytes;
	p->pending.unwind_bytes = bytes <= UNWIND_MAX ? (uint32_t) bytes : 0;
	p->pending.unwind_off = p->pending.unwind_bytes > 0 ? off + RECORD_BYTES + UNWIND_BYTES : 0;
	return true;
}

/* False ends the file. */
static bool take_record(struct parser *p, uint32_t kind, struct sw_bytes r, uint32_t off)
{
	switch (kind) {
	case LOAD: return take_load(p, r, off);
	case MOVE: return take_move(p, r);
	case DEBUG_INFO: return take_debug(p, r, off);
	case UNWINDING_INFO: return take_unwinding(p, r, off);
	case CLOSE:
	default: return true; /* nothing, and what later versions add */
	}
}

static void parse_records(struct parser *p, uint32_t off)
{
	struct sw_jitdump *d = p->dump;
	uint32_t kind, size;
	struct sw_bytes record;
	/* Each record has at least a header: bounded by the file's size. */
	for (; off < d->bytes.size; off += size) {
		if (!sw_bytes_u32(d->bytes, off, &kind) ||
		    !sw_bytes_u32(d->bytes, off + 4, &size) ||
		    (size >= RECORD_BYTES && !sw_bytes_has(d->bytes, off, size)))
			return; /* cut: the rest is not written yet */
		if (size < RECORD_BYTES || !sw_bytes_sub(d->bytes, off, size, &record) ||
		    !take_record(p, kind, record, off)) {
			if (d->problem == NULL)
				d->problem = "it has a malformed record";
			return;
		}
	}
}

static void ranges_make(struct parser *p)
{
	struct sw_jitdump *d = p->dump;
	for (size_t i = 0; i < d->n && !p->nomem; i++) {
		const struct sw_jitdump_function *f = &d->functions[i];
		if (f->gone)
			continue;
		d->n_cfi += f->unwind_off != 0;
		p->nomem |=
			sw_jit_ranges_add(&d->ranges, f->start_avma, f->bytes, (uint32_t) i) < 0;
	}
	p->nomem |= sw_jit_ranges_finish(&d->ranges) < 0;
}

int sw_jitdump_parse(struct sw_bytes bytes, struct sw_jitdump *ret)
{
	struct parser p = {.dump = ret};
	uint32_t found, header;
	*ret = (struct sw_jitdump){.bytes = bytes};
	if (bytes.size > INT32_MAX)
		ret->bytes.size = INT32_MAX;
	if (!sw_bytes_u32(bytes, 0, &found) || found != magic || !sw_bytes_u32(bytes, 8, &header) ||
	    header < HEADER_BYTES) {
		ret->problem = "it is no jitdump file";
		return 0;
	}
	parse_records(&p, header < bytes.size ? header : (uint32_t) bytes.size);
	ranges_make(&p);
	sw_map64_deinit(&p.by_start);
	if (p.nomem)
		sw_jitdump_deinit(ret);
	return p.nomem ? -SW_E_NOMEM : 0;
}

void sw_jitdump_deinit(struct sw_jitdump *dump)
{
	free(dump->functions);
	sw_jit_ranges_deinit(&dump->ranges);
	*dump = (struct sw_jitdump){0};
}

const struct sw_jitdump_function *sw_jitdump_find(const struct sw_jitdump *dump, uint64_t avma)
{
	const struct sw_jit_range *range = sw_jit_ranges_find(&dump->ranges, avma);
	return range != NULL ? &dump->functions[range->value] : NULL;
}

const char *sw_jitdump_name(const struct sw_jitdump *dump, const struct sw_jitdump_function *f)
{
	const char *name = "";
	(void) sw_bytes_str(dump->bytes, f->name_off, &name); /* "" when it does not end */
	return name;
}

/* The entries of a function's DEBUG_INFO, and how to read them. */
struct lines {
	struct sw_bytes entries;
	uint64_t n, bias;
	struct sw_bytes file; /* of all of them; data NULL: each has its own */
};

static bool is_v8(const char *name)
{
	return strncmp(name, "JS:", 3) == 0 || strncmp(name, "Function:", 9) == 0 ||
	       strncmp(name, "Script:", 7) == 0 || strncmp(name, "Eval:", 5) == 0;
}

/* The length of a place without ":LINE:COLUMN" at the end. */
static size_t place_cut(const char *s, size_t length)
{
	for (int numbers = 0; numbers < 2; numbers++) {
		size_t n = length;
		while (n > 0 && length - n < DIGITS_MAX && s[n - 1] >= '0' && s[n - 1] <= '9')
			n--;
		if (n == 0 || n == length || s[n - 1] != ':')
			return 0;
		length = n - 1;
	}
	return length;
}

/*
 * V8 adds to addresses the size of the ELF header that perf will put before the code, and writes as
 * many bytes of a file's name as it has, but not always the right ones: those of memory that it has
 * freed (src/diagnostics/perf-jit.cc, kElfHeaderSize, 11.3). Functions are called "JS:^name file:1:2",
 * so that the length of the entries proves the file.
 */
static void lines_of_v8(const char *name, struct lines *l)
{
	const char *end = name + strnlen(name, V8_NAME_MAX);
	l->bias = V8_TEXT_OFF;
	if (*end != '\0')
		return;
	for (const char *space = strchr(name, ' '); space != NULL; space = strchr(space + 1, ' ')) {
		size_t n = place_cut(space + 1, (size_t) (end - space - 1));
		uint64_t bytes;
		if (n == 0 || __builtin_mul_overflow(l->n, ENTRY_BYTES + n + 1, &bytes) ||
		    bytes > l->entries.size || l->entries.size - bytes >= RECORD_ALIGN)
			continue;
		l->file = (struct sw_bytes){(const uint8_t *) space + 1, n};
		return;
	}
}

static bool lines_open(const struct sw_jitdump *dump, const struct sw_jitdump_function *f,
		       struct lines *ret)
{
	*ret = (struct lines){0};
	if (f->lines_off == 0 ||
	    !sw_bytes_u64(dump->bytes, f->lines_off - sizeof(ret->n), &ret->n) ||
	    !sw_bytes_sub(dump->bytes, f->lines_off, f->lines_end - f->lines_off, &ret->entries))
		return false;
	const char *name = sw_jitdump_name(dump, f);
	if (is_v8(name))
		lines_of_v8(name, ret);
	return ret->n <= ENTRIES_MAX;
}

/* The file of the entry at an offset, which becomes the next one's. "\xff" is that of the one before. */
static bool file_read(const struct lines *l, uint64_t *off, struct sw_bytes *file)
{
	const char *s;
	if (l->file.data != NULL) {
		*file = l->file;
		*off += ENTRY_BYTES + l->file.size + 1;
		return true;
	}
	if (!sw_bytes_str(l->entries, *off + ENTRY_BYTES, &s))
		return false;
	*off += ENTRY_BYTES + strlen(s) + 1;
	if (strcmp(s, "\xff") != 0)
		*file = (struct sw_bytes){(const uint8_t *) s, strlen(s)};
	return true;
}

bool sw_jitdump_line(const struct sw_jitdump *dump, const struct sw_jitdump_function *f,
		     uint64_t avma, struct sw_bytes *ret_file, uint32_t *ret_line)
{
	struct lines l;
	struct sw_bytes file = {0};
	uint64_t best = 0, off = 0;
	bool found = false;
	if (!lines_open(dump, f, &l))
		return false;
	for (uint64_t i = 0; i < l.n; i++) {
		uint64_t address;
		uint32_t line;
		if (!sw_bytes_u64(l.entries, off, &address) ||
		    !sw_bytes_u32(l.entries, off + 8, &line) || !file_read(&l, &off, &file))
			break;
		address -= l.bias;
		/* Out of the function: what V8 wrote is not what it says. */
		if (address < f->start_avma || address - f->start_avma > f->bytes)
			return false;
		if (file.size == 0 || address > avma || (found && address < best))
			continue;
		found = true;
		best = address;
		*ret_file = file;
		*ret_line = line;
	}
	return found;
}

bool sw_jitdump_cfi(const struct sw_jitdump *dump, const struct sw_jitdump_function *f,
		    struct sw_cfi_section *ret)
{
	uint64_t at;
	if (f->unwind_off == 0 ||
	    __builtin_add_overflow(f->start_avma, f->bytes + EH_FRAME_ALIGN - 1, &at))
		return false;
	*ret = (struct sw_cfi_section){.svma = at & -(uint64_t) EH_FRAME_ALIGN};
	return sw_bytes_sub(dump->bytes, f->unwind_off, f->unwind_bytes, &ret->bytes);
}
