/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything known of one address, in words: for users who wonder about a frame, and for us. */
#include "walk/explain.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk/tables.h"
#include "walk/walks.h"

#include <snapwalk/clock.h>
#include <inttypes.h>
#include <string.h>

static void explain_mapping(const struct sw_map *map, struct sw_text *text)
{
	sw_text_printf(text,
		       "mapping: 0x%" PRIx64 "-0x%" PRIx64 " %c%c%c%c offset 0x%" PRIx64 " %s\n",
		       map->start_avma, map->end_avma, map->prot & SW_MAP_READ ? 'r' : '-',
		       map->prot & SW_MAP_WRITE ? 'w' : '-', map->prot & SW_MAP_EXEC ? 'x' : '-',
		       map->prot & SW_MAP_SHARED ? 's' : 'p', map->file_off,
		       map->path[0] != '\0' ? map->path : "(anonymous)");
}

static void explain_module(const struct sw_place *place, uint64_t avma, struct sw_text *text)
{
	struct sw_module *module = place->module;
	const char *problem = sw_module_problem(module);
	sw_text_printf(text, "module: %s, %s%s%s%s\n", sw_module_path(module),
		       sw_module_kind_name(sw_module_kind(module)),
		       sw_module_deleted(module) ? ", deleted" : "", problem != NULL ? ": " : "",
		       problem != NULL ? problem : "");
	size_t n;
	const uint8_t *id = sw_module_build_id(module, &n);
	if (id != NULL) {
		sw_text_printf(text, "module: build-id ");
		for (size_t i = 0; i < n; i++)
			sw_text_printf(text, "%02x", id[i]);
		sw_text_printf(text, "\n");
	}
	if (place->resolved == 1)
		sw_text_printf(text, "module: bias 0x%" PRIx64 ", svma 0x%" PRIx64 "\n",
			       place->bias, avma - place->bias);
	else
		sw_text_printf(text, "module: where it was mapped could not be made out\n");
}

/* Appends what says, each line with who says it. */
static void append_lines(struct sw_text *text, const char *name, const struct sw_text *what)
{
	if (what->data == NULL)
		return;
	for (const char *line = what->data; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		sw_text_printf(text, "%s: ", name);
		sw_text_append(text, line, length);
		sw_text_append(text, "\n", 1);
		line += length + (line[length] == '\n');
	}
}

/* SW_CODE_* of the code at a place. */
static uint32_t kind_of(const struct sw_place *place)
{
	return UINT32_C(1) << (place != NULL ? sw_module_kind(place->module) : SW_MODULE_ANON);
}

static void explain_active(const struct sw_active_list *active, const struct sw_snapshot *snap,
			   const struct sw_place *place, uint64_t avma, struct sw_text *text)
{
	for (size_t i = 0; i < active->n; i++) {
		const struct sw_active *a = &active->all[i];
		uint32_t kinds = a->kinds | (a->runtime != NULL ? a->runtime->explains : 0);
		if (!(kinds & kind_of(place)))
			continue;
		struct sw_text own = {0};
		sw_active_explain(a, snap, avma, &own);
		text->failed |= own.failed;
		append_lines(text, a->name, &own);
		sw_text_deinit(&own);
	}
}

enum { FRAMES_MAX = 32, WALK_MS = 1000 };

static bool has_explain_frame(const struct sw_active *active)
{
	return active != NULL && active->runtime != NULL && active->runtime->explain_frame != NULL;
}

/* Whether anybody tells what frames execute whose code is at a place. */
static bool any_explains_frames(const struct sw_active_list *active, const struct sw_place *place)
{
	bool any = false;
	for (size_t i = 0; i < active->n; i++)
		any |= has_explain_frame(&active->all[i]) &&
		       (active->all[i].kinds & kind_of(place));
	return any;
}

/* False: there is nothing to tell of this one. */
static bool explain_frame(const struct sw_walks *walks, const struct sw_walk *walk, size_t i,
			  struct sw_text *text)
{
	const struct sw_active *owner = sw_walks_owner(walks, &walk->frames[i]);
	struct sw_text own = {0};
	owner->runtime->explain_frame(owner->state, &walk->frames[i], &own);
	bool told = own.size > 0;
	if (told) {
		sw_text_printf(text, "%s: thread %d, frame %zu:\n", owner->name, walk->thread->tid,
			       i);
		append_lines(text, owner->name, &own);
	}
	text->failed |= own.failed;
	sw_text_deinit(&own);
	return told;
}

/* The functions that threads execute at an address, as each runtime tells them: one address may be
 * that of many functions of an interpreter. */
static int explain_frames(const struct sw_snapshot *snap, const struct sw_tables *tables,
			  int64_t deadline_ns, uint64_t avma, struct sw_text *text,
			  struct sw_error *err)
{
	const struct sw_walk_options options = {.deadline_ns = deadline_ns};
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = NULL;
	size_t n = 0, n_more = 0, n_late = 0;
	int r = sw_walk_all_with(snap, tables, &options, &walks, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *w = &walks->walks[i];
		n_late += w->end == SW_END_TIMEOUT;
		for (size_t k = 0; w->thread != NULL && k < w->n_frames; k++)
			if (w->frames[k].pc_avma != avma ||
			    !has_explain_frame(sw_walks_owner(walks, &w->frames[k])))
				continue;
			else if (n < FRAMES_MAX)
				n += explain_frame(walks, w, k, text);
			else
				n_more++;
	}
	if (n_late > 0)
		sw_text_printf(
			text,
			"frames: %zu threads were not walked to their end: the time limit was "
			"reached\n",
			n_late);
	if (n_more > 0)
		sw_text_printf(text, "frames: %zu more are at it\n", n_more);
	return 0;
}

int sw_explain_with(const struct sw_snapshot *snap, const struct sw_tables *tables,
		    int64_t deadline_ns, uint64_t avma, char **ret_text, struct sw_error *err)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "0x%" PRIx64 " is not mapped", avma);
	struct sw_place *place = map->place >= 0 && (size_t) map->place < snap->n_places
					 ? &snap->places[map->place]
					 : NULL;
	struct sw_active_list active = {0};
	int r = sw_active_attach(snap, tables, &active, err);
	struct sw_text text = {0};
	if (r == 0) {
		explain_mapping(map, &text);
		if (place != NULL) {
			(void) sw_place_resolve(place, snap); /* what is unknown is said so */
			explain_module(place, avma, &text);
		}
		explain_active(&active, snap, place, avma, &text);
		if (any_explains_frames(&active, place))
			r = explain_frames(snap, tables, deadline_ns, avma, &text, err);
		if (r == 0 && text.failed)
			r = sw_fail_nomem(err);
	}
	sw_active_detach(&active);
	if (r == 0)
		*ret_text = sw_take_ptr(text.data);
	sw_text_deinit(&text);
	return r;
}

int sw_explain(const struct sw_snapshot *snap, uint64_t avma, char **ret_text, struct sw_error *err)
{
	int64_t deadline_ns = sw_clock_ns() + (int64_t) WALK_MS * 1000000;
	return sw_explain_with(snap, &sw_tables, deadline_ns, avma, ret_text, err);
}
