/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page needs nothing else: page.html with the profile as JSON in it, which its script shows.
 * Names never become markup: they are in the JSON, where '<' is escaped, and the script only puts
 * them as text.
 */
#include "embed.h"
#include "profile/frame_name.h"
#include "profile/put.h"
#include "profile/view.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <string.h>

SW_EMBED(page_text, "protocol/profile/page.html");

static const char place[] = "@PROFILE@";

static void put(struct sw_text *text, const char *s)
{
	sw_text_append(text, s, strlen(s));
}

static void put_head(struct sw_text *text, const struct sw_profile *p,
		     const struct sw_profile_view *v)
{
	const struct sw_profile_info *i = &p->info;
	struct sw_text name = {0};
	sw_profile_process_name(&name, p);
	text->failed |= name.failed;
	put(text, "{\"title\":");
	sw_put_json(text, name.failed ? "" : name.data);
	sw_text_deinit(&name);
	sw_text_printf(text,
		       ",\"unit\":\"%s\",\"mode\":\"%s\",\"by_time\":%s,\"n_samples\":%" PRIu64
		       ",\"left\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"diff\":%s,\"duration_ms\":",
		       i->unit != NULL ? i->unit : "sample", i->mode != NULL ? i->mode : "wall",
		       v->by_time ? "true" : "false", i->n_samples, p->left_count, i->n_lost,
		       v->old_total > 0 ? "true" : "false");
	sw_put_ms(text, (uint64_t) i->duration_ns);
	put(text, ",\"time\":\"");
	if (i->begin_ns > 0)
		sw_put_time(text, i->begin_ns);
	put(text, "\",\"host\":");
	sw_put_json(text, sw_profile_text_of(p, p->host));
}

/* Names have their numbers in the table: frames, groups and waits refer to them. */
static void put_tables(struct sw_text *text, const struct sw_profile_view *v)
{
	const struct sw_profile *t = v->tables;
	put(text, ",\n\"strings\":[");
	for (uint32_t i = 0; i < t->strings.n; i++) {
		put(text, i > 0 ? "," : "");
		sw_put_json(text, sw_profile_text_of(t, i));
	}
	put(text, "],\n\"frames\":[");
	for (size_t i = 0; i < t->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(t, i);
		const struct sw_profile_module *m = sw_profile_module_at(t, f->module);
		sw_text_printf(text,
			       "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
			       i > 0 ? "," : "", f->function, f->file, f->line, m->path, f->kind);
	}
	put(text, "],\n\"nodes\":[");
	for (size_t i = 0; i < t->nodes.n; i++) {
		const struct sw_profile_node *n = sw_profile_node_at(t, i);
		sw_text_printf(text, "%s%" PRIu32 ",%" PRIu32, i > 0 ? "," : "", n->parent,
			       n->frame);
	}
	put(text, "],\n\"threads\":[");
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct sw_profile_thread *thread = sw_profile_thread_at(t, i);
		sw_text_printf(text, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
			       i > 0 ? "," : "", thread->pid & ~SW_PROFILE_VIEW_OLD, thread->tid,
			       thread->name, v->groups[i]);
	}
}

static void put_rows(struct sw_text *text, const struct sw_profile_view *v, bool old)
{
	const struct sw_profile *t = v->tables;
	const char *comma = "";
	sw_text_printf(text, "],\n\"%s\":[", old ? "old" : "rows");
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(t, i);
		uint64_t value = sw_profile_view_value(v, row);
		if (sw_profile_view_is_old(v, row) != old || value == 0)
			continue;
		sw_text_printf(text, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64,
			       comma, row->thread, row->node, row->state, row->wait, value);
		comma = ",";
	}
}

int sw_profile_html(struct sw_text *text, const struct sw_profile *p,
		    const struct sw_profile_write_options *options)
{
	struct sw_profile_view v;
	if (sw_profile_view_init(&v, p, options->old) < 0)
		return -SW_E_NOMEM;
	const char *at = strstr(page_text, place);
	sw_text_append(text, page_text, (size_t) (at - page_text));
	put_head(text, p, &v);
	put_tables(text, &v);
	put_rows(text, &v, false);
	put_rows(text, &v, true);
	put(text, "]}");
	put(text, at + strlen(place));
	sw_profile_view_deinit(&v);
	return 0;
}
