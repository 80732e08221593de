/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Microsoft, "Minidump Files" (minidumpapiset.h of Windows 10 SDK: MINIDUMP_HEADER, MINIDUMP_STREAM_TYPE and the
 * structures of each stream, which are packed to 4 bytes); Breakpad of 2024, minidump_format.h (streams of Linux, MDCVInfoELF).
 */
#include "saved/minidump_file.h"
#include "errors.h"
#include "formats/pe_image.h"
#include "utf16.h"

#include <stdlib.h>
#include <string.h>

enum {
	SIGNATURE = 0x504d444d, /* "MDMP" */
	VERSION = 0xa793,       /* in the lower half */
	HEADER_BYTES = 32,
	STREAMS_MAX = 256,
	STREAM_BYTES = 12,
	/* MINIDUMP_STREAM_TYPE */
	STREAM_THREADS = 3,
	STREAM_MODULES = 4,
	STREAM_MEMORY = 5,
	STREAM_EXCEPTION = 6,
	STREAM_SYSTEM = 7,
	STREAM_MEMORY_64 = 9,
	STREAM_MISC = 15,
	STREAM_REGIONS = 16,
	STREAM_THREAD_INFO = 17,
	STREAM_THREAD_NAMES = 24,
	STREAM_LINUX_STATUS = 0x47670004,
	STREAM_LINUX_AUXV = 0x47670008,
	STREAM_LINUX_MAPS = 0x47670009,
	ARCHITECTURE_AMD64 = 9, /* PROCESSOR_ARCHITECTURE_AMD64 */
	/* MINIDUMP_SYSTEM_INFO, PlatformId */
	PLATFORM_OFF = 20,
	PLATFORM_LINUX = 0x8201,
	PLATFORM_ANDROID = 0x8203,
	GUID_BYTES = 16,
	THREAD_BYTES = 48,
	MODULE_BYTES = 108,
	MODULE_CODEVIEW_OFF = 76,
	MEMORY_BYTES = 16,
	THREAD_NAME_BYTES = 12,
	REGION_BYTES_MIN = 40,
	THREAD_INFO_BYTES_MIN = 48,
	STRING_UNITS_MAX = 1024,
	/* MINIDUMP_MISC_INFO, Flags1 */
	MISC_PID = 1,
	MISC_TIMES = 2,
	COMMITTED = 0x1000, /* MEM_COMMIT */
	TICK_NS = 100,
};

struct stream {
	uint32_t type;
	struct sw_bytes bytes;
};

struct parser {
	struct sw_arena *arena;
	struct sw_bytes file;
	struct sw_minidump *md;
};

/* Numbers at places that were checked: none can fail. */
static uint32_t u32(struct sw_bytes b, uint64_t off)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(b, off, &value); /* inside */
	return value;
}

static uint64_t u64(struct sw_bytes b, uint64_t off)
{
	uint64_t value = 0;
	(void) sw_bytes_u64(b, off, &value); /* inside */
	return value;
}

bool sw_minidump_is(struct sw_bytes file)
{
	return sw_bytes_has(file, 0, sizeof(uint32_t)) && u32(file, 0) == SIGNATURE;
}

/* The bytes that a location descriptor leads to: size and offset. False: they are not in the file. */
static bool located(struct parser *p, struct sw_bytes from, uint64_t off, struct sw_bytes *ret)
{
	if (sw_bytes_sub(p->file, u32(from, off + 4), u32(from, off), ret))
		return true;
	p->md->damaged = true;
	return false;
}

/* A string of the arena; NULL: there is none, or no memory. */
static const char *string_at(struct parser *p, uint64_t off)
{
	uint32_t bytes;
	struct sw_bytes units;
	if (off == 0 || !sw_bytes_u32(p->file, off, &bytes) ||
	    bytes > STRING_UNITS_MAX * sizeof(uint16_t) ||
	    !sw_bytes_sub(p->file, off + sizeof(bytes), bytes, &units))
		return NULL;
	char *text = sw_arena_alloc(p->arena, bytes / 2 * SW_UTF16_UNIT_BYTES + 1);
	if (text != NULL)
		sw_utf16_convert(units, text);
	return text;
}

/*
 * The elements of a stream: as many as its number says, as fit into it and as the limit allows.
 * Returns the first element; *ret is their number.
 */
static struct sw_bytes elements(struct parser *p, struct sw_bytes stream, uint64_t header_bytes,
				uint64_t number, size_t element_bytes, size_t most, size_t *ret)
{
	struct sw_bytes all = {0};
	*ret = 0;
	if (header_bytes > stream.size) {
		p->md->damaged |= number > 0;
		return all;
	}
	all = (struct sw_bytes){stream.data + header_bytes, stream.size - header_bytes};
	size_t fit = all.size / element_bytes;
	p->md->damaged |= number > fit;
	*ret = number < fit ? (size_t) number : fit;
	p->md->limited |= *ret > most;
	if (*ret > most)
		*ret = most;
	return all;
}

/* Streams whose number of elements is in 4 bytes, before them; some writers align elements to 8 bytes. */
static struct sw_bytes listed(struct parser *p, struct sw_bytes stream, size_t element_bytes,
			      size_t most, size_t *ret)
{
	uint32_t n = 0;
	uint64_t header = sizeof(n);
	p->md->damaged |= !sw_bytes_u32(stream, 0, &n);
	if (stream.size == 2 * sizeof(n) + (uint64_t) n * element_bytes)
		header = 2 * sizeof(n);
	return elements(p, stream, header, n, element_bytes, most, ret);
}

static struct sw_bytes element_at(struct sw_bytes all, size_t i, size_t element_bytes)
{
	return (struct sw_bytes){all.data + i * element_bytes, element_bytes};
}

static void range_add(struct parser *p, uint64_t start_avma, struct sw_bytes data)
{
	uint64_t end;
	if (data.size == 0)
		return;
	if (__builtin_add_overflow(start_avma, data.size, &end))
		p->md->damaged = true;
	else
		p->md->ranges[p->md->n_ranges++] =
			(struct sw_range){start_avma, data.size, data.data};
}

/* Makes space for n more ranges. */
static int ranges_grow(struct parser *p, size_t n)
{
	struct sw_range *grown = sw_arena_calloc(p->arena, p->md->n_ranges + n, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	if (p->md->n_ranges > 0)
		memcpy(grown, p->md->ranges, p->md->n_ranges * sizeof(*grown));
	p->md->ranges = grown;
	return 0;
}

/* ---- streams -------------------------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b)
{
	const struct sw_minidump_thread *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static int threads_take(struct parser *p, struct sw_bytes stream)
{
	struct sw_minidump *md = p->md;
	size_t n;
	struct sw_bytes all = listed(p, stream, THREAD_BYTES, SW_MINIDUMP_THREADS_MAX, &n);
	if (ranges_grow(p, n) < 0)
		return -SW_E_NOMEM;
	md->threads = sw_arena_calloc(p->arena, n, sizeof(*md->threads));
	if (md->threads == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, THREAD_BYTES), stack;
		struct sw_minidump_thread *t = &md->threads[md->n_threads++];
		*t = (struct sw_minidump_thread){.id = u32(from, 0),
						 .teb_avma = u64(from, 16),
						 .cpu_ns = -1};
		if (u32(from, 36) != 0 && located(p, from, 32, &stack))
			range_add(p, u64(from, 24), stack);
		if (u32(from, 44) != 0)
			(void) located(p, from, 40, &t->context); /* no bytes: it has none */
	}
	if (n > 0)
		qsort(md->threads, n, sizeof(*md->threads), compare_threads);
	return 0;
}

static int compare_modules(const void *a, const void *b)
{
	const struct sw_minidump_module *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * "BpEL" and a build-id of any length, or from older writers "RSDS", of which the GUID is the first 16 bytes of the
 * build-id as they are. 0: the writer did not find one.
 */
static size_t elf_id(struct sw_bytes record, uint8_t id[static SW_BUILD_ID_MAX])
{
	static const char elf[] = {'B', 'p', 'E', 'L'}, pdb[] = {'R', 'S', 'D', 'S'};
	size_t bytes = 0;
	if (!sw_bytes_has(record, 0, sizeof(elf)))
		return 0;
	if (memcmp(record.data, elf, sizeof(elf)) == 0)
		bytes = record.size - sizeof(elf);
	else if (memcmp(record.data, pdb, sizeof(pdb)) == 0)
		bytes = GUID_BYTES;
	if (bytes > SW_BUILD_ID_MAX || !sw_bytes_copy(record, sizeof(elf), id, bytes) ||
	    all_zero(id, bytes))
		return 0;
	return bytes;
}

static void module_identify(struct parser *p, struct sw_bytes from, struct sw_minidump_module *m)
{
	struct sw_bytes record;
	bool has_record = u32(from, MODULE_CODEVIEW_OFF) != 0 &&
			  located(p, from, MODULE_CODEVIEW_OFF, &record);
	if (has_record)
		m->build_id_bytes = p->md->is_linux ? elf_id(record, m->build_id)
						    : sw_pe_codeview_id(record, m->build_id);
	if (m->build_id_bytes == 0 && !p->md->is_linux)
		m->build_id_bytes =
			sw_pe_time_id(m->timestamp, m->image_bytes, m->checksum, m->build_id);
}

static int modules_take(struct parser *p, struct sw_bytes stream)
{
	struct sw_minidump *md = p->md;
	size_t n;
	struct sw_bytes all = listed(p, stream, MODULE_BYTES, SW_MINIDUMP_MODULES_MAX, &n);
	md->modules = sw_arena_calloc(p->arena, n, sizeof(*md->modules));
	if (md->modules == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, MODULE_BYTES);
		struct sw_minidump_module m = {.start_avma = u64(from, 0),
					       .image_bytes = u32(from, 8),
					       .checksum = u32(from, 12),
					       .timestamp = u32(from, 16)};
		if (m.image_bytes == 0 ||
		    __builtin_add_overflow(m.start_avma, m.image_bytes, &m.end_avma)) {
			md->damaged = true;
			continue;
		}
		m.path = string_at(p, u32(from, 20));
		if (m.path == NULL)
			m.path = "";
		module_identify(p, from, &m);
		md->modules[md->n_modules++] = m;
	}
	if (md->n_modules == 0)
		return 0;
	md->first_avma = md->modules[0].start_avma;
	qsort(md->modules, md->n_modules, sizeof(*md->modules), compare_modules);
	size_t kept = 0;
	for (size_t i = 0; i < md->n_modules; i++)
		if (kept == 0 || md->modules[i].start_avma >= md->modules[kept - 1].end_avma)
			md->modules[kept++] = md->modules[i];
	md->damaged |= kept < md->n_modules;
	md->n_modules = kept;
	return 0;
}

static int memory_take(struct parser *p, struct sw_bytes stream)
{
	size_t n;
	struct sw_bytes all = listed(p, stream, MEMORY_BYTES, SW_MINIDUMP_RANGES_MAX, &n);
	if (ranges_grow(p, n) < 0)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, MEMORY_BYTES), data;
		if (located(p, from, 8, &data))
			range_add(p, u64(from, 0), data);
	}
	return 0;
}

/* All of their bytes are behind each other, from one offset on. */
static int memory_64_take(struct parser *p, struct sw_bytes stream)
{
	uint64_t number = 0, at = 0;
	size_t n;
	p->md->damaged |= !sw_bytes_u64(stream, 0, &number) || !sw_bytes_u64(stream, 8, &at);
	struct sw_bytes all =
		elements(p, stream, 16, number, MEMORY_BYTES, SW_MINIDUMP_RANGES_MAX, &n);
	if (ranges_grow(p, n) < 0)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, MEMORY_BYTES), data;
		uint64_t bytes = u64(from, 8), left = at < p->file.size ? p->file.size - at : 0;
		p->md->damaged |= bytes > left; /* cut short: what is there is taken */
		if (left > 0 && sw_bytes_sub(p->file, at, bytes < left ? bytes : left, &data))
			range_add(p, u64(from, 0), data);
		if (__builtin_add_overflow(at, bytes, &at))
			return 0;
	}
	return 0;
}

static int exception_take(struct parser *p, struct sw_bytes stream)
{
	enum { RECORD_OFF = 8, DETAILS_OFF = RECORD_OFF + 32, CONTEXT_OFF = 160, BYTES = 168 };
	struct sw_minidump_exception *e = &p->md->exception;
	if (stream.size < BYTES) {
		p->md->damaged = true;
		return 0;
	}
	p->md->has_exception = true;
	e->thread = u32(stream, 0);
	e->code = u32(stream, RECORD_OFF);
	e->flags = u32(stream, RECORD_OFF + 4);
	e->at_avma = u64(stream, RECORD_OFF + 16);
	e->n_details = u32(stream, RECORD_OFF + 24);
	if (e->n_details > sizeof(e->details) / sizeof(e->details[0]))
		e->n_details = sizeof(e->details) / sizeof(e->details[0]);
	for (uint32_t i = 0; i < e->n_details; i++)
		e->details[i] = u64(stream, DETAILS_OFF + i * sizeof(uint64_t));
	if (u32(stream, CONTEXT_OFF + 4) != 0)
		(void) located(p, stream, CONTEXT_OFF, &e->context); /* likewise */
	return 0;
}

static int misc_take(struct parser *p, struct sw_bytes stream)
{
	uint32_t flags = 0, pid = 0, begin = 0;
	bool whole = sw_bytes_u32(stream, 4, &flags);
	if (whole && (flags & MISC_PID) && sw_bytes_u32(stream, 8, &pid))
		p->md->pid = pid;
	if (whole && (flags & MISC_TIMES) && sw_bytes_u32(stream, 12, &begin))
		p->md->begin_s = begin;
	return 0;
}

/* Source: Microsoft, "Memory Protection Constants". */
static uint32_t prot_of(uint32_t protect)
{
	enum {
		READONLY = 0x02,
		READWRITE = 0x04,
		WRITECOPY = 0x08,
		EXECUTE = 0x10,
		EXECUTE_READ = 0x20,
		EXECUTE_READWRITE = 0x40,
		EXECUTE_WRITECOPY = 0x80,
		KIND = 0xff,
		GUARD = 0x100,
	};
	if (protect & GUARD)
		return 0;
	switch (protect & KIND) {
	case READONLY: return SW_MAP_READ;
	case READWRITE:
	case WRITECOPY: return SW_MAP_READ | SW_MAP_WRITE;
	case EXECUTE: return SW_MAP_EXEC;
	case EXECUTE_READ: return SW_MAP_READ | SW_MAP_EXEC;
	case EXECUTE_READWRITE:
	case EXECUTE_WRITECOPY: return SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC;
	default: return 0;
	}
}

/* MINIDUMP_MEMORY_INFO_LIST: the sizes of its header and of its elements are in it. */
static int regions_take(struct parser *p, struct sw_bytes stream)
{
	struct sw_minidump *md = p->md;
	uint32_t header = 0, bytes = 0;
	uint64_t number = 0;
	size_t n;
	if (!sw_bytes_u32(stream, 0, &header) || !sw_bytes_u32(stream, 4, &bytes) ||
	    !sw_bytes_u64(stream, 8, &number) || bytes < REGION_BYTES_MIN) {
		md->damaged = true;
		return 0;
	}
	struct sw_bytes all =
		elements(p, stream, header, number, bytes, SW_MINIDUMP_RANGES_MAX, &n);
	md->regions = sw_arena_calloc(p->arena, n, sizeof(*md->regions));
	if (md->regions == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, bytes);
		struct sw_minidump_region r = {.start_avma = u64(from, 0),
					       .prot = prot_of(u32(from, 36))};
		if (u32(from, 32) == COMMITTED &&
		    !__builtin_add_overflow(r.start_avma, u64(from, 24), &r.end_avma))
			md->regions[md->n_regions++] = r;
	}
	return 0;
}

static struct sw_minidump_thread *thread_of(struct parser *p, uint32_t id)
{
	const struct sw_minidump_thread key = {.id = id};
	return p->md->n_threads > 0 ? bsearch(&key, p->md->threads, p->md->n_threads, sizeof(key),
					      compare_threads)
				    : NULL;
}

/* MINIDUMP_THREAD_INFO_LIST, likewise. */
static int thread_info_take(struct parser *p, struct sw_bytes stream)
{
	uint32_t header = 0, bytes = 0, number = 0;
	size_t n;
	if (!sw_bytes_u32(stream, 0, &header) || !sw_bytes_u32(stream, 4, &bytes) ||
	    !sw_bytes_u32(stream, 8, &number) || bytes < THREAD_INFO_BYTES_MIN) {
		p->md->damaged = true;
		return 0;
	}
	struct sw_bytes all =
		elements(p, stream, header, number, bytes, SW_MINIDUMP_THREADS_MAX, &n);
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, bytes);
		struct sw_minidump_thread *t = thread_of(p, u32(from, 0));
		uint64_t kernel = u64(from, 32), user = u64(from, 40);
		if (t != NULL && kernel < INT64_MAX / TICK_NS / 2 && user < INT64_MAX / TICK_NS / 2)
			t->cpu_ns = (int64_t) (kernel + user) * TICK_NS;
	}
	return 0;
}

static int thread_names_take(struct parser *p, struct sw_bytes stream)
{
	size_t n;
	struct sw_bytes all = listed(p, stream, THREAD_NAME_BYTES, SW_MINIDUMP_THREADS_MAX, &n);
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes from = element_at(all, i, THREAD_NAME_BYTES);
		struct sw_minidump_thread *t = thread_of(p, u32(from, 0));
		if (t != NULL && t->name == NULL)
			t->name = string_at(p, u64(from, 4));
	}
	return 0;
}

static int status_take(struct parser *p, struct sw_bytes stream)
{
	p->md->proc.status = stream;
	return 0;
}

static int maps_take(struct parser *p, struct sw_bytes stream)
{
	p->md->proc.maps = stream;
	return 0;
}

static int auxv_take(struct parser *p, struct sw_bytes stream)
{
	p->md->proc.auxv = stream;
	return 0;
}

static int system_take(struct parser *p, struct sw_bytes stream)
{
	uint32_t platform = 0;
	p->md->damaged |= !sw_bytes_u32(stream, PLATFORM_OFF, &platform);
	p->md->is_linux = platform == PLATFORM_LINUX || platform == PLATFORM_ANDROID;
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int system_check(struct sw_bytes stream, const char *name, struct sw_error *err)
{
	uint16_t architecture;
	if (sw_bytes_u16(stream, 0, &architecture) && architecture != ARCHITECTURE_AMD64)
		return sw_fail(err, SW_E_ARCH,
			       "%s: a minidump of another machine than x64 (architecture %u)", name,
			       architecture);
	return 0;
}

/*
 * The first stream of each type is taken. Threads come before what is said of them, and the system before what depends on
 * it.
 */
static const struct {
	uint32_t type;
	int (*take)(struct parser *p, struct sw_bytes stream);
} takers[] = {
	{STREAM_SYSTEM, system_take},
	{STREAM_THREADS, threads_take},
	{STREAM_MODULES, modules_take},
	{STREAM_MEMORY, memory_take},
	{STREAM_MEMORY_64, memory_64_take},
	{STREAM_EXCEPTION, exception_take},
	{STREAM_MISC, misc_take},
	{STREAM_REGIONS, regions_take},
	{STREAM_THREAD_INFO, thread_info_take},
	{STREAM_THREAD_NAMES, thread_names_take},
	{STREAM_LINUX_STATUS, status_take},
	{STREAM_LINUX_AUXV, auxv_take},
	{STREAM_LINUX_MAPS, maps_take},
};

/* The streams of the directory whose bytes are in the file. */
static size_t streams_read(struct parser *p, struct stream streams[static STREAMS_MAX])
{
	uint32_t number = u32(p->file, 8), at = u32(p->file, 12);
	size_t n = 0;
	p->md->limited |= number > STREAMS_MAX;
	for (uint32_t i = 0; i < number && i < STREAMS_MAX; i++) {
		struct sw_bytes entry;
		if (!sw_bytes_sub(p->file, at + (uint64_t) i * STREAM_BYTES, STREAM_BYTES,
				  &entry)) {
			p->md->damaged = true;
			break;
		}
		streams[n].type = u32(entry, 0);
		if (streams[n].type != 0 && located(p, entry, 4, &streams[n].bytes))
			n++;
	}
	return n;
}

int sw_minidump_parse(struct sw_arena *arena, struct sw_bytes file, const char *name,
		      struct sw_minidump *ret, struct sw_error *err)
{
	struct stream streams[STREAMS_MAX];
	*ret = (struct sw_minidump){0};
	struct parser p = {arena, file, ret};
	if (sw_minidump_is(file) && file.size < HEADER_BYTES)
		return sw_fail(err, SW_E_FORMAT,
			       "%s: this minidump is cut short: it ends in its header", name);
	if (!sw_minidump_is(file) || (u32(file, 4) & UINT16_MAX) != VERSION)
		return sw_fail(err, SW_E_FORMAT, "%s: no minidump of a version that is known",
			       name);
	ret->time_s = u32(file, 20);
	size_t n = streams_read(&p, streams);
	for (size_t k = 0; k < n; k++)
		if (streams[k].type == STREAM_SYSTEM &&
		    system_check(streams[k].bytes, name, err) < 0)
			return -SW_E_ARCH;
	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
		size_t k = 0;
		while (k < n && streams[k].type != takers[i].type)
			k++;
		if (k < n && takers[i].take(&p, streams[k].bytes) < 0)
			return sw_fail_nomem(err);
	}
	if (ret->n_threads == 0 && ret->damaged)
		return sw_fail(
			err, SW_E_FORMAT,
			"%s: this minidump is cut short or malformed: none of its threads can "
			"be read",
			name);
	if (ret->n_threads == 0)
		return sw_fail(err, SW_E_FORMAT, "%s: this minidump has no threads", name);
	return 0;
}
