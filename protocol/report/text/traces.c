/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/traces.h"
#include "duration.h"
#include "report/text/threads.h"
#include "report/text/where.h"

#include <string.h>

enum {
	TRACES_SHOWN = 3,
	LONG_MS = 1000, /* a wait that lasts longer is told */
};

/* The first attribute that has one of the names; NULL. */
static const char *attribute_of(const struct sw_report_trace *t, const char *const *names)
{
	for (size_t k = 0; names[k] != NULL; k++)
		for (size_t i = 0; i < t->n_attributes; i++)
			if (strcmp(t->attributes[i].key, names[k]) == 0 &&
			    t->attributes[i].value[0] != '\0')
				return t->attributes[i].value;
	return NULL;
}

/* "GET /order", "cart.Cart/Add". Source: semantic conventions of OpenTelemetry 1.37 and before 1.20; OTEP 4947 itself has names with _. */
static bool put_request(struct sw_text_writer *w, const struct sw_report_trace *t)
{
	static const char *const methods[] = {"http.request.method", "http.method", "http_method",
					      NULL};
	static const char *const routes[] = {"http.route", "http_route", "url.path", "http.target",
					     "rpc.method", "endpoint",   NULL};
	const char *method = attribute_of(t, methods), *route = attribute_of(t, routes);
	sw_put_foreign(w, method);
	sw_put(w, method != NULL && route != NULL ? " " : "");
	sw_put_foreign(w, route);
	return method != NULL || route != NULL;
}

static bool waits_long(const struct sw_report_thread *t)
{
	return t->trace != NULL && t->state != 'R' && t->since_ms >= LONG_MS;
}

void sw_put_trace(struct sw_text_writer *w, const struct sw_report_thread *thread)
{
	const struct sw_report_trace *t = thread->trace;
	char since[SW_DURATION_BYTES];
	bool named = put_request(w, t);
	if (t->trace_id != NULL) {
		sw_put(w, named ? ", trace " : "trace ");
		sw_put_foreign(w, t->trace_id);
	} else if (!named) {
		sw_put(w, "a request without a trace id");
	}
	if (!waits_long(thread))
		return;
	sw_duration_format(since, thread->since_ms);
	sw_put(w, ", for %s", since);
}

/* The next thread in the order of waiting; NULL: no other one waits for long. */
static const struct sw_report_thread *next_longest(const struct sw_report *r,
						   const struct sw_report_thread *after)
{
	const struct sw_report_thread *found = NULL;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		if (!waits_long(t))
			continue;
		/* Threads that wait for as long are told in their order. */
		if (after != NULL && (t->since_ms > after->since_ms ||
				      (t->since_ms == after->since_ms && t <= after)))
			continue;
		if (found == NULL || t->since_ms > found->since_ms)
			found = t;
	}
	return found;
}

static void put_place(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_frame *f = sw_where_is(w->report, t);
	if (f == NULL || f->function == NULL || f->function[0] == '\0')
		return;
	sw_put(w, ", in ");
	sw_put_foreign(w, f->function);
	sw_put_source(w, f);
}

static size_t long_count(const struct sw_report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++)
		n += waits_long(&r->threads[i]);
	return n;
}

/* "GET /order, trace 4bf92f3577b34da6a3ce929d0e0e4736, for 31 s: worker (12), in load cart.c:88" */
void sw_text_traces(struct sw_text_writer *w)
{
	const struct sw_report_thread *t = NULL;
	size_t n = long_count(w->report);
	for (size_t i = 0; i < n && i < TRACES_SHOWN; i++) {
		t = next_longest(w->report, t);
		sw_put_trace(w, t);
		sw_put(w, ": ");
		sw_put_thread(w, t->tid);
		put_place(w, t);
		sw_put(w, "\n");
	}
	if (n > TRACES_SHOWN)
		sw_put(w, "%zu more request%s for long\n", n - TRACES_SHOWN,
		       n - TRACES_SHOWN == 1 ? " waits" : "s wait");
}
