/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Address -> blob of the code cache.
 *
 *	segmap[i]   0xff free; 0 a block begins with segment i; n: it begins n segments before,
 *	            or the way goes on from there
 *	block       HeapBlock header, then the blob
 *
 * Source: src/hotspot/share/memory/heap.cpp (CodeHeap::find_block_for()), code/codeBlob.hpp,
 * code/nmethod.hpp; jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/structures/code.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/hotspot/structures/copies.h"
#include "runtimes/hotspot/structures/sweeper.h"
#include "snapshot/live.h"

#include <string.h>

static const uint8_t SEGMENT_FREE = 0xff;

static bool heap_read(const struct sw_hotspot_layout *at, struct sw_memory m, uint64_t avma,
		      struct sw_hotspot_heap *ret)
{
	uint32_t shift;
	if (!sw_hotspot_u64(m, avma + (uint64_t) at->heap_memory, at->space_low,
			    &ret->start_avma) ||
	    !sw_hotspot_u64(m, avma + (uint64_t) at->heap_memory, at->space_high, &ret->end_avma) ||
	    !sw_hotspot_u64(m, avma + (uint64_t) at->heap_segmap, at->space_low,
			    &ret->segmap_avma) ||
	    !sw_hotspot_u32(m, avma, at->heap_shift, &shift) || shift < 3 || shift > 16)
		return false;
	ret->shift = shift;
	return ret->start_avma < ret->end_avma;
}

bool sw_hotspot_cache_read(const struct sw_hotspot_layout *at, uint64_t bias, struct sw_memory m,
			   struct sw_hotspot_cache *ret)
{
	uint64_t array, data, heap;
	uint32_t n;
	struct sw_hotspot_cache cache = {0};
	if (at->heaps == SW_HOTSPOT_NONE) {
		if (!sw_hotspot_u64(m, bias, at->only_heap, &heap) ||
		    !heap_read(at, m, heap, &cache.heaps[0]))
			return false;
		cache.n_heaps = 1;
		cache.low_avma = cache.heaps[0].start_avma;
		cache.high_avma = cache.heaps[0].end_avma;
		*ret = cache;
		return true;
	}
	if (!sw_hotspot_u64(m, bias, at->low_bound, &cache.low_avma) ||
	    !sw_hotspot_u64(m, bias, at->high_bound, &cache.high_avma) ||
	    !sw_hotspot_u64(m, bias, at->heaps, &array) || array == 0 ||
	    !sw_hotspot_u32(m, array, at->array_length, &n) ||
	    !sw_hotspot_u64(m, array, at->array_data, &data))
		return false;
	for (size_t i = 0; i < n && i < SW_HOTSPOT_HEAPS_MAX; i++)
		if (sw_memory_u64(m, data + 8 * i, &heap) &&
		    heap_read(at, m, heap, &cache.heaps[cache.n_heaps]))
			cache.n_heaps++;
	*ret = cache;
	return cache.n_heaps > 0;
}

bool sw_hotspot_block_find(const struct sw_hotspot_heap *heap, struct sw_memory m, uint64_t pc,
			   uint64_t *ret_avma)
{
	uint64_t i = (pc - heap->start_avma) >> heap->shift;
	for (size_t hops = 0; hops < SW_HOTSPOT_HOPS_MAX; hops++) {
		uint8_t back;
		if (!sw_memory_read(m, heap->segmap_avma + i, &back, 1) || back == SEGMENT_FREE ||
		    back > i)
			return false;
		if (back == 0) {
			*ret_avma = heap->start_avma + (i << heap->shift);
			return true;
		}
		i -= back;
	}
	return false;
}

/* ---- a header ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool whole; /* or only its begin */
	enum sw_hotspot_kind kind;
} kinds[] = {
	{"nmethod", true, SW_HOTSPOT_COMPILED},
	{"native nmethod", true, SW_HOTSPOT_NATIVE},
	{"Interpreter", true, SW_HOTSPOT_INTERPRETER},
	{"vtable chunks", true, SW_HOTSPOT_FRAMELESS},
	{"MethodHandles adapters", true, SW_HOTSPOT_FRAMELESS},
	{"I2C/C2I adapters", false, SW_HOTSPOT_ADAPTER},
	{"StubRoutines", false, SW_HOTSPOT_ROUTINES},
};

static enum sw_hotspot_kind kind_of(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++)
		if (kinds[i].whole ? strcmp(name, kinds[i].name) == 0
				   : strncmp(name, kinds[i].name, strlen(kinds[i].name)) == 0)
			return kinds[i].kind;
	return SW_HOTSPOT_STUB;
}

static bool is_method(const struct sw_hotspot_blob *blob)
{
	return blob->kind == SW_HOTSPOT_COMPILED || blob->kind == SW_HOTSPOT_NATIVE;
}

/* A C string of libjvm.so; short ones only. */
static bool string_read(struct sw_memory m, uint64_t avma, char *ret, size_t size)
{
	enum { PIECE = 32 };
	for (size_t n = 0, more; n < size; n += more) {
		more = PIECE -
		       (size_t) ((avma + n) % PIECE); /* on no page that has nothing of it */
		if (more > size - n)
			more = size - n;
		if (!sw_memory_read(m, avma + n, ret + n, more))
			return false;
		for (size_t i = n; i < n + more; i++) {
			if (ret[i] == '\0')
				return true;
			if ((unsigned char) ret[i] < ' ' || (unsigned char) ret[i] > '~')
				return false;
		}
	}
	ret[size - 1] = '\0';
	return true;
}

/* Fields of a header, offsets of which may be unknown: 0 then. */
struct header {
	struct sw_bytes bytes;
};

static int64_t field32(const struct header *h, int64_t offset)
{
	uint32_t value;
	return offset >= 0 && sw_bytes_u32(h->bytes, (uint64_t) offset, &value) ? (int32_t) value
										: 0;
}

static uint64_t field64(const struct header *h, int64_t offset)
{
	uint64_t value;
	return offset >= 0 && sw_bytes_u64(h->bytes, (uint64_t) offset, &value) ? value : 0;
}

/* In use since JDK 23: PcDesc and scopes are behind the code no more, metadata in their own block. */
static void tables_apart(const struct sw_hotspot *h, const struct header *header,
			 struct sw_hotspot_blob *b)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint64_t base = field64(header, at->nmethod_immutable);
	int64_t size = field32(header, at->nmethod_immutable_size);
	int64_t pcs = field32(header, at->nmethod_pcs);
	int64_t scopes = field32(header, at->nmethod_scopes_offset);
	uint16_t metadata;
	if (base == 0 || size <= 0 || pcs < 0 || pcs > scopes || scopes > size)
		return;
	b->pcs_avma = base + (uint64_t) pcs;
	b->pcs_end_avma = b->scopes_avma = base + (uint64_t) scopes;
	b->scopes_end_avma = base + (uint64_t) size;
	if (at->nmethod_metadata == SW_HOTSPOT_NONE)
		b->metadata_avma = field64(header, at->blob_mutable_data) +
				   (uint64_t) field32(header, at->blob_relocation_size);
	else if (sw_bytes_u16(header->bytes, (uint64_t) at->nmethod_metadata, &metadata))
		b->metadata_avma =
			b->avma + (uint64_t) field32(header, at->blob_data_offset) + metadata;
}

static void tables_behind(const struct sw_hotspot *h, const struct header *header,
			  struct sw_hotspot_blob *b)
{
	const struct sw_hotspot_layout *at = &h->at;
	int64_t pcs = field32(header, at->nmethod_pcs);
	int64_t end = field32(header, at->nmethod_dependencies);
	uint64_t scopes = field64(header, at->nmethod_scopes_begin);
	if (at->nmethod_scopes_begin == SW_HOTSPOT_NONE) /* 8 */
		scopes = b->avma + (uint64_t) field32(header, at->nmethod_scopes_offset);
	if (pcs <= 0 || end < pcs || scopes < b->avma || scopes > b->avma + (uint64_t) pcs)
		return;
	b->pcs_avma = b->scopes_end_avma = b->avma + (uint64_t) pcs;
	b->pcs_end_avma = b->avma + (uint64_t) end;
	b->scopes_avma = scopes;
	b->metadata_avma = b->avma + (uint64_t) field32(header, at->nmethod_metadata);
}

/* Published as an address, or as an offset from the header; 0: the method has none. */
static uint64_t handler_of(const struct header *header, int64_t begin, int64_t offset,
			   uint64_t blob_avma)
{
	if (begin != SW_HOTSPOT_NONE)
		return field64(header, begin);
	int64_t distance = field32(header, offset);
	return distance > 0 ? blob_avma + (uint64_t) distance : 0;
}

static void method_fill(const struct sw_hotspot *h, const struct header *header,
			struct sw_hotspot_blob *b)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint8_t level = 0;
	b->method_avma = field64(header, at->nmethod_method);
	b->compile_id = (int32_t) field32(header, at->nmethod_compile_id);
	(void) sw_bytes_u8(header->bytes, (uint64_t) at->nmethod_level, &level); /* stays 0 */
	b->level = (int8_t) level;
	b->osr = at->nmethod_entry_bci >= 0 && field32(header, at->nmethod_entry_bci) >= 0;
	uint32_t orig_pc;
	b->orig_pc_off = SW_HOTSPOT_NONE; /* 0 is a slot */
	if (at->nmethod_orig_pc != SW_HOTSPOT_NONE &&
	    sw_bytes_u32(header->bytes, (uint64_t) at->nmethod_orig_pc, &orig_pc))
		b->orig_pc_off = (int32_t) orig_pc;
	b->deopt_avma =
		handler_of(header, at->nmethod_deopt_begin, at->nmethod_deopt_offset, b->avma);
	b->deopt_mh_avma = handler_of(header, at->nmethod_deopt_mh_begin,
				      at->nmethod_deopt_mh_offset, b->avma);
	if (at->nmethod_immutable != SW_HOTSPOT_NONE)
		tables_apart(h, header, b);
	else
		tables_behind(h, header, b);
}

static bool blob_fill(const struct sw_hotspot *h, const struct header *header, uint64_t max,
		      struct sw_hotspot_blob *b)
{
	const struct sw_hotspot_layout *at = &h->at;
	int64_t size = field32(header, at->blob_size);
	int64_t words = field32(header, at->blob_frame_size);
	if (size <= 0 || (uint64_t) size > max || size > SW_HOTSPOT_CODE_MAX ||
	    !string_read(h->memory, field64(header, at->blob_name), b->name, sizeof(b->name)))
		return false;
	b->end_avma = b->avma + (uint64_t) size;
	if (at->blob_code_begin != SW_HOTSPOT_NONE) {
		b->code_avma = field64(header, at->blob_code_begin);
		b->code_end_avma = field64(header, at->blob_code_end);
	} else {
		b->code_avma = b->avma + (uint64_t) field32(header, at->blob_code_offset);
		b->code_end_avma = b->avma + (uint64_t) field32(header, at->blob_data_offset);
	}
	if (b->code_avma < b->avma || b->code_end_avma > b->end_avma ||
	    b->code_avma >= b->code_end_avma)
		return false;
	b->kind = kind_of(b->name);
	b->frame_bytes =
		words > 0 && words <= SW_HOTSPOT_FRAME_WORDS_MAX ? (uint64_t) words * 8 : 0;
	/* An int until 20, int16_t since: the low half is the same; -1: CodeOffsets::frame_never_safe. */
	b->frame_complete = (int16_t) field32(header, at->blob_frame_complete);
	if (is_method(b))
		method_fill(h, header, b);
	return true;
}

static bool blob_read(struct sw_hotspot *h, const struct sw_hotspot_heap *heap, uint64_t block,
		      struct sw_hotspot_blob *b)
{
	uint8_t bytes[SW_HOTSPOT_BLOB_BYTES] = {0}, used;
	size_t live_before = h->source.live_reads, n = sizeof(bytes);
	uint64_t avma = block + (uint64_t) h->at.block_bytes;
	if (avma >= heap->end_avma || !sw_hotspot_u8(h->memory, block, h->at.block_used, &used) ||
	    used != 1)
		return false;
	if (n > heap->end_avma - avma)
		n = (size_t) (heap->end_avma - avma);
	if ((uint64_t) h->at.nmethod_bytes < n)
		n = (size_t) h->at.nmethod_bytes;
	if (!sw_memory_read(h->memory, avma, bytes, n))
		return false;
	struct header header = {{bytes, n}};
	*b = (struct sw_hotspot_blob){.avma = avma};
	if (!blob_fill(h, &header, heap->end_avma - avma, b))
		return false;
	b->live = h->source.live_reads != live_before;
	return true;
}

static bool is_same(const struct sw_hotspot *h, const struct sw_hotspot_blob *blob)
{
	struct sw_memory now = sw_live_memory(h->snap);
	uint64_t method, block = blob->avma - (uint64_t) h->at.block_bytes;
	uint32_t id;
	uint8_t used;
	/* Code that is not in use any more has its header until something else comes there. */
	return sw_hotspot_u8(now, block, h->at.block_used, &used) && used == 1 &&
	       sw_hotspot_u64(now, blob->avma, h->at.nmethod_method, &method) &&
	       sw_hotspot_u32(now, blob->avma, h->at.nmethod_compile_id, &id) &&
	       method == blob->method_avma && (int32_t) id == blob->compile_id;
}

static bool has_sweeper(const struct sw_hotspot *h)
{
	return h->version < 20;
}

/* By copies: whether the blob is the one that is there; proof.doubtful says whether the copy may have had another one. What is
 * no method stays for ever. */
static bool is_that_of_copy(struct sw_hotspot *h, struct sw_hotspot_blob *b)
{
	if (b->gone || !is_method(b))
		return !b->gone;
	if (sw_hotspot_is_proven(h, &b->proof)) {
		b->proof.doubtful = false;
		return true;
	}
	b->proof.numbered = true;
	b->gone = b->proof.first_ns != 0 && !is_same(h, b);
	if (!b->gone)
		b->proof.doubtful = !sw_hotspot_prove(h, !has_sweeper(h), &b->proof) &&
				    !(has_sweeper(h) && sw_hotspot_sweeper_slept(h));
	return !b->gone;
}

/* The blob whose block begins there. */
static struct sw_hotspot_blob *blob_get(struct sw_hotspot *h, const struct sw_hotspot_heap *heap,
					uint64_t block)
{
	uint64_t kept;
	bool known = sw_map64_get(&h->blobs, block, &kept);
	struct sw_hotspot_blob *b = known ? (struct sw_hotspot_blob *) (uintptr_t) kept : NULL;
	struct sw_hotspot_blob read;
	if (known && (!h->by_copies || (b != NULL && is_that_of_copy(h, b))))
		return b;
	b = NULL;
	if (blob_read(h, heap, block, &read)) {
		b = sw_arena_alloc(&h->arena, sizeof(*b));
		if (b == NULL)
			return NULL;
		*b = read;
	}
	if (b != NULL && h->by_copies)
		(void) is_that_of_copy(h, b);                 /* it is: nothing else was read */
	(void) sw_map64_put(&h->blobs, block, (uintptr_t) b); /* lost: it is read again */
	return b;
}

static const struct sw_hotspot_blob *blob_find(struct sw_hotspot *h, uint64_t pc)
{
	const struct sw_hotspot_heap *heap = sw_hotspot_heap_at(&h->cache, pc);
	uint64_t block;
	if (heap == NULL || !sw_hotspot_block_find(heap, h->memory, pc, &block))
		return NULL;
	return blob_get(h, heap, block);
}

/* The code that is remembered for a pc; by copies only where it is still so. */
static bool remembered(struct sw_hotspot *h, uint64_t pc, const struct sw_hotspot_blob **ret)
{
	uint64_t kept;
	if (!sw_map64_get(&h->by_pc, pc, &kept))
		return false;
	struct sw_hotspot_blob *b = (struct sw_hotspot_blob *) (uintptr_t) kept;
	*ret = b;
	return !h->by_copies || (b != NULL && is_that_of_copy(h, b));
}

const struct sw_hotspot_blob *sw_hotspot_blob_at(struct sw_hotspot *h, uint64_t pc)
{
	const struct sw_hotspot_blob *b;
	if (!sw_hotspot_cache_has(&h->cache, pc))
		return NULL;
	if (remembered(h, pc, &b))
		return b;
	b = blob_find(h, pc);
	if (b != NULL && (pc < b->code_avma || pc > b->code_end_avma))
		b = NULL;
	(void) sw_map64_put(&h->by_pc, pc, (uintptr_t) b); /* lost: it is looked up again */
	return b;
}

void sw_hotspot_blob_meet(const struct sw_hotspot *h, const struct sw_hotspot_blob *blob)
{
	uint64_t kept;
	if (h->by_copies && !blob->proof.doubtful && !has_sweeper(h) &&
	    sw_map64_get(&h->blobs, blob->avma - (uint64_t) h->at.block_bytes, &kept) && kept != 0)
		sw_hotspot_is_met(h, &((struct sw_hotspot_blob *) (uintptr_t) kept)->proof);
}

/* ---- what is there before the first copy ---------------------------------------------------- */

static void heap_known(struct sw_hotspot *h, const struct sw_hotspot_heap *heap)
{
	enum { LINE = 4096 };
	uint8_t line[LINE];
	/* The segment map says nothing of what cannot be executed yet. */
	const struct sw_map *map = sw_snapshot_map(h->snap, heap->start_avma);
	if (map == NULL || map->end_avma <= heap->start_avma)
		return;
	uint64_t end = map->end_avma < heap->end_avma ? map->end_avma : heap->end_avma;
	uint64_t n = (end - heap->start_avma) >> heap->shift;
	for (uint64_t from = 0; from < n; from += LINE) {
		size_t size = n - from < LINE ? (size_t) (n - from) : LINE;
		if (!sw_memory_read(h->memory, heap->segmap_avma + from, line, size))
			return;
		for (size_t i = 0; i < size && h->blobs.count < SW_HOTSPOT_KNOWN_MAX; i++)
			if (line[i] == 0)
				(void) blob_get(h, heap,
						heap->start_avma + ((from + i) << heap->shift));
	}
}

void sw_hotspot_cache_known(struct sw_hotspot *h)
{
	if (has_sweeper(h))
		sw_hotspot_sweeper_find(h);
	for (size_t i = 0; i < h->cache.n_heaps; i++)
		heap_known(h, &h->cache.heaps[i]);
}

/* ---- afterwards ------------------------------------------------------------------------------ */

bool sw_hotspot_blob_unchanged(struct sw_hotspot *h, const struct sw_hotspot_blob *blob)
{
	uint64_t kept;
	if (!h->snap->live || blob->gone)
		return !blob->gone;
	if (is_same(h, blob))
		return true;
	if (sw_map64_get(&h->blobs, blob->avma - (uint64_t) h->at.block_bytes, &kept) &&
	    kept == (uintptr_t) blob)
		((struct sw_hotspot_blob *) (uintptr_t) kept)->gone = true;
	return false;
}
