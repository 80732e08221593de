/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool of stacks for fibers, a variable of Ruby that has no symbol. It is told by what it leads to, which leads back:
 *
 *	fiber_pool	allocations  vacancies  size  count  initial_count  free_stacks  used  vm_stack_size
 *			0            8          16    24     32             40           48    56
 *	allocation	base  size  stride  count  pool  next
 *			0     8     16      24     32    40
 *
 * A stack of the pool is size bytes behind a page of guard; stride is both. Fibers have one from when they begin
 * until they end.
 *
 * Source: cont.c (struct fiber_pool, struct fiber_pool_allocation, fiber_pool_expand(), fiber_prepare_stack()) of
 * Ruby 3.1.2 and 3.3.8, where COROUTINE_LIMITED_ADDRESS_SPACE is not set, as on x86-64.
 */
#include "runtimes/ruby/fiber_pool.h"
#include "bytes.h"
#include "formats/elf_file.h"
#include "snapshot/module.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	POOL_ALLOCATIONS = 0,
	POOL_SIZE = 16,
	POOL_COUNT = 24,
	POOL_USED = 48,
	POOL_VALUES = 56,
	ALLOCATION_BASE = 0,
	ALLOCATION_SIZE = 8,
	ALLOCATION_STRIDE = 16,
	ALLOCATION_POOL = 32,
	WORD = 8,
	PAGE = 4096,
	VARIABLES_BYTES_MAX = 1 << 20, /* of a module that are looked at */
	STACK_BYTES_MAX = 1 << 28,
};

static const char slot_key; /* of what is kept with a module: the svma */

static uint64_t word(struct sw_bytes bytes, size_t off)
{
	uint64_t value = 0;
	(void) sw_bytes_u64(bytes, off, &value); /* what is not there is 0, and fits nothing */
	return value;
}

/* The fields of the pool are only parsed here, before anything is read for it. */
static bool pool_parse(struct sw_bytes b, struct sw_ruby_pool *ret)
{
	*ret = (struct sw_ruby_pool){.allocation_avma = word(b, POOL_ALLOCATIONS),
				     .stack_bytes = word(b, POOL_SIZE),
				     .values_bytes = word(b, POOL_VALUES),
				     .used = word(b, POOL_USED)};
	return ret->allocation_avma != 0 && ret->allocation_avma % WORD == 0 &&
	       ret->stack_bytes % PAGE == 0 && ret->stack_bytes <= STACK_BYTES_MAX &&
	       ret->values_bytes != 0 && ret->values_bytes % WORD == 0 &&
	       ret->values_bytes < ret->stack_bytes && ret->used <= word(b, POOL_COUNT);
}

static bool leads_back(struct sw_memory memory, uint64_t avma, const struct sw_ruby_pool *pool)
{
	uint8_t data[SW_RUBY_ALLOCATION_BYTES];
	struct sw_bytes allocation = {data, sizeof(data)};
	return sw_memory_read(memory, pool->allocation_avma, data, sizeof(data)) &&
	       word(allocation, ALLOCATION_POOL) == avma &&
	       word(allocation, ALLOCATION_BASE) % PAGE == 0 &&
	       word(allocation, ALLOCATION_SIZE) == pool->stack_bytes &&
	       word(allocation, ALLOCATION_STRIDE) == pool->stack_bytes + PAGE;
}

static bool pool_at(struct sw_memory memory, uint64_t avma, struct sw_bytes bytes,
		    struct sw_ruby_pool *ret)
{
	struct sw_ruby_pool pool;
	if (!pool_parse(bytes, &pool) || !leads_back(memory, avma, &pool))
		return false;
	*ret = pool;
	ret->avma = avma;
	return true;
}

bool sw_ruby_pool_read(struct sw_memory memory, uint64_t avma, struct sw_ruby_pool *ret)
{
	uint8_t data[SW_RUBY_POOL_BYTES];
	struct sw_bytes bytes = {data, sizeof(data)};
	return sw_memory_read(memory, avma, data, sizeof(data)) &&
	       pool_at(memory, avma, bytes, ret);
}

/* Which begins in the chunk of PAGE bytes at avma. */
static bool chunk_look(struct sw_memory memory, uint64_t avma, bool by_words,
		       struct sw_ruby_pool *ret)
{
	uint8_t data[PAGE + SW_RUBY_POOL_BYTES];
	size_t n = sizeof(data);
	if (!sw_memory_read(memory, avma, data, n)) {
		n = PAGE; /* the last one */
		if (!sw_memory_read(memory, avma, data, n))
			n = 0;
	}
	for (size_t off = 0; off + SW_RUBY_POOL_BYTES <= n && off < PAGE; off += WORD)
		if (pool_at(memory, avma + off, (struct sw_bytes){data + off, SW_RUBY_POOL_BYTES},
			    ret))
			return true;
	for (size_t off = 0; n == 0 && by_words && off < PAGE; off += WORD)
		if (sw_ruby_pool_read(memory, avma + off, ret))
			return true;
	return false;
}

static bool variables_look(struct sw_memory memory, const struct sw_place *place, bool by_words,
			   struct sw_ruby_pool *ret)
{
	const struct sw_elf *elf = sw_module_elf(place->module);
	struct sw_elf_segment segment;
	uint64_t left = VARIABLES_BYTES_MAX;
	for (uint32_t i = 0; elf != NULL && sw_elf_segment(elf, i, &segment); i++) {
		if (segment.type != PT_LOAD || !(segment.flags & PF_W))
			continue;
		uint64_t begin = segment.svma & ~(uint64_t) (PAGE - 1), end;
		if (__builtin_add_overflow(segment.svma, segment.memory_bytes, &end))
			continue;
		for (; begin < end && left >= PAGE; begin += PAGE, left -= PAGE)
			if (chunk_look(memory, begin + place->bias, by_words, ret))
				return true;
	}
	return false;
}

bool sw_ruby_pool_find(struct sw_memory memory, const struct sw_place *place, bool by_words,
		       struct sw_ruby_pool *ret)
{
	void **slot = sw_slots_get(&place->module->slots, &slot_key, free);
	uint64_t *kept = slot != NULL ? *slot : NULL;
	if (kept != NULL && sw_ruby_pool_read(memory, *kept + place->bias, ret))
		return true;
	if (!variables_look(memory, place, by_words, ret))
		return false;
	if (slot != NULL && *slot == NULL)
		*slot = malloc(sizeof(*kept));
	kept = slot != NULL ? *slot : NULL;
	if (kept != NULL)
		*kept = ret->avma - place->bias;
	return true;
}
