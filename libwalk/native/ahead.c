/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/ahead.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"
#include "unwind/tables.h"

enum {
	AHEAD_STEPS_MAX = 128, /* a chain of tables as long as that is no accident */
};

static void aim(struct sw_cursor *c, const struct sw_regs *regs, bool exact_pc)
{
	c->callee_avma = c->regs.pc_avma;
	c->regs = *regs;
	c->exact_pc = exact_pc;
	c->lookup_avma = regs->pc_avma - !exact_pc;
	c->place = NULL;
	c->depth++;
	const struct sw_map *map = sw_snapshot_map(c->snap, c->lookup_avma);
	if (map != NULL && map->place >= 0 && (size_t) map->place < c->snap->n_places) {
		struct sw_place *place = &c->snap->places[map->place];
		(void) sw_place_resolve(place, c->snap); /* else unwinders decline */
		c->place = place;
	}
}

/* The step of the best unwinder with tables; DECLINE when none knows the code. */
static enum sw_step tables_step(struct sw_cursor *c, struct sw_stepped *ret)
{
	uint32_t kind = UINT32_C(1)
			<< (c->place == NULL ? SW_MODULE_ANON : sw_module_kind(c->place->module));
	enum sw_step worst = SW_STEP_DECLINE;
	for (size_t i = 0; i < c->active->n; i++) {
		const struct sw_active *a = &c->active->all[i];
		if (a->step == NULL || a->trust >= SW_TRUST_INSTRUCTIONS || !(a->kinds & kind))
			continue;
		struct sw_stepped s = {.end = SW_END_BAD_UNWIND_INFO};
		enum sw_step step = a->step(a->state, c, &s);
		if (step == SW_STEP_OK || step == SW_STEP_END) {
			*ret = s;
			return step;
		}
		if (step == SW_STEP_FAIL && worst == SW_STEP_DECLINE) {
			*ret = s;
			worst = step;
		}
	}
	return worst;
}

/* Whether the step's frame may be the caller of cursor's. */
static bool leads_on(struct sw_cursor *c, const struct sw_stepped *s)
{
	bool exact_pc = s->flags & SW_FRAME_EXACT_PC;
	if (s->regs.sp_avma <= c->regs.sp_avma && !s->callee_signal && !s->other_stack)
		return false;
	if (!exact_pc && s->regs.pc_avma == 0)
		return false;
	struct sw_callee callee = sw_callee_of(c);
	/* The address to which coroutines return in the end comes after no call. */
	return exact_pc || s->callee_signal ||
	       sw_call_site_check(&callee, s->regs.pc_avma) != SW_SITE_NONE ||
	       sw_arch_known_code(c->memory, s->regs.pc_avma, 0) == SW_CODE_THREAD_START;
}

enum sw_ahead sw_walk_ahead(const struct sw_cursor *cursor, const struct sw_regs *regs,
			    const struct sw_ahead_frame *through, bool *ret_through)
{
	if (through != NULL)
		*ret_through = false;
	if (cursor->active == NULL)
		return SW_AHEAD_UNKNOWN;
	struct sw_cursor c = *cursor;
	aim(&c, regs, false);
	for (size_t n = 0; n < AHEAD_STEPS_MAX; n++) {
		struct sw_stepped s = {0};
		if (*c.ahead_left == 0)
			return SW_AHEAD_UNKNOWN;
		--*c.ahead_left;
		switch (tables_step(&c, &s)) {
		case SW_STEP_OK:
			if (!leads_on(&c, &s))
				return SW_AHEAD_BAD;
			aim(&c, &s.regs, s.flags & SW_FRAME_EXACT_PC);
			if (through == NULL || c.regs.pc_avma != through->pc_avma ||
			    c.regs.sp_avma != through->sp_avma)
				break;
			*ret_through = true;
			return SW_AHEAD_GOOD;
		case SW_STEP_END: return n == 0 ? SW_AHEAD_IS_ROOT : SW_AHEAD_ROOT;
		case SW_STEP_DECLINE: return n == 0 ? SW_AHEAD_UNKNOWN : SW_AHEAD_GOOD;
		case SW_STEP_FAIL:
			return s.end == SW_END_NO_UNWIND_INFO || s.end == SW_END_STACK_LIMIT ||
					       s.end == SW_END_INTERNAL
				       ? SW_AHEAD_UNKNOWN
				       : SW_AHEAD_BAD;
		}
	}
	return SW_AHEAD_GOOD;
}
