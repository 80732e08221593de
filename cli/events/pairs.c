/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/pairs.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "common/pair_word.h"
#include "errors.h"
#include "map.h"
#include "parts.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the functions are ------------------------------------------------------------------ */

/* Whether functions of a pair were found that hand out, or that take back. */
static bool has(const struct sw_pair_list *list, const struct sw_function *f, unsigned pair,
		bool releases)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct sw_pair_function *of = &list->all[f->wanted[i]];
		if (of->pair == pair && of->releases == releases)
			return true;
	}
	return false;
}

/* Drops pairs of which one half is missing: the other half alone would show leaks that are none. */
static void halves_drop(const struct sw_pair_list *list, struct sw_function *f)
{
	bool whole[SW_EVENT_PLACES_MAX] = {0}, keep[SW_EVENT_PLACES_MAX] = {0};
	for (unsigned pair = 0; pair < list->n_pairs; pair++)
		whole[pair] = has(list, f, pair, false) && has(list, f, pair, true);
	for (size_t i = 0; i < f->n; i++)
		keep[i] = whole[list->all[f->wanted[i]].pair];
	sw_function_keep(f, keep);
}

/* Whether a function is in its pair both ways: it takes one back and hands another one out, as realloc(3). */
static bool is_both(const struct sw_pair_list *list, const struct sw_pair_function *of)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct sw_pair_function *other = &list->all[i];
		if (other->pair == of->pair && other->releases != of->releases &&
		    other->module == of->module && strcmp(other->name, of->name) == 0)
			return true;
	}
	return false;
}

static bool is_same_code(const struct sw_function *f, size_t a, size_t b)
{
	return f->start_avma[a] == f->start_avma[b] &&
	       f->places[a].file_off == f->places[b].file_off;
}

/* Why a function is not followed, as of another one that is missing. */
static int missing_add(struct sw_function *f, size_t i, size_t other)
{
	char *why;
	if (f->n_missing == SW_EVENT_PLACES_MAX)
		return 0; /* it is missing without a reason */
	int length =
		strcmp(f->names[i], f->names[other]) == 0
			? asprintf(&why, "what it hands out is of the first pair that it is in")
			: asprintf(&why, "it is the same code as %s, which is followed",
				   f->names[other]);
	if (length < 0)
		return -SW_E_NOMEM;
	f->missing[f->n_missing].wanted = f->wanted[i];
	f->missing[f->n_missing].is_absent = false;
	f->missing[f->n_missing].is_of_other = true;
	f->missing[f->n_missing++].why = why;
	return 0;
}

/*
 * Follows code that has several names once: each thing would be counted for each name. Of one pair the names mean the same.
 * A thing of two pairs is of the first one; of a command line that is a mistake.
 */
static int aliases_drop(const struct sw_options *options, const struct sw_subject *subject,
			struct sw_function *f)
{
	const struct sw_pair_list *list = options->pairs;
	bool keep[SW_EVENT_PLACES_MAX];
	for (size_t i = 0; i < f->n; i++) {
		const struct sw_pair_function *of = &list->all[f->wanted[i]];
		keep[i] = true;
		for (size_t k = 0; k < i && keep[i]; k++) {
			const struct sw_pair_function *first = &list->all[f->wanted[k]];
			bool same_pair = first->pair == of->pair;
			if (!keep[k] || !is_same_code(f, i, k) || first->releases != of->releases ||
			    (of->releases && !same_pair))
				continue;
			keep[i] = false;
			if (same_pair)
				continue;
			if (!list->is_file) {
				char text[256];
				(void) snprintf(
					text, sizeof(text),
					"%.80s and %.80s are two names of one function, and "
					"what it hands out is of one pair",
					f->names[k], f->names[i]); /* fits */
				sw_complain_for(subject->name, text, "invalid", 0);
				return SW_STATUS_USAGE;
			}
			if (missing_add(f, i, k) < 0)
				return SW_STATUS_NOTHING;
		}
	}
	sw_function_keep(f, keep);
	return SW_STATUS_COMPLETE;
}

static void places_set(const struct sw_pair_list *list, struct sw_function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct sw_pair_function *of = &list->all[f->wanted[i]];
		f->places[i].releases = of->releases;
		f->places[i].pair = of->pair;
		f->places[i].handle = of->handle;
		f->places[i].size = of->size;
		f->places[i].size_times = of->size_times;
		f->places[i].only_zero = of->only_zero;
		f->places[i].nests = of->releases && (of->nests || is_both(list, of));
		f->places[i].moves = !of->releases && is_both(list, of);
		if (of->outside) {
			f->places[i].inside_start_avma = f->start_avma[i];
			f->places[i].inside_end_avma = f->end_avma[i];
		}
	}
}

static int nothing(const struct sw_subject *subject, const struct sw_function *f)
{
	char text[256];
	(void) snprintf(text, sizeof(text), "none of these pairs can be followed: %s",
			f->n_missing > 0 ? f->missing[0].why : "no function was found");
	sw_complain_for(subject->name, text, "not_found", SW_SAID_OF_PAIRS);
	return SW_STATUS_NOTHING;
}

int sw_pairs_look(const struct sw_options *options, const struct sw_subject *subject,
		  struct sw_function *ret)
{
	const struct sw_pair_list *list = options->pairs;
	struct sw_function_wanted wanted[SW_EVENT_PLACES_MAX];
	for (size_t i = 0; i < list->n; i++)
		wanted[i] = (struct sw_function_wanted){.module = list->all[i].module,
							.name = list->all[i].name,
							.at_return = !list->all[i].releases,
							.optional = list->is_file,
							.after = list->all[i].after};
	int status = sw_functions_find(options, subject, wanted, list->n, ret);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (!list->is_any)
		status = aliases_drop(options, subject, ret);
	halves_drop(list, ret);
	places_set(list, ret);
	return status;
}

int sw_pairs_find(const struct sw_options *options, const struct sw_subject *subject,
		  struct sw_function *ret)
{
	int status = sw_pairs_look(options, subject, ret);
	return status == SW_STATUS_COMPLETE && ret->n == 0 ? nothing(subject, ret) : status;
}

static size_t breakpoints_count(const struct sw_function *f)
{
	size_t n = f->n;
	for (size_t i = 0; i < f->n; i++)
		n += f->places[i].n_returns;
	return n;
}

static bool is_same_file(const struct sw_pair_function *a, const struct sw_pair_function *b)
{
	return a->module == NULL || b->module == NULL ? a->module == b->module
						      : strcmp(a->module, b->module) == 0;
}

/* Whether a function that is missing is followed in another file: lists name each file where it may be. */
static bool is_elsewhere(const struct sw_pair_list *list, const struct sw_function *f,
			 size_t missing)
{
	const struct sw_pair_function *of = &list->all[f->missing[missing].wanted];
	for (size_t i = 0; i < f->n; i++) {
		const struct sw_pair_function *other = &list->all[f->wanted[i]];
		if (strcmp(other->name, of->name) == 0 && !is_same_file(other, of))
			return true;
	}
	return false;
}

/* Whether one half of a pair is followed by functions of the same names, which are of another pair. */
static bool half_is_of(const struct sw_pair_list *list, const struct sw_function *f, unsigned pair,
		       unsigned other, bool releases)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct sw_pair_function *of = &list->all[f->wanted[i]];
		if (of->pair != other || of->releases != releases)
			continue;
		for (size_t k = 0; k < list->n; k++)
			if (list->all[k].pair == pair && list->all[k].releases == releases &&
			    strcmp(list->all[k].name, of->name) == 0)
				return true;
	}
	return false;
}

/* Whether functions of a pair are followed, or those of a pair of the same names, as lists name each file where these may
 * be. */
static bool is_followed(const struct sw_pair_list *list, const struct sw_function *f, unsigned pair)
{
	/* A thing that one of them hands out is counted for another pair, which does not get it back. */
	for (size_t i = 0; i < f->n_missing; i++)
		if (f->missing[i].is_of_other && list->all[f->missing[i].wanted].pair == pair)
			return false;
	for (unsigned other = 0; other < list->n_pairs; other++)
		if (half_is_of(list, f, pair, other, false) &&
		    half_is_of(list, f, pair, other, true))
			return true;
	return false;
}

unsigned sw_pairs_followed(const struct sw_event_run *run)
{
	unsigned n = 0;
	for (unsigned pair = 0; pair < run->options->pairs->n_pairs; pair++)
		n += is_followed(run->options->pairs, &run->function, pair);
	return n;
}

bool sw_pairs_are_all(const struct sw_event_run *run)
{
	const struct sw_pair_list *list = run->options->pairs;
	return list->is_any || sw_pairs_followed(run) == list->n_pairs;
}

static void plain_put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

/* Each pair that is not followed, with its reason, where the output has no place for it. */
static void each_complain(const struct sw_event_run *run)
{
	const struct sw_function *f = &run->function;
	const struct sw_pair_list *list = run->options->pairs;
	for (size_t i = 0; i < f->n_missing; i++) {
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		if (is_elsewhere(list, f, i))
			continue;
		sw_text_printf(&text, "not followed: ");
		plain_put(&text, list->all[f->missing[i].wanted].name);
		sw_text_printf(&text, ": ");
		plain_put(&text, f->missing[i].why);
		if (!text.failed) /* the figures below are there in any case */
			sw_complain_for(run->subject.name, text.data, "unsupported",
					SW_SAID_OF_PAIRS | SW_SAID_OF_OTHERS);
	}
}

int sw_pairs_missing(const struct sw_event_run *run)
{
	const enum sw_profile_format format = run->options->profile_format;
	const bool shown = format == SW_PROFILE_TEXT || format == SW_PROFILE_JSON;
	char text[128];
	if (!sw_event_run_changes_code(run) || sw_pairs_are_all(run))
		return SW_STATUS_COMPLETE;
	if (!shown)
		each_complain(run);
	(void) snprintf(text, sizeof(text), "%u of %u pairs were followed", sw_pairs_followed(run),
			run->options->pairs->n_pairs); /* fits */
	sw_complain_for(run->subject.name, text, "unsupported",
			SW_SAID_OF_PAIRS | (shown ? SW_SAID_IN_RESULT : 0));
	return SW_STATUS_MISSING;
}

void sw_pairs_notice(const struct sw_event_run *run, struct sw_text *ret)
{
	enum { SHOWN = 8 };
	const struct sw_function *f = &run->function;
	const struct sw_pair_list *list = run->options->pairs;
	sw_text_printf(ret, "probes ");
	for (size_t i = 0; i < f->n && i < SHOWN; i++) {
		sw_text_printf(ret, "%s", i > 0 ? ", " : "");
		plain_put(ret, f->names[i]);
	}
	if (f->n > SHOWN)
		sw_text_printf(ret, " and %zu more", f->n - SHOWN);
	sw_text_printf(ret,
		       ": until this command ends the kernel has %zu breakpoints in the code of "
		       "process %d\n",
		       breakpoints_count(f), (int) run->subject.pid);
	sw_overhead_notice(&run->overhead, f, true, ret);
	for (size_t i = 0; i < f->n_missing; i++) {
		if (is_elsewhere(list, f, i))
			continue;
		sw_text_printf(ret, "not followed: ");
		plain_put(ret, list->all[f->missing[i].wanted].name);
		sw_text_printf(ret, ": ");
		plain_put(ret, f->missing[i].why);
		sw_text_append(ret, "\n", 1);
	}
}

void sw_pairs_json(const struct sw_event_run *run, struct sw_text *ret)
{
	const struct sw_function *f = &run->function;
	const struct sw_pair_list *list = run->options->pairs;
	sw_text_printf(ret, ",\"changes_code\":true,\"functions\":[");
	for (size_t i = 0; i < f->n; i++) {
		sw_text_printf(ret, "%s{\"pair\":%u,\"releases\":%s,\"returns\":%zu",
			       i > 0 ? "," : "", f->places[i].pair,
			       f->places[i].releases ? "true" : "false", f->places[i].n_returns);
		sw_json_text_member(ret, "function", f->names[i]);
		sw_text_append(ret, "}", 1);
	}
	sw_text_printf(ret, "],\"not_followed\":[");
	for (size_t i = 0, n = 0; i < f->n_missing; i++) {
		const struct sw_pair_function *of = &list->all[f->missing[i].wanted];
		if (is_elsewhere(list, f, i))
			continue;
		sw_text_printf(ret, "%s{\"pair\":%u", n++ > 0 ? "," : "", of->pair);
		sw_json_text_member(ret, "function", of->name);
		sw_json_text_member(ret, "reason", f->missing[i].why);
		sw_text_append(ret, "}", 1);
	}
	sw_text_printf(ret, "],\"pairs\":%u,\"pairs_followed\":%u", list->n_pairs,
		       sw_pairs_followed(run));
}

/* ---- what is outstanding ---------------------------------------------------------------------- */

/* Something that was handed out. */
struct thing {
	uint64_t handle, size;
	int64_t time_ns;
	uint32_t index; /* of the row */
	uint32_t
		earlier; /* the same handle, handed out before: index + 1; 0: none. Of a free one: the next free one */
	unsigned pair;
	bool used, confirmed; /* confirmed: the kernel has it in the end */
};

struct pairs {
	struct sw_held held;
	struct sw_held_kind kind;
	struct thing *things; /* owned */
	size_t n_things, things_max, n_used;
	uint32_t free; /* index + 1; 0: none */
	struct sw_map64
		*last; /* owned: of each pair, handle -> index + 1 of the last thing; 0: none */
	unsigned n_pairs;
	uint64_t again; /* handed out while they were outstanding */
	/* The last thing that a thread has given up by a function which may turn out to have kept it. */
	struct sw_map64 by_thread; /* owned, as the following: thread -> index + 1 */
	struct thing *given;
	size_t n_given, given_max;
};

static void destroy(struct sw_held *held)
{
	struct pairs *p = (struct pairs *) held;
	for (unsigned i = 0; i < p->n_pairs; i++)
		sw_map64_deinit(&p->last[i]);
	free(p->last);
	free(p->things);
	free(p->given);
	sw_map64_deinit(&p->by_thread);
	sw_held_deinit(&p->held);
	free(p);
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	const struct sw_pair_list *list = run->options->pairs;
	struct pairs *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return sw_fail_nomem(err);
	p->kind = sw_held_pairs;
	p->kind.name = run->options->of_text;
	p->kind.noun = list->is_any ? "block" : "object"; /* allocators hand out blocks */
	for (size_t i = 0; i < list->n; i++)
		p->kind.has_bytes |= list->all[i].size.argument != 0;
	p->last = calloc(list->n_pairs, sizeof(*p->last));
	p->n_pairs = p->last != NULL ? list->n_pairs : 0;
	if (sw_held_init(&p->held, &p->kind, run) < 0 || p->last == NULL) {
		destroy(&p->held);
		return sw_fail_nomem(err);
	}
	*ret = &p->held;
	return 0;
}

static uint32_t last_of(const struct pairs *p, unsigned pair, uint64_t handle)
{
	uint64_t last = 0;
	return sw_map64_get(&p->last[pair], handle, &last) ? (uint32_t) last : 0;
}

/* Handles that are never used again would stay in the map. */
static int map_renew(struct pairs *p, unsigned pair)
{
	enum { SMALL = 4096, MUCH = 4 };
	struct sw_map64 renewed = {0};
	if (p->last[pair].count < SMALL || p->last[pair].count / MUCH < p->n_used)
		return 0;
	for (size_t i = 0; i < p->n_things; i++) {
		const struct thing *t = &p->things[i];
		if (!t->used || t->pair != pair)
			continue;
		if (sw_map64_put(&renewed, t->handle, last_of(p, pair, t->handle)) < 0) {
			sw_map64_deinit(&renewed);
			return -SW_E_NOMEM;
		}
	}
	sw_map64_deinit(&p->last[pair]);
	p->last[pair] = renewed;
	return 0;
}

static int thing_take(struct pairs *p, uint32_t *ret)
{
	if (p->free != 0) {
		*ret = p->free;
		p->free = p->things[*ret - 1].earlier;
		return 0;
	}
	struct thing *grown = sw_grow(p->things, p->n_things, &p->things_max, 256, sizeof(*grown));
	if (grown == NULL || p->n_things >= UINT32_MAX - 1)
		return -SW_E_NOMEM;
	p->things = grown;
	*ret = (uint32_t) ++p->n_things;
	return 0;
}

static int hand_out(struct pairs *p, const struct sw_event *e, unsigned pair, uint32_t index)
{
	uint32_t at, earlier = last_of(p, pair, e->arguments[0]);
	int r = map_renew(p, pair);
	if (r == 0)
		r = thing_take(p, &at);
	if (r == 0)
		r = sw_map64_put(&p->last[pair], e->arguments[0], at);
	if (r < 0)
		return r;
	p->things[at - 1] = (struct thing){.handle = e->arguments[0],
					   .size = e->arguments[1],
					   .time_ns = e->time_ns,
					   .index = index,
					   .earlier = earlier,
					   .pair = pair,
					   .used = true};
	p->n_used++;
	p->again += earlier != 0;
	sw_held_acquired(&p->held, index, e);
	p->held.rows[index].acquired_bytes += e->arguments[1];
	p->held.acquired_bytes += e->arguments[1];
	return 0;
}

/* Gives the last thing of a handle up. */
static int drop(struct pairs *p, uint32_t at)
{
	struct thing *t = &p->things[at - 1];
	int r = sw_map64_put(&p->last[t->pair], t->handle, t->earlier);
	*t = (struct thing){.earlier = p->free};
	p->free = at;
	p->n_used--;
	return r;
}

static int given_note(struct pairs *p, pid_t tid, const struct thing *thing)
{
	uint64_t at = 0;
	if (!sw_map64_get(&p->by_thread, (uint64_t) tid, &at)) {
		struct thing *grown =
			sw_grow(p->given, p->n_given, &p->given_max, 16, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		p->given = grown;
		at = ++p->n_given;
		if (sw_map64_put(&p->by_thread, (uint64_t) tid, at) < 0)
			return -SW_E_NOMEM;
	}
	p->given[at - 1] = *thing;
	return 0;
}

/* The thread's last release was none: the function has failed. */
static int keep(struct pairs *p, const struct sw_event *e)
{
	uint64_t given = 0;
	uint32_t at;
	if (!sw_map64_get(&p->by_thread, (uint64_t) e->tid, &given))
		return 0;
	struct thing *thing = &p->given[given - 1];
	if (!thing->used || thing->handle != e->arguments[0])
		return 0; /* it is without a stack */
	int r = thing_take(p, &at);
	if (r < 0)
		return r;
	thing->earlier = last_of(p, thing->pair, thing->handle);
	p->things[at - 1] = *thing;
	p->n_used++;
	p->held.rows[thing->index].released--;
	p->held.released--;
	*thing = (struct thing){0};
	return sw_map64_put(&p->last[p->things[at - 1].pair], e->arguments[0], at);
}

/* The kernel tells only of those that it has. */
static int take_back(struct pairs *p, const struct sw_event *e, const struct sw_event_place *place)
{
	const unsigned pair = place->pair;
	uint32_t at = last_of(p, pair, e->arguments[0]);
	if (at == 0) { /* when it was handed out there was no space for a record */
		sw_held_acquired(&p->held, 0, e);
		sw_held_released(&p->held, 0);
		return 0;
	}
	sw_held_released(&p->held, p->things[at - 1].index);
	int r = place->nests ? given_note(p, e->tid, &p->things[at - 1]) : 0;
	return r < 0 ? r : drop(p, at);
}

/* The process is another program: its memory is gone. */
static int all_take_back(struct pairs *p)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < p->n_things; i++) {
		if (!p->things[i].used)
			continue;
		sw_held_released(&p->held, p->things[i].index);
		r = drop(p, (uint32_t) i + 1);
	}
	for (unsigned pair = 0; pair < p->n_pairs; pair++)
		sw_map64_deinit(&p->last[pair]);
	return r;
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct pairs *p = arg;
	const struct sw_function *f = &p->held.run->function;
	uint32_t index = 0;
	int r = sw_held_index(&p->held, row, &index);
	if (r == 0 && e->kind == SW_EVENT_PROGRAM)
		r = all_take_back(p);
	if (r == 0 && e->kind == SW_EVENT_HANDED && e->place < f->n)
		r = hand_out(p, e, f->places[e->place].pair, index);
	if (r == 0 && e->kind == SW_EVENT_TAKEN && e->place < f->n)
		r = take_back(p, e, &f->places[e->place]);
	if (r == 0 && e->kind == SW_EVENT_KEPT)
		r = keep(p, e);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* The kernel has n things with this handle; those that we have not were handed out without a record. */
static int confirm(void *arg, const struct sw_event_held *held)
{
	struct pairs *p = arg;
	uint64_t n = held->n;
	int r = 0;
	p->held.n_there += n;
	uint32_t at = held->pair < p->n_pairs ? last_of(p, held->pair, held->handle) : 0;
	for (; n > 0 && at != 0; n--, at = p->things[at - 1].earlier)
		p->things[at - 1].confirmed = true;
	for (; r == 0 && n > 0; n--) {
		p->held.rows[0].acquired++;
		p->held.acquired++;
		r = sw_held_put(&p->held, 0, p->held.run->begin_ns, 0);
	}
	return r;
}

static int list(struct sw_held *held)
{
	struct pairs *p = (struct pairs *) held;
	int r = sw_recorder_held(held->run->recorder, confirm, p, &held->not_checked);
	if (r == -SW_E_NOMEM)
		return r;
	held->check_ns = r == 0 ? held->run->end_ns : 0;
	r = 0;
	for (size_t i = 0; r == 0 && i < p->n_things; i++) {
		const struct thing *t = &p->things[i];
		if (!t->used)
			continue;
		if (t->confirmed || held->check_ns == 0) {
			r = sw_held_put(held, t->index, t->time_ns, t->size);
			continue;
		}
		held->closed_unseen++;
		held->unseen_bytes += t->size;
		held->rows[t->index].unseen++;
	}
	return r;
}

void sw_pairs_figures(const struct sw_held *held, struct sw_text *ret)
{
	const struct pairs *p = (const struct pairs *) held;
	const struct sw_event_cost *cost = &held->run->cost;
	const struct {
		const char *what;
		uint64_t n;
	} figures[] = {
		{cost->n_not_held > 0 ? "acquired before, or not followed, and released"
				      : "acquired before and released",
		 cost->n_unknown},
		{"calls that acquired nothing", cost->n_none},
		{"acquired again before the release, of which the last one counts as released",
		 p->again},
		{"not followed, as so many were outstanding", cost->n_not_held},
		{"not followed, as other threads got or gave up the same one all the time",
		 cost->n_unsure},
		{"calls that ended by no return", cost->n_left_out}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(figures); i++)
		if (figures[i].n > 0)
			sw_text_printf(ret, " · %s %" PRIu64, figures[i].what, figures[i].n);
}

void sw_pairs_figures_json(const struct sw_held *held, struct sw_text *ret)
{
	const struct pairs *p = (const struct pairs *) held;
	const struct sw_event_cost *cost = &held->run->cost;
	sw_text_printf(ret,
		       ",\"acquired_nothing\":%" PRIu64 ",\"acquired_again\":%" PRIu64
		       ",\"not_held\":%" PRIu64 ",\"unsure\":%" PRIu64 ",\"left_out\":%" PRIu64,
		       cost->n_none, p->again, cost->n_not_held, cost->n_unsure, cost->n_left_out);
}

const struct sw_held_kind sw_held_pairs = {.name = "pairs",
					   .events = SW_EVENT_PAIRS,
					   .noun = "object",
					   .got = "acquired",
					   .there = "outstanding",
					   .unseen = "released unseen",
					   .create = create,
					   .destroy = destroy,
					   .event = event,
					   .list = list};
