/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies registries while the target is stopped: chunks of tables, and what the tables point to,
 * first of those whose code a thread is in. All by following pointers, nothing is looked for; the
 * limits in jit/ftable/capture.h bound how many reads that takes.
 */
#include "jit/ftable/capture.h"
#include "jit/ftable/record.h"
#include "snapshot/snapshot.h"

enum {
	GAP_BYTES = 512,
	CODE_BEFORE_BYTES = 16, /* around a pc: for what is known of code by its instructions */
	CODE_BEHIND_BYTES = 96,
};

/* The copies are ours; only what is read through them by others is constant. */
static uint8_t *copy(struct sw_ftable_copying *h, uint64_t avma, size_t bytes)
{
	const uint8_t *data;
	if (h->copies >= SW_FTABLE_COPIES_MAX || bytes == 0)
		return NULL;
	h->copies++;
	return sw_capture_copy(h->capture, avma, bytes, &data) ? (uint8_t *) data : NULL;
}

/* False ends the list. */
static bool chunk_copy(struct sw_ftable_copying *h, const struct sw_ftable_layout *layout,
		       uint64_t *chunk_avma)
{
	uint8_t head[sizeof(struct swft_chunk)];
	struct sw_ftable_chunk chunk;
	if (h->n_chunks == SW_FTABLE_COPIED_CHUNKS ||
	    !sw_capture_read(h->capture, *chunk_avma, head, sizeof(head)) ||
	    !sw_ftable_chunk_parse((struct sw_bytes){head, sizeof(head)}, &chunk))
		return false;
	size_t bytes = layout->chunk_bytes + (size_t) chunk.used * layout->table_bytes;
	if (bytes > SW_FTABLE_RECORD_COPY_BYTES - h->record_bytes)
		return false;
	uint8_t *data = copy(h, *chunk_avma, bytes);
	if (data == NULL)
		return false;
	h->record_bytes += bytes;
	h->chunks[h->n_chunks++] = (struct sw_ftable_chunk_copy){
		.tables_avma = *chunk_avma + layout->chunk_bytes,
		.tables = data + layout->chunk_bytes,
		.n = chunk.used,
		.table_bytes = layout->table_bytes,
	};
	*chunk_avma = chunk.next_avma;
	return true;
}

static void registry_copy(struct sw_ftable_copying *h, uint64_t registry_avma)
{
	uint8_t head[SW_FTABLE_HEAD_BYTES];
	struct sw_ftable_layout layout;
	if (!sw_capture_read(h->capture, registry_avma, head, sizeof(head)) ||
	    sw_ftable_head_parse((struct sw_bytes){head, sizeof(head)}, &layout) != NULL ||
	    copy(h, registry_avma, SW_FTABLE_HEAD_BYTES) == NULL)
		return;
	uint64_t avma = layout.first_avma, earlier_avma = 0;
	for (size_t n = 0; avma != 0 && avma != earlier_avma; n++) {
		if ((n & (n + 1)) == 0)
			earlier_avma = avma; /* a list that leads back to itself comes here again */
		if (!chunk_copy(h, &layout, &avma)) /* ends: each takes a chunk's place */
			break;
	}
}

/* The memory that a table points to: at most four parts, in the order of their addresses. */
struct parts {
	struct {
		uint64_t avma, bytes;
	} part[4];
	size_t n;
};

static void part_add(struct parts *parts, uint64_t avma, uint64_t bytes)
{
	uint64_t end;
	size_t i = parts->n;
	if (bytes == 0 || bytes > SW_FTABLE_PART_COPY_BYTES ||
	    __builtin_add_overflow(avma, bytes, &end))
		return;
	for (; i > 0 && parts->part[i - 1].avma > avma; i--)
		parts->part[i] = parts->part[i - 1];
	parts->part[i].avma = avma;
	parts->part[i].bytes = bytes;
	parts->n++;
}

static bool part_copy(struct sw_ftable_copying *h, uint64_t avma, uint64_t bytes)
{
	if (bytes > SW_FTABLE_PAYLOAD_COPY_BYTES - h->payload_bytes ||
	    copy(h, avma, (size_t) bytes) == NULL)
		return false;
	h->payload_bytes += (size_t) bytes;
	return true;
}

/* Most of a read's cost is the call: parts that lie near each other are one. */
static void parts_copy(struct sw_ftable_copying *h, const struct parts *parts)
{
	for (size_t i = 0, first; i < parts->n;) {
		first = i;
		uint64_t begin = parts->part[first].avma, end = begin;
		for (; i < parts->n && parts->part[i].avma - begin <= end - begin + GAP_BYTES; i++)
			if (parts->part[i].avma + parts->part[i].bytes > end)
				end = parts->part[i].avma + parts->part[i].bytes;
		if (part_copy(h, begin, end - begin) || i == first + 1)
			continue;
		for (size_t k = first; k < i; k++) /* what is between may be no memory */
			(void) part_copy(h, parts->part[k].avma, parts->part[k].bytes);
	}
}

static void payload_copy(struct sw_ftable_copying *h, const struct sw_ftable *t)
{
	struct parts parts = {.n = 0};
	uint64_t symbol_bytes;
	part_add(&parts, t->data_avma, sw_ftable_data_bytes(t));
	part_add(&parts, t->info_avma, t->info_bytes);
	if (!__builtin_mul_overflow(t->n_symbols, sizeof(struct swft_symbol), &symbol_bytes))
		part_add(&parts, t->symbols_avma, symbol_bytes);
	part_add(&parts, t->names_avma, t->names_bytes);
	parts_copy(h, &parts);
}

static void code_copy(struct sw_ftable_copying *h, const struct sw_ftable *t, uint64_t pc)
{
	uint64_t begin =
		pc - t->start_avma > CODE_BEFORE_BYTES ? pc - CODE_BEFORE_BYTES : t->start_avma;
	uint64_t end = t->end_avma - pc > CODE_BEHIND_BYTES ? pc + CODE_BEHIND_BYTES : t->end_avma;
	(void) copy(h, begin, (size_t) (end - begin)); /* else it is read later, and marked */
}

/* Whether a thread is in the table's code; with_code copies what is around its pc. */
static bool in_use(struct sw_ftable_copying *h, const struct sw_ftable *t, bool with_code)
{
	const struct sw_snapshot *snap = h->capture->snap;
	bool any = false;
	for (size_t i = 0; i < snap->n_threads && h->looks < SW_FTABLE_LOOKS_MAX; i++) {
		uint64_t pc = snap->threads[i].regs.pc_avma;
		h->looks++;
		if (pc < t->start_avma || pc >= t->end_avma)
			continue;
		any = true;
		if (with_code)
			code_copy(h, t, pc);
	}
	return any;
}

/* The memory that tables point to is copied: for the tables in whose code a thread is, or for the
 * others. */
static void payloads_copy(struct sw_ftable_copying *h, bool of_used)
{
	for (size_t i = 0; i < h->n_chunks; i++) {
		const struct sw_ftable_chunk_copy *c = &h->chunks[i];
		for (size_t k = 0; k < c->n && h->copies < SW_FTABLE_COPIES_MAX; k++) {
			struct sw_ftable t;
			size_t off = k * c->table_bytes;
			struct sw_bytes record = {c->tables + off, c->table_bytes};
			if (sw_ftable_record_parse(record, c->tables_avma + off, &t) ==
				    SW_FTABLE_USABLE &&
			    in_use(h, &t, of_used) == of_used)
				payload_copy(h, &t);
		}
	}
}

/* Marks the tables of a copy, of which now holds n as they are now, that are not the same any more
 * or were being changed. */
static void tables_mark(uint8_t *tables, const uint8_t *now, size_t n, uint32_t table_bytes)
{
	static const uint32_t busy = SW_FTABLE_STATE_BUSY;
	for (size_t off = 0; off < n * table_bytes; off += table_bytes) {
		uint8_t *seq = tables + off + offsetof(struct swft_table, seq);
		bool same = memcmp(seq, now + off + offsetof(struct swft_table, seq),
				   sizeof(uint64_t)) == 0;
		if (!same || *seq % 2 != 0)
			memcpy(tables + off + offsetof(struct swft_table, state), &busy,
			       sizeof(busy));
	}
}

/* A thread ran meanwhile, and may have changed what was copied: seq tells. */
static void changed_mark(struct sw_ftable_copying *h)
{
	for (size_t i = 0; i < h->n_chunks; i++) {
		const struct sw_ftable_chunk_copy *c = &h->chunks[i];
		size_t at_once = sizeof(h->now) / c->table_bytes;
		for (size_t first = 0, n; first < c->n; first += n) {
			n = c->n - first < at_once ? c->n - first : at_once;
			size_t off = first * c->table_bytes;
			if (!sw_capture_read(h->capture, c->tables_avma + off, h->now,
					     n * c->table_bytes))
				memset(h->now, 0xff, n * c->table_bytes);
			tables_mark(c->tables + off, h->now, n, c->table_bytes);
		}
	}
}

int sw_ftable_capture(struct sw_jit_capture *c)
{
	struct sw_ftable_copying *h = *c->state;
	if (h == NULL) /* there is none, or no memory for it */
		return 0;
	h->capture = c->capture;
	/* The window may be repeated. */
	h->n_chunks = h->copies = h->record_bytes = h->payload_bytes = h->looks = 0;
	for (size_t i = 0; i < c->n_roots; i++) {
		bool again = false;
		for (size_t k = 0; k < i && !again; k++)
			again = c->roots[k].avma == c->roots[i].avma;
		if (!again)
			registry_copy(h, c->roots[i].avma);
	}
	payloads_copy(h, true);
	payloads_copy(h, false);
	if (!sw_capture_is_whole(c->capture))
		changed_mark(h);
	return 0;
}
