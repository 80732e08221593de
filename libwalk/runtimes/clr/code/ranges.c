/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From an address to what the runtime knows of the code there.
 *
 *	range section map    a tree of five levels over 57 bits of address, 8 bits each
 *	  -> fragments       what of a range lies in 128 KiB
 *	    -> range section code heap of the JIT compiler | ReadyToRun image | stubs
 *	       code heap -> nibble map -> start of the code -> code header before it
 *
 * Sources: dotnet/runtime v10.0.0, docs/design/datacontracts/ExecutionManager.md,
 * src/coreclr/vm/codeman.h, inc/nibblemapmacros.h; v9.0.0 for the first nibble map.
 */
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/metadata/remote.h"

#include "cleanup.h"

enum {
	MAP_LOW_BITS = 17,
	MAP_TOP_BITS = MAP_LOW_BITS + SW_CLR_MAP_LEVELS * SW_CLR_MAP_BITS,
	FRAGMENTS_MAX = 1024, /* of one chunk */
	FLAG_COLLECTIBLE = 1,
	FLAG_CODE_HEAP = 2,
	FLAG_RANGE_LIST = 4,
	HEADER_BYTES = 8, /* a pointer before the code */
	UNUSED_MAX = 64,  /* entries of a method without code */

	/* A word of the nibble map: eight nibbles, the first one in the highest bits, each for 32
	 * bytes of code; 0: nothing starts there, n: at (n - 1) * 4. */
	WORD_BYTES = 4,
	NIBBLE_SHIFT = 5,
	WORD_SHIFT = 8,
	NIBBLE_LAST = 8, /* version 2: more than that in the lowest nibble makes a pointer */
	WORDS_BACK_MAX = 1 << 16, /* version 1: a method has at most 16 MiB */
	WORDS_AT_ONCE = 256,

	CODES_MAX = 1 << 20, /* addresses that are remembered */
};

/* The lowest bit of a pointer in the map says that what follows is collectible. */
static bool pointer_read(struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	if (!sw_clr_u64(m, avma, 0, ret))
		return false;
	*ret &= ~UINT64_C(1);
	return *ret != 0;
}

struct section {
	uint64_t avma, begin_avma;
	uint64_t module_avma, heap_avma;
	uint32_t flags;
};

static bool section_read(const struct sw_clr_layout *at, struct sw_memory m, uint64_t avma,
			 struct section *ret)
{
	uint64_t deleted;
	ret->avma = avma;
	return sw_clr_u64(m, avma, at->section_begin, &ret->begin_avma) &&
	       sw_clr_u32(m, avma, at->section_flags, &ret->flags) &&
	       sw_clr_u64(m, avma, at->section_module, &ret->module_avma) &&
	       sw_clr_u64(m, avma, at->section_heap, &ret->heap_avma) &&
	       sw_clr_u64(m, avma, at->section_deleted, &deleted) && deleted == 0;
}

static bool section_find(const struct sw_clr_layout *at, struct sw_memory m, uint64_t pc_avma,
			 struct section *ret)
{
	uint64_t table = at->map_avma + at->map_top, fragment;
	if (pc_avma >> MAP_TOP_BITS != 0)
		return false;
	for (int level = SW_CLR_MAP_LEVELS - 1; level >= 0; level--) {
		uint64_t index = pc_avma >> (MAP_LOW_BITS + level * SW_CLR_MAP_BITS);
		if (!pointer_read(m, table + 8 * (index & (SW_CLR_MAP_SLOTS - 1)), &table))
			return false;
	}
	fragment = table;
	for (int n = 0; n < FRAGMENTS_MAX && fragment != 0; n++) {
		uint64_t begin, end, next, section;
		if (!sw_clr_u64(m, fragment, at->fragment_begin, &begin) ||
		    !sw_clr_u64(m, fragment, at->fragment_end, &end))
			return false;
		if (pc_avma >= begin && pc_avma < end)
			return sw_clr_u64(m, fragment, at->fragment_section, &section) &&
			       section_read(at, m, section, ret);
		if (!sw_clr_u64(m, fragment, at->fragment_next, &next))
			return false;
		fragment = next & ~UINT64_C(1);
	}
	return false;
}

uint64_t sw_clr_image_module(const struct sw_clr_layout *at, struct sw_memory memory, uint64_t avma)
{
	struct section section;
	return section_find(at, memory, avma, &section) ? section.module_avma : 0;
}

/* ---- the nibble map ----------------------------------------------------------------------- */

struct nibbles {
	struct sw_memory memory;
	uint64_t map_avma;
	uint64_t base_avma; /* what the map counts from */
	unsigned version;
};

static bool word_read(const struct nibbles *n, uint64_t index, uint32_t *ret)
{
	return sw_clr_u32(n->memory, n->map_avma, index * WORD_BYTES, ret);
}

/* Version 2: all 256 bytes belong to one method that starts earlier; the word says where. */
static bool word_is_pointer(const struct nibbles *n, uint32_t word)
{
	return n->version >= 2 && (word & 0xf) > NIBBLE_LAST;
}

static uint64_t word_pointer(const struct nibbles *n, uint32_t word)
{
	return n->base_avma + (word & ~UINT32_C(0xf)) +
	       ((uint64_t) ((word & 0xf) - NIBBLE_LAST - 1) << 2);
}

static bool nibble_start(uint64_t base_avma, uint64_t index, uint32_t word, int k, uint64_t *ret)
{
	uint32_t nibble = word >> 4 * (SW_CLR_WORD_NIBBLES - 1 - k) & 0xf;
	*ret = base_avma + (index << WORD_SHIFT) + ((uint64_t) (unsigned) k << NIBBLE_SHIFT) +
	       (uint64_t) (nibble - 1) * 4;
	return nibble != 0;
}

/* The last start in a word up to nibble last; *ret is an address. */
static bool word_last(const struct nibbles *n, uint64_t index, uint32_t word, int last,
		      uint64_t *ret)
{
	for (int k = last; k >= 0; k--)
		if (nibble_start(n->base_avma, index, word, k, ret))
			return true;
	return false;
}

/* The last start in the words [first, end). */
static bool start_before(const struct nibbles *n, uint64_t end, uint64_t first, uint64_t *ret)
{
	uint32_t words[WORDS_AT_ONCE];
	while (end > first) {
		size_t count = end - first < WORDS_AT_ONCE ? (size_t) (end - first) : WORDS_AT_ONCE;
		if (!sw_clr_read(n->memory, n->map_avma, (end - count) * WORD_BYTES, words,
				 count * WORD_BYTES))
			return false;
		while (count-- > 0) {
			uint32_t word = words[count];
			end--;
			if (word_is_pointer(n, word)) {
				*ret = word_pointer(n, word);
				return true;
			}
			if (word_last(n, end, word, SW_CLR_WORD_NIBBLES - 1, ret))
				return true;
		}
	}
	return false;
}

static bool code_start(const struct nibbles *n, uint64_t pc_avma, uint64_t *ret)
{
	uint64_t offset = pc_avma - n->base_avma, index = offset >> WORD_SHIFT;
	int k = (int) (offset >> NIBBLE_SHIFT & (SW_CLR_WORD_NIBBLES - 1));
	uint32_t word, in_bucket = (uint32_t) (offset & 31) / 4 + 1;
	if (!word_read(n, index, &word))
		return false;
	if (word_is_pointer(n, word)) {
		*ret = word_pointer(n, word);
		return true;
	}
	/* The start in the address's own bucket counts when it is not behind it. */
	uint32_t own = word >> 4 * (SW_CLR_WORD_NIBBLES - 1 - k) & 0xf;
	if (word_last(n, index, word, own != 0 && own <= in_bucket ? k : k - 1, ret))
		return true;
	uint64_t back_max = n->version >= 2 ? 1 : WORDS_BACK_MAX;
	return start_before(n, index, index > back_max ? index - back_max : 0, ret);
}

bool sw_clr_nibble_start(const struct sw_clr_layout *at, uint64_t base_avma, uint64_t index,
			 uint32_t word, int k, uint64_t *ret)
{
	const struct nibbles n = {.version = at->nibble_version};
	return !word_is_pointer(&n, word) && nibble_start(base_avma, index, word, k, ret);
}

/* ---- code of the JIT compiler ------------------------------------------------------------- */

/* StubCodeBlockKind, src/coreclr/vm/codeman.h; which numbers are used has changed, names have not. */
static const char *stub_name(uint64_t kind)
{
	static const char *const names[] = {
		[1] = "jump stub",       [3] = "dynamic helper",    [4] = "precode",
		[5] = "fixup precode",   [6] = "VSD dispatch stub", [7] = "VSD resolve stub",
		[8] = "VSD lookup stub", [9] = "VSD vtable stub",
	};
	return kind < SW_ARRAY_SIZE(names) && names[kind] != NULL ? names[kind] : "stub";
}

static bool stub_set(struct sw_clr_code *ret, const char *name)
{
	ret->kind = SW_CLR_CODE_STUB;
	ret->stub = name;
	return true;
}

/*
 * Space for a method's entries is set aside before it is compiled; those at the end that it did not need
 * stay empty (seen of methods with loops in 10.0 for Windows). The runtime itself looks at all in turn:
 * vm/codeman.cpp, EEJitManager::LazyGetFunctionEntry().
 */
static uint32_t functions_used(const struct sw_clr_layout *at, struct sw_memory m, uint64_t table,
			       uint32_t n)
{
	struct sw_pe_function f;
	for (uint32_t i = 0; i < UNUSED_MAX && n > 1; i++, n--)
		if (!sw_clr_function_read(at, m, table, n - 1, &f) || f.end_rva != 0)
			break;
	return n;
}

static bool jit_find(const struct sw_clr_runtime *runtime, struct sw_memory m,
		     const struct section *section, uint64_t pc_avma, struct sw_clr_code *ret)
{
	const struct sw_clr_layout *at = &runtime->at;
	struct nibbles n = {.memory = m, .version = at->nibble_version};
	uint64_t heap = section->heap_avma, begin, end, header, i;
	uint32_t n_functions;
	if (!sw_clr_u64(m, heap, at->heap_start, &begin) ||
	    !sw_clr_u64(m, heap, at->heap_end, &end) || pc_avma < begin || pc_avma > end ||
	    !sw_clr_u64(m, heap, at->heap_base, &n.base_avma) || pc_avma < n.base_avma ||
	    !sw_clr_u64(m, heap, at->heap_map, &n.map_avma) ||
	    !code_start(&n, pc_avma, &ret->start_avma) || ret->start_avma > pc_avma ||
	    !sw_memory_u64(m, ret->start_avma - HEADER_BYTES, &header))
		return false;
	/* The header itself, not where it lies: CodeHeader::IsStubCodeBlock(), codeman.h. */
	if (header <= at->stub_last)
		return stub_set(ret, stub_name(header));
	uint64_t table = header + at->header_unwind, rva = pc_avma - section->begin_avma;
	if (rva > UINT32_MAX || !sw_clr_u64(m, header, at->header_method, &ret->method_avma) ||
	    !sw_clr_u32(m, header, at->header_n_unwind, &n_functions) ||
	    n_functions > SW_CLR_FUNCTIONS_MAX ||
	    !sw_clr_function_search(at, m, table, functions_used(at, m, table, n_functions),
				    (uint32_t) rva, &i, &ret->function) ||
	    !sw_clr_function_covers(&ret->function, (uint32_t) rva))
		return false;
	ret->kind = SW_CLR_CODE_JIT;
	ret->header_avma = header;
	ret->index = (unsigned) i;
	ret->base_avma = section->begin_avma;
	return true;
}

bool sw_clr_range_find(const struct sw_clr_runtime *runtime, struct sw_memory memory,
		       uint64_t pc_avma, struct sw_clr_code *ret)
{
	struct section section;
	*ret = (struct sw_clr_code){.runtime = runtime};
	if (!runtime->usable || !section_find(&runtime->at, memory, pc_avma, &section) ||
	    pc_avma < section.begin_avma)
		return false;
	ret->collectible = section.flags & FLAG_COLLECTIBLE;
	if (section.module_avma != 0) {
		ret->module_avma = section.module_avma;
		return sw_clr_r2r_find(runtime, memory, section.begin_avma, pc_avma, ret);
	}
	if (section.flags & FLAG_RANGE_LIST)
		return stub_set(ret, "stub");
	return section.flags & FLAG_CODE_HEAP && jit_find(runtime, memory, &section, pc_avma, ret);
}

/* Code that may be freed, and where there was none, is looked up for each copy. */
static bool is_of_moment(uint64_t kept)
{
	const struct sw_clr_code *code = (const struct sw_clr_code *) (uintptr_t) kept;
	return code == NULL || code->collectible;
}

/* Each distinct address is looked up once; that nothing managed is there is remembered, too. */
const struct sw_clr_code *sw_clr_code_find(struct sw_clr *clr, uint64_t pc_avma)
{
	uint64_t kept;
	struct sw_clr_code code;
	if (sw_map64_get(&clr->by_pc, pc_avma, &kept) && !(clr->by_copies && is_of_moment(kept)))
		return (const struct sw_clr_code *) (uintptr_t) kept;
	struct sw_clr_code *found = NULL;
	for (size_t i = 0; i < clr->n_runtimes && found == NULL; i++) {
		if (!sw_clr_range_find(&clr->runtimes[i], clr->memory, pc_avma, &code))
			continue;
		found = sw_arena_alloc(&clr->arena, sizeof(*found));
		if (found == NULL)
			return NULL;
		*found = code;
	}
	if (clr->by_pc.count < CODES_MAX)
		(void) sw_map64_put(&clr->by_pc, pc_avma,
				    (uintptr_t) found); /* lost: it is looked up again */
	return found;
}
