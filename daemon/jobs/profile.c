/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/profile.h"
#include "jobs/state.h"
#include "worker/names.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	PROFILES_MAX = 32, /* at once */
	PROFILES_PER_USER_MAX = 4,
	RETRY_MS = 1000,
};

/* A worker says it: sums of such values must not overflow. */
static int64_t timing(const struct sw_dump *dump, const char *name)
{
	static const int64_t most = INT64_C(1) << 50;
	struct json_object *timings = json_object_object_get(dump->summary, "timings");
	int64_t value = json_object_get_int64(json_object_object_get(timings, name));
	return value < 0 ? 0 : value > most ? most : value;
}

static void publish(struct sw_profiling *p)
{
	const struct sw_origin origin = {.owner = p->owner,
					 .by = p->series->caller.uid,
					 .alert = p->series->alert};
	sw_publish_dump(&p->series->jobs->publisher, p->dump, &origin, p->store, false,
			p->series->reason);
}

static void finish(struct sw_profiling *p, const struct sw_outcome *outcome)
{
	const struct sw_outcome finished = {.dump = p->dump, .owner = p->owner};
	if (p->dump != NULL)
		publish(p);
	p->done(p, p->dump != NULL ? &finished : outcome);
}

/* The next worker is given it. False: it cannot be. */
static bool keep(struct sw_profiling *p, const struct sw_outcome *outcome)
{
	struct sw_dump *dump = sw_dump_ref(outcome->dump);
	/* Who may see all of it may see each sample. */
	if (p->dump != NULL && p->owner != outcome->owner)
		p->owner = (uid_t) SW_DUMP_PRIVILEGED_ONLY;
	else
		p->owner = outcome->owner;
	sw_dump_unref(p->dump);
	p->dump = dump;
	p->request.size = (uint32_t) dump->size;
	p->request.attach_us = timing(dump, "attach_us");
	p->request.copy_us = timing(dump, "copy_us");
	p->request.unwind_us = timing(dump, "unwind_us");
	p->request.symbolize_us = timing(dump, "symbolize_us");
	p->request.interrupted_calls = timing(dump, "interrupted_calls");
	(void) snprintf(p->request.id, sizeof(p->request.id), "%s", dump->id); /* same size */
	return sw_names_put_profile(p->series->names_fd, dump->text, dump->size);
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct sw_profiling *p = series->owner;
	bool first = p->dump == NULL, kept = true;
	int64_t now_ns = sw_clock_ns();
	int64_t next_ns = series->next_ns > now_ns ? series->next_ns : now_ns;
	if (outcome->dump != NULL)
		kept = keep(p, outcome);
	if (first && p->dump != NULL && p->begun != NULL)
		p->begun(p, outcome);
	if (p->dump == NULL || !kept || next_ns >= p->end_ns ||
	    (outcome->dump == NULL && sw_refusal_is_final(outcome->refusal)) ||
	    !sw_series_next(series))
		finish(p, outcome);
}

/* Each has up to SW_PROFILE_BYTES twice: here and for its worker. */
static bool has_space(const struct sw_jobs *jobs, const struct sw_submission *s)
{
	const struct sw_series *series;
	size_t all = 0, users = 0;
	TAILQ_FOREACH(series, &jobs->series, link)
	{
		all += series->profile != NULL;
		users += series->profile != NULL && !series->alert &&
			 series->caller.uid == s->caller->uid;
	}
	return all < PROFILES_MAX && (s->alert || (users < PROFILES_PER_USER_MAX &&
						   all < PROFILES_MAX - PROFILES_PER_USER_MAX));
}

static struct sw_profiling *create(struct sw_jobs *jobs, const struct sw_submission *s,
				   uint32_t rate_hz, int64_t duration_ms)
{
	struct sw_profiling *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	struct sw_submission submission = *s;
	submission.profile = &p->request;
	submission.store = false; /* samples are not: the profile is */
	*p = (struct sw_profiling){
		.request = {.rate_hz = rate_hz,
			    .begin_ns = sw_clock_ns(),
			    .begin_real_ns = sw_realtime_ns()},
		.store = s->store,
	};
	p->end_ns = p->request.begin_ns + duration_ms * NS_PER_MS;
	p->series = sw_series_create(jobs, &submission, UINT64_MAX, 0);
	if (p->series == NULL || p->series->names_fd < 0) {
		sw_profiling_destroy(p);
		return NULL;
	}
	p->series->interval_ns = NS_PER_S / (int64_t) rate_hz;
	p->series->owner = p;
	p->series->done = on_done;
	return p;
}

struct sw_profiling *sw_profiling_create(struct sw_jobs *jobs, const struct sw_submission *s,
					 uint32_t rate_hz, int64_t duration_ms,
					 struct sw_refusal *refusal)
{
	if (!has_space(jobs, s)) {
		jobs->counters->busy_queue_total++;
		(void) sw_refuse(refusal, SW_INTERFACE ".Busy",
				 sw_object_add(sw_object_int("retry_after_ms", RETRY_MS), "why",
					       json_object_new_string("queue")),
				 "busy (queue): too many profiles are being made");
		return NULL;
	}
	struct sw_profiling *p = create(jobs, s, rate_hz, duration_ms);
	if (p == NULL)
		(void) sw_refuse(refusal, SW_INTERFACE ".Failed",
				 sw_object_string("detail", "not enough memory"),
				 "not enough memory");
	return p;
}

bool sw_profiling_start(struct sw_profiling *p)
{
	return sw_series_next(p->series);
}

void sw_profiling_destroy(struct sw_profiling *p)
{
	if (p == NULL)
		return;
	sw_series_destroy(p->series);
	sw_dump_unref(p->dump);
	free(p);
}
