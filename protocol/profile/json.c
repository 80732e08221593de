/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our own JSON: the tables as they are; see snapwalk-profile.schema.json. */
#include "profile/frame_name.h"
#include "profile/put.h"
#include "profile/resources.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <string.h>

static void put(struct sw_text *text, const char *s)
{
	sw_text_append(text, s, strlen(s));
}

static void put_string(struct sw_text *text, const struct sw_profile *p, const char *name,
		       uint32_t string)
{
	sw_text_printf(text, ",\"%s\":", name);
	sw_put_json(text, sw_profile_text_of(p, string));
}

/* null where it is not known */
static void put_known(struct sw_text *text, const struct sw_profile *p, const char *name,
		      uint32_t string)
{
	if (string != 0)
		put_string(text, p, name, string);
	else
		sw_text_printf(text, ",\"%s\":null", name);
}

static void put_head(struct sw_text *text, const struct sw_profile *p)
{
	const struct sw_profile_info *i = &p->info;
	put(text, "{\"schema\":\"" SW_PROFILE_SCHEMA "\",\"mode\":");
	sw_put_json(text, i->mode != NULL ? i->mode : "wall");
	sw_text_printf(text,
		       ",\"begin_ns\":%" PRId64 ",\"duration_ns\":%" PRId64 ",\"rate_hz\":%" PRIu32
		       ",\"n_samples\":%" PRIu64 ",\"n_wanted\":%" PRIu64 ",\"n_late\":%" PRIu64
		       ",\"n_lost\":%" PRIu64 ",\"stopped_ns\":%" PRId64
		       ",\"longest_stop_ns\":%" PRId64 ",\"left_count\":%" PRIu64
		       ",\"left_ns\":%" PRIu64,
		       i->begin_ns, i->duration_ns, i->rate_hz, i->n_samples, i->n_wanted,
		       i->n_late, i->n_lost, i->stopped_ns, i->longest_stop_ns, p->left_count,
		       p->left_ns);
	put_string(text, p, "host", p->host);
	put_string(text, p, "kernel", p->kernel);
	if (p->ended_early != 0)
		put_string(text, p, "ended_early", p->ended_early);
}

static void put_resource(struct sw_text *text, const struct sw_profile *p,
			 const struct sw_profile_resources *resources,
			 const struct sw_profile_process *process)
{
	const struct sw_profile_attribute *a;
	size_t n = 0, place = sw_profile_resources_first(resources, process);
	while ((a = sw_profile_resources_next(resources, process, &place)) != NULL) {
		put(text, n++ == 0 ? ",\"resource\":{" : ",");
		sw_put_json(text, sw_profile_text_of(p, a->key));
		put(text, ":");
		sw_put_json(text, sw_profile_text_of(p, a->value));
	}
	if (n > 0)
		put(text, "}");
}

static void put_processes(struct sw_text *text, const struct sw_profile *p)
{
	struct sw_profile_resources resources;
	text->failed |= sw_profile_resources_init(&resources, p) < 0;
	put(text, ",\"processes\":[");
	for (size_t i = 0; i < p->processes.n; i++) {
		const struct sw_profile_process *process = sw_profile_process_at(p, i);
		sw_text_printf(text, "%s{\"pid\":%" PRIu32, i > 0 ? "," : "", process->pid);
		put_string(text, p, "comm", process->comm);
		put_known(text, p, "exe", process->exe);
		put_known(text, p, "unit", process->unit);
		put_known(text, p, "container", process->container);
		put_resource(text, p, &resources, process);
		put(text, "}");
	}
	sw_profile_resources_deinit(&resources);
	put(text, "],\"threads\":[");
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct sw_profile_thread *thread = sw_profile_thread_at(p, i);
		uint32_t process;
		sw_text_printf(text, "%s{\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, i > 0 ? "," : "",
			       thread->pid, thread->tid);
		if (thread->generation != 0 && sw_profile_process_index(p, thread, &process))
			sw_text_printf(text, ",\"process\":%" PRIu32, process);
		put_string(text, p, "name", thread->name);
		if (thread->key != thread->name)
			put_string(text, p, "comm", thread->key);
		put(text, "}");
	}
	put(text, "]");
}

static void put_modules(struct sw_text *text, const struct sw_profile *p)
{
	put(text, ",\"modules\":[");
	for (size_t i = 1; i < p->modules.n; i++) {
		const struct sw_profile_module *m = sw_profile_module_at(p, i);
		sw_text_printf(text,
			       "%s{\"start\":\"%#" PRIx64 "\",\"end\":\"%#" PRIx64
			       "\",\"bias\":\"%#" PRIx64 "\"",
			       i > 1 ? "," : "", m->start_avma, m->end_avma, m->bias);
		put_string(text, p, "path", m->path);
		put_known(text, p, "build_id", m->build_id);
		if (m->mapping_off != 0)
			sw_text_printf(text, ",\"file_offset\":\"%#" PRIx64 "\"", m->mapping_off);
		put(text, m->by_mapping ? ",\"by_mapping\":true}" : "}");
	}
	put(text, "]");
}

static void put_frames(struct sw_text *text, const struct sw_profile *p)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{SW_PROFILE_INLINED, "inlined"},   {SW_PROFILE_INTERNAL, "internal"},
		{SW_PROFILE_GUESS, "guess"},       {SW_PROFILE_SIGNAL, "signal"},
		{SW_PROFILE_MAY_MISS, "may_miss"}, {SW_PROFILE_MARK, "mark"},
		{SW_PROFILE_AVMA, "avma"},
	};
	put(text, ",\"frames\":[");
	for (size_t i = 1; i < p->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(p, i);
		sw_text_printf(text,
			       "%s{\"address\":\"%#" PRIx64 "\",\"module\":", i > 1 ? "," : "",
			       f->address);
		if (f->module == 0)
			put(text, "null");
		else
			sw_text_printf(text, "%" PRIu32, f->module - 1);
		put_known(text, p, "function", f->function);
		put_known(text, p, "file", f->file);
		sw_text_printf(text, ",\"line\":%" PRIu32, f->line);
		put_string(text, p, "kind", f->kind);
		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
			if (f->flags & flags[k].flag)
				sw_text_printf(text, ",\"%s\":true", flags[k].name);
		put(text, "}");
	}
	/* nodes refer to nodes and frames of the text: without the root there is one less */
	put(text, "],\"nodes\":[");
	for (size_t i = 1; i < p->nodes.n; i++) {
		const struct sw_profile_node *n = sw_profile_node_at(p, i);
		if (n->parent == 0)
			sw_text_printf(text, "%s[null,%" PRIu32 "]", i > 1 ? "," : "",
				       n->frame - 1);
		else
			sw_text_printf(text, "%s[%" PRIu32 ",%" PRIu32 "]", i > 1 ? "," : "",
				       n->parent - 1, n->frame - 1);
	}
	put(text, "]");
}

static void put_samples(struct sw_text *text, const struct sw_profile *p)
{
	put(text, ",\"samples\":[");
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(p, i);
		sw_text_printf(text, "%s{\"thread\":%" PRIu32 ",\"node\":", i > 0 ? "," : "",
			       row->thread);
		if (row->node == 0)
			put(text, "null");
		else
			sw_text_printf(text, "%" PRIu32, row->node - 1);
		sw_text_printf(text, ",\"state\":\"%s\"", sw_profile_state_word(row->state));
		if (row->wait != 0)
			put_string(text, p, "wait", row->wait);
		sw_text_printf(text, ",\"count\":%" PRIu64 ",\"ns\":%" PRIu64 "}", row->count,
			       row->ns);
	}
	put(text, "]}\n");
}

int sw_profile_json(struct sw_text *text, const struct sw_profile *p,
		    const struct sw_profile_write_options *options)
{
	(void) options;
	put_head(text, p);
	put_processes(text, p);
	put_modules(text, p);
	put_frames(text, p);
	put_samples(text, p);
	return 0;
}
