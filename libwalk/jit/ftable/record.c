/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/ftable/record.h"

enum {
	LIMIT_CHUNK_BYTES = 256,
	LIMIT_REGISTRY_BYTES = 4096,
	TABLE_BYTES_MIN = offsetof(struct swft_table, link),
	ENTRY_BYTES = 12,
};

const char *sw_ftable_head_parse(struct sw_bytes head, struct sw_ftable_layout *ret)
{
	static const char magic[8] = {'S', 'W', 'F', 'T', 'A', 'B', 'L', 'E'};
	uint32_t version = 0;
	struct sw_ftable_layout l;
	if (head.size < SW_FTABLE_HEAD_BYTES || memcmp(head.data, magic, sizeof(magic)) != 0)
		return "there is no registry";
	bool ok = sw_bytes_u32(head, offsetof(struct swft_registry, version), &version) &&
		  sw_bytes_u32(head, offsetof(struct swft_registry, registry_bytes),
			       &l.registry_bytes) &&
		  sw_bytes_u32(head, offsetof(struct swft_registry, chunk_bytes), &l.chunk_bytes) &&
		  sw_bytes_u32(head, offsetof(struct swft_registry, table_bytes), &l.table_bytes) &&
		  sw_bytes_u64(head, offsetof(struct swft_registry, first), &l.first_avma);
	if (version != SWFT_VERSION)
		return "the registry is of another version";
	if (!ok || l.registry_bytes < SW_FTABLE_HEAD_BYTES ||
	    l.registry_bytes > LIMIT_REGISTRY_BYTES || l.chunk_bytes < sizeof(struct swft_chunk) ||
	    l.chunk_bytes > LIMIT_CHUNK_BYTES || l.table_bytes < TABLE_BYTES_MIN ||
	    l.table_bytes > SW_FTABLE_TABLE_BYTES_MAX)
		return "the registry's head is malformed";
	*ret = l;
	return NULL;
}

bool sw_ftable_chunk_parse(struct sw_bytes head, struct sw_ftable_chunk *ret)
{
	uint32_t capacity;
	struct sw_ftable_chunk c;
	if (!sw_bytes_u64(head, offsetof(struct swft_chunk, next), &c.next_avma) ||
	    !sw_bytes_u32(head, offsetof(struct swft_chunk, capacity), &capacity) ||
	    !sw_bytes_u32(head, offsetof(struct swft_chunk, used), &c.used) || c.used > capacity ||
	    capacity > SW_FTABLE_CHUNK_TABLES_MAX)
		return false;
	*ret = c;
	return true;
}

/* The kind of a deferred table once its data is there: swft_fill() does not lock, and where the
 * process runs only one of its two stores may have been seen. */
static uint32_t deferred_kind(const struct sw_ftable *t)
{
	bool there = t->data_avma != 0 && t->count > 0;
	if (there && strcmp(t->format, SWFT_FORMAT_EH_FRAME) == 0)
		return SWFT_EH_FRAME;
	if (there && strcmp(t->format, SWFT_FORMAT_RUNTIME_FUNCTION) == 0)
		return SWFT_RUNTIME_FUNCTION;
	return SWFT_DEFERRED;
}

static uint64_t word(struct sw_bytes record, size_t off)
{
	uint64_t value = 0;
	(void) sw_bytes_u64(record, off, &value); /* its size was checked */
	return value;
}

static uint32_t half(struct sw_bytes record, size_t off)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(record, off, &value); /* its size was checked */
	return value;
}

#define WORD(field) word(record, offsetof(struct swft_table, field))
#define HALF(field) half(record, offsetof(struct swft_table, field))

enum sw_ftable_state sw_ftable_record_parse(struct sw_bytes record, uint64_t record_avma,
					    struct sw_ftable *ret)
{
	if (record.size < TABLE_BYTES_MIN)
		return SW_FTABLE_BAD;
	switch (HALF(state)) {
	case SWFT_LIVE: break;
	case SWFT_DEAD: return SW_FTABLE_DEAD;
	case SW_FTABLE_STATE_BUSY: return SW_FTABLE_BUSY;
	default: return SW_FTABLE_BAD;
	}
	*ret = (struct sw_ftable){
		.record_avma = record_avma,
		.seq = WORD(seq),
		.id = WORD(id),
		.kind = HALF(kind),
		.start_avma = WORD(start),
		.end_avma = WORD(end),
		.base_avma = WORD(base),
		.data_avma = WORD(data),
		.count = WORD(count),
		.info_avma = WORD(info),
		.info_bytes = WORD(info_bytes),
		.symbols_avma = WORD(symbols),
		.n_symbols = WORD(n_symbols),
		.names_avma = WORD(names),
		.names_bytes = WORD(names_bytes),
		.cfa_offset = HALF(cfa_offset),
	};
	memcpy(ret->format, record.data + offsetof(struct swft_table, format), SWFT_FORMAT_BYTES);
	if (WORD(check) != ~ret->id || ret->start_avma >= ret->end_avma ||
	    ret->kind < SWFT_EH_FRAME || ret->kind > SWFT_DEFERRED)
		return SW_FTABLE_BAD;
	ret->deferred = ret->kind == SWFT_DEFERRED;
	if (ret->deferred)
		ret->kind = deferred_kind(ret);
	return SW_FTABLE_USABLE;
}

uint64_t sw_ftable_data_bytes(const struct sw_ftable *table)
{
	uint64_t bytes = table->count;
	switch (table->kind) {
	case SWFT_EH_FRAME: return bytes;
	case SWFT_RUNTIME_FUNCTION:
		return __builtin_mul_overflow(bytes, ENTRY_BYTES, &bytes) ? UINT64_MAX : bytes;
	default: return 0;
	}
}
