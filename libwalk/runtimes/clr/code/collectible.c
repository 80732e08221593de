/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code that the runtime may free, found before the stop so that it can be copied in the stop:
 *
 *	range section map -> pointers whose lowest bit says so -> fragment -> range section
 *	  -> code heap: its nibble map, its code (with unwind information and pointers to headers)
 *	    -> header of each method -> MethodDesc -> name, if it is a dynamic method's
 *
 * A method that was freed before the stop is on no stack; one that was made after it was looked for
 * here is read later, as all that was not copied. Names of types of an assembly that is unloaded
 * meanwhile are not saved.
 * Source: dotnet/runtime v10.0.0, src/coreclr/vm/codeman.h, RangeSectionFragmentPointer, and
 * vm/dynamicmethod.cpp, HostCodeHeap.
 */
#include "runtimes/clr/code/collectible.h"
#include "snapshot/live.h"
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/published/name_layout.h"

#include <string.h>

enum {
	TABLES_MAX = 1024,       /* of the range section map; one has 32 MiB of code */
	FRAGMENTS_MAX = 1 << 14, /* that are looked at */
	COLLECTIBLE_MAX = 256,   /* of them, that are copied */
	SECTIONS_MAX = 64,
	HEAP_BYTES_MAX = 256 << 10,  /* of code, in each heap */
	TOTAL_BYTES_MAX = 384 << 10, /* threads need space, too */
	METHODS_MAX = 512,
	FUNCTIONS_MAX = 16, /* of one method: its body and funclets */
	CLASS_MASK = 7,     /* MethodDesc.Flags */
	CLASS_DYNAMIC = 7,
	NAME_BYTES = 128,
	NAME_BLOCK = 64, /* a string is read in aligned blocks: runtimes/clr/metadata/string.c */
	WORDS_AT_ONCE = 128,
};

struct looking {
	struct sw_capture *capture;
	const struct sw_clr_runtime *runtime;
	struct sw_memory memory;
	struct sw_clr_name_layout names; /* resolved when the first heap is found */
	bool names_tried;
	uint64_t sections[SECTIONS_MAX];
	size_t n_tables, n_fragments, n_collectible, n_sections, n_methods, bytes;
};

static bool want(struct looking *l, uint64_t avma, size_t bytes)
{
	if (bytes > TOTAL_BYTES_MAX - l->bytes || sw_capture_want(l->capture, avma, bytes) < 0)
		return false;
	l->bytes += bytes;
	return true;
}

/* A structure of the runtime up to the field that ends last. */
static size_t end_of(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t most = a > b ? a : b;
	return (size_t) (most > c ? most : c) + 8;
}

static const struct sw_clr_name_layout *names_get(struct looking *l)
{
	if (!l->names_tried) {
		l->names_tried = true;
		if (l->runtime->contract.json.values != NULL)
			sw_clr_name_layout_resolve(&l->runtime->contract, &l->names);
		else
			l->names = sw_clr_name_layout_fixed();
	}
	return &l->names;
}

/* The MethodDesc, the chunk that it lies in, and the name of a dynamic method. */
static void name_want(struct looking *l, uint64_t method_avma)
{
	const struct sw_clr_name_layout *at = names_get(l);
	uint64_t name;
	uint16_t flags;
	uint8_t index;
	bool has_name = at->dynamic_name != SW_CLR_ABSENT && at->dynamic_flags != SW_CLR_ABSENT;
	if (!at->usable ||
	    !want(l, method_avma,
		  end_of(at->method_flags, has_name ? at->dynamic_name : 0,
			 has_name ? at->dynamic_flags : 0)) ||
	    !sw_clr_u8(l->memory, method_avma, at->method_chunk_index, &index) ||
	    !want(l, method_avma - index * at->method_align - at->chunk_bytes, at->chunk_bytes) ||
	    !has_name || !sw_clr_u16(l->memory, method_avma, at->method_flags, &flags) ||
	    (flags & CLASS_MASK) != CLASS_DYNAMIC ||
	    !sw_clr_u64(l->memory, method_avma, at->dynamic_name, &name))
		return;
	for (uint64_t end = name; end != 0 && end - name < NAME_BYTES;) {
		char block[NAME_BLOCK];
		size_t n = NAME_BLOCK - end % NAME_BLOCK;
		if (!sw_memory_read(l->memory, end, block, n) || !want(l, end, n) ||
		    memchr(block, '\0', n) != NULL)
			return;
		end += n;
	}
}

static void method_want(struct looking *l, uint64_t start_avma)
{
	const struct sw_clr_layout *at = &l->runtime->at;
	uint64_t header, method;
	uint32_t n;
	if (l->n_methods == METHODS_MAX || !sw_memory_u64(l->memory, start_avma - 8, &header) ||
	    header <= at->stub_last || !sw_clr_u64(l->memory, header, at->header_method, &method) ||
	    !sw_clr_u32(l->memory, header, at->header_n_unwind, &n))
		return;
	l->n_methods++;
	n = n < FUNCTIONS_MAX ? n : FUNCTIONS_MAX;
	if (want(l, header,
		 end_of(at->header_method, at->header_n_unwind,
			at->header_unwind + n * at->function_bytes)))
		name_want(l, method);
}

static void heap_want(struct looking *l, uint64_t heap)
{
	const struct sw_clr_layout *at = &l->runtime->at;
	uint64_t begin, end, base, map, start;
	if (!sw_clr_u64(l->memory, heap, at->heap_start, &begin) ||
	    !sw_clr_u64(l->memory, heap, at->heap_end, &end) ||
	    !sw_clr_u64(l->memory, heap, at->heap_base, &base) ||
	    !sw_clr_u64(l->memory, heap, at->heap_map, &map) || base > begin || begin >= end ||
	    end - base > HEAP_BYTES_MAX)
		return;
	uint64_t words = ((end - base) >> 8) + 1;
	if (!want(l, heap,
		  end_of(at->heap_start > at->heap_end ? at->heap_start : at->heap_end,
			 at->heap_base, at->heap_map)) ||
	    !want(l, map, (size_t) words * sizeof(uint32_t)) ||
	    !want(l, begin, (size_t) (end - begin)))
		return;
	uint32_t some[WORDS_AT_ONCE];
	for (uint64_t first = 0; first < words; first += WORDS_AT_ONCE) {
		size_t n = words - first < WORDS_AT_ONCE ? (size_t) (words - first) : WORDS_AT_ONCE;
		if (!sw_clr_read(l->memory, map, first * sizeof(*some), some, n * sizeof(*some)))
			return;
		for (size_t i = 0; i < n; i++)
			for (int k = 0; k < 8; k++)
				if (sw_clr_nibble_start(at, base, first + i, some[i], k, &start) &&
				    start > begin && start < end)
					method_want(l, start);
	}
}

static void section_want(struct looking *l, uint64_t section)
{
	const struct sw_clr_layout *at = &l->runtime->at;
	uint64_t module, heap;
	for (size_t i = l->n_sections; i-- > 0;) /* its fragments come one after the other */
		if (l->sections[i] == section)
			return;
	if (l->n_sections == SECTIONS_MAX)
		return;
	l->sections[l->n_sections++] = section;
	if (want(l, section, end_of(at->section_module, at->section_heap, at->section_deleted)) &&
	    sw_clr_u64(l->memory, section, at->section_module, &module) && module == 0 &&
	    sw_clr_u64(l->memory, section, at->section_heap, &heap) && heap != 0)
		heap_want(l, heap);
}

/* Fragments from the pointer at slot_avma on. */
static void fragments_look(struct looking *l, uint64_t slot_avma, uint64_t pointer)
{
	const struct sw_clr_layout *at = &l->runtime->at;
	while (pointer != 0 && l->n_fragments++ < FRAGMENTS_MAX &&
	       l->n_collectible < COLLECTIBLE_MAX) {
		uint64_t fragment = pointer & ~UINT64_C(1), section;
		if (pointer & 1) {
			l->n_collectible++;
			if (!want(l, slot_avma, sizeof(pointer)) ||
			    !want(l, fragment,
				  end_of(at->fragment_begin, at->fragment_end,
					 at->fragment_section)) ||
			    !sw_clr_u64(l->memory, fragment, at->fragment_section, &section))
				return;
			section_want(l, section);
		}
		slot_avma = fragment + at->fragment_next;
		if (!sw_memory_u64(l->memory, slot_avma, &pointer))
			return;
	}
}

static void table_look(struct looking *l, uint64_t table_avma, int level)
{
	uint64_t slots[SW_CLR_MAP_SLOTS];
	if (l->n_tables++ >= TABLES_MAX ||
	    !sw_memory_read(l->memory, table_avma, slots, sizeof(slots)))
		return;
	for (size_t i = 0; i < SW_CLR_MAP_SLOTS; i++)
		if (slots[i] != 0 && level == 0)
			fragments_look(l, table_avma + i * sizeof(*slots), slots[i]);
		else if (slots[i] != 0)
			table_look(l, slots[i] & ~UINT64_C(1), level - 1);
}

void sw_clr_collectible_want(struct sw_capture *capture, const struct sw_clr_runtime *runtime,
			     struct sw_memory memory)
{
	struct looking l = {.capture = capture, .runtime = runtime, .memory = memory};
	if (runtime->usable)
		table_look(&l, runtime->at.map_avma + runtime->at.map_top, SW_CLR_MAP_LEVELS - 1);
}

bool sw_clr_collectible_is_live(const struct sw_clr *clr, const struct sw_clr_code *code,
				size_t live_before)
{
	return code->collectible && clr->source.live_reads != live_before && clr->snap->live;
}

bool sw_clr_collectible_remains(const struct sw_clr *clr, const struct sw_clr_code *code,
				size_t live_before)
{
	struct sw_clr_code now;
	if (!sw_clr_collectible_is_live(clr, code, live_before))
		return true;
	return sw_clr_range_find(code->runtime, sw_live_memory(clr->snap), code->start_avma,
				 &now) &&
	       now.start_avma == code->start_avma && now.method_avma == code->method_avma;
}
