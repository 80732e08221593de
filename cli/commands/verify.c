/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second opinion: one snapshot, walked by us and by libunwind, compared frame by frame. */
#include "commands/commands.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "run/obtain.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <inttypes.h>

struct verifier {
	const struct sw_options *options;
	struct sw_session *session; /* owned */
	struct sw_pipeline taken, ours, theirs;
	size_t n_same, n_different;
	bool json;
	struct sw_text text; /* the whole answer */
};

static const struct sw_frame *frame_at(const struct sw_walk *w, size_t i)
{
	return i < w->n_frames ? &w->frames[i] : NULL;
}

/* Index of the first frame that differs; the number of frames when none does. */
static size_t first_difference(const struct sw_walk *a, const struct sw_walk *b)
{
	size_t i = 0;
	while (i < a->n_frames && i < b->n_frames && a->frames[i].pc_avma == b->frames[i].pc_avma)
		i++;
	return i;
}

static void print_frame(struct sw_text *text, const char *who, const struct sw_frame *f,
			const struct sw_symbols *names, const struct sw_walk *walk)
{
	if (f == NULL) {
		sw_text_printf(text, "    %-10s no frame (%s%s%s)\n", who, sw_end_name(walk->end),
			       walk->why != NULL ? ": " : "", walk->why != NULL ? walk->why : "");
		return;
	}
	const struct sw_symbol *symbol = NULL;
	size_t n = names != NULL ? sw_symbols_find(names, f, &symbol) : 0;
	const char *function = n > 0 ? symbol[n - 1].function : NULL;
	sw_text_printf(text, "    %-10s 0x%" PRIx64 " %s %s (%s, %s)\n", who, f->pc_avma,
		       function != NULL ? function : "?",
		       f->place != NULL ? sw_module_path(f->place->module) : "in no module", f->by,
		       sw_trust_name(f->trust));
}

static void json_frame(struct sw_text *text, const char *who, const struct sw_frame *f,
		       const struct sw_symbols *names, const struct sw_walk *walk)
{
	const struct sw_symbol *symbol = NULL;
	if (f == NULL) {
		sw_text_printf(text, ",\"%s\":{\"end\":\"%s\"", who, sw_end_name(walk->end));
		sw_json_text_member(text, "why", walk->why);
		sw_text_append(text, "}", 1);
		return;
	}
	size_t n = names != NULL ? sw_symbols_find(names, f, &symbol) : 0;
	sw_text_printf(text, ",\"%s\":{\"pc\":\"0x%" PRIx64 "\"", who, f->pc_avma);
	sw_json_text_member(text, "function", n > 0 ? symbol[n - 1].function : NULL);
	sw_json_text_member(text, "module",
			    f->place != NULL ? sw_module_path(f->place->module) : NULL);
	sw_json_text_member(text, "by", f->by);
	sw_json_text_member(text, "trust", sw_trust_name(f->trust));
	sw_text_append(text, "}", 1);
}

static void json_thread(struct verifier *v, const struct sw_walk *ours,
			const struct sw_walk *theirs, size_t at)
{
	bool same = at == ours->n_frames && at == theirs->n_frames;
	sw_text_printf(&v->text, "%s{\"tid\":%d", v->n_same + v->n_different > 1 ? "," : "",
		       (int) ours->thread->tid);
	sw_json_text_member(&v->text, "comm", ours->thread->comm);
	sw_text_printf(&v->text, ",\"same\":%s,\"frames\":%zu,\"libunwind_frames\":%zu",
		       same ? "true" : "false", ours->n_frames, theirs->n_frames);
	if (!same) {
		sw_text_printf(&v->text, ",\"differs_at\":%zu", at);
		json_frame(&v->text, "snapwalk", frame_at(ours, at), v->ours.symbols, ours);
		json_frame(&v->text, "libunwind", frame_at(theirs, at), v->theirs.symbols, theirs);
	}
	sw_text_append(&v->text, "}", 1);
}

static void compare_thread(struct verifier *v, const struct sw_walk *ours,
			   const struct sw_walk *theirs)
{
	size_t i = first_difference(ours, theirs);
	bool same = i == ours->n_frames && i == theirs->n_frames;
	v->n_same += same;
	v->n_different += !same;
	if (v->json) {
		json_thread(v, ours, theirs, i);
		return;
	}
	sw_text_printf(&v->text, "%d %s: ", (int) ours->thread->tid, ours->thread->comm);
	if (same) {
		sw_text_printf(&v->text, "same (%zu frames)\n", ours->n_frames);
		return;
	}
	sw_text_printf(&v->text, "different at frame %zu (%zu frames, libunwind %zu)\n", i,
		       ours->n_frames, theirs->n_frames);
	print_frame(&v->text, "snapwalk", frame_at(ours, i), v->ours.symbols, ours);
	print_frame(&v->text, "libunwind", frame_at(theirs, i), v->theirs.symbols, theirs);
}

/* Each opinion has all of --timeout. */
static int walk(struct verifier *v, bool libunwind, struct sw_pipeline *ret, struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_SNAPSHOT, .snapshot = v->taken.snap};
	struct sw_pipeline_options how = sw_obtain_options(v->options, sw_clock_ns());
	how.walk.mode = SW_WALK_HYBRID;
	how.libunwind = libunwind;
	how.last = SW_PIPELINE_NAME;
	return sw_pipeline_run(v->session, &origin, &how, ret, err);
}

static void put_counts(struct verifier *v, size_t missing)
{
	size_t n = v->n_same + v->n_different;
	sw_text_printf(&v->text, "%zu thread%s: %zu same, %zu different", n, sw_plural(n),
		       v->n_same, v->n_different);
	if (missing > 0)
		sw_text_printf(&v->text, "; %zu more not captured", missing);
	sw_text_printf(&v->text, "\n");
}

static int verify(struct verifier *v, const struct sw_subject *subject)
{
	struct sw_error err = {0};
	struct sw_pipeline_options take = sw_obtain_options(v->options, v->options->begin_ns);
	take.last = SW_PIPELINE_TAKE;
	if (sw_walk_libunwind_load(&err) < 0 ||
	    sw_obtain_confined(v->session, subject, v->options, &take, &v->taken, &err) < 0 ||
	    walk(v, false, &v->ours, &err) < 0 || walk(v, true, &v->theirs, &err) < 0)
		return sw_complain_error(subject->name, &err);
	/* Both have one walk for each captured thread, in the snapshot's order. */
	const struct sw_walks *ours = v->ours.walks, *theirs = v->theirs.walks;
	if (v->json)
		sw_text_printf(&v->text,
			       "{\"schema\":\"snapwalk.verify/1\",\"pid\":%d,\"threads\":[",
			       (int) subject->pid);
	for (size_t i = 0; i < ours->n_walks && i < theirs->n_walks; i++)
		compare_thread(v, &ours->walks[i], &theirs->walks[i]);
	size_t missing = sw_count_missing(v->taken.snap);
	if (v->json)
		sw_text_printf(&v->text, "],\"same\":%zu,\"different\":%zu,\"missing\":%zu}\n",
			       v->n_same, v->n_different, missing);
	else
		put_counts(v, missing);
	if (v->text.failed) {
		(void) sw_fail_nomem(&err);
		return sw_complain_error(subject->name, &err);
	}
	sw_print_visible(stdout, v->text.data);
	return v->n_different + missing == 0 ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

int sw_cmd_verify(const struct sw_options *options)
{
	struct sw_subject subject;
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	struct verifier v = {.options = options, .json = options->format == SW_FORMAT_JSON};
	struct sw_error err = {0};
	if (sw_session_create(&v.session, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = verify(&v, &subject);
	sw_pipeline_deinit(&v.ours);
	sw_pipeline_deinit(&v.theirs);
	sw_pipeline_deinit(&v.taken);
	sw_text_deinit(&v.text);
	sw_session_destroy(v.session);
	return status;
}
