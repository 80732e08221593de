/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "naming/modules.h"
#include "naming/addresses.h"
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"
#include "report/distinct.h"
#include "report/frame_kind.h"
#include "report/hints.h"
#include "report/undecided.h"
#include "report/waits.h"
#include "report/warnings.h"

#include <stdlib.h>
#include <string.h>

struct naming {
	const struct sw_naming *how;
	struct sw_report_builder b;
	struct sw_module **modules; /* owned; of each module of the report; NULL: its frames stay */
	bool *settled;              /* owned; of each thread: names that are added change nothing */
	struct sw_naming_addresses addresses;
	struct sw_symbols *symbols; /* owned */
};

static void naming_deinit(struct naming *n)
{
	free(n->modules);
	free(n->settled);
	sw_naming_addresses_deinit(&n->addresses);
	sw_map64_deinit(&n->b.copies);
	if (n->symbols != NULL)
		sw_symbols_destroy(n->symbols);
}

/* ---- which files, which addresses ------------------------------------------------------------- */

static void modules_find(struct naming *n)
{
	struct sw_report *r = n->b.report;
	n->modules = calloc(r->n_modules + 1, sizeof(struct sw_module *));
	n->b.failed |= n->modules == NULL;
	for (size_t i = 0; i < r->n_modules && !n->b.failed; i++) {
		const struct sw_report_module *m = &r->modules[i];
		n->b.failed = sw_naming_module(n->how, m->format, m->path, m->build_id,
					       &n->modules[i]) < 0;
	}
}

/* Whether files are asked for the name of a frame: runtimes have named the others. */
static struct sw_module *module_of(const struct naming *n, const struct sw_report_frame *f)
{
	return sw_frame_is_of_file(f) ? n->modules[f->module] : NULL;
}

static struct sw_address address_of(struct sw_module *module, const struct sw_report_frame *frames,
				    size_t i)
{
	return (struct sw_address){module, frames[i].offset - !sw_frame_is_exact(frames, i)};
}

static void addresses_collect(struct naming *n)
{
	const struct sw_report *r = n->b.report;
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		for (size_t k = 0; k < s->n_frames && !n->b.failed; k++) {
			struct sw_module *module = module_of(n, &s->frames[k]);
			if (module == NULL || s->frames[k].inlined)
				continue;
			const struct sw_address a = address_of(module, s->frames, k);
			n->b.failed |= !sw_naming_addresses_add(&n->addresses, &a);
		}
	}
}

/* ---- what they say ---------------------------------------------------------------------------- */

/* A module of which no file is here, or whose files know less than the dump says, stays as it is. */
static void modules_name(struct naming *n)
{
	struct sw_report *r = n->b.report;
	for (size_t i = 0; i < r->n_modules; i++) {
		const struct sw_place place = {.module = n->modules[i]};
		struct sw_report_module *m = &r->modules[i];
		if (place.module == NULL)
			continue;
		enum sw_symbol_source source = sw_symbols_source(n->symbols, &place);
		bool is_absent = source == SW_SOURCE_NONE && sw_module_fd(place.module) < 0;
		if (is_absent || source < sw_naming_source(m->symbols)) {
			n->modules[i] = NULL;
			continue;
		}
		m->symbols = sw_symbol_source_name(source);
		m->symbols_why = sw_report_copy(&n->b, sw_symbols_why(n->symbols, &place));
		m->debug_package =
			sw_report_copy(&n->b, sw_symbols_debug_package(n->symbols, &place));
	}
}

/* The symbols of a frame that is no inlined call. False: it stays as it is. */
static bool symbols_of(const struct naming *n, const struct sw_report_frame *frames, size_t i,
		       const struct sw_symbol **ret, size_t *ret_n)
{
	struct sw_module *module = module_of(n, &frames[i]);
	uint64_t number;
	if (module == NULL)
		return false;
	const struct sw_address a = address_of(module, frames, i);
	if (!sw_naming_addresses_find(&n->addresses, &a, &number))
		return false;
	*ret_n = sw_symbols_at(n->symbols, number, ret);
	return true;
}

/* A frame without what is said of its function. */
static struct sw_report_frame frame_bare(const struct sw_report_frame *f)
{
	struct sw_report_frame bare = *f;
	bare.function = bare.file = NULL;
	bare.function_offset = 0;
	bare.line = 0;
	bare.line_offset = -1;
	bare.inlined = false;
	return bare;
}

/* Frames that are made of one, behind what is there. to NULL: they are counted. */
static size_t frame_put(struct naming *n, const struct sw_report_frame *frames, size_t i,
			const struct sw_symbol *symbols, size_t n_symbols,
			struct sw_report_frame *to)
{
	size_t n_made = n_symbols == 0 ? 1 : n_symbols;
	for (size_t k = 0; to != NULL && k < n_made; k++) {
		to[k] = frame_bare(&frames[i]);
		if (n_symbols > 0)
			sw_report_frame_name(&n->b, &symbols[k], !sw_frame_is_exact(frames, i),
					     &to[k]);
	}
	return n_made;
}

/*
 * The frames of a stack with their names: inlined calls go before the frame that they are in. to NULL: they are counted.
 * *ret_left_out: where those are that the stack leaves out.
 */
static size_t frames_put(struct naming *n, const struct sw_report_stack *s,
			 struct sw_report_frame *to, size_t *ret_left_out)
{
	size_t n_made = 0;
	for (size_t i = 0, end; i < s->n_frames; i = end + 1) {
		const struct sw_symbol *symbols;
		size_t n_symbols;
		for (end = i; end + 1 < s->n_frames && s->frames[end].inlined;)
			end++;
		if (s->left_out_before == i)
			*ret_left_out = n_made;
		if (symbols_of(n, s->frames, end, &symbols, &n_symbols)) {
			n_made += frame_put(n, s->frames, end, symbols, n_symbols,
					    to != NULL ? to + n_made : NULL);
			continue;
		}
		if (to != NULL)
			memcpy(to + n_made, s->frames + i, (end + 1 - i) * sizeof(*to));
		n_made += end + 1 - i;
	}
	return n_made;
}

static void stacks_name(struct naming *n)
{
	struct sw_report *r = n->b.report;
	for (size_t i = 0; i < r->n_stacks && !n->b.failed; i++) {
		struct sw_report_stack *s = &r->stacks[i];
		size_t left_out = s->left_out_before, n_frames = frames_put(n, s, NULL, &left_out);
		struct sw_report_frame *frames = sw_report_calloc(&n->b, n_frames, sizeof(*frames));
		if (frames == NULL)
			return;
		(void) frames_put(n, s, frames, &left_out); /* as many */
		s->frames = frames;
		s->n_frames = n_frames;
		s->left_out_before = s->n_left_out > 0 ? left_out : 0;
	}
}

/* ---- what depends on names -------------------------------------------------------------------- */

static void settled_find(struct naming *n)
{
	const struct sw_report *r = n->b.report;
	n->settled = calloc(r->n_threads + 1, sizeof(*n->settled));
	n->b.failed |= n->settled == NULL;
	for (size_t i = 0; i < r->n_threads && !n->b.failed; i++)
		n->settled[i] = r->threads[i].undecided == NULL && r->threads[i].stack >= 0 &&
				sw_stack_is_settled(r, &r->stacks[r->threads[i].stack]);
}

/* NULL: no thread has one, as no name can close a cycle. */
static struct sw_wait_proof *proofs_collect(struct naming *n)
{
	const struct sw_report *r = n->b.report;
	struct sw_wait_proof *proofs = sw_report_calloc(&n->b, r->n_threads, sizeof(*proofs));
	bool any = false;
	for (size_t i = 0; i < r->n_threads && proofs != NULL; i++) {
		const struct sw_report_undecided *u = r->threads[i].undecided;
		if (u == NULL || !u->has_proof)
			continue;
		any = true;
		proofs[i] = (struct sw_wait_proof){.proven = u->proven,
						   .stayed = u->stayed,
						   .instant = u->instant};
	}
	return any ? proofs : NULL;
}

static void wait_renew(struct naming *n, size_t i, const struct sw_wait_proof *proofs)
{
	struct sw_report_thread *t = &n->b.report->threads[i];
	const struct sw_wait_proof none = {0}, *proof = proofs != NULL ? &proofs[i] : &none;
	struct sw_report_futex futex;
	bool had_proof = t->undecided != NULL && t->undecided->has_proof;
	bool is_futex = sw_undecided_futex(t, &futex);
	if (n->settled[i] || t->blocked_on == NULL)
		return;
	if (is_futex)
		sw_report_decide_futex(&n->b, t, &futex);
	t->undecided = NULL;
	if (!n->b.failed && (is_futex || had_proof))
		sw_undecided_note(&n->b, t, is_futex ? &futex : NULL, proof);
	/* The cast: the structure is the report's own, still in the making. */
	struct sw_report_undecided *u = (struct sw_report_undecided *) t->undecided;
	if (u != NULL)
		u->has_proof = had_proof;
}

static void waits_renew(struct naming *n)
{
	struct sw_report *r = n->b.report;
	const struct sw_wait_proof *proofs = proofs_collect(n);
	for (size_t i = 0; i < r->n_threads && !n->b.failed; i++)
		wait_renew(n, i, proofs);
	if (!n->b.failed)
		sw_report_build_wait_graph(&n->b, proofs);
	if (!n->b.failed)
		sw_undecided_finish(r);
}

static void names_add(struct naming *n)
{
	struct sw_report *r = n->b.report;
	r->timings.symbolize_us = n->symbols->symbolize_ns / 1000;
	settled_find(n);
	if (!n->b.failed)
		modules_name(n);
	if (!n->b.failed)
		stacks_name(n);
	if (!n->b.failed)
		waits_renew(n);
	if (!n->b.failed)
		sw_report_renew_hints(&n->b);
	if (!n->b.failed)
		sw_report_renew_warnings(&n->b, n->symbols->n_unfinished, n->symbols->n_addresses);
}

int sw_report_symbolize(struct sw_report *report, const struct sw_naming *how, struct sw_error *err)
{
	sw_cleanup(naming_deinit) struct naming n = {.how = how,
						     .b = {.report = report,
							   .arena = &report->priv->arena}};
	modules_find(&n);
	if (!n.b.failed)
		addresses_collect(&n);
	if (!n.b.failed)
		n.b.failed = sw_symbolize_addresses(how->symbolizer, n.addresses.all, n.addresses.n,
						    &how->symbolize, &n.symbols, err) < 0;
	if (!n.b.failed)
		names_add(&n);
	return n.b.failed ? sw_fail_nomem(err) : 0;
}
