/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report as JSON. Fields and their rules are in snapwalk-dump.schema.json and snapwalk-dump(5):
 * the fields of the schema's "required" lists are always there, null when unknown; the others only
 * when they say something.
 */
#include "cleanup.h"
#include "errors.h"
#include "json.h"
#include "map.h"

#include <snapwalk/protocol.h>
#include <stdlib.h>
#include <time.h>

/* A frame that was written before: the same frame is in many stacks. */
struct written {
	const struct sw_report_frame *frame;
	size_t offset, size; /* in frames_text */
	uint64_t next;       /* index of the next with the same hash, or NOTHING */
};

struct writer {
	struct sw_json json;
	struct sw_text text;        /* the result */
	struct sw_text frames_text; /* each distinct frame once */
	struct sw_map64 by_hash;
	struct written *written; /* owned */
	size_t n_written, capacity;
};

static const uint64_t NOTHING = UINT64_MAX;

static void put_time(struct sw_json *json, const char *key, int64_t time_ns)
{
	time_t seconds = (time_t) (time_ns / 1000000000);
	struct tm utc = {0};
	char stamp[64], text[96];
	(void) gmtime_r(&seconds, &utc); /* fails for years beyond int only */
	(void) strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	(void) snprintf(text, sizeof(text), "%s.%06dZ", stamp,
			(int) (time_ns % 1000000000 / 1000)); /* RFC 3339, fits */
	sw_json_string(json, key, text);
}

static void put_known(struct sw_json *json, const char *key, int64_t value)
{
	if (value < 0)
		sw_json_null(json, key);
	else
		sw_json_int(json, key, value);
}

/* For fields that are there only when they are true. */
static void put_flag(struct sw_json *json, const char *key, bool value)
{
	if (value)
		sw_json_bool(json, key, true);
}

static void put_head(struct sw_json *json, const struct sw_report *r)
{
	sw_json_string(json, "schema", SW_DUMP_SCHEMA);
	sw_json_string(json, "id", r->id);
	sw_json_uint(json, "seq", r->seq);
	put_time(json, "time", r->time_ns);
	put_known(json, "uptime_ms", r->process.uptime_ms);
	sw_json_string(json, "reason", r->reason);
	sw_json_bool(json, "complete", r->complete);
	sw_json_object_begin(json, "host");
	sw_json_string(json, "name", r->host_name);
	sw_json_string(json, "kernel", r->host_kernel);
	sw_json_string(json, "machine", r->host_machine);
	sw_json_object_end(json);
}

static void put_process(struct sw_json *json, const struct sw_report *r)
{
	sw_json_object_begin(json, "process");
	sw_json_int(json, "pid", r->process.pid);
	sw_json_uint(json, "starttime", r->process.starttime);
	sw_json_int(json, "ppid", r->process.ppid);
	sw_json_uint(json, "uid", r->process.uid);
	sw_json_string(json, "comm", r->process.comm);
	sw_json_string(json, "exe", r->process.exe);
	sw_json_string(json, "cgroup", r->process.cgroup);
	sw_json_string(json, "unit", r->process.unit);
	sw_json_string(json, "container", r->process.container);
	sw_json_int(json, "elf_class", r->process.elf_class);
	sw_json_array_begin(json, "runtimes"); /* none is recognised yet */
	sw_json_array_end(json);
	sw_json_object_end(json);
}

static void put_timings(struct sw_json *json, const struct sw_report *r)
{
	sw_json_object_begin(json, "timings");
	sw_json_int(json, "stopped_us", r->timings.stopped_us);
	sw_json_int(json, "longest_thread_stop_us", r->timings.longest_thread_stop_us);
	sw_json_int(json, "attach_us", r->timings.attach_us);
	sw_json_int(json, "copy_us", r->timings.copy_us);
	sw_json_int(json, "unwind_us", r->timings.unwind_us);
	sw_json_int(json, "symbolize_us", r->timings.symbolize_us);
	sw_json_int(json, "total_us", r->timings.total_us);
	sw_json_uint(json, "interrupted_calls", r->timings.interrupted_calls);
	sw_json_object_end(json);
}

static void put_thread(struct sw_json *json, const struct sw_report_thread *t)
{
	char state[2] = {t->state != '\0' ? t->state : '?', '\0'};
	sw_json_object_begin(json, NULL);
	sw_json_int(json, "tid", t->tid);
	sw_json_string(json, "comm", t->comm);
	sw_json_string(json, "state", state);
	sw_json_bool(json, "captured", t->captured);
	sw_json_string(json, "wchan", t->wchan);
	sw_json_string(json, "syscall", t->syscall);
	put_known(json, "cpu_ns", t->cpu_ns);
	put_known(json, "stack", t->stack);
	if (t->stop_us >= 0)
		sw_json_int(json, "stop_us", t->stop_us);
	put_flag(json, "interrupted", t->interrupted);
	if (t->reason != NULL) {
		sw_json_string(json, "reason", t->reason);
		sw_json_string(json, "reason_text", t->reason_text);
	}
	sw_json_object_end(json);
}

static void put_frame(struct sw_json *json, const struct sw_report_frame *f)
{
	sw_json_object_begin(json, NULL);
	sw_json_hex(json, "pc", f->pc_avma);
	put_known(json, "module", f->module);
	if (f->has_offset)
		sw_json_hex(json, "offset", f->offset);
	else
		sw_json_null(json, "offset");
	sw_json_string(json, "function", f->function);
	if (f->function != NULL)
		sw_json_uint(json, "function_offset", f->function_offset);
	else
		sw_json_null(json, "function_offset");
	sw_json_string(json, "file", f->file);
	put_known(json, "line", f->line == 0 ? -1 : (int64_t) f->line);
	put_known(json, "line_offset", f->line_offset);
	sw_json_string(json, "kind", f->kind);
	sw_json_string(json, "by", f->by);
	sw_json_string(json, "trust", f->trust);
	sw_json_bool(json, "inlined", f->inlined);
	put_flag(json, "signal", f->signal);
	put_flag(json, "live_read", f->live_read);
	put_flag(json, "may_miss", f->may_miss);
	sw_json_object_end(json);
}

static unsigned flags_of(const struct sw_report_frame *f)
{
	return f->has_offset | f->inlined << 1 | f->signal << 2 | f->live_read << 3 |
	       f->may_miss << 4;
}

/* Strings are compared by address: equal ones of one report mostly have the same, and a miss only
 * costs that the frame is written anew. */
static bool same_frame(const struct sw_report_frame *a, const struct sw_report_frame *b)
{
	return a->pc_avma == b->pc_avma && a->module == b->module && a->offset == b->offset &&
	       a->function == b->function && a->function_offset == b->function_offset &&
	       a->file == b->file && a->line == b->line && a->line_offset == b->line_offset &&
	       a->kind == b->kind && a->by == b->by && a->trust == b->trust &&
	       flags_of(a) == flags_of(b);
}

static const struct written *frame_find(const struct writer *w, const struct sw_report_frame *f,
					uint64_t hash, uint64_t *ret_first)
{
	*ret_first = NOTHING;
	(void) sw_map64_get(&w->by_hash, hash, ret_first); /* stays NOTHING */
	for (uint64_t i = *ret_first; i != NOTHING; i = w->written[i].next)
		if (same_frame(w->written[i].frame, f))
			return &w->written[i];
	return NULL;
}

static bool frame_remember(struct writer *w, const struct written *written, uint64_t hash)
{
	if (w->n_written == w->capacity) {
		size_t capacity = w->capacity == 0 ? 256 : w->capacity * 2;
		struct written *grown = reallocarray(w->written, capacity, sizeof(*grown));
		if (grown == NULL)
			return false;
		w->written = grown;
		w->capacity = capacity;
	}
	w->written[w->n_written++] = *written;
	return sw_map64_put(&w->by_hash, hash, w->n_written - 1) == 0;
}

/* A thousand deep stacks are twelve megabytes of JSON, but some hundred frames. */
static void put_frame_once(struct writer *w, const struct sw_report_frame *f)
{
	uint64_t first;
	uint64_t hash = sw_mix64(f->pc_avma ^ sw_mix64((uintptr_t) f->function ^ f->line));
	const struct written *before = frame_find(w, f, hash, &first);
	if (before == NULL) {
		struct sw_json json = {.text = &w->frames_text};
		struct written written = {.frame = f, .offset = w->frames_text.size, .next = first};
		put_frame(&json, f);
		written.size = w->frames_text.size - written.offset;
		if (w->frames_text.failed || !frame_remember(w, &written, hash)) {
			w->text.failed = true;
			return;
		}
		before = &w->written[w->n_written - 1];
	}
	sw_json_raw(&w->json, NULL, w->frames_text.data + before->offset, before->size);
}

static void put_stack(struct writer *w, const struct sw_report *r, const struct sw_report_stack *s)
{
	struct sw_json *json = &w->json;
	char id[24];
	(void) snprintf(id, sizeof(id), "%016llx", (unsigned long long) s->id); /* fits */
	sw_json_object_begin(json, NULL);
	sw_json_string(json, "id", id);
	sw_json_array_begin(json, "threads");
	for (size_t i = 0; i < s->n_threads; i++)
		sw_json_int(json, NULL, r->threads[s->threads[i]].tid);
	sw_json_array_end(json);
	sw_json_string(json, "end", s->end);
	sw_json_string(json, "why", s->why);
	sw_json_array_begin(json, "frames");
	for (size_t i = 0; i < s->n_frames; i++)
		put_frame_once(w, &s->frames[i]);
	sw_json_array_end(json);
	sw_json_object_end(json);
}

static void put_module(struct sw_json *json, const struct sw_report_module *m)
{
	sw_json_object_begin(json, NULL);
	sw_json_string(json, "path", m->path);
	sw_json_string(json, "build_id", m->build_id);
	sw_json_hex(json, "start", m->start_avma);
	sw_json_hex(json, "end", m->end_avma);
	sw_json_string(json, "format", m->format);
	sw_json_string(json, "symbols", m->symbols);
	put_flag(json, "deleted", m->deleted);
	if (m->problem != NULL)
		sw_json_string(json, "problem", m->problem);
	sw_json_object_end(json);
}

static void put_warning(struct sw_json *json, const struct sw_report_warning *w)
{
	sw_json_object_begin(json, NULL);
	sw_json_string(json, "code", w->code);
	put_known(json, "tid", w->tid == 0 ? -1 : w->tid);
	sw_json_string(json, "message", w->message);
	sw_json_object_end(json);
}

static void put_report(struct writer *w, const struct sw_report *r)
{
	struct sw_json *json = &w->json;
	sw_json_object_begin(json, NULL);
	put_head(json, r);
	put_process(json, r);
	put_timings(json, r);
	sw_json_array_begin(json, "threads");
	for (size_t i = 0; i < r->n_threads; i++)
		put_thread(json, &r->threads[i]);
	sw_json_array_end(json);
	sw_json_array_begin(json, "stacks");
	for (size_t i = 0; i < r->n_stacks; i++)
		put_stack(w, r, &r->stacks[i]);
	sw_json_array_end(json);
	sw_json_array_begin(json, "modules");
	for (size_t i = 0; i < r->n_modules; i++)
		put_module(json, &r->modules[i]);
	sw_json_array_end(json);
	sw_json_array_begin(json, "warnings");
	for (size_t i = 0; i < r->n_warnings; i++)
		put_warning(json, &r->warnings[i]);
	sw_json_array_end(json);
	sw_json_object_end(json);
	sw_text_append(&w->text, "\n", 1);
}

int sw_report_json(const struct sw_report *report, char **ret_text, size_t *ret_size,
		   struct sw_error *err)
{
	struct writer w = {0};
	w.json.text = &w.text;
	put_report(&w, report);
	sw_text_deinit(&w.frames_text);
	sw_map64_deinit(&w.by_hash);
	free(w.written);
	if (w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_text = w.text.data;
	*ret_size = w.text.size;
	return 0;
}
