/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_world.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

enum { HEADER_BYTES = 0x80, SLOTS = 4, BUCKETS = 5, BUCKET_BYTES = 64 };

static uint8_t *at(struct clr_world *w, uint64_t avma, size_t n)
{
	for (size_t i = 0; i < 3; i++) {
		const struct fake_region *r = &w->regions[i];
		if (avma >= r->start_avma && avma - r->start_avma <= r->size - n)
			return (uint8_t *) (uintptr_t) r->bytes + (avma - r->start_avma);
	}
	fail_msg("not in the world");
	return NULL;
}

void clr_world_bytes(struct clr_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(at(w, avma, n), bytes, n);
}

void clr_world_u32(struct clr_world *w, uint64_t avma, uint32_t value)
{
	clr_world_bytes(w, avma, &value, sizeof(value));
}

void clr_world_u64(struct clr_world *w, uint64_t avma, uint64_t value)
{
	clr_world_bytes(w, avma, &value, sizeof(value));
}

struct sw_memory clr_world_memory(struct clr_world *w)
{
	return fake_memory(&w->fake);
}

/* The tree's five tables; both ranges share all but the last index. */
static void map_make(struct clr_world *w)
{
	uint64_t table = WORLD_DATA;
	for (int level = 4; level > 0; level--, table += 0x800) {
		uint64_t index = WORLD_CODE >> (17 + 8 * level) & 0xff;
		/* bit 0: there is collectible code below */
		clr_world_u64(w, table + 8 * index, (table + 0x800) | 1);
	}
	clr_world_u64(w, table + 8 * (WORLD_CODE >> 17 & 0xff), WORLD_DATA + WORLD_JIT_FRAGMENT);
	clr_world_u64(w, table + 8 * (WORLD_IMAGE >> 17 & 0xff), WORLD_DATA + WORLD_R2R_FRAGMENT);
}

static void range_make(struct clr_world *w, uint64_t fragment, uint64_t section, uint64_t begin,
		       uint64_t bytes)
{
	clr_world_u64(w, WORLD_DATA + fragment + 8, begin);
	clr_world_u64(w, WORLD_DATA + fragment + 16, begin + bytes);
	clr_world_u64(w, WORLD_DATA + fragment + 24, WORLD_DATA + section);
	clr_world_u64(w, WORLD_DATA + section, begin);
	clr_world_u64(w, WORLD_DATA + section + 8, begin + bytes);
	/* The upper half of the word is not part of the flags. */
	clr_world_u64(w, WORLD_DATA + section + 16, UINT64_C(0xabcd0000) << 32 | 2);
}

static void layout_make(struct clr_world *w, unsigned nibble_version)
{
	struct sw_clr_layout *l = &w->runtime.at;
	*l = sw_clr_layout_fixed(WORLD_DATA, 0);
	l->nibble_version = nibble_version;
	l->has_r2r_info = true;
	l->module_r2r = 704;
	l->r2r_composite = 40;
	l->r2r_functions = 80;
	l->r2r_n_functions = 88;
	l->r2r_hot_cold = 96;
	l->r2r_n_hot_cold = 104;
	l->r2r_thunks = 112;
	l->r2r_methods = 360;
	l->hash_buckets = 16;
	l->bucket_bytes = BUCKET_BYTES;
	l->bucket_values = 32;
	l->bucket_slots = SLOTS;
	l->hash_value_mask = INT64_MAX;
	w->runtime.usable = true;
}

void clr_world_init(struct clr_world *w, unsigned nibble_version)
{
	memset(w, 0, sizeof(*w));
	w->regions[0] = (struct fake_region){WORLD_DATA, w->data, sizeof(w->data)};
	w->regions[1] = (struct fake_region){WORLD_CODE, w->code, sizeof(w->code)};
	w->regions[2] = (struct fake_region){WORLD_IMAGE, w->image, sizeof(w->image)};
	w->fake = (struct fake_memory){.regions = w->regions, .n_regions = 3};
	layout_make(w, nibble_version);
	map_make(w);
	range_make(w, WORLD_JIT_FRAGMENT, WORLD_JIT_SECTION, WORLD_CODE, 0x20000);
	range_make(w, WORLD_R2R_FRAGMENT, WORLD_R2R_SECTION, WORLD_IMAGE, 0x20000);
	clr_world_u64(w, WORLD_DATA + WORLD_JIT_SECTION + 40, WORLD_DATA + WORLD_HEAP);
	clr_world_u64(w, WORLD_DATA + WORLD_HEAP + 16, WORLD_CODE);
	clr_world_u64(w, WORLD_DATA + WORLD_HEAP + 24, WORLD_CODE + WORLD_CODE_BYTES);
	clr_world_u64(w, WORLD_DATA + WORLD_HEAP + 32, WORLD_CODE);
	clr_world_u64(w, WORLD_DATA + WORLD_HEAP + 40, WORLD_DATA + WORLD_NIBBLES);
	clr_world_u64(w, WORLD_DATA + WORLD_R2R_SECTION + 32, WORLD_DATA + WORLD_MODULE);
	clr_world_u64(w, WORLD_DATA + WORLD_MODULE + 704, WORLD_DATA + WORLD_INFO);
	clr_world_u64(w, WORLD_DATA + WORLD_INFO + 40, WORLD_DATA + WORLD_INFO);
	clr_world_u64(w, WORLD_DATA + WORLD_INFO + 80, WORLD_IMAGE + WORLD_TABLE);
	clr_world_u64(w, WORLD_DATA + WORLD_INFO + 376, WORLD_DATA + WORLD_BUCKETS);
	clr_world_u32(w, WORLD_DATA + WORLD_BUCKETS, BUCKETS);
}

static void nibbles_set(struct clr_world *w, uint32_t start, uint32_t bytes)
{
	uint64_t map = WORLD_DATA + WORLD_NIBBLES;
	uint32_t word;
	memcpy(&word, at(w, map + 4 * (start >> 8), 4), 4);
	word |= ((start & 31) / 4 + 1) << 4 * (7 - (start >> 5 & 7));
	clr_world_u32(w, map + 4 * (start >> 8), word);
	/* Version 2: words of 256 bytes that are all this method's point back. */
	for (uint32_t i = (start >> 8) + 1; w->runtime.at.nibble_version == 2; i++) {
		if ((i + 1) << 8 > start + bytes)
			break;
		clr_world_u32(w, map + 4 * i, (start & ~15u) | ((start & 15) / 4 + 9));
	}
}

void clr_world_stub(struct clr_world *w, uint32_t start, uint32_t bytes, uint64_t kind)
{
	clr_world_u64(w, WORLD_CODE + start - 8, kind);
	nibbles_set(w, start, bytes);
}

void clr_world_method(struct clr_world *w, uint32_t start, uint32_t bytes, uint64_t method_avma,
		      const struct sw_pe_function *functions, size_t n)
{
	uint64_t header = WORLD_DATA + WORLD_HEADERS + HEADER_BYTES * w->n_headers++;
	clr_world_stub(w, start, bytes, header);
	clr_world_u64(w, header + 24, method_avma);
	clr_world_u32(w, header + 32, (uint32_t) n);
	clr_world_bytes(w, header + 36, functions, n * sizeof(*functions));
}

void clr_world_image(struct clr_world *w, const struct sw_pe_function *functions, size_t n)
{
	clr_world_u32(w, WORLD_DATA + WORLD_INFO + 88, (uint32_t) n);
	clr_world_bytes(w, WORLD_IMAGE + WORLD_TABLE, functions, n * sizeof(*functions));
}

/* As HashMap::InsertValue() of src/coreclr/vm/hash.cpp does. */
void clr_world_entry(struct clr_world *w, uint32_t rva, uint64_t method_avma)
{
	uint64_t key = WORLD_IMAGE + rva, mark = UINT64_C(1) << 63;
	uint32_t seed = (uint32_t) (key >> 2),
		 step = 1 + ((uint32_t) (key >> 5) + 1) % (BUCKETS - 1);
	for (;; seed += step) {
		uint8_t *bucket =
			at(w, WORLD_DATA + WORLD_BUCKETS + (1 + seed % BUCKETS) * BUCKET_BYTES, 64);
		uint64_t words[8];
		memcpy(words, bucket, sizeof(words));
		for (int i = 0; i < SLOTS; i++) {
			if (words[i] != 0)
				continue;
			words[i] = key;
			words[SLOTS + i] |= method_avma >> 1;
			memcpy(bucket, words, sizeof(words));
			return;
		}
		words[SLOTS] |= mark;
		memcpy(bucket, words, sizeof(words));
	}
}
