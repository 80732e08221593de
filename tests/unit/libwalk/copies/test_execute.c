/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recipes that are executed here: what is copied of made memory, and what is said of what is not. */
#include "copies/execute.h"
#include "copies/recipe.h"
#include "copies/record.h"
#include "fake.h"
#include "test.h"

enum {
	THREAD = 0x7000, /* thread pointer */
	STATES = 0x1000, /* two states: the word for the thread, the next one, the frame */
	SECOND = 0x1100,
	FRAMES = 0x2000, /* next, what it leads to */
	OUTER = 0x2020,
	STACK = 0x3000,
	CODE = 0x4000,
	ABSENT_CODE = 0x9000,
	KIND = 7,
};

static const uint64_t states[2][3] = {{0x6000, SECOND, 0}, {THREAD, 0, FRAMES | 1}};
static uint64_t frames[2][4] = {{OUTER | 2, CODE}, {STACK, CODE}};
static uint64_t stack[8] = {0, CODE + 16, 3, 4};
static const uint64_t code[4] = {11, 12, 13, 14};

struct fixture {
	struct fake_memory fake;
	struct sw_recipe recipe;
	uint64_t record[SW_SAMPLED_BYTES_MAX / 8];
	struct sw_copy_part parts[SW_COPY_PARTS_MAX];
	struct sw_copy copy;
};

static struct fixture f;

static void start(void)
{
	static const struct fake_region regions[] = {
		{STATES, states[0], sizeof(states[0])}, {SECOND, states[1], sizeof(states[1])},
		{FRAMES, frames[0], sizeof(frames[0])}, {OUTER, frames[1], sizeof(frames[1])},
		{STACK, stack, sizeof(stack)},          {CODE, code, sizeof(code)},
	};
	f = (struct fixture){
		.fake = {.regions = regions, .n_regions = sizeof(regions) / sizeof(*regions)}};
}

static void execute(void)
{
	assert_true(sw_recipe_finish(&f.recipe));
	memset(f.record, 0xff, sizeof(f.record));
	static const uint64_t regs[SW_ITERATE_REGS] = {[3] = FRAMES};
	const struct sw_recipe_thread thread = {regs, THREAD};
	size_t bytes = sw_recipe_execute(&f.recipe.steps, fake_memory(&f.fake), &thread,
					 (uint8_t *) f.record);
	assert_true(bytes <= SW_SAMPLED_BYTES_MAX);
	assert_true(sw_copy_parse((const uint8_t *) f.record, bytes, f.parts, &f.copy));
}

static void assert_part(size_t i, uint64_t avma, const void *data, size_t bytes)
{
	assert_true(i < f.copy.n_parts);
	assert_int_equal(f.parts[i].avma, avma);
	assert_int_equal(f.parts[i].bytes, bytes);
	assert_int_equal(f.parts[i].kind, KIND);
	assert_memory_equal(f.parts[i].data, data, bytes);
}

static void frames_add(uint64_t nodes_max)
{
	(void) sw_recipe_set(&f.recipe, 4, OUTER);
	(void) sw_recipe_chain(&f.recipe, &(struct sw_recipe_chain){.from = 3,
								    .met = 5,
								    .node = 4,
								    .kind = KIND,
								    .node_bytes = 16,
								    .next_offset = 0,
								    .second_bytes = 16,
								    .second_offset = 8,
								    .nodes_max = nodes_max});
}

/* The state of the thread is found in the list, and its frames from there. Flags in the lowest bits do not count, what
 * two nodes lead to is copied once, and a node in the span not again. */
TEST(test_whole)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_thread_pointer(r, 1, 0);
	(void) sw_recipe_set(r, 0, STATES);
	(void) sw_recipe_search(r, &(struct sw_recipe_search){.to = 2,
							      .from = 0,
							      .key = 1,
							      .key_offset = 0,
							      .next_offset = 8,
							      .nodes_max = 5});
	unsigned none = sw_recipe_jump_if_zero(r, 2, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 2, .kind = KIND, .bytes = 12});
	(void) sw_recipe_set(r, 6, STACK);
	(void) sw_recipe_move(r, 7, 6, 16);
	(void) sw_recipe_span(r, &(struct sw_recipe_span){.from = 6,
							  .to = 7,
							  .more = 8,
							  .bytes_max = 4096,
							  .kind = KIND});
	(void) sw_recipe_load(r, 3, 2, 16);
	(void) sw_recipe_move(r, 3, 3, (uint64_t) -1);
	frames_add(9);
	sw_recipe_land(r, none);
	execute();
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);
	assert_int_equal(f.copy.n_parts, 6);
	assert_part(0, SECOND, states[1], 12);
	assert_part(1, STACK, stack, 24);
	assert_part(2, FRAMES, frames[0], 16);
	assert_part(3, CODE, code, 16);
	assert_part(4, OUTER, frames[1], 16);
	assert_part(5, CODE + 16, code + 2, 16);
	for (size_t i = 12; i < 16; i++) /* up to the next part */
		assert_int_equal(f.parts[0].data[i], 0);
}

/* A node of which the span has a part alone is copied as any other. */
TEST(test_node_at_the_end_of_the_span)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_set(r, 6, STACK);
	(void) sw_recipe_span(r, &(struct sw_recipe_span){.from = 6,
							  .to = 6,
							  .more = 8,
							  .bytes_max = 4096,
							  .kind = KIND});
	(void) sw_recipe_set(r, 3, STACK);
	frames_add(1);
	execute();
	assert_part(0, STACK, stack, 8);
	assert_part(1, STACK, stack, 16);
}

/* A thread that is in no list has nothing. */
TEST(test_search_ends)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_set(r, 1, 0x5555);
	(void) sw_recipe_set(r, 0, STATES);
	(void) sw_recipe_search(r, &(struct sw_recipe_search){.to = 2,
							      .from = 0,
							      .key = 1,
							      .next_offset = 8,
							      .nodes_max = 5});
	unsigned none = sw_recipe_jump_if_zero(r, 2, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 2, .kind = KIND, .bytes = 8});
	sw_recipe_land(r, none);
	execute();
	assert_int_equal(f.copy.n_parts, 0);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);
}

/* A list of more nodes than are followed, or of nodes that cannot be read, says so. */
TEST(test_limits)
{
	start();
	(void) sw_recipe_set(&f.recipe, 3, FRAMES);
	frames_add(1);
	execute();
	assert_int_equal(f.copy.n_parts, 2);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_CUT);

	start();
	(void) sw_recipe_set(&f.recipe, 3, ABSENT_CODE);
	frames_add(9);
	execute();
	assert_int_equal(f.copy.n_parts, 0);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_FAULT);

	start();
	(void) sw_recipe_load(&f.recipe, 3, 0, ABSENT_CODE);
	execute();
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_FAULT);
}

static bool count_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	memset(buffer, 0, length);
	++*(size_t *) arg;
	return true;
}

/* As many steps are executed here as in the kernel (iterate/bpf/copying.bpf.h): one less than there are turns. */
TEST(test_turns)
{
	static const struct sw_memory_ops ops = {.read = count_read};
	static const uint64_t regs[SW_ITERATE_REGS];
	const struct sw_recipe_thread thread = {regs, THREAD};
	size_t n = 0;
	start();
	(void) sw_recipe_set(&f.recipe, 6, STACK);
	unsigned again = sw_recipe_load(&f.recipe, 3, 6, 0);
	(void) sw_recipe_jump(&f.recipe, again);
	assert_true(sw_recipe_finish(&f.recipe));
	(void) sw_recipe_execute(&f.recipe.steps, (struct sw_memory){&ops, &n}, &thread,
				 (uint8_t *) f.record);
	/* The first step is another one, then each second one reads. */
	assert_int_equal(n, (SW_SAMPLED_TURNS_MAX - 2) / 2);
}

/* A recipe that goes in a circle ends, and its record is not longer than one of the kernel. */
TEST(test_circle)
{
	static uint8_t large[SW_SAMPLED_PART_MAX];
	static const struct fake_region regions[] = {{STACK, large, sizeof(large)}};
	start();
	f.fake.regions = regions;
	f.fake.n_regions = 1;
	(void) sw_recipe_set(&f.recipe, 6, STACK);
	unsigned again =
		sw_recipe_copy(&f.recipe, &(struct sw_recipe_copy){.from = 6,
								   .kind = KIND,
								   .bytes = sizeof(large)});
	(void) sw_recipe_jump(&f.recipe, again);
	execute();
	assert_int_equal(f.copy.n_parts, 1);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_CUT);

	start();
	(void) sw_recipe_jump(&f.recipe, 0);
	execute();
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_CUT);
}

/* Addresses that were met once are passed over, and so is 0. Bits that a mask leaves out do not count. */
TEST(test_met)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_set(r, 3, FRAMES | 1);
	unsigned again = sw_recipe_mask(r, 4, 3, ~UINT64_C(7));
	unsigned met = sw_recipe_jump_if_met(r, 4, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 4, .kind = KIND, .bytes = 8});
	(void) sw_recipe_jump(r, again);
	sw_recipe_land(r, met);
	unsigned zero = sw_recipe_jump_if_met(r, 5, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 4, .kind = KIND, .bytes = 16});
	sw_recipe_land(r, zero);
	execute();
	assert_int_equal(f.copy.n_parts, 1);
	assert_part(0, FRAMES, frames[0], 8);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);

	/* 0 is passed over, too, when another address was met that is remembered in its place. */
	enum { AT_SLOT_0 = 0x10000 };
	start();
	(void) sw_recipe_set(r, 3, AT_SLOT_0);
	sw_recipe_land(r, sw_recipe_jump_if_met(r, 3, 0));
	zero = sw_recipe_jump_if_met(r, 5, 0);
	(void) sw_recipe_set(r, 4, FRAMES);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 4, .kind = KIND, .bytes = 16});
	sw_recipe_land(r, zero);
	execute();
	assert_int_equal(f.copy.n_parts, 0);
}

/* A piece whose end is on an absent page has the bytes before that. */
TEST(test_page_end)
{
	static uint8_t page[4096];
	static const struct fake_region regions[] = {{STACK, page, sizeof(page)}};
	start();
	f.fake.regions = regions;
	f.fake.n_regions = 1;
	memset(page, 5, sizeof(page));
	(void) sw_recipe_set(&f.recipe, 3, STACK + 4096 - 24);
	(void) sw_recipe_copy(&f.recipe,
			      &(struct sw_recipe_copy){.from = 3, .kind = KIND, .bytes = 96});
	execute();
	assert_int_equal(f.copy.n_parts, 1);
	assert_part(0, STACK + 4096 - 24, page + 4096 - 24, 24);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);
}

/* Reads that fail are few: each costs as much as an exception. */
TEST(test_faults)
{
	start();
	struct sw_recipe *r = &f.recipe;
	unsigned again = sw_recipe_load(r, 3, 0, ABSENT_CODE);
	(void) sw_recipe_move(r, 4, 4, 1);
	(void) sw_recipe_jump(r, again);
	execute();
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE | SW_SAMPLED_FAULT | SW_SAMPLED_CUT);
	assert_int_equal(f.fake.reads, SW_SAMPLED_FAULTS_MAX + 1);
}

/* An array that grows down ends where its first address and its size say. */
TEST(test_sum)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_set(r, 1, FRAMES);
	(void) sw_recipe_set(r, 2, 2);
	(void) sw_recipe_sum(r, &(struct sw_recipe_sum){3, 1, 2, 32});
	unsigned again = sw_recipe_sum(r, &(struct sw_recipe_sum){4, 3, 1, (uint64_t) -1});
	unsigned end = sw_recipe_jump_if_zero(r, 4, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 1, .kind = KIND, .bytes = 16});
	(void) sw_recipe_move(r, 1, 1, 32);
	(void) sw_recipe_jump(r, again);
	sw_recipe_land(r, end);
	execute();
	assert_int_equal(f.copy.n_parts, 2);
	assert_part(1, OUTER, frames[1], 16);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);
}

/* An address is not below itself. */
TEST(test_below)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_set(r, 1, FRAMES);
	(void) sw_recipe_set(r, 2, FRAMES);
	unsigned below = sw_recipe_jump_if_below(r, 1, 2, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 1, .kind = KIND, .bytes = 16});
	sw_recipe_land(r, below);
	execute();
	assert_int_equal(f.copy.n_parts, 1);
	assert_part(0, FRAMES, frames[0], 16);
}

/* A register of the thread tells where it is; of a long stack the innermost part is copied. */
TEST(test_user)
{
	start();
	struct sw_recipe *r = &f.recipe;
	(void) sw_recipe_user(r, 1, 3 * sizeof(uint64_t));
	(void) sw_recipe_set(r, 2, OUTER);
	unsigned inside = sw_recipe_jump_if_below(r, 1, 2, 0);
	(void) sw_recipe_copy(r, &(struct sw_recipe_copy){.from = 2, .kind = KIND, .bytes = 16});
	sw_recipe_land(r, inside);
	unsigned outside = sw_recipe_jump_if_below(r, 2, 1, 0);
	(void) sw_recipe_first(r, &(struct sw_recipe_span){.from = 1,
							   .to = 2,
							   .more = 16,
							   .bytes_max = 24,
							   .kind = KIND});
	sw_recipe_land(r, outside);
	execute();
	assert_int_equal(f.copy.n_parts, 1);
	assert_part(0, FRAMES, frames[0], 24);
	assert_int_equal(f.copy.head.flags, SW_SAMPLED_RECIPE);
}
