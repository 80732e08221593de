/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/looks.h"
#include "arena.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "run/obtain.h"
#include "series/recording.h"
#include "top/place.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { PLACES_MAX = 1 << 15 };

/* ---- places ---------------------------------------------------------------------------------- */

static int rows(void *arg, const struct sw_report *report, const bool *wanted,
		const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err)
{
	struct sw_looks *l = arg;
	struct sw_text text = {0};
	int r = 0;
	(void) activity;
	for (size_t i = 0; r == 0 && i < report->n_threads; i++) {
		if (!wanted[i])
			continue;
		text.size = 0;
		sw_top_place(report, &report->threads[i], &text);
		r = text.failed ? -SW_E_NOMEM
				: sw_tally_row(&l->places, text.data, text.size, &ret_rows[i]);
	}
	sw_text_deinit(&text);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* The recorder has to call something: which rows there are is enough. */
static void count(void *arg, uint32_t row, uint64_t n)
{
	(void) arg;
	(void) row;
	(void) n;
}

struct move {
	const struct sw_tally *from;
	struct sw_tally to;
};

/* Without memory it is not known where the thread is. */
static uint32_t place_move(void *arg, uint32_t row)
{
	struct move *m = arg;
	uint32_t moved = SW_TALLY_NO_ROW;
	if (row < m->from->n_entries) {
		const char *name = m->from->entries[row].name;
		(void) sw_tally_row(&m->to, name, strlen(name), &moved); /* see above */
	}
	return moved;
}

static void places_renew(struct sw_looks *l)
{
	struct move m = {.from = &l->places};
	sw_recorder_renumber(l->recorder, place_move, &m);
	sw_tally_deinit(&l->places);
	l->places = m.to;
	l->list.n_threads = 0; /* their names were of the others */
}

/* ---- open, close ----------------------------------------------------------------------------- */

int sw_looks_open(struct sw_looks *ret, const struct sw_options *options,
		  const struct sw_subject *subject, struct sw_error *err)
{
	*ret = (struct sw_looks){.options = *options,
				 .subject = *subject,
				 .places_max = PLACES_MAX};
	ret->options.symbolize.level = SW_SYMBOLS_NAMES; /* lines have no space */
	ret->sink = (struct sw_recorder_sink){.rows = rows, .count = count, .arg = ret};
	int r = sw_session_create(&ret->session, err);
	if (r == 0)
		r = sw_recording_open(&ret->subject, &ret->options, ret->session, &ret->sink,
				      &ret->recorder, err);
	return r;
}

void sw_looks_deinit(struct sw_looks *live)
{
	sw_recorder_destroy(live->recorder);
	sw_tally_deinit(&live->places);
	sw_session_destroy(live->session);
	free(live->before);
	free(live->threads);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int reserve(struct sw_looks *l, size_t n, struct sw_error *err)
{
	if (n > l->threads_max) {
		struct sw_top_thread *grown = reallocarray(l->threads, n, sizeof(*grown));
		if (grown == NULL)
			return sw_fail_nomem(err);
		l->list.threads = l->threads = grown;
		l->threads_max = n;
	}
	while (l->n_before < n) {
		struct sw_looks_before *grown =
			sw_grow(l->before, l->n_before, &l->before_max, 64, sizeof(*grown));
		if (grown == NULL)
			return sw_fail_nomem(err);
		l->before = grown;
		l->before[l->n_before++] = (struct sw_looks_before){0};
	}
	return 0;
}

/* The share of a CPU since the look before; below 0 when there was none. */
static double share_of(struct sw_looks_before *before, const struct sw_recorder_thread *t,
		       int64_t elapsed_ns)
{
	enum { PER_CENT = 100 };
	double share = -1;
	if (before->known && before->first == t->first && t->times.cpu_ns >= before->cpu_ns &&
	    elapsed_ns > 0)
		share = (double) (t->times.cpu_ns - before->cpu_ns) * PER_CENT /
			(double) elapsed_ns;
	*before = (struct sw_looks_before){.first = t->first,
					   .cpu_ns = t->times.cpu_ns,
					   .known = t->times.cpu_ns >= 0};
	return share;
}

static void thread_add(struct sw_looks *l, const struct sw_recorder_thread *t,
		       struct sw_looks_before *before, int64_t now_ns)
{
	struct sw_top_thread *to = &l->threads[l->list.n_threads++];
	*to = (struct sw_top_thread){
		.tid = t->tid,
		.activity = t->activity,
		.since_ns = t->times.since_ns < 0 ? -1
						  : t->times.since_ns + (now_ns - t->times.time_ns),
		.cpu_percent = share_of(before, t, now_ns - l->look_ns),
		.place = t->row < l->places.n_entries ? l->places.entries[t->row].name : NULL,
	};
}

int sw_looks_look(struct sw_looks *l, struct sw_error *err)
{
	if (l->places.n_entries > l->places_max)
		places_renew(l);
	int r = sw_recorder_sample(l->recorder, err);
	if (r < 0)
		return r;
	int64_t now_ns = sw_clock_ns();
	size_t n = sw_recorder_slots(l->recorder);
	r = reserve(l, n, err);
	if (r < 0)
		return r;
	l->list.n_threads = 0;
	char comm[SW_COMM_MAX] = "";
	for (size_t i = 0; i < n; i++) {
		struct sw_recorder_thread t;
		if (!sw_recorder_thread(l->recorder, i, &t)) {
			l->before[i].known = false;
			continue;
		}
		thread_add(l, &t, &l->before[i], now_ns);
		if (t.tid == l->subject.pid)
			memcpy(comm, t.comm, sizeof(comm));
	}
	l->look_ns = now_ns;
	l->list.time_ns = sw_realtime_ns();
	sw_utf8_make_plain(comm);
	(void) snprintf(l->title, sizeof(l->title), "%s%spid %d", comm, comm[0] != '\0' ? ", " : "",
			(int) l->subject.pid);
	l->list.title = l->title;
	return 0;
}
