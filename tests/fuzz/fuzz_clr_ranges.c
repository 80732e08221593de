/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Range maps, nibble maps, code headers and ReadyToRun tables that anybody wrote. The input is laid
 * over a small world that is right, in parts: u16 offset / 16 | u8 length | bytes. Then addresses all
 * over it are looked up, with both nibble maps, described by the runtime or not; and the recipe for copies of threads is
 * executed on the input itself.
 */
#include "fuzz.h"
#include "clr_world.h"

#include "bytes.h"
#include "copies/execute.h"
#include "copies/record.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/recipe.h"
#include "runtimes/clr/threads.h"

#include <string.h>

enum { READS_MAX = 300000 };

static void world_make(struct clr_world *w, unsigned version)
{
	static const struct sw_pe_function functions[] = {{0x40, 0x50, 0x900}, {0x50, 0x90, 0x910}};
	static const struct sw_pe_function image[] = {{0x100, 0x140, 0x800},
						      {0x140, 0x1000, 0x810}};
	clr_world_init(w, version);
	clr_world_method(w, 0x40, 0x50, 0xaa0, functions, 2);
	clr_world_method(w, 0x1c0, 0x700, 0xbb0, functions, 1);
	clr_world_stub(w, 0x1000, 0x100, 5);
	clr_world_image(w, image, 2);
	clr_world_entry(w, 0x100, 0xd00);
}

static void lay_over(struct clr_world *w, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, part;
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 0; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t to = (size_t) offset * 16 % sizeof(w->data);
		if (!sw_bytes_sub(b, at + 3, length, &part))
			return;
		if (length > sizeof(w->data) - to)
			length = (uint8_t) (sizeof(w->data) - to);
		memcpy(w->data + to, part.data, length);
	}
}

/* A list of threads in memory of which each word leads into it. */
static void recipe_execute(const uint8_t *data, size_t size)
{
	enum { WORDS = 512, STORE = WORLD_DATA_BYTES };
	static const struct sw_clr_layout at = {.store_avma = STORE,
						.store_first = 24,
						.thread_next = 40,
						.thread_osid = 32};
	static uint64_t words[WORDS], space[SW_SAMPLED_BYTES_MAX / sizeof(uint64_t)];
	static struct sw_copy_part parts[SW_COPY_PARTS_MAX];
	struct fake_memory fake = FAKE_MEMORY({STORE, words, sizeof(words)});
	const uint64_t regs[SW_ITERATE_REGS] = {0};
	const struct sw_recipe_thread thread = {regs, STORE + (size > 0 ? data[0] * 8U : 0)};
	struct sw_recipe recipe = {0};
	struct sw_copy copy;
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i < size ? STORE + data[i] * 8U + (data[i] == UINT8_MAX) : 0;
	sw_clr_recipe_make(&at, &recipe);
	check(sw_recipe_finish(&recipe));
	size_t n = sw_recipe_execute(&recipe.steps, fake_memory(&fake), &thread, (uint8_t *) space);
	check(sw_copy_parse((const uint8_t *) space, n, parts, &copy) && copy.n_parts <= 1);
	if (copy.n_parts == 1)
		check(copy.parts[0].bytes <= SW_CLR_THREAD_BYTES);
	check(fake.reads < READS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct clr_world w;
	recipe_execute(data, size);
	for (unsigned round = 0; round < 4; round++) {
		world_make(&w, 1 + round % 2);
		w.runtime.at.has_r2r_info = round < 2;
		lay_over(&w, data, size);
		for (uint64_t i = 0; i < 20; i++) {
			uint64_t pc = (i % 2 == 0 ? WORLD_CODE : WORLD_IMAGE) + i * 0x1c4;
			struct sw_clr_code code;
			w.fake.reads = 0;
			(void) sw_clr_range_find(&w.runtime, clr_world_memory(&w), pc, &code);
			if (w.fake.reads > READS_MAX)
				__builtin_trap(); /* every loop has a limit */
		}
	}
	return 0;
}
