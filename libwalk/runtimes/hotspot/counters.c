/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters that the VM keeps for jstat(1), in memory that is mapped whether their file is there or not.
 *
 *	prologue   u32 magic, u8 byte order (1: little), u8 major, minor, accessible; i32 used at 8,
 *	           i32 offset of the first entry at 24, i32 number of entries at 28
 *	entry      i32 its length, offset of its name, elements; u8 type ('J' a long, 'B' bytes), ...;
 *	           i32 offset of the data at 16
 *
 * Sources, jdk-17.0.15 and jdk-25.0.3: src/hotspot/share/runtime/perfMemory.hpp,
 * gc/shared/{collectorCounters,gcCause}.cpp, gc/shared/gcTraceTime: the VM sets sun.gc.cause to "No GC" when a
 * collection ends; a collector's lastEntryTime is larger than its lastExitTime while it works.
 */
#include "runtimes/hotspot/counters.h"
#include "bytes.h"
#include "cleanup.h"
#include "snapshot/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNTERS_BYTES_MAX = 64 << 10, /* 32 KiB by default: PerfDataMemorySize */
	ENTRIES_MAX = 2048,            /* there are about 200 */
	PROLOGUE_BYTES = 32,
	ENTRY_BYTES = 20,
	NAME_BYTES_MAX = 96,
	COLLECTORS = SW_HOTSPOT_COUNTED_MAX,
	PERMILLE = 1000,
};

struct collector {
	char name[sizeof(((struct sw_collecting *) 0)->name)];
	uint64_t invocations, entry, exit;
	uint64_t invocations_off, entry_off, exit_off; /* in the memory; 0: there is none */
};

/* The counters that are looked for. */
struct found {
	struct collector collectors[COLLECTORS];
	char cause[sizeof(((struct sw_collecting *) 0)->cause)],
		last_cause[sizeof(((struct sw_collecting *) 0)->cause)];
	uint64_t safepoint, application;
};

void sw_hotspot_counters_find(const struct sw_hotspot *h, struct sw_hotspot_counters *ret)
{
	uint64_t start, top;
	*ret = (struct sw_hotspot_counters){0};
	if (!sw_hotspot_u64(h->memory, h->place->bias, h->at.counters_start, &start) ||
	    !sw_hotspot_u64(h->memory, h->place->bias, h->at.counters_top, &top) || start == 0 ||
	    top <= start || top - start > COUNTERS_BYTES_MAX)
		return;
	*ret = (struct sw_hotspot_counters){start, (size_t) (top - start)};
}

static void string_take(struct sw_bytes all, uint64_t at, uint32_t size, char *ret, size_t ret_size)
{
	size_t n = 0;
	for (uint8_t c;
	     n + 1 < ret_size && n < size && sw_bytes_u8(all, at + n, &c) && c >= ' ' && c <= '~';
	     n++)
		ret[n] = (char) c;
	ret[n] = '\0';
}

static void collector_take(struct found *f, const char *name, struct sw_bytes all, uint64_t at,
			   uint32_t elements)
{
	static const char prefix[] = "sun.gc.collector.";
	size_t length = strlen(prefix);
	if (strncmp(name, prefix, length) != 0 || name[length] < '0' ||
	    name[length] >= '0' + COLLECTORS || name[length + 1] != '.')
		return;
	struct collector *c = &f->collectors[name[length] - '0'];
	const char *field = name + length + 2;
	uint64_t value = 0;
	if (strcmp(field, "name") == 0)
		string_take(all, at, elements, c->name, sizeof(c->name));
	else if (!sw_bytes_u64(all, at, &value))
		return;
	else if (strcmp(field, "invocations") == 0) {
		c->invocations = value;
		c->invocations_off = at;
	} else if (strcmp(field, "lastEntryTime") == 0) {
		c->entry = value;
		c->entry_off = at;
	} else if (strcmp(field, "lastExitTime") == 0) {
		c->exit = value;
		c->exit_off = at;
	}
}

static void entry_take(struct found *f, const char *name, struct sw_bytes all, uint64_t at,
		       uint32_t elements)
{
	if (strcmp(name, "sun.gc.cause") == 0)
		string_take(all, at, elements, f->cause, sizeof(f->cause));
	else if (strcmp(name, "sun.gc.lastCause") == 0)
		string_take(all, at, elements, f->last_cause, sizeof(f->last_cause));
	else if (strcmp(name, "sun.rt.safepointTime") == 0)
		(void) sw_bytes_u64(all, at, &f->safepoint); /* else 0 */
	else if (strcmp(name, "sun.rt.applicationTime") == 0)
		(void) sw_bytes_u64(all, at, &f->application); /* else 0 */
	else
		collector_take(f, name, all, at, elements);
}

static bool entries_read(struct sw_bytes all, struct found *f)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2};
	uint32_t at, n, length, name_off, elements, data_off;
	*f = (struct found){0};
	if (all.size < PROLOGUE_BYTES || memcmp(all.data, magic, sizeof(magic)) != 0 ||
	    !sw_bytes_u32(all, 24, &at) || !sw_bytes_u32(all, 28, &n) || n > ENTRIES_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		char name[NAME_BYTES_MAX];
		if (!sw_bytes_u32(all, at, &length) || !sw_bytes_u32(all, at + 4, &name_off) ||
		    !sw_bytes_u32(all, at + 8, &elements) ||
		    !sw_bytes_u32(all, at + 16, &data_off) || length < ENTRY_BYTES ||
		    length > all.size - at || name_off > length || data_off > length)
			return i > 0; /* one that is being made is the last one */
		string_take(all, at + name_off, NAME_BYTES_MAX, name, sizeof(name));
		entry_take(f, name, all, at + data_off, elements);
		at += length;
	}
	return f->cause[0] != '\0';
}

static void tell(const struct found *f, struct sw_collecting *ret)
{
	const struct collector *last = &f->collectors[0];
	uint64_t sum;
	ret->known = true;
	ret->now = strcmp(f->cause, "No GC") != 0;
	for (size_t i = 1; i < COLLECTORS; i++)
		if (f->collectors[i].entry > last->entry)
			last = &f->collectors[i];
	(void) snprintf(ret->name, sizeof(ret->name), "%s", last->name); /* fits */
	(void) snprintf(ret->cause, sizeof(ret->cause), "%s",
			ret->now ? f->cause : f->last_cause); /* fits */
	ret->number = last->invocations;
	ret->stopped_permille = -1;
	if (!__builtin_add_overflow(f->safepoint, f->application, &sum) && sum > 0)
		ret->stopped_permille = (int) ((double) f->safepoint * PERMILLE / (double) sum);
}

void sw_hotspot_counters_read(struct sw_bytes all, struct sw_collecting *ret)
{
	struct found found;
	if (entries_read(all, &found))
		tell(&found, ret);
}

/* Collectors of the young generation, by the names that they have in jdk-17.0.15 and jdk-25.0.3. */
static bool unloads_nothing(const char *name)
{
	static const char *const names[] = {
		"Serial young collection pauses",
		"Parallel young collection pauses",
		"G1 young collection pauses",
		"ZGC minor collection pauses",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

size_t sw_hotspot_counted_find(const struct sw_hotspot *h,
			       struct sw_hotspot_counted ret[SW_HOTSPOT_COUNTED_MAX])
{
	struct sw_hotspot_counters at;
	struct found found;
	sw_hotspot_counters_find(h, &at);
	sw_cleanup(sw_free_p) uint8_t *data = at.bytes > 0 ? malloc(at.bytes) : NULL;
	if (data == NULL || !sw_memory_read(h->memory, at.avma, data, at.bytes) ||
	    !entries_read((struct sw_bytes){data, at.bytes}, &found))
		return 0;
	size_t n = 0;
	for (size_t i = 0; i < COLLECTORS; i++) {
		const struct collector *c = &found.collectors[i];
		if ((c->invocations_off == 0 && c->entry_off == 0 && c->exit_off == 0) ||
		    unloads_nothing(c->name))
			continue;
		if (c->invocations_off == 0 || c->entry_off == 0 || c->exit_off == 0)
			return 0; /* what is not counted proves nothing */
		ret[n++] =
			(struct sw_hotspot_counted){at.avma + c->invocations_off,
						    at.avma + c->entry_off, at.avma + c->exit_off};
	}
	return n;
}

void sw_hotspot_collecting(struct sw_hotspot *h, struct sw_collecting *ret)
{
	struct sw_snapshot_memory copied = {.snap = h->snap, .no_live = true};
	struct sw_memory m = sw_snapshot_memory(&copied);
	struct sw_hotspot_counters at;
	sw_hotspot_counters_find(h, &at);
	sw_cleanup(sw_free_p) uint8_t *data = at.bytes > 0 ? malloc(at.bytes) : NULL;
	if (data == NULL || h->snap->priv->hooks_torn ||
	    !sw_memory_read(m, at.avma, data, at.bytes))
		return;
	sw_hotspot_counters_read((struct sw_bytes){data, at.bytes}, ret);
}
