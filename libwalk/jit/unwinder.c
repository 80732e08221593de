/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code by what its makers publish of it: one unwinder over a table of sources (jit/jit.h). Per
 * address the first source that knows it says how to step (jit/step.c); when its step leads nowhere,
 * the next one is asked.
 */
#include "jit/unwinder.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/capture.h"
#include "jit/sources.h"
#include "jit/step.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

/* ---- before the window --------------------------------------------------------------------------- */

static int jit_prepare(struct sw_capture *capture)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct sw_jit_hooks *h = sw_arena_calloc(arena, 1, sizeof(*h));
	if (h == NULL || sw_jit_roots_make(capture->snap, arena, &h->roots) < 0)
		return -SW_E_NOMEM;
	*capture->found = h;
	int r = h->roots.limited ? -SW_E_LIMIT : 0;
	for (size_t i = 0; i < sw_n_jit_hooks; i++) {
		struct sw_jit_capture c = sw_jit_capture_of(capture, i);
		int one = sw_jit_hook_table[i]->prepare != NULL ? sw_jit_hook_table[i]->prepare(&c)
								: 0;
		r = r < 0 ? r : one;
	}
	return r;
}

/* ---- after the window --------------------------------------------------------------------------- */

struct jit_state {
	const struct sw_snapshot *snap;
	struct sw_arena arena; /* roots, rules */
	struct sw_jit_roots roots;
	void *sources[SW_JIT_SOURCES_MAX];
	struct sw_jit_rules rules;
};

static void jit_detach(void *state)
{
	struct jit_state *st = state;
	if (st == NULL)
		return;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		if (sw_jit_sources[i]->detach != NULL)
			sw_jit_sources[i]->detach(st->sources[i]);
		sw_map64_deinit(&st->rules.made[i]);
	}
	sw_arena_deinit(&st->arena);
	free(st);
}

static int jit_attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	const struct sw_jit_hooks *h = found;
	struct jit_state *st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -SW_E_NOMEM;
	st->snap = snap;
	st->rules.arena = &st->arena;
	int r = sw_jit_roots_make(snap, &st->arena, &st->roots);
	for (size_t i = 0; r == 0 && i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->attach != NULL)
			r = sw_jit_sources[i]->attach(snap, st->roots.all + st->roots.first[i],
						      st->roots.count[i],
						      h != NULL ? h->sources[i] : NULL,
						      &st->sources[i]);
	if (r < 0) {
		jit_detach(st);
		return r;
	}
	*ret_state = st;
	return 0;
}

static bool source_find(struct jit_state *st, size_t i, uint64_t avma, struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){0};
	return sw_jit_sources[i]->find != NULL &&
	       sw_jit_sources[i]->find(st->sources[i], avma, ret) && avma >= ret->start_avma &&
	       avma < ret->end_avma;
}

/* Information that generated code publishes may be stale or wrong, and another source may know
 * better. Between stacks (fibers, coroutines) any direction is right. */
static bool leads_somewhere(const struct sw_cursor *cursor, const struct sw_stepped *s)
{
	uint64_t lookup_avma = s->regs.pc_avma - !(s->flags & SW_FRAME_EXACT_PC);
	const struct sw_map *map = sw_snapshot_map(cursor->snap, lookup_avma);
	uint64_t from = cursor->regs.sp_avma, to = s->regs.sp_avma;
	return map != NULL && (map->prot & SW_MAP_EXEC) &&
	       (to > from ||
		sw_snapshot_map(cursor->snap, to) != sw_snapshot_map(cursor->snap, from));
}

static enum sw_step jit_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct jit_state *st = state;
	struct sw_stepped failed = {0};
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		struct sw_stepped s = {.end = ret->end};
		if (!source_find(st, i, cursor->lookup_avma, &entry))
			continue;
		enum sw_step step = sw_jit_entry_step(&st->rules, i, &entry, cursor, &s);
		if (step == SW_STEP_OK && !s.callee_signal && !leads_somewhere(cursor, &s)) {
			step = SW_STEP_FAIL;
			s.end = SW_END_BAD_UNWIND_INFO;
			s.why = "the generated code's tables lead nowhere";
		}
		/* Not on any stack: no table that is right asks for that. Others may know better. */
		if (step == SW_STEP_FAIL && s.end == SW_END_MEMORY)
			s.end = SW_END_BAD_UNWIND_INFO;
		if (step == SW_STEP_OK || step == SW_STEP_END) {
			*ret = s;
			ret->source = (uint8_t) i;
			if (entry.live)
				ret->flags |= SW_FRAME_LIVE_READ;
			return step;
		}
		if (step == SW_STEP_FAIL && failed.why == NULL)
			failed = s;
	}
	if (failed.why == NULL)
		return SW_STEP_DECLINE;
	*ret = failed;
	return SW_STEP_FAIL;
}

static bool jit_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct jit_state *st = state;
	struct sw_description name;
	(void) ret_cookie; /* the address says all */
	/* V8 also publishes what is compiled into its file: that has a name there. */
	if (cursor->place != NULL && sw_module_kind(cursor->place->module) == SW_MODULE_ELF)
		return false;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (source_find(st, i, cursor->lookup_avma, &entry))
			return true;
		if (sw_jit_sources[i]->find != NULL || sw_jit_sources[i]->describe == NULL)
			continue;
		/* The source has only names. */
		name.function[0] = '\0';
		if (sw_jit_sources[i]->describe(st->sources[i], cursor->lookup_avma, &name) == 1)
			return true;
	}
	return false;
}

static int jit_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct jit_state *st = state;
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->describe != NULL &&
		    sw_jit_sources[i]->describe(st->sources[i], sw_frame_lookup_avma(frame), ret) ==
			    1)
			return 1;
	return 0;
}

static size_t jit_identify(void *state, struct sw_runtime *ret, size_t max)
{
	struct jit_state *st = state;
	size_t n = 0;
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->recognise != NULL)
			n += sw_jit_sources[i]->recognise(st->sources[i], ret + n, max - n);
	return n;
}

static void jit_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text)
{
	struct jit_state *st = state;
	(void) snap; /* attach has it */
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (source_find(st, i, avma, &entry))
			sw_jit_entry_explain(&st->rules, st->snap, i, sw_jit_source_names[i],
					     &entry, avma, text);
		if (sw_jit_sources[i]->explain != NULL)
			sw_jit_sources[i]->explain(st->sources[i], avma, text);
	}
}

const struct sw_unwinder_ops sw_unwind_jit = {
	.name = "jit",
	.kind = "jit",
	.trust = SW_TRUST_JIT,
	.weak_trust = SW_TRUST_JIT,
	/* ELF: what its own tables do not cover may be published, too (V8's builtins). */
	.kinds = SW_CODE_JIT | SW_CODE_ANON | SW_CODE_ELF,
	.sources = sw_jit_source_names,
	.probe = sw_snapshot_has_made_code,
	.prepare = jit_prepare,
	.capture = sw_jit_capture_all,
	.attach = jit_attach,
	.detach = jit_detach,
	.step = jit_step,
	.owns = jit_owns,
	.names = jit_names,
	.identify = jit_identify,
	.explain = jit_explain,
};
