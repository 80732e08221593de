/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "v8_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

uint8_t v8_heap_bytes[V8_HEAP_BYTES];
struct fake_memory v8_heap_fake;

static struct fake_region region;
static uint64_t next;

void v8_heap_reset(void)
{
	memset(v8_heap_bytes, 0, sizeof(v8_heap_bytes));
	next = V8_HEAP + 64;
}

struct sw_v8_heap v8_heap(const struct sw_v8_layout *at)
{
	region = (struct fake_region){V8_HEAP, v8_heap_bytes, sizeof(v8_heap_bytes)};
	v8_heap_fake = (struct fake_memory){.regions = &region, .n_regions = 1};
	return (struct sw_v8_heap){at, fake_memory(&v8_heap_fake)};
}

uint64_t v8_make(uint16_t type, uint64_t bytes)
{
	uint64_t map = next + 1, object = map + 16;
	next += 16 + (bytes + 7) / 8 * 8;
	assert_true(next < V8_HEAP + V8_HEAP_BYTES);
	memcpy(v8_heap_bytes + (map - 1 + 12 - V8_HEAP), &type, sizeof(type));
	v8_put(object, 0, map);
	return object;
}

void v8_put(uint64_t object, uint64_t offset, uint64_t value)
{
	memcpy(v8_heap_bytes + (object - 1 + offset - V8_HEAP), &value, sizeof(value));
}

uint64_t v8_smi(int32_t value)
{
	return (uint64_t) (uint32_t) value << 32;
}
