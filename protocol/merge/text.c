/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A merge for people: the verdict, then a tree for each role. */
#include "cleanup.h"
#include "errors.h"
#include "merge/tree.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	FINDINGS_SHOWN = 5,
	ROLES_SHOWN = 10,
	PLACES_SHOWN = 8, /* of those that one makes */
	REFUSALS_SHOWN = 8,
	CALLS_FIRST = 6, /* of a long chain */
	CALLS_LAST = 4,
	INDENT = 2,
	INDENT_MAX = 60, /* deeper ones stand below each other */
};

struct writer {
	struct sw_text text;
	const struct sw_merge *m;
	const struct sw_merge_labels *labels;
	const struct sw_merge_findings *findings;
	const struct sw_text_options *options;
	bool failed;
};

static void style(struct writer *w, const char *sequence)
{
	if (w->options->color)
		sw_text_append(&w->text, sequence, strlen(sequence));
}

static void put_verdict(struct writer *w)
{
	size_t shown = 0;
	for (size_t i = 0; i < w->findings->n; i++) {
		const struct sw_merge_finding *f = &w->findings->all[i];
		if (shown >= FINDINGS_SHOWN && !w->options->all)
			continue;
		style(w, f->n_differ > 0 && shown == 0 ? "\033[1m" : "");
		sw_merge_put_finding(&w->text, w->labels, f);
		style(w, f->n_differ > 0 && shown == 0 ? "\033[0m" : "");
		sw_text_printf(&w->text, "\n");
		shown++;
	}
	if (shown < w->findings->n)
		sw_text_printf(&w->text, "and %zu more; --all shows them\n",
			       w->findings->n - shown);
	if (w->m->left_threads > 0)
		sw_text_printf(&w->text,
			       "%" PRIu64
			       " thread%s found no space here: these are too many places\n",
			       w->m->left_threads, sw_plural(w->m->left_threads));
}

static void put_refusals(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_refusals; i++) {
		const struct sw_merge_refusal *r = &w->m->refusals[i];
		if (i >= REFUSALS_SHOWN && !w->options->all) {
			sw_text_printf(&w->text, "not merged: %zu more\n", w->m->n_refusals - i);
			return;
		}
		sw_text_printf(&w->text, "not merged: ");
		sw_utf8_append_plain(&w->text, r->name, strlen(r->name));
		sw_text_printf(&w->text, ": ");
		sw_utf8_append_plain(&w->text, r->message, strlen(r->message));
		sw_text_printf(&w->text, "\n");
	}
}

static void put_older(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_older; i++) {
		if (i >= REFUSALS_SHOWN && !w->options->all) {
			sw_text_printf(&w->text, "not counted: %zu more\n", w->m->n_older - i);
			return;
		}
		sw_text_printf(&w->text, "not counted: ");
		sw_merge_put_older(&w->text, w->m, i);
		sw_text_printf(&w->text, "\n");
	}
}

static void put_indent(struct writer *w, size_t depth)
{
	size_t columns = (depth + 1) * INDENT;
	sw_text_printf(&w->text, "%*s", (int) (columns < INDENT_MAX ? columns : INDENT_MAX), "");
}

static void put_call(struct writer *w, uint32_t place, size_t depth)
{
	put_indent(w, depth);
	sw_merge_put_place(&w->text, w->m, place);
	sw_text_printf(&w->text, "\n");
}

/* Calls from a place on until threads part. Returns the last one. */
static uint32_t put_chain(struct writer *w, uint32_t place, size_t depth)
{
	size_t n = 1, at = 0;
	uint32_t p;
	for (p = place; sw_merge_only_call(w->m, p) != SW_MERGE_NONE;
	     p = sw_merge_only_call(w->m, p))
		n++;
	bool cut = !w->options->all && n > CALLS_FIRST + CALLS_LAST + 1;
	for (p = place;; p = sw_merge_only_call(w->m, p), at++) {
		if (!cut || at < CALLS_FIRST || at + CALLS_LAST >= n)
			put_call(w, p, depth);
		else if (at == CALLS_FIRST) {
			put_indent(w, depth);
			sw_text_printf(&w->text, "… %zu more calls\n",
				       n - CALLS_FIRST - CALLS_LAST);
		}
		if (sw_merge_only_call(w->m, p) == SW_MERGE_NONE)
			return p;
	}
}

static void put_parts(struct writer *w, uint32_t place, size_t depth);

static void put_part(struct writer *w, uint32_t place, size_t depth)
{
	put_indent(w, depth);
	style(w, "\033[1m");
	sw_merge_put_who(&w->text, w->labels, place);
	style(w, "\033[0m");
	sw_text_printf(&w->text, ":\n");
	put_parts(w, put_chain(w, place, depth + 1), depth + 1);
}

/* Where threads part. It recurses as deep as stacks are: SW_MERGE_CALLS_MAX. */
static void put_parts(struct writer *w, uint32_t place, size_t depth)
{
	sw_cleanup(sw_free_p) uint32_t *children = NULL;
	size_t n = 0, shown;
	uint64_t left = 0;
	if (w->failed || w->text.failed || sw_merge_children(w->m, place, &children, &n) < 0) {
		w->failed = true;
		return;
	}
	shown = w->options->all || n <= PLACES_SHOWN ? n : PLACES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		put_part(w, children[i], depth);
	for (size_t i = shown; i < n; i++)
		left += w->m->places[children[i]].n_threads;
	if (shown == n)
		return;
	put_indent(w, depth);
	sw_text_printf(&w->text, "… %zu more places of %" PRIu64 " thread%s; --all shows them\n",
		       n - shown, left, sw_plural(left));
}

static void put_role(struct writer *w, uint32_t role)
{
	uint32_t root = w->m->roles[role].root;
	const struct sw_merge_place *p = &w->m->places[root];
	sw_text_printf(&w->text, "\n");
	style(w, "\033[1m");
	sw_merge_put_role(&w->text, w->m, role);
	style(w, "\033[0m");
	sw_text_printf(&w->text, ": %u ", p->n_processes);
	sw_utf8_append_plain(&w->text, p->n_processes == 1 ? w->labels->noun : w->labels->plural,
			     strlen(p->n_processes == 1 ? w->labels->noun : w->labels->plural));
	if (p->n_threads != p->n_processes)
		sw_text_printf(&w->text, ", %" PRIu64 " threads", p->n_threads);
	sw_text_printf(&w->text, "\n");
	uint32_t only = sw_merge_only_call(w->m, root);
	if (only != SW_MERGE_NONE)
		put_parts(w, put_chain(w, only, 0), 0);
	else
		put_parts(w, root, 0);
}

static void put_roles(struct writer *w)
{
	sw_cleanup(sw_free_p) uint32_t *roles = NULL;
	size_t n = 0;
	if (sw_merge_roles(w->m, w->findings, &roles, &n) < 0) {
		w->failed = true;
		return;
	}
	size_t shown = w->options->all || n <= ROLES_SHOWN ? n : ROLES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		put_role(w, roles[i]);
	if (shown < n)
		sw_text_printf(&w->text, "\n%zu more kinds of threads; --all shows them\n",
			       n - shown);
}

int sw_merge_text(const struct sw_merge *merge, const struct sw_text_options *options,
		  char **ret_text, size_t *ret_size, struct sw_error *err)
{
	struct sw_merge_labels labels;
	struct sw_merge_findings findings = {0};
	struct writer w = {.m = merge,
			   .labels = &labels,
			   .findings = &findings,
			   .options = options};
	w.failed = sw_merge_labels_init(&labels, merge) < 0 ||
		   sw_merge_findings_make(&findings, &labels) < 0;
	if (!w.failed) {
		sw_merge_put_head(&w.text, &labels);
		sw_text_printf(&w.text, "\n\n");
		put_verdict(&w);
		put_refusals(&w);
		put_older(&w);
		put_roles(&w);
	}
	sw_merge_findings_deinit(&findings);
	sw_merge_labels_deinit(&labels);
	if (w.failed || w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_text = w.text.data;
	*ret_size = w.text.size;
	return 0;
}
