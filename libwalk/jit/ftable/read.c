/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registries of function tables; why they can be read at any instant is said in
 * <snapwalk/ftable.h>. Here is the other half:
 *
 *	stopped		chunks and live tables are as they are; seq says nothing
 *	running		seq of all tables of a chunk, then the tables, then seq again, by reads of which
 *			one is done before the next begins: a table whose seq was even and is the same
 *			was not changed in between, and neither was what it points to
 */
#include "jit/ftable/read.h"
#include "cleanup.h"
#include "errors.h"

enum {
	TABLES_FIRST = 64,
};

struct reader {
	struct sw_memory still, running;
	struct sw_ftable_layout layout;
	struct sw_ftables *tables;
	uint8_t *first, *records, *last; /* owned; the three readings of a running chunk */
	size_t space;
	size_t *bytes_left; /* of records */
	bool nomem;
};

static void reader_deinit(struct reader *r)
{
	free(r->first);
	free(r->records);
	free(r->last);
}

static bool space_make(struct reader *r, size_t bytes)
{
	uint8_t **const buffers[] = {&r->first, &r->records, &r->last};
	if (bytes <= r->space)
		return true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(buffers); i++) {
		uint8_t *grown = realloc(*buffers[i], bytes);
		if (grown == NULL) {
			r->nomem = true;
			return false;
		}
		*buffers[i] = grown;
	}
	r->space = bytes;
	return true;
}

static void table_add(struct reader *r, const struct sw_ftable *table)
{
	struct sw_ftables *t = r->tables;
	if (t->n == t->capacity) {
		size_t capacity = t->capacity == 0 ? TABLES_FIRST : t->capacity * 2;
		struct sw_ftable *grown = reallocarray(t->all, capacity, sizeof(*grown));
		r->nomem |= grown == NULL;
		if (grown == NULL)
			return;
		t->all = grown;
		t->capacity = capacity;
	}
	t->all[t->n++] = *table;
}

static void record_take(struct reader *r, const uint8_t *bytes, uint64_t avma, bool live)
{
	struct sw_ftable table;
	switch (sw_ftable_record_parse((struct sw_bytes){bytes, r->layout.table_bytes}, avma,
				       &table)) {
	case SW_FTABLE_USABLE:
		table.live = live;
		table_add(r, &table);
		break;
	case SW_FTABLE_DEAD: r->tables->n_dead++; break;
	case SW_FTABLE_BAD: r->tables->n_bad++; break;
	case SW_FTABLE_BUSY: r->tables->n_busy++; break;
	}
}

static uint64_t seq_in(const uint8_t *record)
{
	uint64_t seq;
	memcpy(&seq, record + offsetof(struct swft_table, seq), sizeof(seq));
	return seq;
}

/* A table that was changed while its chunk was read is read again, a few times. */
static void record_again(struct reader *r, uint64_t avma)
{
	uint8_t record[SW_FTABLE_TABLE_BYTES_MAX];
	for (int n = 0; n < SW_FTABLE_TRIES; n++) {
		uint64_t before, after;
		if (!sw_memory_u64(r->running, avma, &before) ||
		    !sw_memory_read(r->running, avma, record, r->layout.table_bytes) ||
		    !sw_memory_u64(r->running, avma, &after))
			break;
		if (before == after && before % 2 == 0) {
			record_take(r, record, avma, true);
			return;
		}
	}
	r->tables->n_busy++;
}

static bool records_running(struct reader *r, uint64_t avma, size_t n)
{
	size_t bytes = n * r->layout.table_bytes;
	if (!sw_memory_read(r->running, avma, r->first, bytes) ||
	    !sw_memory_read(r->running, avma, r->records, bytes) ||
	    !sw_memory_read(r->running, avma, r->last, bytes))
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t off = i * r->layout.table_bytes;
		uint64_t before = seq_in(r->first + off), after = seq_in(r->last + off);
		if (before == after && before % 2 == 0)
			record_take(r, r->records + off, avma + off, true);
		else
			record_again(r, avma + off);
	}
	return true;
}

/* The tables of one chunk; *chunk_avma becomes the next one's. False ends the list. */
static bool chunk_take(struct reader *r, uint64_t *chunk_avma)
{
	uint8_t head[sizeof(struct swft_chunk)];
	struct sw_ftable_chunk chunk;
	bool still = sw_memory_read(r->still, *chunk_avma, head, sizeof(head));
	if (!still && (r->running.ops == NULL ||
		       !sw_memory_read(r->running, *chunk_avma, head, sizeof(head)))) {
		r->tables->problem = "a chunk of tables could not be read";
		return false;
	}
	if (!sw_ftable_chunk_parse((struct sw_bytes){head, sizeof(head)}, &chunk)) {
		r->tables->problem = "a chunk of tables is malformed";
		return false;
	}
	uint64_t first = *chunk_avma + r->layout.chunk_bytes;
	size_t bytes = (size_t) chunk.used * r->layout.table_bytes;
	if (bytes > *r->bytes_left) {
		r->tables->problem = "more tables than the limit";
		return false;
	}
	*r->bytes_left -= bytes;
	if (!space_make(r, bytes))
		return false;
	if (still && sw_memory_read(r->still, first, r->records, bytes)) {
		for (size_t i = 0; i < chunk.used; i++)
			record_take(r, r->records + i * r->layout.table_bytes,
				    first + i * r->layout.table_bytes, false);
	} else if (r->running.ops == NULL || !records_running(r, first, chunk.used)) {
		r->tables->problem = "a chunk of tables could not be read";
		return false;
	}
	*chunk_avma = chunk.next_avma;
	return true;
}

int sw_ftables_read(struct sw_memory still, struct sw_memory running, uint64_t registry_avma,
		    size_t *bytes_left, struct sw_ftables *ret)
{
	sw_cleanup(reader_deinit) struct reader r = {.still = still,
						     .running = running,
						     .bytes_left = bytes_left,
						     .tables = ret};
	uint8_t head[SW_FTABLE_HEAD_BYTES];
	if (!sw_memory_read(still, registry_avma, head, sizeof(head)) &&
	    (running.ops == NULL || !sw_memory_read(running, registry_avma, head, sizeof(head)))) {
		ret->problem = "its memory could not be read";
		return 0;
	}
	const char *problem =
		sw_ftable_head_parse((struct sw_bytes){head, sizeof(head)}, &r.layout);
	if (problem != NULL) {
		ret->problem = problem;
		return 0;
	}
	/* A list that leads back to itself comes to where it was (Brent 1980). */
	uint64_t chunk_avma = r.layout.first_avma, earlier_avma = 0;
	for (size_t n = 0; chunk_avma != 0 && !r.nomem; n++) {
		if (chunk_avma == earlier_avma)
			ret->problem = "its list of chunks leads back to itself";
		else if (n == SW_FTABLE_CHUNKS_MAX)
			ret->problem = "more chunks of tables than the limit";
		if (ret->problem != NULL)
			break;
		if ((n & (n + 1)) == 0)
			earlier_avma = chunk_avma;
		if (!chunk_take(&r, &chunk_avma))
			break;
	}
	return r.nomem ? -SW_E_NOMEM : 0;
}

void sw_ftables_deinit(struct sw_ftables *tables)
{
	free(tables->all);
	*tables = (struct sw_ftables){0};
}

bool sw_ftable_unchanged(struct sw_memory running, const struct sw_ftable *table)
{
	uint64_t seq;
	return running.ops != NULL && sw_memory_u64(running, table->record_avma, &seq) &&
	       seq == table->seq;
}
