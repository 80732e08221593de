/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_RECIPE_H
#define SW_COPIES_RECIPE_H

#include "iterate/sampled.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Writing recipes: what the kernel copies of an interpreter at an event (iterate/sampled.h says what each
 * step does). A runtime makes them of what it knows of its structures; addresses and offsets in them may
 * come from the target, and are hostile: the program in the kernel bounds all it does, and what a bad recipe
 * copies is only memory of that same process.
 *
 *	struct sw_recipe recipe = {0};
 *	sw_recipe_set(&recipe, 0, head_avma);
 *	sw_recipe_load(&recipe, 0, 0, 0);
 *	...
 *	sw_recipe_finish(&recipe)	true: recipe.steps is what is handed to the kernel
 */
struct sw_recipe {
	struct sw_sampled_recipe steps;
	bool failed; /* a step found no space, or had a number that does not fit */
};

/* A piece to copy: the bytes at r[from] + offset. */
struct sw_recipe_copy {
	uint8_t from;
	uint16_t kind;
	uint64_t offset;
	uint64_t bytes;
};

struct sw_recipe_span {
	uint8_t from, to; /* registers: from where, up to where */
	uint16_t kind;
	uint64_t more;      /* behind the end */
	uint64_t bytes_max; /* the last ones */
};

struct sw_recipe_sum {
	uint8_t to, from, other; /* registers */
	uint64_t times;          /* of other; -1 subtracts it */
};

struct sw_recipe_search {
	uint8_t to, from; /* registers: result, first node */
	uint8_t key;      /* likewise: what is looked for */
	uint64_t key_offset, next_offset;
	uint64_t nodes_max;
};

struct sw_recipe_chain {
	uint8_t from;
	uint8_t met, node; /* registers: whether that node was one of them */
	uint16_t kind;
	uint64_t node_bytes, next_offset;
	uint64_t second_bytes, second_offset; /* 0: what nodes lead to is not copied */
	uint64_t nodes_max;
};

/* Each appends a step; the number of it. */
unsigned sw_recipe_set(struct sw_recipe *recipe, uint8_t to, uint64_t value);
unsigned sw_recipe_thread_pointer(struct sw_recipe *recipe, uint8_t to, uint64_t offset);
unsigned sw_recipe_move(struct sw_recipe *recipe, uint8_t to, uint8_t from, uint64_t offset);
/* A register of the thread, by its offset in struct user_regs_struct. */
unsigned sw_recipe_user(struct sw_recipe *recipe, uint8_t to, size_t user_offset);
unsigned sw_recipe_mask(struct sw_recipe *recipe, uint8_t to, uint8_t from, uint64_t mask);
unsigned sw_recipe_sum(struct sw_recipe *recipe, const struct sw_recipe_sum *sum);
unsigned sw_recipe_load(struct sw_recipe *recipe, uint8_t to, uint8_t from, uint64_t offset);
unsigned sw_recipe_copy(struct sw_recipe *recipe, const struct sw_recipe_copy *copy);
unsigned sw_recipe_span(struct sw_recipe *recipe, const struct sw_recipe_span *span);
/* The first ones instead of the last. */
unsigned sw_recipe_first(struct sw_recipe *recipe, const struct sw_recipe_span *span);
unsigned sw_recipe_search(struct sw_recipe *recipe, const struct sw_recipe_search *search);
unsigned sw_recipe_chain(struct sw_recipe *recipe, const struct sw_recipe_chain *chain);
/* To a step that is there already; or that comes later, by sw_recipe_land(). */
unsigned sw_recipe_jump(struct sw_recipe *recipe, unsigned step);
unsigned sw_recipe_jump_if_zero(struct sw_recipe *recipe, uint8_t from, unsigned step);
/* Where the register is 0, or what it was at such a step before. */
unsigned sw_recipe_jump_if_met(struct sw_recipe *recipe, uint8_t from, unsigned step);
unsigned sw_recipe_jump_if_below(struct sw_recipe *recipe, uint8_t from, uint8_t other,
				 unsigned step);

/* The jump goes to the step that is appended next. */
void sw_recipe_land(struct sw_recipe *recipe, unsigned jump);

/* Whether it is one that the kernel may have. */
bool sw_recipe_finish(struct sw_recipe *recipe);

/* Whether steps of anybody's are within all limits. */
bool sw_recipe_is_valid(const struct sw_sampled_recipe *recipe);

#endif
