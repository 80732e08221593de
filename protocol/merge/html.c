/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A merge as one page without scripts: each place that several others follow can be opened and closed. */
#include "cleanup.h"
#include "errors.h"
#include "merge/tree.h"

#include <stdio.h>
#include <string.h>

enum { OPEN_DEPTH = 6 /* deeper places are closed at first */ };

struct writer {
	struct sw_text text;
	struct sw_text plain; /* what is being escaped */
	const struct sw_merge *m;
	const struct sw_merge_labels *labels;
	const struct sw_merge_findings *findings;
	bool failed;
};

static const char page_begin[] =
	"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<title>snapwalk merge</title>\n<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5em; overflow-wrap: "
	"anywhere; }\n"
	"h1 { font-size: 1.1em; } h2 { font-size: 1em; margin: 1.6em 0 .3em; }\n"
	".verdict { font-size: 1.15em; font-weight: 600; }\n"
	".bad { color: #b3261e; }\n"
	"@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; } }\n"
	"details, .calls { margin-left: 1.2em; }\n"
	".calls { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; }\n"
	"summary { cursor: pointer; font-weight: 600; }\n"
	"</style>\n";

/* Text of w->plain, which is emptied. */
static void put_escaped(struct writer *w)
{
	w->failed |= w->plain.failed;
	for (size_t i = 0; i < w->plain.size; i++) {
		char c = w->plain.data[i];
		const char *entity = c == '<'   ? "&lt;"
				     : c == '>' ? "&gt;"
				     : c == '&' ? "&amp;"
				     : c == '"' ? "&quot;"
						: NULL;
		sw_text_append(&w->text, entity != NULL ? entity : &c,
			       entity != NULL ? strlen(entity) : 1);
	}
	w->plain.size = 0;
}

static uint32_t put_chain(struct writer *w, uint32_t place)
{
	sw_text_printf(&w->text, "<div class=\"calls\">");
	for (;;) {
		sw_merge_put_place(&w->plain, w->m, place);
		put_escaped(w);
		sw_text_printf(&w->text, "\n");
		uint32_t next = sw_merge_only_call(w->m, place);
		if (next == SW_MERGE_NONE)
			break;
		place = next;
	}
	sw_text_printf(&w->text, "</div>\n");
	return place;
}

static void put_parts(struct writer *w, uint32_t place, size_t depth)
{
	sw_cleanup(sw_free_p) uint32_t *children = NULL;
	size_t n = 0;
	if (w->failed || w->text.failed || sw_merge_children(w->m, place, &children, &n) < 0) {
		w->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		sw_text_printf(&w->text, "<details%s><summary>", depth < OPEN_DEPTH ? " open" : "");
		sw_merge_put_who(&w->plain, w->labels, children[i]);
		put_escaped(w);
		sw_text_printf(&w->text, "</summary>\n");
		put_parts(w, put_chain(w, children[i]), depth + 1);
		sw_text_printf(&w->text, "</details>\n");
	}
}

static void put_role(struct writer *w, uint32_t role)
{
	uint32_t root = w->m->roles[role].root, only = sw_merge_only_call(w->m, root);
	const struct sw_merge_place *p = &w->m->places[root];
	sw_text_printf(&w->text, "<h2>");
	sw_merge_put_role(&w->plain, w->m, role);
	sw_text_printf(&w->plain, ": %u ", p->n_processes);
	sw_text_append(&w->plain, p->n_processes == 1 ? w->labels->noun : w->labels->plural,
		       strlen(p->n_processes == 1 ? w->labels->noun : w->labels->plural));
	put_escaped(w);
	sw_text_printf(&w->text, "</h2>\n");
	put_parts(w, only != SW_MERGE_NONE ? put_chain(w, only) : root, 0);
}

static void put_page(struct writer *w)
{
	sw_cleanup(sw_free_p) uint32_t *roles = NULL;
	size_t n = 0;
	sw_text_append(&w->text, page_begin, sizeof(page_begin) - 1);
	sw_text_printf(&w->text, "<h1>");
	sw_merge_put_head(&w->plain, w->labels);
	put_escaped(w);
	sw_text_printf(&w->text, "</h1>\n");
	for (size_t i = 0; i < w->findings->n; i++) {
		sw_text_printf(&w->text, i == 0 ? "<p class=\"verdict\">" : "<p>");
		sw_merge_put_finding(&w->plain, w->labels, &w->findings->all[i]);
		put_escaped(w);
		sw_text_printf(&w->text, "</p>\n");
	}
	for (size_t i = 0; i < w->m->n_refusals; i++) {
		sw_text_printf(&w->text, "<p class=\"bad\">not merged: ");
		sw_text_printf(&w->plain, "%s: %s", w->m->refusals[i].name,
			       w->m->refusals[i].message);
		put_escaped(w);
		sw_text_printf(&w->text, "</p>\n");
	}
	for (size_t i = 0; i < w->m->n_older; i++) {
		sw_text_printf(&w->text, "<p>not counted: ");
		sw_merge_put_older(&w->plain, w->m, i);
		put_escaped(w);
		sw_text_printf(&w->text, "</p>\n");
	}
	if (sw_merge_roles(w->m, w->findings, &roles, &n) < 0)
		w->failed = true;
	for (size_t i = 0; i < n; i++)
		put_role(w, roles[i]);
	sw_text_printf(&w->text, "</html>\n");
}

int sw_merge_html(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
		  struct sw_error *err)
{
	struct sw_merge_labels labels;
	struct sw_merge_findings findings = {0};
	struct writer w = {.m = merge, .labels = &labels, .findings = &findings};
	w.failed = sw_merge_labels_init(&labels, merge) < 0 ||
		   sw_merge_findings_make(&findings, &labels) < 0;
	if (!w.failed)
		put_page(&w);
	sw_merge_findings_deinit(&findings);
	sw_merge_labels_deinit(&labels);
	sw_text_deinit(&w.plain);
	if (w.failed || w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_text = w.text.data;
	*ret_size = w.text.size;
	return 0;
}
