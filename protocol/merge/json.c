/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A merge as JSON: the findings, then all that is known, by tables whose elements refer to each other by index. */
#include "cleanup.h"
#include "errors.h"
#include "merge/tree.h"
#include "profile/put.h"

#include <inttypes.h>
#include <string.h>

struct writer {
	struct sw_text text;
	const struct sw_merge *m;
	const struct sw_merge_labels *labels;
	const struct sw_merge_findings *findings;
};

static const char *comma(size_t i)
{
	return i > 0 ? "," : "";
}

static void put_string(struct writer *w, const char *name, const char *value)
{
	sw_text_printf(&w->text, "\"%s\":", name);
	if (value != NULL)
		sw_put_json(&w->text, value);
	else
		sw_text_printf(&w->text, "null");
}

static void put_ms(struct writer *w, const char *name, int64_t ms)
{
	if (ms >= 0)
		sw_text_printf(&w->text, ",\"%s\":%" PRId64, name, ms);
	else
		sw_text_printf(&w->text, ",\"%s\":null", name);
}

static void put_set(struct writer *w, const uint64_t *set)
{
	size_t n = 0;
	sw_text_printf(&w->text, "[");
	for (size_t i = 0; i < w->m->n_processes; i++)
		if (sw_merge_set_has(set, i))
			sw_text_printf(&w->text, "%s%zu", comma(n++), i);
	sw_text_printf(&w->text, "]");
}

static void put_place_number(struct writer *w, const char *name, uint32_t place)
{
	if (place != SW_MERGE_NONE)
		sw_text_printf(&w->text, "\"%s\":%" PRIu32, name, place);
	else
		sw_text_printf(&w->text, "\"%s\":null", name);
}

static void put_finding(struct writer *w, const struct sw_merge_finding *f)
{
	static const char *const kinds[] = {
		[SW_MERGE_ELSEWHERE] = "elsewhere",
		[SW_MERGE_NO_THREAD] = "no_thread",
		[SW_MERGE_ALL] = "all",
		[SW_MERGE_SPREAD] = "spread",
	};
	struct sw_text sentence = {0};
	sw_merge_put_finding(&sentence, w->labels, f);
	w->text.failed |= sentence.failed;
	sw_text_printf(&w->text, "{\"kind\":\"%s\",", kinds[f->kind]);
	put_string(w, "text", sentence.failed ? "" : sentence.data);
	sw_text_deinit(&sentence);
	sw_text_printf(&w->text, ",\"role\":%" PRIu32 ",", f->role);
	put_place_number(w, "place", f->place);
	sw_text_printf(&w->text, ",\"n_processes\":%zu,\"n_there\":%zu,\"differ\":[", f->n_all,
		       f->n_there);
	for (size_t i = 0; i < f->n_odd; i++) {
		sw_text_printf(&w->text, "%s{", comma(i));
		put_place_number(w, "place", f->odd[i].place);
		sw_text_printf(&w->text, ",\"processes\":");
		put_set(w, f->odd[i].set);
		put_ms(w, "since_ms", f->odd[i].least_ms);
		put_ms(w, "since_most_ms", f->odd[i].most_ms);
		sw_text_printf(&w->text, "}");
	}
	sw_text_printf(&w->text, "]}");
}

static void put_processes(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_processes; i++) {
		const struct sw_merge_process *p = &w->m->processes[i];
		sw_text_printf(&w->text, "%s{", comma(i));
		put_string(w, "label", w->labels->labels[i]);
		sw_text_printf(&w->text, ",");
		put_string(w, "dump", p->name);
		sw_text_printf(&w->text, ",");
		put_string(w, "host", p->host[0] != '\0' ? p->host : NULL);
		sw_text_printf(&w->text, ",\"pid\":%d,", (int) p->pid);
		put_string(w, "comm", p->comm);
		sw_text_printf(&w->text, ",");
		put_string(w, "program", sw_merge_string(w->m, p->program));
		sw_text_printf(&w->text, ",");
		put_string(w, "unit", p->unit);
		sw_text_printf(&w->text, ",");
		put_string(w, "container", p->container);
		sw_text_printf(&w->text, ",\"time\":\"");
		sw_put_time(&w->text, p->time_ns);
		sw_text_printf(&w->text, "\",\"n_threads\":%zu,\"complete\":%s}", p->n_threads,
			       p->complete ? "true" : "false");
	}
}

static void put_roles(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_roles; i++) {
		const struct sw_merge_role *r = &w->m->roles[i];
		sw_text_printf(&w->text, "%s{", comma(i));
		put_string(w, "program", sw_merge_string(w->m, r->program));
		sw_text_printf(&w->text, ",");
		put_string(w, "thread", r->name != 0 ? sw_merge_string(w->m, r->name) : NULL);
		sw_text_printf(&w->text, ",\"place\":%" PRIu32 "}", r->root);
	}
}

static void put_frames(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_frames; i++) {
		const struct sw_merge_frame *f = &w->m->frames[i];
		sw_text_printf(&w->text, "%s{", comma(i));
		put_string(w, "function", sw_merge_string(w->m, f->function));
		sw_text_printf(&w->text, ",");
		put_string(w, "file", f->file != 0 ? sw_merge_string(w->m, f->file) : NULL);
		sw_text_printf(&w->text, ",\"line\":");
		sw_text_printf(&w->text, f->line > 0 ? "%" PRIu32 : "null", f->line);
		sw_text_printf(&w->text, ",");
		put_string(w, "module", f->module != 0 ? sw_merge_string(w->m, f->module) : NULL);
		sw_text_printf(&w->text, "}");
	}
}

static void put_here(struct writer *w, uint32_t first)
{
	size_t n = 0;
	sw_text_printf(&w->text, "[");
	for (uint32_t h = first; h != SW_MERGE_NONE; h = w->m->heres[h].next) {
		const struct sw_merge_here *here = &w->m->heres[h];
		sw_text_printf(&w->text,
			       "%s{\"process\":%" PRIu32 ",\"threads\":%" PRIu32
			       ",\"running\":%" PRIu32,
			       comma(n++), here->process, here->n_threads, here->n_running);
		put_ms(w, "since_ms", here->least_ms);
		put_ms(w, "since_most_ms", here->most_ms);
		sw_text_printf(&w->text, "}");
	}
	sw_text_printf(&w->text, "]");
}

static void put_places(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_places; i++) {
		const struct sw_merge_place *p = &w->m->places[i];
		bool root = p->parent == SW_MERGE_NONE;
		sw_text_printf(&w->text, "%s{", comma(i));
		put_place_number(w, "parent", p->parent);
		sw_text_printf(&w->text, ",");
		put_place_number(w, "frame", root ? SW_MERGE_NONE : p->frame);
		sw_text_printf(&w->text,
			       ",\"processes\":%" PRIu32 ",\"threads\":%" PRIu64 ",\"here\":",
			       p->n_processes, p->n_threads);
		put_here(w, p->first_here);
		sw_text_printf(&w->text, "}");
	}
}

static void put_refusals(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_refusals; i++) {
		sw_text_printf(&w->text, "%s{", comma(i));
		put_string(w, "dump", w->m->refusals[i].name);
		sw_text_printf(&w->text, ",");
		put_string(w, "message", w->m->refusals[i].message);
		sw_text_printf(&w->text, "}");
	}
}

static void put_older(struct writer *w)
{
	for (size_t i = 0; i < w->m->n_older; i++) {
		sw_text_printf(&w->text, "%s{", comma(i));
		put_string(w, "dump", w->m->older[i].name);
		sw_text_printf(&w->text, ",\"process\":%" PRIu32 "}", w->m->older[i].process);
	}
}

static void put_all(struct writer *w)
{
	sw_text_printf(&w->text, "{\"schema\":\"" SW_MERGE_SCHEMA "\",\"complete\":%s,",
		       sw_merge_is_complete(w->m) ? "true" : "false");
	put_string(w, "noun", w->labels->noun);
	sw_text_printf(&w->text, ",\"findings\":[");
	for (size_t i = 0; i < w->findings->n; i++) {
		sw_text_printf(&w->text, "%s", comma(i));
		put_finding(w, &w->findings->all[i]);
	}
	sw_text_printf(&w->text, "],\"not_merged\":[");
	put_refusals(w);
	sw_text_printf(&w->text, "],\"older\":[");
	put_older(w);
	sw_text_printf(&w->text, "],\"left_threads\":%" PRIu64 ",\"processes\":[",
		       w->m->left_threads);
	put_processes(w);
	sw_text_printf(&w->text, "],\"roles\":[");
	put_roles(w);
	sw_text_printf(&w->text, "],\"frames\":[");
	put_frames(w);
	sw_text_printf(&w->text, "],\"places\":[");
	put_places(w);
	sw_text_printf(&w->text, "]}\n");
}

int sw_merge_json(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
		  struct sw_error *err)
{
	struct sw_merge_labels labels;
	struct sw_merge_findings findings = {0};
	struct writer w = {.m = merge, .labels = &labels, .findings = &findings};
	bool failed = sw_merge_labels_init(&labels, merge) < 0 ||
		      sw_merge_findings_make(&findings, &labels) < 0;
	if (!failed)
		put_all(&w);
	sw_merge_findings_deinit(&findings);
	sw_merge_labels_deinit(&labels);
	if (failed || w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_text = w.text.data;
	*ret_size = w.text.size;
	return 0;
}
