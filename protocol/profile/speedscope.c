/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * speedscope's file format (jlfwong/speedscope, src/lib/file-format-spec.ts): a profile of all
 * threads on a CPU, one of all threads, and one of each group of threads. A thread that is not on a
 * CPU has its state as its innermost frame. Events have no state, and no profile of a CPU.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/put.h"
#include "profile/view.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 500 };

struct writer {
	struct sw_text *to;
	struct sw_profile_view view;
	uint32_t *path; /* owned */
	const char *unit;
	bool failed;
};

static bool is_in(const struct writer *w, size_t row, bool cpu_only, uint32_t group)
{
	const struct sw_profile_row *r = sw_profile_row_at(w->view.tables, row);
	if (cpu_only && r->state != SW_PROFILE_ON_CPU)
		return false;
	return (group == 0 || w->view.groups[r->thread] == group) &&
	       sw_profile_view_value(&w->view, r) > 0;
}

static void put_stack(struct writer *w, size_t row)
{
	const struct sw_profile *t = w->view.tables;
	size_t n = 0;
	for (uint32_t at = sw_profile_row_at(t, row)->node; at != 0;
	     at = sw_profile_node_at(t, at)->parent)
		w->path[n++] = sw_profile_node_at(t, at)->frame;
	sw_text_append(w->to, "[", 1);
	for (size_t i = n; i > 0; i--)
		sw_text_printf(w->to, "%s%" PRIu32, i < n ? "," : "", w->path[i - 1] - 1);
	sw_text_append(w->to, "]", 1);
}

/* group 0: all */
static void put_profile(struct writer *w, const char *name, bool cpu_only, uint32_t group)
{
	const struct sw_profile *t = w->view.tables;
	uint64_t total = 0;
	const char *comma = "";
	sw_text_printf(w->to, "{\"type\":\"sampled\",\"name\":");
	sw_put_json(w->to, name);
	sw_text_printf(w->to, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[", w->unit);
	for (size_t i = 0; i < t->rows.n; i++) {
		if (!is_in(w, i, cpu_only, group))
			continue;
		sw_text_printf(w->to, "%s", comma);
		put_stack(w, i);
		comma = ",";
	}
	sw_text_printf(w->to, "],\"weights\":[");
	comma = "";
	for (size_t i = 0; i < t->rows.n; i++) {
		if (!is_in(w, i, cpu_only, group))
			continue;
		uint64_t value = sw_profile_view_value(&w->view, sw_profile_row_at(t, i));
		sw_text_printf(w->to, "%s%" PRIu64, comma, value);
		total += value;
		comma = ",";
	}
	sw_text_printf(w->to, "],\"endValue\":%" PRIu64 "}", total);
}

static void put_frames(struct writer *w)
{
	const struct sw_profile *t = w->view.tables;
	for (size_t i = 1; i < t->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(t, i);
		sw_text_printf(w->to, "%s{\"name\":", i > 1 ? "," : "");
		sw_put_json(w->to, sw_profile_text_of(t, f->function));
		if (f->file != 0) {
			sw_text_printf(w->to, ",\"file\":");
			sw_put_json(w->to, sw_profile_text_of(t, f->file));
		}
		if (f->file != 0 && f->line != 0)
			sw_text_printf(w->to, ",\"line\":%" PRIu32, f->line);
		sw_text_printf(w->to, "}");
	}
}

/* Each group once, in the order of threads. */
static int put_groups(struct writer *w)
{
	const struct sw_profile *t = w->view.tables;
	sw_cleanup(sw_free_p) bool *done = calloc(t->strings.n + 1, sizeof(*done));
	size_t n = 0;
	if (done == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < t->threads.n && n < GROUPS_MAX; i++) {
		uint32_t group = w->view.groups[i];
		if (done[group] || group == 0)
			continue;
		done[group] = true;
		sw_text_append(w->to, ",", 1);
		put_profile(w, sw_profile_text_of(t, group), false, group);
		n++;
	}
	return 0;
}

static int put_all(struct writer *w, const struct sw_profile *p)
{
	bool any_cpu = false;
	for (size_t i = 0; i < w->view.tables->rows.n && p->info.unit == NULL; i++)
		any_cpu |= is_in(w, i, true, 0);
	sw_text_printf(w->to, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			      "\"exporter\":\"snapwalk\",\"name\":");
	struct sw_text name = {0};
	sw_profile_process_name(&name, p);
	w->failed |= name.failed;
	sw_put_json(w->to, name.failed ? "" : name.data);
	sw_text_deinit(&name);
	sw_text_printf(w->to, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
	put_frames(w);
	sw_text_printf(w->to, "]},\"profiles\":[");
	if (any_cpu) {
		put_profile(w, "on CPU", true, 0);
		sw_text_append(w->to, ",", 1);
	}
	put_profile(w, "all threads", false, 0);
	int r = put_groups(w);
	sw_text_printf(w->to, "]}\n");
	return r;
}

int sw_profile_speedscope(struct sw_text *text, const struct sw_profile *p,
			  const struct sw_profile_write_options *options)
{
	struct writer w = {.to = text};
	(void) options;
	int r = sw_profile_view_init(&w.view, p, NULL);
	bool are_bytes = p->info.unit != NULL && strcmp(p->info.unit, "byte") == 0;
	w.unit = r == 0 && w.view.by_time ? "nanoseconds" : are_bytes ? "bytes" : "none";
	if (r == 0)
		r = sw_profile_view_mark_states(&w.view);
	if (r == 0)
		w.path = calloc(w.view.tables->nodes.n + 1, sizeof(*w.path));
	if (w.path != NULL)
		r = put_all(&w, p);
	else
		r = -SW_E_NOMEM;
	if (w.view.tables != NULL)
		sw_profile_view_deinit(&w.view);
	free(w.path);
	return w.failed ? -SW_E_NOMEM : r;
}
