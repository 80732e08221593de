/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which method a frame is in. Compiled code: by its pc. Interpreted: by the Method and the address of
 * the bytecode that the frame keeps, which are taken while the frame is walked.
 *
 *	[rbp-24] Method    [rbp-64] address of the bytecode; of a top frame r13, when it is in there
 */
#include "runtimes/hotspot/names.h"
#include "arch/arch.h"
#include "runtimes/hotspot/onward.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/structures/codelets.h"
#include "runtimes/hotspot/structures/copies.h"
#include "runtimes/hotspot/structures/method.h"
#include "runtimes/hotspot/structures/scopes.h"
#include "runtimes/hotspot/top.h"
#include "runtimes/hotspot/registers_x86_64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INTERPRETED_MAX = 1 << 20 };

static bool is_compiled(const struct sw_hotspot_blob *blob)
{
	return blob->kind == SW_HOTSPOT_COMPILED || blob->kind == SW_HOTSPOT_NATIVE;
}

/* ---- interpreted frames ------------------------------------------------------------------- */

static bool bcp_fits(const struct sw_hotspot_method *m, uint64_t bcp)
{
	return bcp >= m->code_avma && bcp - m->code_avma < m->code_bytes;
}

/* At the end of a return, and when an exception goes on in the caller, rbp is the caller's: what was left is not
 * known any more. */
static bool is_without_frame(struct sw_hotspot *h, const struct sw_hotspot_blob *blob,
			     const struct sw_cursor *c)
{
	struct sw_hotspot_caller caller;
	struct sw_hotspot_frame f = {
		.h = h, .cursor = c, .blob = blob, .pc = c->regs.pc_avma, .sp = c->regs.sp_avma};
	f.fp_known = sw_regs_get(&c->regs, SW_ARCH_FP, &f.fp);
	return c->exact_pc ? sw_hotspot_top_interpreter(&f, &caller)
			   : sw_hotspot_throwing(&f, &caller);
}

/* From a frame's registers; a native method has no bytecode. */
static bool interpreted_read(struct sw_hotspot *h, const struct sw_hotspot_blob *blob,
			     const struct sw_cursor *c, struct sw_hotspot_interpreted *ret)
{
	uint64_t fp, r13, rbx;
	const struct sw_hotspot_method *m;
	*ret = (struct sw_hotspot_interpreted){0};
	if (c->exact_pc && sw_hotspot_at_entry(h, blob, c->regs.pc_avma)) {
		if (!sw_regs_get(&c->regs, SW_HOTSPOT_REG_METHOD, &rbx) ||
		    (m = sw_hotspot_method_get(h, rbx)) == NULL)
			return false;
		*ret = (struct sw_hotspot_interpreted){.method_avma = rbx,
						       .bcp_avma = m->code_avma,
						       .method = m};
		return true;
	}
	if (is_without_frame(h, blob, c))
		return false;
	if (!sw_regs_get(&c->regs, SW_ARCH_FP, &fp) ||
	    !sw_memory_u64(c->memory, fp - 24, &ret->method_avma) ||
	    !sw_memory_u64(c->memory, fp - (h->version == 8 ? 56 : 64), &ret->bcp_avma))
		return false;
	m = sw_hotspot_method_get(h, ret->method_avma);
	if (m == NULL)
		return false;
	ret->method = m;
	if (m->code_bytes == 0) {
		ret->bcp_avma = 0;
		return true;
	}
	/* 8 puts the index there during a collection, as if methods could move: frame::is_bci(). */
	if (h->version == 8 && ret->bcp_avma < m->code_bytes)
		ret->bcp_avma += m->code_avma;
	if (c->exact_pc && sw_regs_get(&c->regs, SW_HOTSPOT_REG_BYTECODE, &r13) && bcp_fits(m, r13))
		ret->bcp_avma = r13;
	/* The copied frame and the method that is read now belong together: else another method has
	 * come there. */
	return bcp_fits(m, ret->bcp_avma);
}

static bool is_equal(const struct sw_hotspot_interpreted *a, const struct sw_hotspot_interpreted *b)
{
	return a->method_avma == b->method_avma && a->bcp_avma == b->bcp_avma &&
	       a->method == b->method && a->blob == b->blob;
}

/* *ret_known: it has that number already; else nothing was told of it yet. 0: there are too many. */
static uint64_t cookie_of(struct sw_hotspot *h, const struct sw_hotspot_interpreted *frame,
			  bool *ret_known)
{
	uint64_t of = (uintptr_t) frame->method ^ (uintptr_t) frame->blob, kept;
	uint64_t key = sw_mix64(frame->method_avma ^ sw_mix64(frame->bcp_avma ^ sw_mix64(of)));
	*ret_known = sw_map64_get(&h->interpreted, key, &kept) && kept <= h->n_frames &&
		     is_equal(&h->frames[kept - 1], frame);
	if (*ret_known)
		return kept;
	struct sw_hotspot_interpreted *grown =
		h->n_frames >= INTERPRETED_MAX
			? NULL
			: sw_grow(h->frames, h->n_frames, &h->frames_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	h->frames = grown;
	h->frames[h->n_frames++] = *frame;
	(void) sw_map64_put(&h->interpreted, key, h->n_frames); /* lost: it gets another number */
	return h->n_frames;
}

/* ---- compiled code ------------------------------------------------------------------------ */

/* Methods that compiled code executes at one place. All levels are read at once: code that goes while they are asked for one
 * after the other would else take the outer ones along, and the rest would look whole. */
struct sw_hotspot_told {
	size_t n;
	struct {
		const struct sw_hotspot_method
			*method; /* the arena's; NULL: it could not be read */
		uint32_t line;
	} levels[];
};

/* NULL: nothing that could be told. */
static const struct sw_hotspot_told *told_read(struct sw_hotspot *h,
					       const struct sw_hotspot_blob *blob, uint64_t pc)
{
	struct sw_hotspot_scope scopes[SW_HOTSPOT_SCOPES_MAX];
	struct sw_hotspot_told *told = NULL;
	bool exact;
	size_t n = blob->gone ? 0 : sw_hotspot_scopes_at(h, blob, pc, scopes, &exact);
	if (n > 0)
		told = sw_arena_alloc(&h->arena, sizeof(*told) + n * sizeof(told->levels[0]));
	if (told != NULL) {
		told->n = n;
		for (size_t i = 0; i < n; i++) {
			const struct sw_hotspot_method *m =
				sw_hotspot_method_get(h, scopes[i].method_avma);
			told->levels[i].method = m;
			told->levels[i].line =
				m != NULL ? sw_hotspot_method_line(h, m, scopes[i].bci) : 0;
		}
	}
	/* All that was read now, as the process runs again: it must be of the code that was there then. */
	if (told == NULL || !sw_hotspot_blob_unchanged(h, blob))
		return NULL;
	/* Code on a stack keeps the methods that were compiled into it alive. */
	for (size_t i = 0; h->by_copies && i < n; i++)
		sw_hotspot_method_meet(h, scopes[i].method_avma);
	return told;
}

static const struct sw_hotspot_told *told_at(struct sw_hotspot *h,
					     const struct sw_hotspot_blob *blob, uint64_t pc)
{
	uint64_t kept;
	if (sw_map64_get(&h->told, pc, &kept))
		return (const struct sw_hotspot_told *) (uintptr_t) kept;
	const struct sw_hotspot_told *told = told_read(h, blob, pc);
	(void) sw_map64_put(&h->told, pc, (uintptr_t) told); /* lost: it is read again */
	return told;
}

static int32_t bci_of(const struct sw_hotspot_method *m, const struct sw_hotspot_interpreted *frame)
{
	return m->code_bytes > 0 ? (int32_t) (frame->bcp_avma - m->code_avma) : SW_HOTSPOT_BCI_NONE;
}

/* ---- which frame it is -------------------------------------------------------------------- */

static uint64_t interpreted_cookie(struct sw_hotspot *h, struct sw_hotspot_interpreted *frame)
{
	bool known;
	const struct sw_hotspot_method *m = frame->method;
	uint64_t cookie = cookie_of(h, frame, &known);
	if (!h->by_copies || cookie == 0)
		return cookie;
	sw_hotspot_method_meet(h, frame->method_avma);
	if (!known)
		h->frames[cookie - 1].line = sw_hotspot_method_line(h, m, bci_of(m, frame));
	return cookie;
}

uint64_t sw_hotspot_interpreted_cookie(struct sw_hotspot *h, uint64_t method_avma,
				       uint64_t bcp_avma)
{
	struct sw_hotspot_interpreted frame = {.method_avma = method_avma, .bcp_avma = bcp_avma};
	frame.method = sw_hotspot_method_get(h, method_avma);
	if (frame.method == NULL)
		return 0;
	if (frame.method->code_bytes == 0)
		frame.bcp_avma = 0;
	else if (!bcp_fits(frame.method, bcp_avma))
		return 0;
	return interpreted_cookie(h, &frame);
}

/* By copies: the code may be another one when it is named. */
static uint64_t compiled_cookie(struct sw_hotspot *h, const struct sw_hotspot_blob *blob,
				uint64_t pc)
{
	bool known;
	struct sw_hotspot_interpreted frame = {.bcp_avma = pc, .blob = blob};
	uint64_t cookie = cookie_of(h, &frame, &known);
	if (cookie != 0 && h->frames[cookie - 1].told == NULL)
		h->frames[cookie - 1].told = told_read(h, blob, pc);
	return cookie;
}

/* By copies what may be another method has no name. */
static uint64_t copied_cookie(struct sw_hotspot *h, const struct sw_hotspot_blob *blob,
			      const struct sw_cursor *cursor)
{
	struct sw_hotspot_interpreted frame;
	h->copies.doubtful = false;
	if (blob == NULL || blob->proof.doubtful)
		return 0;
	if (is_compiled(blob))
		return compiled_cookie(h, blob, cursor->regs.pc_avma);
	if (blob->kind != SW_HOTSPOT_INTERPRETER)
		return 0;
	if (interpreted_read(h, blob, cursor, &frame) && !frame.method->proof.doubtful)
		return interpreted_cookie(h, &frame);
	h->copies.doubtful = !is_without_frame(h, blob, cursor);
	return 0;
}

bool sw_hotspot_owns(struct sw_hotspot *h, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct sw_hotspot_interpreted frame;
	if (!h->usable || !sw_hotspot_cache_has(&h->cache, cursor->regs.pc_avma))
		return false;
	sw_hotspot_copies_begin(h, cursor->thread);
	const struct sw_hotspot_blob *blob = sw_hotspot_blob_at(h, cursor->regs.pc_avma);
	if (h->by_copies)
		*ret_cookie = copied_cookie(h, blob, cursor);
	else if (blob != NULL && blob->kind == SW_HOTSPOT_INTERPRETER &&
		 interpreted_read(h, blob, cursor, &frame))
		*ret_cookie = interpreted_cookie(h, &frame);
	return true;
}

bool sw_hotspot_is_internal(struct sw_hotspot *h, const struct sw_frame *frame)
{
	if (frame->place != NULL && frame->place == h->place)
		return true;
	if (!h->usable || !sw_hotspot_cache_has(&h->cache, frame->pc_avma))
		return false;
	const struct sw_hotspot_blob *blob = sw_hotspot_blob_at(h, frame->pc_avma);
	if (blob == NULL)
		return false;
	switch (blob->kind) {
	case SW_HOTSPOT_STUB:
	case SW_HOTSPOT_FRAMELESS:
	case SW_HOTSPOT_ADAPTER: return true;
	case SW_HOTSPOT_ROUTINES: /* the others copy arrays, encrypt ... */
		return frame->pc_avma == h->call_stub_return_avma ||
		       frame->pc_avma == h->continuation_return_avma;
	case SW_HOTSPOT_COMPILED:
	case SW_HOTSPOT_NATIVE:
	case SW_HOTSPOT_INTERPRETER: break;
	}
	return false;
}

/* ---- names -------------------------------------------------------------------------------- */

static int method_describe(const struct sw_hotspot_method *m, uint32_t line,
			   struct sw_description *ret)
{
	if (m == NULL) {
		(void) snprintf(ret->function, sizeof(ret->function), "[Java method]");
		return 1;
	}
	(void) snprintf(ret->function, sizeof(ret->function), "%s", m->name); /* cut to fit */
	(void) snprintf(ret->signature, sizeof(ret->signature), "%s", m->signature);
	(void) snprintf(ret->file, sizeof(ret->file), "%s", m->file);
	ret->line = line;
	return 1;
}

static int interpreted_describe(struct sw_hotspot *h, const struct sw_frame *frame,
				struct sw_description *ret)
{
	if (frame->cookie == 0 || frame->cookie > h->n_frames) {
		(void) snprintf(ret->function, sizeof(ret->function), "[interpreter]");
		return 1;
	}
	const struct sw_hotspot_interpreted *i = &h->frames[frame->cookie - 1];
	const struct sw_hotspot_method *m =
		h->by_copies ? i->method : sw_hotspot_method_get(h, i->method_avma);
	ret->tier = m != NULL && m->code_bytes > 0 ? "interpreted" : m != NULL ? "native" : NULL;
	if (h->by_copies)
		return method_describe(m, i->line, ret);
	return method_describe(m, m != NULL ? sw_hotspot_method_line(h, m, bci_of(m, i)) : 0, ret);
}

static void stub_describe(struct sw_hotspot *h, const struct sw_hotspot_blob *blob, uint64_t pc,
			  struct sw_description *ret)
{
	const char *name = blob->name;
	if (pc == h->call_stub_return_avma)
		name = "call_stub";
	(void) snprintf(ret->function, sizeof(ret->function), "[%s]", name);
}

/* Describes a frame whose code is no method. */
static int other_describe(struct sw_hotspot *h, const struct sw_hotspot_blob *blob,
			  const struct sw_frame *frame, size_t level, struct sw_description *ret)
{
	if (level > 0 && level != SW_HOTSPOT_OUTERMOST)
		return 0;
	if (blob != NULL && blob->kind == SW_HOTSPOT_INTERPRETER)
		return interpreted_describe(h, frame, ret);
	if (blob == NULL)
		(void) snprintf(ret->function, sizeof(ret->function), "[code cache]");
	else
		stub_describe(h, blob, frame->pc_avma, ret);
	return 1;
}

/* The code that a frame is in: that of the copy, whatever is there now. */
static const struct sw_hotspot_blob *blob_of(struct sw_hotspot *h, const struct sw_frame *frame)
{
	if (h->by_copies && frame->cookie != 0 && frame->cookie <= h->n_frames &&
	    h->frames[frame->cookie - 1].blob != NULL)
		return h->frames[frame->cookie - 1].blob;
	return sw_hotspot_blob_at(h, frame->pc_avma);
}

static const struct sw_hotspot_told *
told_of(struct sw_hotspot *h, const struct sw_hotspot_blob *blob, const struct sw_frame *frame)
{
	if (!h->by_copies)
		return told_at(h, blob, frame->pc_avma);
	return frame->cookie != 0 && frame->cookie <= h->n_frames
		       ? h->frames[frame->cookie - 1].told
		       : NULL;
}

int sw_hotspot_describe(struct sw_hotspot *h, const struct sw_frame *frame, size_t level,
			struct sw_description *ret)
{
	const struct sw_hotspot_blob *blob = blob_of(h, frame);
	if (blob == NULL || !is_compiled(blob))
		return other_describe(h, blob, frame, level, ret);
	const struct sw_hotspot_told *told = told_of(h, blob, frame);
	size_t n = told != NULL ? told->n : 1;
	if (level == SW_HOTSPOT_OUTERMOST)
		level = n - 1;
	if (level >= n)
		return 0;
	if (told == NULL) {
		*ret = (struct sw_description){.function = "[Java method]"};
		return 1;
	}
	if (level + 1 == n)
		ret->start_avma = blob->code_avma;
	ret->tier = blob->kind == SW_HOTSPOT_NATIVE ? "native" : blob->level == 4 ? "c2" : "c1";
	return method_describe(told->levels[level].method, told->levels[level].line, ret);
}

/* ---- explain ------------------------------------------------------------------------------ */

static const char *tier_name(const struct sw_hotspot_blob *b)
{
	if (b->kind == SW_HOTSPOT_NATIVE)
		return "wrapper of a native method";
	return b->level == 4 ? "compiled by C2" : "compiled by C1";
}

static void place_print(struct sw_hotspot *h, const struct sw_hotspot_method *m, int32_t bci,
			const char *how, bool exact, struct sw_text *text)
{
	uint32_t line = sw_hotspot_method_line(h, m, bci);
	sw_text_printf(text, "%s%s%s", m->name, m->signature, how);
	if (bci == SW_HOTSPOT_BCI_ENTRY)
		sw_text_printf(text, ", where it is entered");
	else if (bci != SW_HOTSPOT_BCI_NONE)
		sw_text_printf(text, ", bci %" PRId32 "%s", bci, exact ? "" : ", about");
	if (line != 0)
		sw_text_printf(text, ", %s:%" PRIu32, m->file, line);
	sw_text_printf(text, "\n");
}

/* The interpreter's code says nothing of methods: which one, the frames of threads that are there say. */
static void interpreted_explain(struct sw_hotspot *h, uint64_t avma, struct sw_text *text)
{
	const struct sw_hotspot_codelet *codelet = sw_hotspot_codelet_at(h, avma);
	if (codelet != NULL)
		sw_text_printf(text, "codelet %s\n", codelet->name);
}

void sw_hotspot_explain_frame(struct sw_hotspot *h, const struct sw_frame *frame,
			      struct sw_text *text)
{
	if (frame->cookie == 0 || frame->cookie > h->n_frames)
		return;
	const struct sw_hotspot_interpreted *i = &h->frames[frame->cookie - 1];
	const struct sw_hotspot_method *m = sw_hotspot_method_get(h, i->method_avma);
	if (m == NULL)
		return;
	sw_text_printf(text, "interpreted: ");
	place_print(h, m, bci_of(m, i), "", true, text);
}

void sw_hotspot_explain(struct sw_hotspot *h, uint64_t avma, struct sw_text *text)
{
	struct sw_hotspot_scope scopes[SW_HOTSPOT_SCOPES_MAX];
	bool exact;
	if (!h->usable || !sw_hotspot_cache_has(&h->cache, avma)) {
		sw_text_printf(text, "%s\n", h->usable ? "not in the code cache" : h->missing);
		return;
	}
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(h, avma);
	if (b == NULL) {
		sw_text_printf(text, "in the code cache, where nothing is in use\n");
		return;
	}
	sw_text_printf(text, "%s: code 0x%" PRIx64 "-0x%" PRIx64 ", frame of %" PRIu64 " bytes\n",
		       b->name, b->code_avma, b->code_end_avma, b->frame_bytes);
	if (b->kind == SW_HOTSPOT_INTERPRETER)
		interpreted_explain(h, avma, text);
	if (b->kind != SW_HOTSPOT_COMPILED && b->kind != SW_HOTSPOT_NATIVE)
		return;
	sw_text_printf(text, "%s, level %d, compile id %d%s\n", tier_name(b), b->level,
		       b->compile_id, b->osr ? ", on-stack replacement" : "");
	size_t n = sw_hotspot_scopes_at(h, b, avma, scopes, &exact);
	for (size_t i = 0; i < n; i++) {
		const struct sw_hotspot_method *m = sw_hotspot_method_get(h, scopes[i].method_avma);
		if (m != NULL)
			place_print(h, m, scopes[i].bci, i + 1 < n ? ", inlined" : "", exact, text);
	}
}
