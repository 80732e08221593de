/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fibers. Nothing has a list of them: each that has begun has a stack of its own, a mapping behind a page
 * that nobody can read, and that leads to the fiber:
 *
 *	end		its VM stack: frames grow down from here, values up from the other end
 *	end - values	its machine stack, which grows down; its first function, fiber_entry(), has the
 *			rb_fiber_t in a register that rb_fiber_start() and others save
 *	start
 *
 *	rb_fiber_t	rb_context_t, which has the Fiber and at 80 the execution context;
 *			..., prev, resuming_fiber, status, {sp, the rb_fiber_t}, {start, current, size ...}
 *
 * A word on the machine stack counts only if the rb_fiber_t at it leads back: its context to the fiber and to
 * this VM stack, and what it says of its stack to this mapping. How large both are says the pool that they come from
 * (fiber_pool.c); where that is not known, the VM stack has as many bytes as where nobody sets
 * RUBY_FIBER_VM_STACK_SIZE.
 *
 * Source: cont.c (rb_fiber_struct, rb_context_struct, fiber_pool_stack, fiber_prepare_stack(),
 * fiber_entry()), coroutine/amd64/Context.h of Ruby 3.1.2 and 3.3.8.
 */
#include "runtimes/ruby/fibers.h"
#include "bytes.h"

enum {
	MACHINE_BYTES = 512, /* of the machine stack, that are looked at */
	CANDIDATES_MAX = 8,  /* different words there that are followed */
	FIBER_OBJECT = 16,
	PAGE = 4096,
	WORD = 8,
};

static uint64_t word(struct sw_bytes bytes, size_t off)
{
	uint64_t value = 0;
	(void) sw_bytes_u64(bytes, off, &value); /* what is not there is 0, and fits nothing */
	return value;
}

static uint64_t values_bytes(const struct sw_ruby_vm *vm)
{
	return vm->pool.avma != 0 ? vm->pool.values_bytes : SW_RUBY_FIBER_VALUES_BYTES;
}

/* Where it says of which memory its stack is: the offset of resuming_fiber. 0: nowhere. */
static size_t resuming_off(struct sw_bytes fiber, uint64_t avma, uint64_t start_avma,
			   uint64_t end_avma)
{
	for (size_t off = SW_RUBY_FIBER_EC + SW_RUBY_EC_BYTES; off + 7 * WORD <= fiber.size;
	     off += WORD)
		if (word(fiber, off + 3 * WORD) == avma &&
		    word(fiber, off + 4 * WORD) == start_avma &&
		    word(fiber, off + 6 * WORD) == end_avma - start_avma)
			return off;
	return 0;
}

static bool fiber_read(const struct sw_ruby_vm *vm, uint64_t avma, uint64_t start_avma,
		       uint64_t end_avma, struct sw_ruby_fiber *ret)
{
	uint8_t data[SW_RUBY_FIBER_BYTES];
	struct sw_bytes fiber = {data, sizeof(data)};
	uint64_t values = end_avma - values_bytes(vm);
	if (!sw_memory_read(vm->memory, avma, data, sizeof(data)))
		return false;
	size_t off = resuming_off(fiber, avma, start_avma, end_avma);
	*ret = (struct sw_ruby_fiber){
		.avma = avma,
		.object_avma = word(fiber, FIBER_OBJECT),
		.resuming_avma = word(fiber, off),
		.start_avma = start_avma,
		.stack = {.ec_avma = avma + SW_RUBY_FIBER_EC,
			  .values_avma = values,
			  .first_avma = word(fiber, SW_RUBY_FIBER_EC + SW_RUBY_EC_CFP),
			  .end_avma = end_avma},
	};
	const struct sw_ruby_stack *s = &ret->stack;
	if (off == 0 || word(fiber, SW_RUBY_FIBER_EC + SW_RUBY_EC_FIBER) != avma ||
	    word(fiber, SW_RUBY_FIBER_EC + SW_RUBY_EC_STACK) != values ||
	    word(fiber, SW_RUBY_FIBER_EC + SW_RUBY_EC_STACK_SIZE) != values_bytes(vm) / WORD ||
	    s->first_avma < values || s->first_avma >= end_avma ||
	    (end_avma - s->first_avma) % vm->found->layout->frame_bytes != 0)
		return false;
	if (ret->resuming_avma != 0 && !sw_memory_u64(vm->memory, ret->resuming_avma + FIBER_OBJECT,
						      &ret->resuming_object_avma))
		ret->resuming_object_avma = 0;
	return true;
}

bool sw_ruby_fiber_at(const struct sw_ruby_vm *vm, uint64_t start_avma, uint64_t end_avma,
		      struct sw_ruby_fiber *ret)
{
	uint8_t data[MACHINE_BYTES];
	struct sw_bytes machine = {data, sizeof(data)};
	uint64_t tried[CANDIDATES_MAX];
	size_t n = 0;
	if (vm->found->layout == NULL || end_avma - start_avma < values_bytes(vm) + MACHINE_BYTES ||
	    !sw_memory_read(vm->memory, end_avma - values_bytes(vm) - sizeof(data), data,
			    sizeof(data)))
		return false;
	for (size_t off = sizeof(data); off > 0 && n < CANDIDATES_MAX; off -= WORD) {
		uint64_t avma = word(machine, off - WORD);
		size_t i = 0;
		while (i < n && tried[i] != avma)
			i++;
		if (avma < PAGE || avma % WORD != 0 || i < n ||
		    (avma >= start_avma && avma < end_avma))
			continue;
		tried[n++] = avma;
		if (fiber_read(vm, avma, start_avma, end_avma, ret))
			return true;
	}
	return false;
}

bool sw_ruby_fiber_of(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap,
		      const struct sw_ruby_stack *stack, struct sw_ruby_fiber *ret)
{
	const struct sw_map *map = sw_snapshot_map(snap, stack->end_avma - 1);
	uint64_t start;
	if (map == NULL || stack->end_avma - stack->values_avma != values_bytes(vm) ||
	    stack->ec_avma <= SW_RUBY_FIBER_EC)
		return false;
	if (vm->pool.avma == 0 && map->end_avma != stack->end_avma)
		return false;
	start = vm->pool.avma != 0 ? stack->end_avma - vm->pool.stack_bytes : map->start_avma;
	return start >= map->start_avma && start < stack->values_avma &&
	       fiber_read(vm, stack->ec_avma - SW_RUBY_FIBER_EC, start, stack->end_avma, ret);
}

/*
 * Ruby 3.4 and later tells the kernel what memory is for, by ruby_annotate_mmap(): "[anon:Ruby:...]". A kernel
 * that was built without such names shows none.
 */
static bool is_rubys(const struct sw_map *map)
{
	static const char name[] = "[anon:Ruby:";
	size_t n = 0;
	if (map->inode != 0)
		return false;
	while (name[n] != '\0' && map->path[n] == name[n])
		n++;
	return map->path[0] == '\0' || name[n] == '\0';
}

bool sw_ruby_fiber_memory(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap, size_t *at,
			  uint64_t *ret_start_avma, uint64_t *ret_end_avma)
{
	/* A mapping behind the last stack of the pool may have been merged with it. */
	bool known = vm->pool.avma != 0;
	uint64_t bytes = known ? vm->pool.stack_bytes : SW_RUBY_FIBER_VALUES_BYTES + 1;
	for (size_t i = *at > 0 ? *at : 1; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i], *guard = m - 1;
		if (!is_rubys(m) || m->prot != (SW_MAP_READ | SW_MAP_WRITE) ||
		    m->end_avma - m->start_avma < bytes || guard->end_avma != m->start_avma ||
		    guard->inode != 0 ||
		    (guard->prot & (SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC)) != 0 ||
		    guard->end_avma - guard->start_avma != PAGE)
			continue;
		*ret_start_avma = m->start_avma;
		*ret_end_avma = known ? m->start_avma + bytes : m->end_avma;
		*at = i + 1;
		return true;
	}
	*at = snap->n_maps;
	return false;
}
