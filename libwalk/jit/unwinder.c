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
#include "jit/perf/perfmap.h"
#include "jit/sources.h"
#include "jit/step.h"
#include "copies/record.h"
#include "snapshot/module.h"
#include "snapshot/read_log.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <stdlib.h>
#include <time.h>

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

/* Perf maps are all that is beside a process; jitdumps are among its maps. */
static int jit_files(struct sw_capture *capture)
{
	return sw_jit_perfmap_hooks.prepare(&(struct sw_jit_capture){.capture = capture});
}

/* ---- after the window --------------------------------------------------------------------------- */

enum {
	READ_SHARE = 20
}; /* beside copies of events registries are read in one of so many parts of the time */

/* The answers of the sources, as of one time. */
struct reading {
	struct sw_arena arena; /* roots, rules */
	struct sw_jit_roots roots;
	void *sources[SW_JIT_SOURCES_MAX];
	struct sw_jit_rules rules;
	/* Beside copies of events alone: when it was made, and the CPU time that it took. */
	int64_t begin_ns, end_ns, cost_ns;
};

/*
 * Beside the copy of an event nobody can tell what was published at its time. What was there before and is there after it was
 * there at it, too. The copies of some time are walked together, so that one reading serves them all:
 *
 *	older reading	event	event	event	newer reading
 */
struct jit_state {
	const struct sw_snapshot *snap;
	struct reading *older, *newer; /* owned; older: NULL where there is one only */
	int64_t event_ns;              /* of the copy that is walked */
};

static void reading_destroy(struct reading *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		if (sw_jit_sources[i]->detach != NULL)
			sw_jit_sources[i]->detach(r->sources[i]);
		sw_map64_deinit(&r->rules.made[i]);
	}
	sw_arena_deinit(&r->arena);
	free(r);
}

static int source_attach(const struct sw_snapshot *snap, const struct sw_jit_hooks *h,
			 struct reading *made, size_t i, const struct reading *last)
{
	const struct sw_jit_source_ops *source = sw_jit_sources[i];
	if (source->again != NULL && last != NULL)
		return source->again(last->sources[i], &made->sources[i]);
	if (source->attach == NULL)
		return 0;
	return source->attach(snap, made->roots.all + made->roots.first[i], made->roots.count[i],
			      h != NULL ? h->sources[i] : NULL, &made->sources[i]);
}

/* last: an earlier reading, of which the new one may share what is still so; NULL: none. */
static int reading_create(const struct sw_snapshot *snap, const struct sw_jit_hooks *h,
			  const struct reading *last, struct reading **ret)
{
	struct reading *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -SW_E_NOMEM;
	made->rules.arena = &made->arena;
	made->begin_ns = sw_clock_ns();
	int r = sw_jit_roots_make(snap, &made->arena, &made->roots);
	for (size_t i = 0; r == 0 && i < sw_n_jit_sources; i++)
		r = source_attach(snap, h, made, i, last);
	if (r < 0)
		reading_destroy(made);
	else
		*ret = made;
	return r;
}

static void jit_detach(void *state)
{
	struct jit_state *st = state;
	if (st == NULL)
		return;
	reading_destroy(st->older);
	reading_destroy(st->newer);
	free(st);
}

static int jit_attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct jit_state *st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -SW_E_NOMEM;
	st->snap = snap;
	/* Beside copies each time that somebody asks has a reading of its own. */
	int r = snap->priv->by_copies ? 0 : reading_create(snap, found, NULL, &st->newer);
	if (r < 0)
		jit_detach(st);
	else
		*ret_state = st;
	return r;
}

/* The entry of a source that has only names is an id alone. */
static bool reading_find(const struct reading *r, size_t i, uint64_t avma, struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){0};
	if (r != NULL && sw_jit_sources[i]->named != NULL)
		return sw_jit_sources[i]->named(r->sources[i], avma, &ret->id);
	return r != NULL && sw_jit_sources[i]->find != NULL &&
	       sw_jit_sources[i]->find(r->sources[i], avma, ret) && avma >= ret->start_avma &&
	       avma < ret->end_avma;
}

/* Begins to ask about an address. Beside the copy of an event all is read again, unless that was done since the event, or
 * would cost too much. Whatever is told then is nothing that was copied: the walk is not remembered. */
static void ask(struct jit_state *st, const struct sw_cursor *cursor)
{
	struct sw_read_log *log = st->snap->priv->read_log;
	struct reading *made, *last = st->newer;
	struct sw_jit_entry entry;
	if (log != NULL)
		log->broken = true;
	if (!st->snap->priv->by_copies)
		return;
	const int64_t now_ns = sw_clock_ns();
	st->event_ns =
		sw_copy_made_ns(cursor->thread, now_ns - (sw_realtime_ns() - st->snap->time_ns));
	if (last != NULL &&
	    (last->begin_ns > st->event_ns || now_ns - last->end_ns < READ_SHARE * last->cost_ns))
		return;
	const int64_t cpu_ns = sw_clock_read(CLOCK_THREAD_CPUTIME_ID);
	if (reading_create(st->snap, NULL, last, &made) < 0)
		return; /* what is known goes on being used as it is */
	for (size_t i = 0; i < sw_n_jit_sources; i++) /* now, not when it is needed */
		(void) reading_find(made, i, cursor->lookup_avma, &entry);
	made->end_ns = sw_clock_ns();
	made->cost_ns = sw_clock_read(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	reading_destroy(st->older);
	st->older = last;
	st->newer = made;
}

static bool is_same(const struct sw_jit_entry *a, const struct sw_jit_entry *b)
{
	return a->start_avma == b->start_avma && a->end_avma == b->end_avma && a->how == b->how &&
	       a->id == b->id && a->cfa_offset == b->cfa_offset && a->base_avma == b->base_avma;
}

/* Finds the entry of a source about an address, and the reading that has it. NULL: nothing, or beside the copy of an event nothing that is proven
 * for its time. *ret_old: it was so before the event, and nobody has looked since. */
static struct reading *source_find(const struct jit_state *st, size_t i, uint64_t avma,
				   struct sw_jit_entry *ret, bool *ret_old)
{
	struct reading *newer = st->newer;
	struct sw_jit_entry was;
	*ret_old = false;
	if (!reading_find(newer, i, avma, ret))
		return NULL;
	if (!st->snap->priv->by_copies || ret->by_code)
		return newer;
	*ret_old = newer->end_ns < st->event_ns;
	bool proven = st->older != NULL && st->older->end_ns < st->event_ns &&
		      newer->begin_ns > st->event_ns && reading_find(st->older, i, avma, &was) &&
		      is_same(&was, ret);
	return proven || *ret_old ? newer : NULL;
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
	ask(st, cursor);
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		struct sw_stepped s = {.end = ret->end};
		bool old;
		if (sw_jit_sources[i]->find == NULL)
			continue; /* it has only names */
		struct reading *by = source_find(st, i, cursor->lookup_avma, &entry, &old);
		if (by == NULL)
			continue;
		enum sw_step step = sw_jit_entry_step(&by->rules, i, &entry, cursor, &s);
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
			ret->weak = old;
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

static bool is_named(const struct jit_state *st, size_t i, uint64_t avma)
{
	struct sw_description name = {0};
	return sw_jit_sources[i]->describe != NULL &&
	       sw_jit_sources[i]->describe(st->newer->sources[i], avma, &name) == 1;
}

/* The cookie of a frame says which source is to name it, and what of it: beside copies of events another one may have
 * published a name for the same address since. */
static uint64_t cookie_of(size_t i, const struct sw_jit_entry *entry)
{
	return sw_mix64(entry->id ^ (uint64_t) (i + 1) << 56);
}

/* The first source that has the code at the time of the event, and a name for it; else the first that has the code. */
static bool copied_owns(const struct jit_state *st, uint64_t avma, uint64_t *ret_cookie)
{
	bool owns = false, old;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (source_find(st, i, avma, &entry, &old) == NULL || old)
			continue;
		bool named = is_named(st, i, avma);
		if (named || !owns)
			*ret_cookie = cookie_of(i, &entry);
		owns = true;
		if (named)
			break;
	}
	return owns;
}

static bool jit_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct jit_state *st = state;
	/* V8 also publishes what is compiled into its file: that has a name there. */
	if (cursor->place != NULL && sw_module_kind(cursor->place->module) == SW_MODULE_ELF)
		return false;
	ask(st, cursor);
	if (st->snap->priv->by_copies)
		return copied_owns(st, cursor->lookup_avma, ret_cookie);
	/* The address says all that names() has to know. */
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (reading_find(st->newer, i, cursor->lookup_avma, &entry))
			return true;
	}
	return false;
}

/* Whether a source has what it had when it told that it owns the frame. */
static bool is_owner(const struct jit_state *st, size_t i, const struct sw_frame *frame)
{
	struct sw_jit_entry entry;
	return !st->snap->priv->by_copies ||
	       (reading_find(st->newer, i, sw_frame_lookup_avma(frame), &entry) &&
		cookie_of(i, &entry) == frame->cookie);
}

static int jit_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct jit_state *st = state;
	for (size_t i = 0; st->newer != NULL && i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->describe != NULL && is_owner(st, i, frame) &&
		    sw_jit_sources[i]->describe(st->newer->sources[i], sw_frame_lookup_avma(frame),
						ret) == 1)
			return 1;
	return 0;
}

static size_t jit_identify(void *state, struct sw_runtime *ret, size_t max)
{
	struct jit_state *st = state;
	size_t n = 0;
	for (size_t i = 0; st->newer != NULL && i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->recognise != NULL)
			n += sw_jit_sources[i]->recognise(st->newer->sources[i], ret + n, max - n);
	return n;
}

static void jit_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text)
{
	struct jit_state *st = state;
	(void) snap; /* attach has it */
	for (size_t i = 0; st->newer != NULL && i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (sw_jit_sources[i]->find != NULL && reading_find(st->newer, i, avma, &entry))
			sw_jit_entry_explain(&st->newer->rules, st->snap, i, sw_jit_source_names[i],
					     &entry, avma, text);
		if (sw_jit_sources[i]->explain != NULL)
			sw_jit_sources[i]->explain(st->newer->sources[i], avma, text);
	}
}

const struct sw_unwinder_ops sw_unwind_jit = {
	.name = "jit",
	.kind = "jit",
	.trust = SW_TRUST_JIT,
	.weak_trust = SW_TRUST_FRAME_POINTER,
	/* ELF: what its own tables do not cover may be published, too (V8's builtins). */
	.kinds = SW_CODE_JIT | SW_CODE_ANON | SW_CODE_ELF,
	.sources = sw_jit_source_names,
	.probe = sw_snapshot_has_made_code,
	.prepare = jit_prepare,
	.files = jit_files,
	.capture = sw_jit_capture_all,
	.attach = jit_attach,
	.detach = jit_detach,
	.repeats = true,
	.step = jit_step,
	.owns = jit_owns,
	.names = jit_names,
	.identify = jit_identify,
	.explain = jit_explain,
};
