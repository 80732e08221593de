/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk loop, thread by thread. It alone appends frames, sets trust, checks progress and limits; unwinders are
 * asked for one step at a time, in the order of the tables.
 */
#include "arch/arch.h"
#include "errors.h"
#include "arena.h"
#include "copies/record.h"
#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"
#include "native/ahead.h"
#include "native/instructions.h"
#include "snapshot/bias.h"
#include "walk/goroutines.h"
#include "walk/active.h"
#include "walk/names.h"
#include "walk/remembered.h"
#include "walk/tasks.h"
#include "walk/walker.h"
#include "snapshot/read.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	WALK_DEADLINE_EVERY = 64,
	LEFT_OUT_MAX = 1 << 24, /* frames: a stack of a GiB has no more */
	WALK_FIRST_FRAMES = 64,
	/* Times that one walk may leave a stack for another: signal stacks, coroutines. Runtimes that
	 * have several stacks for each thread add theirs. */
	WALK_SWITCHES_MAX = 512,
};

/* A walk in the making. Frames grow here and are copied to the arena when the walk has ended. */
struct sw_walker {
	const struct sw_walk_options *options;
	struct sw_walks *walks;
	const struct sw_active_list *active; /* who is asked, in order */
	struct sw_snapshot_memory memory;
	struct sw_cursor cursor;
	struct sw_frame *frames; /* owned, reused for the next thread */
	size_t n_frames, capacity;
	size_t max_frames;
	size_t n_left_out;              /* see sw_walk */
	size_t carriers[SW_TABLES_MAX]; /* indices of runtimes that have language frames */
	size_t n_carriers;
	size_t n_without;
	size_t without; /* 1 + index of the first native frame that has none of them; 0: there is none */
	uint8_t without_owner;
	const char *cut_why; /* static: a runtime could not read its frames; NULL: it could */
	size_t switches, switches_max; /* of stacks so far, and at most */
	size_t ahead_left;             /* see sw_cursor */
	size_t straight_left;          /* likewise */
	struct sw_leap leap;           /* see sw_cursor */
	const struct sw_map *map;      /* the last one found: code is where it was before */
	enum sw_end end;
	const char *why;
	bool scanning;     /* the walk has ended, but is to go on */
	bool guessed;      /* a frame was, and none has been proven since */
	bool unknown_code; /* sw_walk.unknown_code */
	bool failed_nomem;
	bool of_one;             /* memory is what the copy of one thread has */
	struct sw_read_log *log; /* borrowed: what the walk is told is noted there; NULL: nowhere */
	struct sw_thread told;   /* the thread whose registers note it */
};

/* A participant is asked: what it says may depend on what nobody notes. */
static void note_asked(struct sw_walker *w, const struct sw_active *active)
{
	if (w->log != NULL && !active->repeats)
		w->log->broken = true;
}

static bool frame_append(struct sw_walker *w, const struct sw_frame *frame)
{
	struct sw_frame *grown =
		sw_grow(w->frames, w->n_frames, &w->capacity, WALK_FIRST_FRAMES, sizeof(*grown));
	if (grown == NULL) {
		w->failed_nomem = true;
		return false;
	}
	w->frames = grown;
	w->frames[w->n_frames++] = *frame;
	return true;
}

/*
 * A place for one frame more, which the first of the outermost ones gives when there are as many as a walk may have.
 * False: fewer were asked for, or the stack has no end.
 */
static bool make_place(struct sw_walker *w)
{
	if (w->n_frames < w->max_frames)
		return true;
	if (!w->options->outermost || w->max_frames <= 2 * SW_OUTER_FRAMES ||
	    w->n_left_out == LEFT_OUT_MAX)
		return false;
	struct sw_frame *first = w->frames + w->n_frames - SW_OUTER_FRAMES;
	memmove(first, first + 1, (SW_OUTER_FRAMES - 1) * sizeof(*first));
	w->n_frames--;
	w->n_left_out++;
	if (w->without > w->n_frames - SW_OUTER_FRAMES)
		w->without = 0;
	return true;
}

bool sw_walker_is_late(const struct sw_walker *w)
{
	return w->options->deadline_ns != 0 && sw_clock_ns() > w->options->deadline_ns;
}

static void finish(struct sw_walker *w, enum sw_end end, const char *why)
{
	w->end = end;
	w->why = why;
}

static bool is_guess(enum sw_trust trust)
{
	return trust >= SW_TRUST_FRAME_POINTER;
}

/* Frames that tables find after a guessed one are as uncertain as the guess. */
static uint16_t guess_flag(struct sw_walker *w, enum sw_trust trust)
{
	if (is_guess(trust))
		w->guessed = true;
	return w->guessed && !is_guess(trust) ? SW_FRAME_AFTER_GUESS : 0;
}

static const struct sw_map *map_at(struct sw_walker *w, uint64_t avma)
{
	if (w->map == NULL || avma < w->map->start_avma || avma >= w->map->end_avma)
		w->map = sw_snapshot_map(w->cursor.snap, avma);
	return w->map;
}

/* Points the cursor at the frame that regs describe. */
static void cursor_aim(struct sw_walker *w, const struct sw_regs *regs, bool exact_pc)
{
	struct sw_cursor *c = &w->cursor;
	c->regs = *regs;
	c->exact_pc = exact_pc;
	c->lookup_avma = regs->pc_avma - !exact_pc;
	c->place = NULL;
	const struct sw_map *map = map_at(w, c->lookup_avma);
	if (map != NULL && map->place >= 0 && (size_t) map->place < c->snap->n_places) {
		struct sw_place *place = &c->snap->places[map->place];
		if (place->resolved == 0)
			(void) sw_place_resolve(place, c->snap); /* else unwinders decline */
		c->place = place;
	}
}

static uint32_t code_kind(const struct sw_place *place)
{
	return UINT32_C(1) << (place == NULL ? SW_MODULE_ANON : sw_module_kind(place->module));
}

static bool is_scan(const struct sw_active *active)
{
	return active->trust >= SW_TRUST_SCAN_VERIFIED;
}

static bool mode_allows(const struct sw_walker *w, const struct sw_active *active)
{
	enum sw_walk_mode mode = w->options->mode;
	if (w->scanning)
		return is_scan(active);
	if (mode == SW_WALK_TABLES)
		return active->trust < SW_TRUST_INSTRUCTIONS;
	if (mode == SW_WALK_SCAN)
		return is_scan(active);
	return true;
}

/*
 * Callers' frames lie above. Going down is legal only between stacks (back from the alternate signal
 * stack, coroutines), and only so often: two stacks that lead to each other would never end. Equal is
 * legal where code has set the stack pointer for its jump and not jumped yet (longjmp).
 */
static bool progress_made(struct sw_walker *w, const struct sw_stepped *s, const char **ret_why)
{
	const struct sw_thread *thread = w->cursor.thread;
	uint64_t last = w->frames[w->n_frames - 1].sp_avma, next = s->regs.sp_avma;
	*ret_why = "the caller's frame is not above its callee's";
	if (next > last && !s->other_stack)
		return true;
	bool jumping =
		next == last && w->cursor.exact_pc && s->regs.pc_avma != w->cursor.regs.pc_avma;
	if (!s->callee_signal && !s->other_stack && !jumping &&
	    (next == last || (sw_walk_is_on(thread, next) && sw_walk_is_on(thread, last))))
		return false;
	*ret_why = "it changes from stack to stack more often than is followed";
	return ++w->switches <= w->switches_max;
}

/* Finds who knows the frame's code. The cursor is at the frame. */
static void frame_own(struct sw_walker *w, struct sw_frame *frame)
{
	uint32_t kind = code_kind(w->cursor.place);
	frame->kind = sw_place_code_name(frame->place);
	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		uint64_t cookie = 0;
		if (a->owns == NULL || !(a->kinds & kind))
			continue;
		note_asked(w, a);
		if (!a->owns(a->state, &w->cursor, &cookie))
			continue;
		frame->owner = (uint8_t) (i + 1);
		frame->cookie = cookie;
		const char *code = a->runtime != NULL && a->runtime->code != NULL
					   ? a->runtime->code(a->state, cookie)
					   : NULL;
		if (code != NULL)
			frame->kind = code;
		else if (a->kind != NULL)
			frame->kind = a->kind;
		return;
	}
}

/* ---- language frames -------------------------------------------------------------------------- */

/* The language frames of one native frame, on their way into the walk. */
struct language {
	struct sw_frame_sink sink;
	struct sw_walker *w;
	const struct sw_active *active;
	uint8_t owner;
	struct sw_frame native; /* that carries them */
	bool full;              /* there were more than the walk may have */
};

static bool language_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct language *l = (struct language *) sink;
	struct sw_walker *w = l->w;
	if (w->n_frames >= w->max_frames) {
		l->full = true;
		return false;
	}
	struct sw_frame frame = {
		.pc_avma = address_avma,
		.sp_avma = l->native.sp_avma,
		.by = l->active->name,
		.kind = l->active->kind,
		.owner = l->owner,
		.cookie = cookie,
		.trust = (uint8_t) l->active->trust,
		.flags = SW_FRAME_LANGUAGE | SW_FRAME_EXACT_PC,
	};
	return frame_append(w, &frame);
}

/*
 * The walk's last frame is native, and its caller is known if it has one: the frames that it interprets
 * go before it. False: there were more than the walk may have.
 */
static bool language_frames(struct sw_walker *w, uint64_t caller_sp_avma)
{
	uint32_t kind = code_kind(w->cursor.place);
	for (size_t i = 0; i < w->n_carriers; i++) {
		const struct sw_active *a = &w->active->all[w->carriers[i]];
		if (!(a->kinds & kind))
			continue;
		note_asked(w, a);
		size_t at = w->n_frames - 1;
		struct language l = {.sink.add = language_add,
				     .w = w,
				     .active = a,
				     .owner = (uint8_t) (w->carriers[i] + 1),
				     .native = w->frames[at]};
		size_t live_before = w->memory.live_reads;
		bool internal = a->runtime->frames(a->state, &w->cursor, caller_sp_avma, &l.sink);
		size_t n = w->n_frames - at - 1;
		memmove(&w->frames[at], &w->frames[at + 1], n * sizeof(*w->frames));
		w->frames[at + n] = l.native;
		if (l.sink.may_miss)
			w->frames[at + n].flags |= SW_FRAME_MAY_MISS;
		if (l.sink.cut_why != NULL)
			w->cut_why = l.sink.cut_why;
		if (l.sink.without && n == 0) {
			w->n_without++;
			if (w->without == 0) {
				w->without = at + 1;
				w->without_owner = l.owner;
			}
		}
		for (size_t k = at; w->memory.live_reads != live_before && k < at + n; k++)
			w->frames[k].flags |= SW_FRAME_LIVE_READ;
		if (internal)
			w->frames[at + n].flags |= SW_FRAME_INTERNAL;
		if (l.full && n == 0)
			return false;
		if (n == 0)
			continue;
		/* The runtime's own list of frames says that this one runs them. */
		w->guessed = false;
		w->frames[at + n].flags &= (uint16_t) ~SW_FRAME_AFTER_GUESS;
		return !l.full;
	}
	return true;
}

/* Where executable memory begins there is no call before: a tool has put that address there, and goes on to the
 * function's caller by means of its own. */
static bool is_trampoline(struct sw_walker *w, uint64_t return_avma)
{
	const struct sw_map *map = map_at(w, return_avma);
	return map != NULL && map->start_avma == return_avma && (map->prot & SW_MAP_EXEC) &&
	       map->path[0] != '/'; /* the start of a file's code stands on many stacks */
}

static bool is_written_code(struct sw_walker *w, uint64_t avma)
{
	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		if (a->runtime == NULL || a->runtime->writes_code == NULL)
			continue;
		note_asked(w, a);
		if (a->runtime->writes_code(a->state, avma))
			return true;
	}
	return false;
}

/* Takes over what an unwinder found: checks it and appends the frame. False ends the walk. */
static bool step_accept(struct sw_walker *w, const struct sw_active *active,
			const struct sw_stepped *s, size_t live_before)
{
	uint32_t flags = s->flags;
	bool exact_pc = flags & SW_FRAME_EXACT_PC;
	if (s->callee_signal)
		w->frames[w->n_frames - 1].flags |= SW_FRAME_SIGNAL;
	const char *why;
	if (!progress_made(w, s, &why)) {
		finish(w, SW_END_NO_PROGRESS, why);
		return false;
	}
	if (!exact_pc && s->regs.pc_avma == 0) {
		finish(w, SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
		return false;
	}
	/* Nothing is tried instead: tables that are wrong have made sp a guess, too. After a
	 * signal any pc is possible, also the wild one that caused it. */
	const struct sw_map *map = map_at(w, s->regs.pc_avma - !exact_pc);
	if (!s->callee_signal && !exact_pc && (map == NULL || !(map->prot & SW_MAP_EXEC)) &&
	    is_trampoline(w, s->regs.pc_avma)) {
		exact_pc = true;
		flags |= SW_FRAME_EXACT_PC;
	} else if (!s->callee_signal && (map == NULL || !(map->prot & SW_MAP_EXEC)) &&
		   !is_written_code(w, s->regs.pc_avma - !exact_pc)) {
		finish(w, SW_END_BAD_UNWIND_INFO, "the return address is not in executable memory");
		w->unknown_code = true;
		return false;
	}
	/* Here, not before the step: a stack that ends at the limit is whole. */
	if (!make_place(w)) {
		finish(w, SW_END_FRAME_LIMIT, "more frames than --depth allows");
		return false;
	}
	uint64_t callee_avma = w->cursor.regs.pc_avma;
	if (!language_frames(w, s->other_stack ? 0 : s->regs.sp_avma) || !make_place(w)) {
		finish(w, SW_END_FRAME_LIMIT, "more frames than --depth allows");
		return false;
	}
	cursor_aim(w, &s->regs, exact_pc);
	w->cursor.callee_avma = callee_avma;
	struct sw_frame frame = {
		.pc_avma = s->regs.pc_avma,
		.sp_avma = s->regs.sp_avma,
		.place = w->cursor.place,
		.by = sw_active_by(active, s->source),
		.trust = (uint8_t) (s->weak ? active->weak_trust : active->trust),
		.flags = (uint16_t) (flags &
				     (SW_FRAME_EXACT_PC | SW_FRAME_MAY_MISS | SW_FRAME_LIVE_READ)),
	};
	frame.flags |= guess_flag(w, frame.trust);
	if (w->memory.live_reads != live_before)
		frame.flags |= SW_FRAME_LIVE_READ;
	frame_own(w, &frame);
	if (!frame_append(w, &frame))
		return false;
	w->cursor.depth = w->n_frames;
	return true;
}

/* Step one frame further. Returns false if the walk has ended, for the reason in end and why. */
static bool step(struct sw_walker *w)
{
	struct sw_cursor *c = &w->cursor;
	uint32_t kind = code_kind(c->place);
	enum sw_end first_end = SW_END_NO_UNWIND_INFO;
	const char *first_why = NULL;

	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		if (a->step == NULL || !(a->kinds & kind) || !mode_allows(w, a))
			continue;
		note_asked(w, a);
		struct sw_stepped s = {.end = SW_END_BAD_UNWIND_INFO};
		size_t live_before = w->memory.live_reads;
		switch (a->step(a->state, c, &s)) {
		case SW_STEP_OK: return step_accept(w, a, &s, live_before);
		case SW_STEP_END: finish(w, SW_END_COMPLETE, NULL); return false;
		case SW_STEP_DECLINE: break;
		case SW_STEP_FAIL:
			if (s.final || s.end == SW_END_MEMORY || s.end == SW_END_STACK_LIMIT ||
			    s.end == SW_END_INTERNAL) {
				finish(w, s.end, s.why);
				return false;
			}
			if (first_why == NULL) {
				first_end = s.end;
				first_why = s.why;
			}
			break;
		}
	}
	if (first_why == NULL && w->options->mode == SW_WALK_SCAN) {
		first_end = SW_END_SCAN_LIMIT;
		first_why = "the rest of the stack holds nothing that looks like a return address";
	} else if (first_why == NULL)
		first_why = c->place == NULL ? "code that belongs to no module"
					     : "the module has no unwind information for this code";
	finish(w, first_end, first_why);
	return false;
}

/* The walk has ended. True: the user wants more frames, and the scan has found one. */
static bool scan_on(struct sw_walker *w)
{
	enum sw_end end = w->end;
	const char *why = w->why;
	if (w->n_frames >= w->options->scan_below || end == SW_END_FRAME_LIMIT || w->failed_nomem)
		return false;
	w->scanning = true;
	bool found = step(w);
	w->scanning = false;
	if (found)
		w->frames[w->n_frames - 1].flags |= SW_FRAME_MAY_MISS;
	else
		finish(w, end, why);
	return found;
}

/* The thread's first frame is proven, but not what lies between. Names are looked up where its code is. */
static void first_frame(struct sw_walker *w)
{
	struct sw_frame *frame = &w->frames[w->n_frames - 1];
	frame->flags &= (uint16_t) ~SW_FRAME_AFTER_GUESS;
	if (!w->cursor.exact_pc && sw_arch_is_first_insn(w->cursor.memory, frame->pc_avma))
		frame->flags |= SW_FRAME_EXACT_PC;
}

static void walk_frames(struct sw_walker *w)
{
	const struct sw_walk_options *o = w->options;
	for (size_t n = 1;; n++) {
		if (o->deadline_ns != 0 && n % WALK_DEADLINE_EVERY == 0 &&
		    sw_clock_ns() > o->deadline_ns) {
			finish(w, SW_END_TIMEOUT, "the time limit was reached while walking");
			return;
		}
		if (!step(w) && !scan_on(w))
			break;
	}
	if (w->end == SW_END_COMPLETE)
		first_frame(w);
	/* At the limit the last frame's caller is not known. */
	if (w->end != SW_END_FRAME_LIMIT && !language_frames(w, 0))
		finish(w, SW_END_FRAME_LIMIT, "more frames than --depth allows");
}

/* The data of a walk is kept for as long as the walks live. */
static void *keep(struct sw_walker *w, const void *what, size_t bytes)
{
	void *kept = sw_arena_alloc(&w->walks->priv->arena, bytes);
	if (kept != NULL)
		memcpy(kept, what, bytes);
	w->failed_nomem |= kept == NULL;
	return kept;
}

static const struct sw_thread_info *thread_info(struct sw_walker *w, const struct sw_thread *thread)
{
	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		struct sw_thread_info info = {0};
		if (a->runtime != NULL && a->runtime->thread != NULL &&
		    a->runtime->thread(a->state, thread, &info))
			return keep(w, &info, sizeof(info));
	}
	return NULL;
}

/* The wait of a thread that is in a call, sleeps, was stopped while it did, or whose state is not
 * known. */
static const struct sw_runtime_wait *thread_wait(struct sw_walker *w, const struct sw_walk *walk)
{
	const struct sw_thread *thread = walk->thread;
	bool sleeps = thread->state == 'S' || thread->state == 'D' || thread->state == 'T' ||
		      thread->state == '?' || (thread->state == 'R' && thread->syscall >= 0);
	/* Locks were not copied. */
	sleeps = sleeps && thread->copy == NULL;
	for (size_t i = 0; sleeps && i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		struct sw_runtime_wait wait = {0};
		if (a->runtime != NULL &&
		    ((a->runtime->wait_within != NULL &&
		      a->runtime->wait_within(a->state, walk, &wait)) ||
		     (a->runtime->wait != NULL && a->runtime->wait(a->state, thread, &wait))))
			return keep(w, &wait, sizeof(wait));
	}
	return NULL;
}

static const struct sw_worker_pool *thread_pool(struct sw_walker *w, const struct sw_thread *thread)
{
	/* Pools are not copied at an event. */
	for (size_t i = 0; thread->copy == NULL && i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		struct sw_worker_pool pool = {0};
		if (a->runtime != NULL && a->runtime->pool != NULL &&
		    a->runtime->pool(a->state, thread, &pool))
			return keep(w, &pool, sizeof(pool));
	}
	return NULL;
}

static const struct sw_served *thread_request(struct sw_walker *w, const struct sw_thread *thread)
{
	for (size_t i = 0; w->options->args && i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		struct sw_served request = {0};
		if (a->runtime != NULL && a->runtime->request != NULL &&
		    a->runtime->request(a->state, thread, &request))
			return keep(w, &request, sizeof(request));
	}
	return NULL;
}

static const struct sw_trace *thread_trace(struct sw_walker *w, const struct sw_thread *thread)
{
	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		struct sw_trace trace = {0};
		if (a->runtime != NULL && a->runtime->trace != NULL &&
		    a->runtime->trace(a->state, thread, &w->walks->priv->arena, &trace))
			return keep(w, &trace, sizeof(trace));
	}
	return NULL;
}

static bool serves_requests(const struct sw_walker *w)
{
	for (size_t i = 0; i < w->active->n; i++)
		if (w->active->all[i].runtime != NULL && w->active->all[i].runtime->request != NULL)
			return true;
	return false;
}

/* Frames of a virtual machine's work for the functions of its language are marked, where these are
 * on the stack. Frames at a crash, or that a signal has interrupted, are not. */
static void internal_frames(struct sw_walker *w)
{
	const struct sw_crash *crash = &w->walks->snap->crash;
	bool crashed = (crash->signal != 0 || crash->exception != 0) &&
		       crash->tid == w->cursor.thread->tid;
	for (size_t i = 0; i < w->active->n; i++) {
		const struct sw_active *a = &w->active->all[i];
		if (a->runtime == NULL || a->runtime->internal == NULL)
			continue;
		size_t k = 0;
		while (k < w->n_frames && (w->frames[k].owner != i + 1 ||
					   a->runtime->internal(a->state, &w->frames[k])))
			k++;
		if (k == w->n_frames)
			continue;
		for (k = 0; k < w->n_frames; k++) {
			struct sw_frame *f = &w->frames[k];
			bool interrupted = (f->flags & SW_FRAME_EXACT_PC) && (k > 0 || crashed);
			if (!interrupted && a->runtime->internal(a->state, f))
				f->flags |= SW_FRAME_INTERNAL;
		}
	}
}

/* Leaves out the innermost frames that say nothing, unless all are such. */
static size_t trim(struct sw_walker *w)
{
	size_t n = 0;
	while (n < w->n_frames && w->frames[n].place == NULL && w->frames[n].owner == 0 &&
	       !(w->frames[n].flags & (SW_FRAME_LANGUAGE | SW_FRAME_SIGNAL)))
		n++;
	if (n == 0 || n == w->n_frames)
		return 0;
	w->n_frames -= n;
	memmove(w->frames, w->frames + n, w->n_frames * sizeof(*w->frames));
	return n;
}

static bool has_language(const struct sw_walker *w, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if ((w->frames[i].flags & SW_FRAME_LANGUAGE) &&
		    w->frames[i].owner == w->without_owner)
			return true;
	return false;
}

/*
 * In the copy of a thread at an event frames may be missing that were not copied. Without these the innermost native
 * frame alone can be: when it has not begun yet, or has ended.
 */
static bool copy_may_miss(const struct sw_walker *w)
{
	const struct sw_copy *copy = w->cursor.thread->copy;
	return copy != NULL && (w->n_without > 1 || has_language(w, 0, w->without) ||
				(copy->head.flags & (SW_SAMPLED_FAULT | SW_SAMPLED_CUT)));
}

/* A stack in which a runtime has native frames for those of its language, and none of these, says so. */
static void mark_without(struct sw_walker *w)
{
	if (w->without == 0 || w->end != SW_END_COMPLETE)
		return;
	if (copy_may_miss(w) || !has_language(w, 0, w->n_frames))
		w->frames[w->without - 1].flags |= SW_FRAME_MAY_MISS;
}

/* Frames that may not be the outermost ones are not shown as such. */
static void end_left_out(struct sw_walker *w)
{
	if (w->n_left_out == 0)
		return;
	if (w->end == SW_END_COMPLETE) {
		finish(w, SW_END_FRAME_LIMIT, "frames in its middle are left out");
		return;
	}
	w->n_frames -= SW_OUTER_FRAMES;
	w->n_left_out = 0;
	finish(w, SW_END_FRAME_LIMIT, "more frames than --depth allows");
}

static void walk_stack(struct sw_walker *w, const struct sw_thread *thread, struct sw_frame first,
		       struct sw_walk *walk)
{
	/* A copy by a recipe is of one instant, and all else is not. Code that the program makes itself is what return addresses
	 * are told by: it is read as it is now, where no runtime says which one it was. */
	w->memory = (struct sw_snapshot_memory){.snap = w->walks->snap,
						.thread = thread,
						.no_live = thread->copy != NULL,
						.live_code = !w->walks->snap->priv->unpublished};
	w->cursor = (struct sw_cursor){.snap = w->walks->snap,
				       .thread = thread,
				       .memory = sw_snapshot_memory(&w->memory),
				       .active = w->active,
				       .ahead_left = &w->ahead_left,
				       .straight_left = &w->straight_left,
				       .options = w->options,
				       .leap = &w->leap};
	w->ahead_left = SW_AHEAD_STEPS_MAX;
	w->straight_left = SW_STRAIGHT_INSNS_MAX;
	w->leap = (struct sw_leap){0};
	w->n_frames = 0;
	w->n_left_out = 0;
	w->switches = 0;
	w->without = w->n_without = 0;
	w->guessed = w->unknown_code = false;
	w->why = w->cut_why = NULL;
	w->end = SW_END_INTERNAL;
	cursor_aim(w, &thread->regs, first.flags & SW_FRAME_EXACT_PC);
	first.pc_avma = thread->regs.pc_avma;
	first.sp_avma = thread->regs.sp_avma;
	first.place = w->cursor.place;
	frame_own(w, &first);
	if (!frame_append(w, &first))
		return;
	w->cursor.depth = w->n_frames;
	if (sw_walker_is_late(w))
		finish(w, SW_END_TIMEOUT, "the time limit was reached before this thread");
	else
		walk_frames(w);
	if (thread->pages_missing && (w->end == SW_END_MEMORY || w->end == SW_END_STACK_LIMIT))
		finish(w, SW_END_MEMORY, "its pages did not come");

	mark_without(w);
	if (w->walks->snap->priv->lacks_runtime && w->end == SW_END_COMPLETE)
		finish(w, SW_END_NATIVE_ONLY, "frames of its runtime were not copied");
	if (w->cut_why != NULL && w->end == SW_END_COMPLETE)
		finish(w, SW_END_RUNTIME_DATA, w->cut_why);
	internal_frames(w);
	end_left_out(w);
	if (w->options->trim_unknown)
		walk->n_trimmed = trim(w);
	if (w->n_frames <= SW_OUTER_FRAMES)
		w->n_left_out = 0; /* before the first frame that is told */
	walk->n_left_out = w->n_left_out;
	walk->end = w->end;
	walk->why = w->why;
	walk->unknown_code = w->unknown_code;
	walk->n_frames = w->n_frames;
	walk->frames = keep(w, w->frames, w->n_frames * sizeof(*w->frames));
	w->walks->live_reads += w->memory.live_reads;
}

static bool is_same(const struct sw_walk *a, const struct sw_walk *b)
{
	if (a->n_frames != b->n_frames || a->end != b->end || a->why != b->why ||
	    a->n_left_out != b->n_left_out || a->n_trimmed != b->n_trimmed)
		return false;
	for (size_t i = 0; i < a->n_frames; i++) {
		const struct sw_frame *x = &a->frames[i], *y = &b->frames[i];
		if (x->pc_avma != y->pc_avma || x->sp_avma != y->sp_avma || x->place != y->place ||
		    x->cookie != y->cookie || x->by != y->by || x->kind != y->kind ||
		    x->owner != y->owner || x->trust != y->trust || x->flags != y->flags)
			return false;
	}
	return true;
}

/* Walks a thread, and keeps the walk for later copies that tell the same. */
static void walk_noted(struct sw_walker *w, struct sw_remembered *remembered,
		       const struct sw_thread *thread, struct sw_frame first, struct sw_walk *walk)
{
	struct sw_snapshot_priv *priv = w->walks->snap->priv;
	w->log = remembered != NULL ? sw_remembered_log(remembered) : NULL;
	if (w->log == NULL) {
		walk_stack(w, thread, first, walk);
		return;
	}
	w->told = *thread;
	w->told.regs.initial = w->told.regs.known;
	w->told.regs.asked = &w->log->asked;
	priv->read_log = w->log;
	walk_stack(w, &w->told, first, walk);
	priv->read_log = NULL;
	w->log = NULL;
	if (!w->failed_nomem)
		sw_remembered_add(remembered, thread, walk);
}

/* Copies that tell a walk the same as an earlier one have the same walk. */
static void walk_or_remember(struct sw_walker *w, const struct sw_thread *thread,
			     struct sw_frame first, struct sw_walk *walk)
{
	struct sw_remembered *remembered = NULL;
	struct sw_snapshot_memory memory = {.snap = w->walks->snap,
					    .thread = thread,
					    .no_live = true};
	struct sw_walk known;
	if (thread->copy != NULL && sw_active_kept(w->walks->snap, w->walks->priv->tables) != NULL)
		remembered = sw_remembered_of(w->walks->snap, w->options);
	if (remembered == NULL || !sw_remembered_find(remembered, &memory, &known)) {
		walk_noted(w, remembered, thread, first, walk);
		return;
	}
	w->walks->n_remembered++;
	if (w->options->memory == SW_WALK_REMEMBER_BOTH) {
		walk_stack(w, thread, first, walk);
		w->walks->n_differ += !is_same(walk, &known);
		return;
	}
	*walk = known;
	walk->frames = keep(w, known.frames, known.n_frames * sizeof(*known.frames));
}

static void walk_thread(struct sw_walker *w, const struct sw_thread *thread, struct sw_walk *walk)
{
	const struct sw_snapshot *snap = w->walks->snap;
	bool of_many = thread->copy != NULL && snap->n_threads > 1;
	if (of_many)
		sw_snapshot_index_copy(snap, thread);
	const struct sw_frame first = {.by = "context",
				       .trust = SW_TRUST_CONTEXT,
				       .flags = SW_FRAME_EXACT_PC};
	walk_or_remember(w, thread, first, walk);
	walk->thread = thread;
	walk->info = thread_info(w, thread);
	walk->wait = thread_wait(w, walk);
	walk->pool = thread_pool(w, thread);
	walk->request = thread_request(w, thread);
	walk->trace = thread_trace(w, thread);
	w->of_one |= of_many;
}

bool sw_walker_stack(struct sw_walker *w, const struct sw_thread *stack, struct sw_frame first,
		     struct sw_walk *walk)
{
	walk_stack(w, stack, first, walk);
	return !w->failed_nomem;
}

bool sw_walker_task(struct sw_walker *w, size_t i, size_t n, struct sw_runtime_task *ret,
		    struct sw_walk *walk)
{
	const struct sw_active *active = &w->active->all[i];
	struct language l = {.sink.add = language_add,
			     .w = w,
			     .active = active,
			     .owner = (uint8_t) (i + 1)};
	w->n_frames = 0;
	if (!active->runtime->task(active->state, n, ret, &l.sink))
		return false;
	for (size_t k = 0; ret->live_read && k < w->n_frames; k++)
		w->frames[k].flags |= SW_FRAME_LIVE_READ;
	if (ret->may_miss && w->n_frames > 0)
		w->frames[0].flags |= SW_FRAME_MAY_MISS;
	*walk = (struct sw_walk){.end = SW_END_COMPLETE,
				 .why = ret->end_why,
				 .n_frames = w->n_frames};
	if (l.full) {
		walk->end = SW_END_FRAME_LIMIT;
		walk->why = "more frames than --depth allows";
	}
	if (ret->cut_why != NULL && !l.full) {
		walk->end = SW_END_MEMORY;
		walk->why = ret->cut_why;
	}
	if (w->n_frames > 0)
		walk->frames = keep(w, w->frames, w->n_frames * sizeof(*w->frames));
	return true;
}

int sw_walk_threads(struct sw_walks *walks, const struct sw_walk_options *options,
		    struct sw_error *err)
{
	struct sw_walker w = {.options = options, .walks = walks, .active = &walks->priv->active};
	w.switches_max = WALK_SWITCHES_MAX;
	for (size_t i = 0; i < w.active->n; i++) {
		const struct sw_runtime_ops *runtime = w.active->all[i].runtime;
		if (runtime == NULL)
			continue;
		w.switches_max += runtime->switches_max;
		if (runtime->frames != NULL)
			w.carriers[w.n_carriers++] = i;
	}
	walks->no_requests = options->args && !serves_requests(&w);
	w.max_frames = options->max_frames == 0 ? SW_DEFAULT_FRAMES : options->max_frames;
	if (w.max_frames > SW_MAX_FRAMES)
		w.max_frames = SW_MAX_FRAMES;
	for (size_t i = 0; i < walks->snap->n_threads && !w.failed_nomem; i++)
		if (walks->snap->threads[i].captured)
			walk_thread(&w, &walks->snap->threads[i], &walks->walks[walks->n_walks++]);
	if (w.of_one)
		sw_snapshot_index_copy(walks->snap, NULL);
	if (options->goroutines && !w.failed_nomem)
		w.failed_nomem = sw_walk_goroutines(walks, &w) < 0;
	if (options->tasks && !w.failed_nomem)
		w.failed_nomem = sw_walk_tasks(walks, &w) < 0;
	else if (options->awaits && !w.failed_nomem)
		w.failed_nomem = sw_walk_awaited(walks, &w) < 0;
	if (!w.failed_nomem)
		w.failed_nomem = sw_walk_task_waits(walks) < 0;
	free(w.frames);
	return w.failed_nomem ? sw_fail_nomem(err) : 0;
}
