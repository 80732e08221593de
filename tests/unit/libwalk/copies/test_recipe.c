/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recipes: what is appended, where jumps land, and what the kernel is not given. */
#include "copies/recipe.h"
#include "test.h"

/* A list of which the first node that fits is copied, with what it leads to. */
static struct sw_recipe whole(void)
{
	struct sw_recipe r = {0};
	(void) sw_recipe_set(&r, 0, 0x1000);
	(void) sw_recipe_thread_pointer(&r, 1, (uint64_t) -8);
	(void) sw_recipe_search(&r, &(struct sw_recipe_search){.to = 2,
							       .from = 0,
							       .key = 1,
							       .key_offset = 152,
							       .next_offset = 8,
							       .nodes_max = 512});
	unsigned none = sw_recipe_jump_if_zero(&r, 2, 0);
	(void) sw_recipe_copy(&r, &(struct sw_recipe_copy){.from = 2, .kind = 9, .bytes = 360});
	(void) sw_recipe_load(&r, 3, 2, 56);
	(void) sw_recipe_chain(&r, &(struct sw_recipe_chain){.from = 3,
							     .met = 4,
							     .node = 5,
							     .kind = 1,
							     .node_bytes = 72,
							     .next_offset = 48,
							     .second_bytes = 184,
							     .second_offset = 32,
							     .nodes_max = 128});
	sw_recipe_land(&r, none);
	return r;
}

TEST(test_steps_are_as_they_were_appended)
{
	struct sw_recipe r = whole();
	assert_true(sw_recipe_finish(&r));
	assert_int_equal(r.steps.n_steps, 7);
	const struct sw_sampled_step *s = r.steps.steps;
	assert_int_equal(s[0].what, SW_SAMPLED_SET);
	assert_int_equal(s[0].value, 0x1000);
	assert_int_equal(s[1].what, SW_SAMPLED_THREAD);
	assert_int_equal(s[1].to, 1);
	assert_int_equal(s[1].value, (uint64_t) -8);
	assert_int_equal(s[2].what, SW_SAMPLED_SEARCH);
	assert_int_equal(s[2].other, 1);
	assert_int_equal(s[2].list.key, 152);
	assert_int_equal(s[2].list.next, 8);
	assert_int_equal(s[2].list.max, 512);
	assert_int_equal(s[3].what, SW_SAMPLED_ZERO);
	assert_int_equal(s[3].number, 7); /* it ends */
	assert_int_equal(s[4].number, 360);
	assert_int_equal(s[4].kind, 9);
	assert_int_equal(s[6].number, 128);
	assert_int_equal(s[6].to, 4);
	assert_int_equal(s[6].other, 5);
	assert_int_equal(s[6].chain.node_bytes, 72);
	assert_int_equal(s[6].chain.next, 48);
	assert_int_equal(s[6].chain.second, 32);
	assert_int_equal(s[6].chain.second_bytes, 184);
}

TEST(test_a_step_has_16_bytes)
{
	assert_int_equal(sizeof(struct sw_sampled_step), 16);
}

TEST(test_more_steps_than_there_is_space_for)
{
	struct sw_recipe r = {0};
	for (int i = 0; i < SW_SAMPLED_STEPS_MAX; i++)
		(void) sw_recipe_set(&r, 0, 1);
	assert_true(sw_recipe_finish(&r));
	(void) sw_recipe_set(&r, 0, 1);
	assert_false(sw_recipe_finish(&r));
}

TEST(test_numbers_that_do_not_fit)
{
	struct sw_recipe copy = {0}, chain = {0};
	(void) sw_recipe_copy(&copy, &(struct sw_recipe_copy){.kind = 1, .bytes = 65536 + 8});
	assert_false(sw_recipe_finish(&copy));
	/* Cut to 16 bits it would be 72. */
	(void) sw_recipe_chain(&chain, &(struct sw_recipe_chain){.kind = 1,
								 .node_bytes = 65536 + 72,
								 .nodes_max = 1});
	assert_false(sw_recipe_finish(&chain));
}

/* Each changes one thing of a recipe that is valid. */
TEST(test_what_the_kernel_is_not_given)
{
	struct sw_recipe r;
#define REFUSED(change)                             \
	do {                                        \
		r = whole();                        \
		assert_true(sw_recipe_finish(&r));  \
		change;                             \
		assert_false(sw_recipe_finish(&r)); \
	} while (0)
	REFUSED(r.steps.steps[0].to = SW_SAMPLED_REGISTERS);
	REFUSED(r.steps.steps[5].from = SW_SAMPLED_REGISTERS);
	REFUSED(r.steps.steps[2].other = SW_SAMPLED_REGISTERS);
	REFUSED(r.steps.steps[3].number = 8); /* beyond the end */
	REFUSED(r.steps.steps[4].kind = SW_SAMPLED_KIND_STACK);
	REFUSED(r.steps.steps[4].number = 0);
	REFUSED(r.steps.steps[4].number = SW_SAMPLED_PART_MAX + 1);
	REFUSED(r.steps.steps[2].list.max = 0);
	REFUSED(r.steps.steps[2].list.zero = 1);
	REFUSED(r.steps.steps[6].number = 0);
	REFUSED(r.steps.steps[6].chain.next = 72 - 7); /* a part of the word is behind the node */
	REFUSED(r.steps.steps[6].chain.second = 72 - 7);
	REFUSED(r.steps.steps[6].chain.node_bytes = SW_SAMPLED_NODE_MAX + 1);
	REFUSED(r.steps.steps[6].chain.second_bytes = SW_SAMPLED_NODE_MAX + 1);
	REFUSED(r.steps.steps[0].what = SW_SAMPLED_WHATS);
	REFUSED(r.steps.n_steps = SW_SAMPLED_STEPS_MAX + 1);
	REFUSED((void) sw_recipe_user(&r, 0, 8 * SW_ITERATE_REGS));
#undef REFUSED
}
