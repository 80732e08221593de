/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ruby_fiber_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* The parts of the memory that are there, and where in the data. */
static const struct {
	uint64_t avma;
	size_t bytes, at;
} parts[] = {
	{RUBY_FIBER, 0xb00, 0},
	{RUBY_FIBER_VALUES - RUBY_FIBER_MACHINE_BYTES, RUBY_FIBER_MACHINE_BYTES, 0xb00},
	{RUBY_FIBER_VALUES, 0x200, 0xd00},
	{RUBY_FIBER_END - 0x200, 0x200, 0xf00},
};

static size_t place_of(uint64_t avma)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (avma >= parts[i].avma && avma - parts[i].avma <= parts[i].bytes - 8)
			return parts[i].at + (size_t) (avma - parts[i].avma);
	fail_msg("0x%llx is not there", (unsigned long long) avma);
	return 0;
}

void ruby_fiber_world_u64(struct ruby_fiber_world *w, uint64_t avma, uint64_t value)
{
	memcpy(w->data + place_of(avma), &value, sizeof(value));
}

uint64_t ruby_fiber_world_get(const struct ruby_fiber_world *w, uint64_t avma)
{
	uint64_t value;
	memcpy(&value, w->data + place_of(avma), sizeof(value));
	return value;
}

static void frame_put(struct ruby_fiber_world *w, unsigned f, uint64_t pc, uint64_t iseq,
		      uint64_t method, uint64_t flags)
{
	uint64_t frame = RUBY_FIBER_END - RUBY_FIBER_FRAMES_BYTES + 64 * f,
		 ep = RUBY_FIBER_VALUES + 0x20 + 0x40 * (2 - f);
	ruby_fiber_world_u64(w, frame + SW_RUBY_FRAME_PC, pc);
	ruby_fiber_world_u64(w, frame + SW_RUBY_FRAME_SP, ep + 8);
	ruby_fiber_world_u64(w, frame + SW_RUBY_FRAME_ISEQ, iseq);
	ruby_fiber_world_u64(w, frame + SW_RUBY_FRAME_EP, ep);
	ruby_fiber_world_u64(w, ep - SW_RUBY_EP_BEFORE, method);
	ruby_fiber_world_u64(w, ep, flags);
}

static void fiber_put(struct ruby_fiber_world *w)
{
	const uint64_t stack = RUBY_FIBER_STACK;
	ruby_fiber_world_u64(w, RUBY_FIBER, 1); /* a fiber's context */
	ruby_fiber_world_u64(w, RUBY_FIBER + 16, RUBY_FIBER_OBJECT);
	ruby_fiber_world_u64(w, RUBY_FIBER_EC + SW_RUBY_EC_STACK, RUBY_FIBER_VALUES);
	ruby_fiber_world_u64(w, RUBY_FIBER_EC + SW_RUBY_EC_STACK_SIZE,
			     SW_RUBY_FIBER_VALUES_BYTES / 8);
	ruby_fiber_world_u64(w, RUBY_FIBER_EC + SW_RUBY_EC_CFP,
			     RUBY_FIBER_END - RUBY_FIBER_FRAMES_BYTES);
	ruby_fiber_world_u64(w, RUBY_FIBER_EC + SW_RUBY_EC_FIBER, RUBY_FIBER);
	ruby_fiber_world_u64(w, RUBY_FIBER_RESUMING, RUBY_FIBER_OTHER);
	ruby_fiber_world_u64(w, RUBY_FIBER_RESUMING + 8, 2); /* suspended */
	ruby_fiber_world_u64(w, stack - 8, RUBY_FIBER);
	ruby_fiber_world_u64(w, stack, RUBY_FIBER_START);
	ruby_fiber_world_u64(w, stack + 8, RUBY_FIBER_VALUES);
	ruby_fiber_world_u64(w, stack + 16, RUBY_FIBER_END - RUBY_FIBER_START);
	ruby_fiber_world_u64(w, RUBY_FIBER_OTHER + 16, RUBY_FIBER_OTHER_OBJECT);
	ruby_fiber_world_u64(w, RUBY_FIBER_VALUES - 0x20,
			     RUBY_FIBER); /* saved by its first function */
}

static void created_put(struct ruby_fiber_world *w)
{
	const uint64_t fiber = RUBY_FIBER_CREATED, proc = RUBY_FIBER_PROC;
	ruby_fiber_world_u64(w, fiber, 1);
	ruby_fiber_world_u64(w, fiber + 16, RUBY_FIBER_CREATED_OBJECT);
	ruby_fiber_world_u64(w, fiber + 80 + SW_RUBY_EC_FIBER, fiber);
	ruby_fiber_world_u64(w, fiber + RUBY_FIBER_CONTEXT_OFF + 8, proc);
	ruby_fiber_world_u64(w, proc, SW_RUBY_DATA);
	ruby_fiber_world_u64(w, proc + 24, 1);
	ruby_fiber_world_u64(w, proc + SW_RUBY_DATA_POINTER, proc + 0x40);
	ruby_fiber_world_u64(w, proc + 0x40 + 16, RUBY_ISEQS);
}

/* The newest one is the first of the list. */
static void contexts_put(struct ruby_fiber_world *w)
{
	const uint64_t ecs[] = {RUBY_FIBER_CREATED + 80, RUBY_FIBER_EC, RUBY_EC};
	for (unsigned i = 0; i < 3; i++) {
		uint64_t context = RUBY_FIBER_CONTEXTS + 0x20 * i;
		ruby_fiber_world_u64(w, context, ecs[i]);
		ruby_fiber_world_u64(w, context + 8, i > 0 ? context - 0x20 : 0);
		ruby_fiber_world_u64(w, context + 16, i < 2 ? context + 0x20 : 0);
		if (i < 2)
			ruby_fiber_world_u64(w, ecs[i] - 80 + RUBY_FIBER_CONTEXT_OFF, context);
		else
			ruby_world_u64(&w->base, ecs[i] - 80 + RUBY_FIBER_CONTEXT_OFF, context);
	}
}

static void pool_put(struct ruby_fiber_world *w)
{
	const uint64_t pool = RUBY_FIBER_POOL, allocation = pool + 0x40;
	const uint64_t bytes = RUBY_FIBER_END - RUBY_FIBER_START;
	ruby_fiber_world_u64(w, pool, allocation);
	ruby_fiber_world_u64(w, pool + 16, bytes);
	ruby_fiber_world_u64(w, pool + 24, 32);
	ruby_fiber_world_u64(w, pool + 48, 1);
	ruby_fiber_world_u64(w, pool + 56, SW_RUBY_FIBER_VALUES_BYTES);
	ruby_fiber_world_u64(w, allocation, RUBY_FIBER_START - 0x1000);
	ruby_fiber_world_u64(w, allocation + 8, bytes);
	ruby_fiber_world_u64(w, allocation + 16, bytes + 0x1000);
	ruby_fiber_world_u64(w, allocation + 24, 32);
	ruby_fiber_world_u64(w, allocation + 32, pool);
}

void ruby_fiber_world_init(struct ruby_fiber_world *w)
{
	memset(w->data, 0, sizeof(w->data));
	ruby_world_init(&w->base);
	w->regions[0] = w->base.region;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		w->regions[i + 1] =
			(struct fake_region){parts[i].avma, w->data + parts[i].at, parts[i].bytes};
	w->fake = (struct fake_memory){.regions = w->regions, .n_regions = RUBY_FIBER_REGIONS};
	w->base.ruby.vm.memory = fake_memory(&w->fake);
	w->layout = *w->base.ruby.found.layout;
	w->layout.lists_contexts = true;
	w->base.ruby.found.layout = &w->layout;
	w->maps[0] = (struct sw_map){.start_avma = RUBY_FIBER_START - 0x1000,
				     .end_avma = RUBY_FIBER_START,
				     .place = -1,
				     .path = ""};
	w->maps[1] = (struct sw_map){.start_avma = RUBY_FIBER_START,
				     .end_avma = RUBY_FIBER_END,
				     .prot = SW_MAP_READ | SW_MAP_WRITE,
				     .place = -1,
				     .path = ""};
	w->maps[2] = (struct sw_map){.start_avma = RUBY_FIBER_END,
				     .end_avma = RUBY_FIBER_END + 0x1000,
				     .place = -1,
				     .path = ""};
	w->base.snap.maps = w->maps;
	w->base.snap.n_maps = RUBY_FIBER_MAPS;
	w->base.snap.threads = &w->base.thread;
	w->base.snap.n_threads = 1;
	w->base.thread.captured = true;
	fiber_put(w);
	created_put(w);
	contexts_put(w);
	pool_put(w);
	frame_put(w, 0, ruby_world_pc(0, 3), RUBY_ISEQS, 0, 0x22220003);
	frame_put(w, 1, 0, 0, RUBY_METHOD, 0x55550083);
	frame_put(w, 2, 0, 0, 0, 0x79990823);
}

void ruby_fiber_world_deinit(struct ruby_fiber_world *w)
{
	ruby_world_deinit(&w->base);
}

void ruby_fiber_world_run(struct ruby_fiber_world *w)
{
	ruby_world_u64(&w->base, RUBY_SLOT, RUBY_FIBER_EC);
}
