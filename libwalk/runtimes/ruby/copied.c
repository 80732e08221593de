/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/ruby/copied.h"
#include "copies/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONS_MAX = 1 << 18 };

/* The constants that make keys of different kinds differ. */
static const uint64_t LINE_UNKNOWN = UINT64_C(0x6c696e65), METHOD = UINT64_C(0x63);

void sw_ruby_copied_deinit(struct sw_ruby_copied *c)
{
	free(c->positions);
	sw_map64_deinit(&c->by_spot);
	sw_map64_deinit(&c->texts);
	sw_arena_deinit(&c->arena);
}

void sw_ruby_copied_begin(struct sw_ruby_copied *c)
{
	memset(c->seen, 0, sizeof(c->seen));
}

bool sw_ruby_copied_has_space(const struct sw_ruby_copied *c)
{
	return c->n_positions < POSITIONS_MAX;
}

/* 0: no memory. */
static uint64_t position_add(struct sw_ruby_copied *c, uint64_t key,
			     const struct sw_ruby_name *name)
{
	struct sw_ruby_position *grown =
		sw_grow(c->positions, c->n_positions, &c->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	c->positions = grown;
	struct sw_ruby_position *p = &grown[c->n_positions];
	p->label = sw_copy_text_keep(&c->arena, &c->texts, name->label);
	p->path = sw_copy_text_keep(&c->arena, &c->texts, name->path);
	p->line = name->line;
	if (p->label == NULL || p->path == NULL ||
	    sw_map64_put(&c->by_spot, key, c->n_positions) < 0)
		return 0;
	return ++c->n_positions;
}

/* The identity of an iseq, wherever it lies. 0: the copy does not have it. */
static uint64_t identity_get(struct sw_ruby_copied *c, const struct sw_ruby_vm *vm,
			     uint64_t iseq_avma, struct sw_ruby_name *name)
{
	struct sw_ruby_iseq iseq;
	size_t slot = (size_t) (sw_mix64(iseq_avma) % SW_RUBY_COPIED_SEEN);
	if (c->seen[slot].iseq_avma == iseq_avma)
		return c->seen[slot].identity;
	uint64_t identity = 0;
	if (sw_ruby_iseq_read(vm, iseq_avma, &iseq) && sw_ruby_iseq_name(vm, iseq_avma, 0, name)) {
		identity = sw_mix64(sw_mix_text(0, name->label) ^
				    sw_mix64(sw_mix_text(0, name->path)));
		identity = sw_mix64(identity ^ iseq.encoded_avma);
		identity = sw_mix64(identity ^ iseq.insns_avma) | 1;
	}
	c->seen[slot].iseq_avma = iseq_avma;
	c->seen[slot].identity = identity;
	return identity;
}

/* Whether an iseq is still what the copy has: then its table of lines has been its own all the time. */
static bool is_still(const struct sw_ruby_copied_source *from, uint64_t iseq_avma)
{
	struct sw_ruby_iseq then, now;
	return sw_ruby_iseq_read(from->copied, iseq_avma, &then) &&
	       sw_ruby_iseq_read(from->now, iseq_avma, &now) &&
	       memcmp(&then, &now, sizeof(then)) == 0;
}

static uint64_t iseq_cookie(struct sw_ruby_copied *c, const struct sw_ruby_copied_source *from,
			    const struct sw_ruby_frame *frame, bool pc_known)
{
	struct sw_ruby_name name;
	uint64_t identity = identity_get(c, from->copied, frame->iseq_avma, &name), known;
	uint64_t key = sw_mix64(identity ^ sw_mix64(frame->pc_avma));
	uint64_t without = sw_mix64(identity ^ LINE_UNKNOWN);
	if (identity == 0)
		return 0;
	if (pc_known && sw_map64_get(&c->by_spot, key, &known))
		return known + 1;
	if (pc_known && sw_ruby_iseq_name(from->later, frame->iseq_avma, frame->pc_avma, &name) &&
	    name.line != 0 && is_still(from, frame->iseq_avma))
		return position_add(c, key, &name);
	if (sw_map64_get(&c->by_spot, without, &known))
		return known + 1;
	if (!sw_ruby_iseq_name(from->copied, frame->iseq_avma, 0, &name))
		return 0;
	return position_add(c, without, &name);
}

/* The table of symbols may be moved while it is read: the name counts if it is the same twice. */
static uint64_t method_cookie(struct sw_ruby_copied *c, const struct sw_ruby_copied_source *from,
			      const struct sw_ruby_frame *frame)
{
	struct sw_ruby_name name = {0}, again = {0};
	uint64_t id, known;
	if (!sw_ruby_method_id(from->copied, frame->method_avma, &id))
		return 0;
	uint64_t key = sw_mix64(id ^ sw_mix64(METHOD));
	if (sw_map64_get(&c->by_spot, key, &known))
		return known + 1;
	if (!sw_ruby_id_name(from->now, id, name.label) ||
	    !sw_ruby_id_name(from->now, id, again.label) || strcmp(name.label, again.label) != 0)
		return 0;
	return position_add(c, key, &name);
}

uint64_t sw_ruby_copied_cookie(struct sw_ruby_copied *c, const struct sw_ruby_copied_source *from,
			       const struct sw_ruby_frame *frame, bool pc_known)
{
	return frame->kind == SW_RUBY_FRAME_C ? method_cookie(c, from, frame)
					      : iseq_cookie(c, from, frame, pc_known);
}

int sw_ruby_copied_names(const struct sw_ruby_copied *c, const struct sw_frame *frame,
			 struct sw_description *ret)
{
	if (frame->cookie == 0 || frame->cookie > c->n_positions)
		return 0;
	const struct sw_ruby_position *p = &c->positions[frame->cookie - 1];
	(void) snprintf(ret->function, sizeof(ret->function), "%s", p->label); /* these fit */
	(void) snprintf(ret->file, sizeof(ret->file), "%s", p->path);
	ret->line = p->line;
	return 1;
}
