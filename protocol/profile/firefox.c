/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A processed profile of the Firefox Profiler (firefox-devtools/profiler, src/types/profile.ts and
 * docs-developer/CHANGELOG-formats.md): version 60, which had its tables shared by all threads
 * first; the Profiler brings it to its own version. Samples that were added up have no times: the
 * samples of a thread stand one behind the other. A thread that is not on a CPU has its state as
 * its innermost frame, of a category that the timeline shows as such.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/put.h"
#include "profile/view.h"
#include "profile/writers.h"
#include "report/frame_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 60, GECKO_VERSION = 31 };

enum category { OTHER, NATIVE, MANAGED, KERNEL, BLOCKED, RUNNABLE, IDLE };

static const char categories[] =
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Native\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Managed\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Blocked\",\"color\":\"purple\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Runnable\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Idle\",\"color\":\"transparent\",\"subcategories\":[\"Other\"]}]";

struct writer {
	struct sw_text *to;
	const struct sw_profile *profile;
	const struct sw_profile *t; /* the view's tables */
	struct sw_profile_view view;
	size_t *first; /* owned; of each thread: its rows in rows */
	size_t *rows;  /* owned; by thread */
};

static void put(struct writer *w, const char *s)
{
	sw_text_append(w->to, s, strlen(s));
}

/* An array of n elements with what of() says of each; negative is null. */
static void put_array(struct writer *w, const char *name, size_t n,
		      int64_t (*of)(const struct writer *w, size_t i))
{
	sw_text_printf(w->to, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		int64_t value = of(w, i);
		put(w, i > 0 ? "," : "");
		if (value < 0)
			put(w, "null");
		else
			sw_text_printf(w->to, "%" PRId64, value);
	}
	put(w, "],");
}

/* The same constant for each. */
static void put_same(struct writer *w, const char *name, size_t n, const char *value)
{
	sw_text_printf(w->to, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		sw_text_printf(w->to, "%s%s", i > 0 ? "," : "", value);
	put(w, "],");
}

/* ---- the tables; index 0 of ours is the root, so that theirs are one less -------------------- */

static const struct sw_profile_frame *frame_at(const struct writer *w, size_t i)
{
	return sw_profile_frame_at(w->t, i + 1);
}

static int64_t stack_frame(const struct writer *w, size_t i)
{
	return (int64_t) sw_profile_node_at(w->t, i + 1)->frame - 1;
}

static int64_t stack_prefix(const struct writer *w, size_t i)
{
	return (int64_t) sw_profile_node_at(w->t, i + 1)->parent - 1;
}

static int64_t frame_category(const struct writer *w, size_t i)
{
	static const struct {
		const char *kind;
		enum category category;
	} known[] = {
		{"native", NATIVE},   {"pe", NATIVE},         {"kernel", KERNEL},
		{"blocked", BLOCKED}, {"runnable", RUNNABLE}, {"idle", IDLE},
		{"jit", MANAGED},     {"clr", MANAGED},       {"jvm", MANAGED},
		{"cpython", MANAGED}, {"v8js", MANAGED},      {"wasm", MANAGED},
		{"go", MANAGED},      {"php", MANAGED},       {"ruby", MANAGED},
		{"beam", MANAGED},
	};
	const char *kind = sw_profile_text_of(w->t, frame_at(w, i)->kind);
	for (size_t k = 0; k < SW_ARRAY_SIZE(known); k++)
		if (strcmp(known[k].kind, kind) == 0)
			return known[k].category;
	return OTHER;
}

static int64_t frame_func(const struct writer *w, size_t i)
{
	(void) w;
	return (int64_t) i; /* of the view: a frame is a name */
}

static int64_t frame_line(const struct writer *w, size_t i)
{
	uint32_t line = frame_at(w, i)->line;
	return line > 0 ? (int64_t) line : -1;
}

static int64_t func_name(const struct writer *w, size_t i)
{
	return frame_at(w, i)->function;
}

static int64_t func_source(const struct writer *w, size_t i)
{
	return frame_at(w, i)->file > 0 ? (int64_t) frame_at(w, i)->file : -1;
}

static int64_t resource_lib(const struct writer *w, size_t i)
{
	(void) w;
	return (int64_t) i;
}

static int64_t resource_name(const struct writer *w, size_t i)
{
	return (int64_t) (w->t->strings.n + i); /* behind all others: see put_strings() */
}

static int64_t source_filename(const struct writer *w, size_t i)
{
	(void) w;
	return (int64_t) i; /* every string is a source, so that they have the same numbers */
}

static void put_frames(struct writer *w, size_t n)
{
	put(w, "\"frameTable\":{");
	put_same(w, "address", n, "-1");
	put_same(w, "inlineDepth", n, "0");
	put_array(w, "category", n, frame_category);
	put_same(w, "subcategory", n, "0");
	put_array(w, "func", n, frame_func);
	put_same(w, "nativeSymbol", n, "null");
	put_same(w, "innerWindowID", n, "null");
	put_array(w, "line", n, frame_line);
	put_same(w, "column", n, "null");
	sw_text_printf(w->to, "\"length\":%zu},\"funcTable\":{", n);
	put_array(w, "name", n, func_name);
	put_same(w, "isJS", n, "false");
	put_same(w, "relevantForJS", n, "false");
	put(w, "\"resource\":[");
	for (size_t i = 0; i < n; i++) /* -1, not null: no resource */
		sw_text_printf(w->to, "%s%" PRId64, i > 0 ? "," : "",
			       (int64_t) frame_at(w, i)->module - 1);
	put(w, "],");
	put_array(w, "source", n, func_source);
	put_same(w, "lineNumber", n, "null");
	put_same(w, "columnNumber", n, "null");
	sw_text_printf(w->to, "\"length\":%zu},", n);
}

/* Ours, and the names of libraries without their directory, which stand before those of functions. */
static void put_strings(struct writer *w)
{
	put(w, "\"stringArray\":[");
	for (uint32_t i = 0; i < w->t->strings.n; i++) {
		put(w, i > 0 ? "," : "");
		sw_put_json(w->to, sw_profile_text_of(w->t, i));
	}
	for (size_t i = 1; i < w->t->modules.n; i++) {
		const struct sw_profile_module *m = sw_profile_module_at(w->t, i);
		put(w, ",");
		sw_put_json(w->to, sw_base_name(sw_profile_text_of(w->t, m->path)));
	}
	put(w, "]");
}

static void put_shared(struct writer *w)
{
	size_t stacks = w->t->nodes.n - 1, modules = w->t->modules.n - 1, n = w->t->strings.n;
	put(w, "\"shared\":{\"stackTable\":{");
	put_array(w, "frame", stacks, stack_frame);
	put_array(w, "prefix", stacks, stack_prefix);
	sw_text_printf(w->to, "\"length\":%zu},", stacks);
	put_frames(w, w->t->frames.n - 1);
	put(w, "\"resourceTable\":{");
	put_array(w, "lib", modules, resource_lib);
	put_array(w, "name", modules, resource_name);
	put_same(w, "host", modules, "null");
	put_same(w, "type", modules, "1"); /* a library */
	sw_text_printf(w->to,
		       "\"length\":%zu},\"nativeSymbols\":{\"libIndex\":[],\"address\":[],"
		       "\"name\":[],\"functionSize\":[],\"length\":0},\"sources\":{",
		       modules);
	put_same(w, "uuid", n, "null");
	put_array(w, "filename", n, source_filename);
	sw_text_printf(w->to, "\"length\":%zu},", n);
	put_strings(w);
	put(w, "}");
}

static void put_libs(struct writer *w)
{
	put(w, "\"libs\":[");
	for (size_t i = 1; i < w->t->modules.n; i++) {
		const struct sw_profile_module *m = sw_profile_module_at(w->t, i);
		const char *path = sw_profile_text_of(w->t, m->path);
		put(w, i > 1 ? ",{\"arch\":\"x86_64\"" : "{\"arch\":\"x86_64\"");
		put(w, ",\"name\":");
		sw_put_json(w->to, sw_base_name(path));
		put(w, ",\"debugName\":");
		sw_put_json(w->to, sw_base_name(path));
		put(w, ",\"path\":");
		sw_put_json(w->to, path);
		put(w, ",\"debugPath\":");
		sw_put_json(w->to, path);
		put(w, ",\"breakpadId\":\"\",\"codeId\":");
		if (m->build_id != 0)
			sw_put_json(w->to, sw_profile_text_of(w->t, m->build_id));
		else
			put(w, "null");
		put(w, "}");
	}
	put(w, "],");
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Counting sort of rows by thread. */
static int rows_sort(struct writer *w)
{
	size_t n = w->t->rows.n, threads = w->t->threads.n;
	w->first = calloc(threads + 2, sizeof(*w->first));
	w->rows = calloc(n + 1, sizeof(*w->rows));
	if (w->first == NULL || w->rows == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		w->first[sw_profile_row_at(w->t, i)->thread + 2]++;
	for (size_t i = 1; i < threads + 2; i++)
		w->first[i] += w->first[i - 1];
	for (size_t i = 0; i < n; i++)
		w->rows[w->first[sw_profile_row_at(w->t, i)->thread + 1]++] = i;
	return 0;
}

static void put_samples(struct writer *w, size_t begin, size_t end)
{
	uint64_t time_ns = 0;
	put(w, "\"samples\":{\"stack\":[");
	for (size_t i = begin; i < end; i++) {
		uint32_t node = sw_profile_row_at(w->t, w->rows[i])->node;
		put(w, i > begin ? "," : "");
		if (node == 0)
			put(w, "null");
		else
			sw_text_printf(w->to, "%" PRIu32, node - 1);
	}
	put(w, "],\"time\":[");
	for (size_t i = begin; i < end; i++) {
		put(w, i > begin ? "," : "");
		sw_put_ms(w->to, time_ns);
		time_ns += sw_profile_row_ns(w->profile, sw_profile_row_at(w->t, w->rows[i]));
	}
	put(w, "],\"weight\":[");
	for (size_t i = begin; i < end; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(w->t, w->rows[i]);
		put(w, i > begin ? "," : "");
		if (w->view.by_time)
			sw_put_ms(w->to, row->ns);
		else
			sw_text_printf(w->to, "%" PRIu64, row->count);
	}
	sw_text_printf(w->to, "],\"weightType\":\"%s\",\"length\":%zu},",
		       w->view.by_time ? "tracing-ms" : "samples", end - begin);
}

static void put_thread(struct writer *w, size_t i)
{
	const struct sw_profile_thread *thread = sw_profile_thread_at(w->t, i);
	const struct sw_profile_process *process = sw_profile_process_of(w->profile, thread);
	put(w, "{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
	       "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
	       "\"showMarkersInTimeline\":false,\"name\":");
	sw_put_json(w->to, sw_profile_text_of(w->t, thread->name));
	sw_text_printf(w->to, ",\"isMainThread\":%s,\"processName\":",
		       thread->tid == thread->pid ? "true" : "false");
	sw_put_json(w->to, process != NULL ? sw_profile_text_of(w->profile, process->comm) : "");
	sw_text_printf(w->to, ",\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32 ",", thread->pid,
		       thread->tid);
	put_samples(w, w->first[i], w->first[i + 1]);
	put(w, "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
	       "\"category\":[],\"length\":0}}");
}

static void put_meta(struct writer *w)
{
	const struct sw_profile_info *info = &w->profile->info;
	struct sw_text name = {0};
	sw_profile_process_name(&name, w->profile);
	w->to->failed |= name.failed;
	sw_text_printf(w->to,
		       "{\"meta\":{\"preprocessedProfileVersion\":%d,\"version\":%d,\"interval\":",
		       VERSION, GECKO_VERSION);
	sw_put_ms(w->to, sw_profile_period_ns(w->profile));
	put(w, ",\"startTime\":");
	sw_put_ms(w->to, (uint64_t) info->begin_ns);
	put(w, ",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
	       "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	       "\"importedFrom\":\"snapwalk\",\"markerSchema\":[],\"platform\":\"Linux\","
	       "\"oscpu\":");
	sw_put_json(w->to, sw_profile_text_of(w->profile, w->profile->kernel));
	put(w, ",\"product\":");
	sw_put_json(w->to, name.failed ? "" : name.data);
	put(w, ",\"categories\":");
	put(w, categories);
	put(w, "},");
	sw_text_deinit(&name);
}

static int put_all(struct writer *w)
{
	w->t = w->view.tables;
	if (sw_profile_view_mark_states(&w->view) < 0 || rows_sort(w) < 0)
		return -SW_E_NOMEM;
	put_meta(w);
	put_libs(w);
	put_shared(w);
	put(w, ",\"threads\":[");
	for (size_t i = 0; i < w->t->threads.n; i++) {
		put(w, i > 0 ? "," : "");
		put_thread(w, i);
	}
	put(w, "]}\n");
	return 0;
}

int sw_profile_firefox(struct sw_text *text, const struct sw_profile *p,
		       const struct sw_profile_write_options *options)
{
	struct writer w = {.to = text, .profile = p};
	(void) options;
	if (sw_profile_view_init(&w.view, p, NULL) < 0)
		return -SW_E_NOMEM;
	int r = put_all(&w);
	sw_profile_view_deinit(&w.view);
	free(w.first);
	free(w.rows);
	return r;
}
