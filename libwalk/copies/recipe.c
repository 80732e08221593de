/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/recipe.h"

static unsigned append(struct sw_recipe *r, struct sw_sampled_step step)
{
	if (r->steps.n_steps >= SW_SAMPLED_STEPS_MAX) {
		r->failed = true;
		return 0;
	}
	r->steps.steps[r->steps.n_steps] = step;
	return r->steps.n_steps++;
}

/* As a field of 16 bits. */
static uint16_t small(struct sw_recipe *r, uint64_t value)
{
	r->failed |= value > UINT16_MAX;
	return (uint16_t) value;
}

unsigned sw_recipe_set(struct sw_recipe *r, uint8_t to, uint64_t value)
{
	return append(r,
		      (struct sw_sampled_step){.what = SW_SAMPLED_SET, .to = to, .value = value});
}

unsigned sw_recipe_thread_pointer(struct sw_recipe *r, uint8_t to, uint64_t offset)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_THREAD,
						  .to = to,
						  .value = offset});
}

unsigned sw_recipe_move(struct sw_recipe *r, uint8_t to, uint8_t from, uint64_t offset)
{
	return append(r, (struct sw_sampled_step){
				 .what = SW_SAMPLED_MOVE, .to = to, .from = from, .value = offset});
}

unsigned sw_recipe_user(struct sw_recipe *r, uint8_t to, size_t user_offset)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_USER,
						  .to = to,
						  .number = small(r, user_offset / 8)});
}

unsigned sw_recipe_mask(struct sw_recipe *r, uint8_t to, uint8_t from, uint64_t mask)
{
	return append(r, (struct sw_sampled_step){
				 .what = SW_SAMPLED_MASK, .to = to, .from = from, .value = mask});
}

unsigned sw_recipe_sum(struct sw_recipe *r, const struct sw_recipe_sum *sum)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_SUM,
						  .to = sum->to,
						  .from = sum->from,
						  .other = sum->other,
						  .value = sum->times});
}

unsigned sw_recipe_load(struct sw_recipe *r, uint8_t to, uint8_t from, uint64_t offset)
{
	return append(r, (struct sw_sampled_step){
				 .what = SW_SAMPLED_LOAD, .to = to, .from = from, .value = offset});
}

unsigned sw_recipe_copy(struct sw_recipe *r, const struct sw_recipe_copy *copy)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_COPY,
						  .from = copy->from,
						  .kind = copy->kind,
						  .number = small(r, copy->bytes),
						  .value = copy->offset});
}

unsigned sw_recipe_span(struct sw_recipe *r, const struct sw_recipe_span *span)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_SPAN,
						  .from = span->from,
						  .other = span->to,
						  .kind = span->kind,
						  .number = small(r, span->bytes_max),
						  .value = span->more});
}

unsigned sw_recipe_first(struct sw_recipe *r, const struct sw_recipe_span *span)
{
	unsigned step = sw_recipe_span(r, span);
	r->steps.steps[step].what = SW_SAMPLED_FIRST;
	return step;
}

unsigned sw_recipe_search(struct sw_recipe *r, const struct sw_recipe_search *search)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_SEARCH,
						  .to = search->to,
						  .from = search->from,
						  .other = search->key,
						  .list = {.key = small(r, search->key_offset),
							   .next = small(r, search->next_offset),
							   .max = small(r, search->nodes_max)}});
}

unsigned sw_recipe_chain(struct sw_recipe *r, const struct sw_recipe_chain *chain)
{
	return append(
		r, (struct sw_sampled_step){.what = SW_SAMPLED_CHAIN,
					    .from = chain->from,
					    .to = chain->met,
					    .other = chain->node,
					    .kind = chain->kind,
					    .number = small(r, chain->nodes_max),
					    .chain = {.node_bytes = small(r, chain->node_bytes),
						      .next = small(r, chain->next_offset),
						      .second_bytes = small(r, chain->second_bytes),
						      .second = small(r, chain->second_offset)}});
}

unsigned sw_recipe_jump(struct sw_recipe *r, unsigned step)
{
	return append(r,
		      (struct sw_sampled_step){.what = SW_SAMPLED_JUMP, .number = small(r, step)});
}

unsigned sw_recipe_jump_if_zero(struct sw_recipe *r, uint8_t from, unsigned step)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_ZERO,
						  .from = from,
						  .number = small(r, step)});
}

unsigned sw_recipe_jump_if_met(struct sw_recipe *r, uint8_t from, unsigned step)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_MET,
						  .from = from,
						  .number = small(r, step)});
}

unsigned sw_recipe_jump_if_below(struct sw_recipe *r, uint8_t from, uint8_t other, unsigned step)
{
	return append(r, (struct sw_sampled_step){.what = SW_SAMPLED_BELOW,
						  .from = from,
						  .other = other,
						  .number = small(r, step)});
}

void sw_recipe_land(struct sw_recipe *r, unsigned jump)
{
	if (jump < r->steps.n_steps)
		r->steps.steps[jump].number = (uint16_t) r->steps.n_steps;
}

static bool list_is_valid(const struct sw_sampled_list *list)
{
	return list->max > 0 && list->zero == 0;
}

/* Both words lie in a node. */
static bool chain_is_valid(const struct sw_sampled_step *step)
{
	const struct sw_sampled_chain *c = &step->chain;
	return step->number > 0 && c->node_bytes <= SW_SAMPLED_NODE_MAX &&
	       c->next + 8 <= c->node_bytes && c->second + 8 <= c->node_bytes &&
	       c->second_bytes <= SW_SAMPLED_NODE_MAX;
}

static bool step_is_valid(const struct sw_sampled_recipe *recipe,
			  const struct sw_sampled_step *step)
{
	if (step->to >= SW_SAMPLED_REGISTERS || step->from >= SW_SAMPLED_REGISTERS ||
	    step->other >= SW_SAMPLED_REGISTERS)
		return false;
	switch ((enum sw_sampled_what) step->what) {
	case SW_SAMPLED_END:
	case SW_SAMPLED_SET:
	case SW_SAMPLED_THREAD:
	case SW_SAMPLED_MOVE:
	case SW_SAMPLED_MASK:
	case SW_SAMPLED_SUM:
	case SW_SAMPLED_LOAD: return true;
	case SW_SAMPLED_JUMP:
	case SW_SAMPLED_ZERO:
	case SW_SAMPLED_BELOW:
	case SW_SAMPLED_MET: return step->number <= recipe->n_steps;
	case SW_SAMPLED_COPY:
	case SW_SAMPLED_SPAN:
	case SW_SAMPLED_FIRST:
		return step->kind >= SW_SAMPLED_KIND_FIRST && step->number > 0 &&
		       step->number <= SW_SAMPLED_PART_MAX;
	case SW_SAMPLED_USER: return step->number < SW_ITERATE_REGS;
	case SW_SAMPLED_SEARCH: return list_is_valid(&step->list);
	case SW_SAMPLED_CHAIN: return step->kind >= SW_SAMPLED_KIND_FIRST && chain_is_valid(step);
	case SW_SAMPLED_WHATS: break;
	}
	return false;
}

bool sw_recipe_is_valid(const struct sw_sampled_recipe *recipe)
{
	if (recipe->n_steps > SW_SAMPLED_STEPS_MAX)
		return false;
	for (uint32_t i = 0; i < recipe->n_steps; i++)
		if (!step_is_valid(recipe, &recipe->steps[i]))
			return false;
	return true;
}

bool sw_recipe_finish(struct sw_recipe *r)
{
	return !r->failed && sw_recipe_is_valid(&r->steps);
}
