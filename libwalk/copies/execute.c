/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As iterate/bpf/sample.bpf.c, step by step and with the same limits: both give the same record of the same memory. */
#include "copies/execute.h"

#include <stdbool.h>
#include <string.h>

enum { PAGE = 4096 };

static const uint64_t POINTER_MASK = ~UINT64_C(7); /* the lowest bits of words in lists are flags */

enum how { COPIED, ABSENT, FULL };

struct execution {
	struct sw_memory memory;
	uint64_t thread_pointer;
	const uint64_t *regs;
	uint8_t *out;
	uint64_t r[SW_SAMPLED_REGISTERS];
	uint64_t node, span_begin, span_end;
	uint64_t met[SW_SAMPLED_MET_MAX];
	uint32_t n_faults, step, left, at, n_parts, flags;
};

static void fault(struct execution *e)
{
	e->flags |= SW_SAMPLED_FAULT;
	e->n_faults++;
}

static enum how piece(struct execution *e, uint64_t avma, uint32_t bytes, uint32_t kind)
{
	const struct sw_sampled_part part = {.avma = avma, .bytes = bytes, .kind = kind};
	uint32_t padded = (bytes + 7) & ~UINT32_C(7);
	if (bytes == 0 || bytes > SW_SAMPLED_PART_MAX)
		return ABSENT;
	if (e->at > SW_SAMPLED_BYTES_MAX - sizeof(part) - padded) {
		e->flags |= SW_SAMPLED_CUT;
		return FULL;
	}
	uint8_t *to = e->out + e->at;
	if (!sw_memory_read(e->memory, avma, to + sizeof(part), bytes))
		return ABSENT;
	memset(to + sizeof(part) + bytes, 0, padded - bytes);
	memcpy(to, &part, sizeof(part));
	e->at += (uint32_t) sizeof(part) + padded;
	e->n_parts++;
	return COPIED;
}

static uint64_t word(struct execution *e, uint64_t avma)
{
	uint64_t value = 0;
	if (sw_memory_read(e->memory, avma, &value, sizeof(value)))
		return value;
	fault(e);
	return 0;
}

static uint64_t out_word(const struct execution *e, uint32_t at)
{
	uint64_t value;
	memcpy(&value, e->out + at, sizeof(value));
	return value;
}

static enum how asked_piece(struct execution *e, uint64_t avma, uint32_t bytes, uint32_t kind)
{
	enum how how = piece(e, avma, bytes, kind);
	if (how == ABSENT)
		fault(e);
	return how;
}

/* Copies a piece of unknown length: less than is asked for may be there. */
static void copy_part(struct execution *e, uint64_t avma, uint32_t bytes, uint32_t kind)
{
	uint32_t here = PAGE - (uint32_t) (avma & (PAGE - 1));
	enum how how = piece(e, avma, bytes, kind);
	if (how == ABSENT && here < bytes)
		how = piece(e, avma, here, kind);
	if (how == ABSENT)
		fault(e);
}

/* Whether an address was met before. It has been from now on. */
static bool is_met(struct execution *e, uint64_t avma)
{
	uint32_t slot = (uint32_t) (avma >> 4 ^ avma >> 10) % SW_SAMPLED_MET_MAX;
	if (avma == 0 || e->met[slot] == avma)
		return true;
	e->met[slot] = avma;
	return false;
}

/* Copies what a node leads to, once for nodes that follow one another. */
static void second_copy(struct execution *e, uint64_t avma, uint32_t bytes, uint32_t kind)
{
	if (!is_met(e, avma))
		(void) asked_piece(e, avma, bytes, kind); /* the record says when it is absent */
}

static void chain_turn(struct execution *e, const struct sw_sampled_step *step)
{
	uint64_t avma = e->node;
	uint32_t at = e->at, n_parts = e->n_parts, bytes = step->chain.node_bytes;
	enum how how = asked_piece(e, avma, bytes, step->kind);
	e->node = 0;
	if (avma == e->r[step->other])
		e->r[step->to] = 1;
	if (how != COPIED)
		return;
	uint32_t content = at + (uint32_t) sizeof(struct sw_sampled_part);
	uint64_t next = out_word(e, content + step->chain.next) & POINTER_MASK;
	uint64_t second = out_word(e, content + step->chain.second) & POINTER_MASK;
	if (avma >= e->span_begin && avma + bytes <= e->span_end) {
		e->at = at;
		e->n_parts = n_parts;
	}
	if (step->chain.second_bytes != 0)
		second_copy(e, second, step->chain.second_bytes, step->kind);
	e->node = next;
}

static void search_turn(struct execution *e, const struct sw_sampled_step *step)
{
	uint64_t avma = e->node;
	if (word(e, avma + step->list.key) == e->r[step->other]) {
		e->r[step->to] = avma;
		e->node = 0;
		return;
	}
	e->node = word(e, avma + step->list.next);
}

/* True: the step is done. */
static bool list_turn(struct execution *e, const struct sw_sampled_step *step, bool search)
{
	if (e->left == 0) { /* it begins */
		e->node = e->r[step->from];
		e->left = search ? step->list.max : step->number;
		e->r[step->to] = 0;
	}
	if (e->node != 0 && e->left != 0) {
		e->left--;
		if (search)
			search_turn(e, step);
		else
			chain_turn(e, step);
	}
	if (e->node != 0 && e->left != 0)
		return false;
	if (e->node != 0)
		e->flags |= SW_SAMPLED_CUT;
	e->left = 0;
	return true;
}

static void span_copy(struct execution *e, const struct sw_sampled_step *step)
{
	uint64_t begin = e->r[step->from], end = e->r[step->other] + step->value;
	e->span_begin = e->span_end = 0;
	if (begin >= end)
		return;
	if (end - begin > step->number && step->what == SW_SAMPLED_FIRST)
		end = begin + step->number;
	else if (end - begin > step->number)
		begin = end - step->number;
	if (asked_piece(e, begin, (uint32_t) (end - begin), step->kind) == COPIED) {
		e->span_begin = begin;
		e->span_end = end;
	}
}

/* False: that was the last one. */
static bool one_turn(struct execution *e, const struct sw_sampled_recipe *recipe)
{
	if (e->step >= recipe->n_steps)
		return false;
	const struct sw_sampled_step *step = &recipe->steps[e->step];
	uint32_t next = e->step + 1;
	uint64_t from = e->r[step->from];
	switch ((enum sw_sampled_what) step->what) {
	case SW_SAMPLED_SET: e->r[step->to] = step->value; break;
	case SW_SAMPLED_THREAD: e->r[step->to] = e->thread_pointer + step->value; break;
	case SW_SAMPLED_MOVE: e->r[step->to] = from + step->value; break;
	case SW_SAMPLED_LOAD: e->r[step->to] = word(e, from + step->value); break;
	case SW_SAMPLED_JUMP: next = step->number; break;
	case SW_SAMPLED_ZERO: next = from == 0 ? step->number : next; break;
	case SW_SAMPLED_MASK: e->r[step->to] = from & step->value; break;
	case SW_SAMPLED_SUM: e->r[step->to] = from + e->r[step->other] * step->value; break;
	case SW_SAMPLED_MET: next = is_met(e, from) ? step->number : next; break;
	case SW_SAMPLED_COPY: copy_part(e, from + step->value, step->number, step->kind); break;
	case SW_SAMPLED_USER: e->r[step->to] = e->regs[step->number]; break;
	case SW_SAMPLED_BELOW: next = from < e->r[step->other] ? step->number : next; break;
	case SW_SAMPLED_SPAN:
	case SW_SAMPLED_FIRST: span_copy(e, step); break;
	case SW_SAMPLED_SEARCH: next -= !list_turn(e, step, true); break;
	case SW_SAMPLED_CHAIN: next -= !list_turn(e, step, false); break;
	case SW_SAMPLED_END:
	case SW_SAMPLED_WHATS: return false;
	}
	e->step = next;
	return true;
}

size_t sw_recipe_execute(const struct sw_sampled_recipe *recipe, struct sw_memory memory,
			 const struct sw_recipe_thread *thread, uint8_t *record)
{
	struct execution e = {.memory = memory,
			      .thread_pointer = thread->thread_pointer,
			      .regs = thread->regs,
			      .out = record,
			      .at = sizeof(struct sw_sampled_head),
			      .flags = recipe->n_steps > 0 ? SW_SAMPLED_RECIPE : 0};
	/* The kernel's program says at the last turn that it was cut, and executes no step then. */
	enum { TURNS = SW_SAMPLED_TURNS_MAX - 1 };
	uint32_t turns = 0;
	while (turns < TURNS && e.n_faults <= SW_SAMPLED_FAULTS_MAX && one_turn(&e, recipe))
		turns++;
	if (turns == TURNS || e.n_faults > SW_SAMPLED_FAULTS_MAX)
		e.flags |= SW_SAMPLED_CUT;
	const struct sw_sampled_head head = {.bytes = e.at, .n_parts = e.n_parts, .flags = e.flags};
	memcpy(record, &head, sizeof(head));
	return e.at;
}
