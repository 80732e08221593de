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
	PROFILES_CONTINUOUS_MAX = 16,
	RETRY_MS = 1000,
	FEW = 5,   /* samples of a worker that lasted: it was not worth it, */
	ALONE = 20 /* and so many are taken one by one before another one is tried */
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
	const struct sw_origin origin = {.target = &p->target,
					 .by = p->series->caller.uid,
					 .alert = p->series->alert};
	/* The log has no line for each of a section: there is one a minute. */
	sw_publish_dump(&p->series->jobs->publisher, p->dump, &origin, p->store,
			p->request.continuous, p->series->reason);
}

/* Why it ended before its time, in the profile itself: a member behind the schema, which is the first one. Without
 * memory it is not said. */
static void reason_add(struct sw_profiling *p, const char *why)
{
	struct json_object *member = sw_object_string("ended_early", why);
	const char *object = json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN);
	const char *rest = memchr(p->dump->text, ',', p->dump->size);
	struct sw_dump *dump = NULL;
	char *text = NULL;
	int size = -1;
	if (member != NULL && object != NULL && rest != NULL) {
		size_t first = (size_t) (rest - p->dump->text);
		size = asprintf(&text, "%.*s,%.*s%.*s", (int) first, p->dump->text,
				(int) strlen(object) - 2, object + 1, /* without its braces */
				(int) (p->dump->size - first), rest);
	}
	(void) json_object_put(member); /* the only reference */
	/* The profile stays as it is if there is no memory. */
	if (size < 0 || sw_dump_create(text, (size_t) size, &dump, NULL) < 0)
		return;
	sw_dump_unref(p->dump);
	p->dump = dump;
}

static void finish(struct sw_profiling *p, const struct sw_outcome *outcome)
{
	bool early = outcome->dump == NULL && outcome->refusal != NULL &&
		     sw_clock_ns() < p->end_ns - p->series->interval_ns;
	if (p->dump != NULL && early)
		reason_add(p, outcome->refusal->message);
	const struct sw_outcome finished = {.dump = p->dump, .target = &p->target};
	if (p->dump != NULL)
		publish(p);
	p->done(p, p->dump != NULL ? &finished : outcome);
}

/* The next worker is given it. False: it cannot be. */
static bool keep(struct sw_profiling *p, const struct sw_outcome *outcome)
{
	struct sw_dump *dump = sw_dump_ref(outcome->dump);
	/* A caller who may see all of the profile may see each sample. */
	if (p->dump != NULL)
		sw_target_creds_mix(&p->target, outcome->target);
	else
		p->target = *outcome->target;
	sw_dump_unref(p->dump);
	p->dump = dump;
	p->request.n_lost = 0;
	p->request.size = (uint32_t) dump->size;
	p->request.attach_us = timing(dump, "attach_us");
	p->request.copy_us = timing(dump, "copy_us");
	p->request.unwind_us = timing(dump, "unwind_us");
	p->request.symbolize_us = timing(dump, "symbolize_us");
	p->request.interrupted_calls = timing(dump, "interrupted_calls");
	(void) snprintf(p->request.id, sizeof(p->request.id), "%s", dump->id); /* same size */
	return sw_names_put_profile(p->series->names_fd, dump->text, dump->size);
}

/* How the next sample is taken, or the next minute of them. */
static void choose(struct sw_profiling *p, const struct sw_outcome *outcome)
{
	p->request.by_clock |= outcome->by_clock;
	const int64_t now_ns = sw_clock_ns();
	const bool few = outcome->lasted && (outcome->dump == NULL || outcome->n_sampled < FEW);
	const bool events = sw_config_mode_is_cpu(p->request.mode) && !p->request.by_clock;
	/* Samples of events are never taken one by one; a process that maps code all the time has others later. */
	if (few && events && now_ns - p->chosen_ns < NS_PER_S)
		p->series->next_ns = now_ns + NS_PER_S;
	p->chosen_ns = now_ns;
	if (few && !events)
		p->n_alone = ALONE;
	else if (p->n_alone > 0 && !outcome->lasted)
		p->n_alone--;
	p->request.alone = p->n_alone > 0 || p->request.by_clock;
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct sw_profiling *p = series->owner;
	bool first = p->dump == NULL, kept = true;
	if (outcome->dump != NULL)
		kept = keep(p, outcome);
	else
		p->request.n_lost += outcome->n_sampled;
	choose(p, outcome);
	int64_t now_ns = sw_clock_ns();
	int64_t next_ns = series->next_ns > now_ns ? series->next_ns : now_ns;
	if (first && p->dump != NULL && p->begun != NULL)
		p->begun(p, outcome);
	if (p->dump == NULL || !kept || next_ns >= p->end_ns ||
	    (outcome->dump == NULL && sw_refusal_is_final(outcome->refusal)) ||
	    !sw_series_next(series))
		finish(p, outcome);
}

/* Each has up to SW_PROFILE_BYTES twice: here and for its worker. */
static bool has_space(const struct sw_jobs *jobs, const struct sw_submission *s, bool continuous)
{
	const size_t users_max = continuous ? PROFILES_CONTINUOUS_MAX : PROFILES_PER_USER_MAX;
	const struct sw_series *series;
	size_t all = 0, users = 0;
	TAILQ_FOREACH(series, &jobs->series, link)
	{
		all += series->profile != NULL;
		users += series->profile != NULL && !series->alert &&
			 series->caller.uid == s->caller->uid;
	}
	return all < PROFILES_MAX &&
	       (s->alert || (users < users_max && all < PROFILES_MAX - PROFILES_PER_USER_MAX));
}

/* A process that is pulled by several at once would be sampled as often as they ask. */
static bool is_pulled(const struct sw_jobs *jobs, const struct sw_submission *s)
{
	const struct sw_series *series;
	TAILQ_FOREACH(series, &jobs->series, link)
	if (s->pulled && series->pulled && series->pid == s->found->pid &&
	    series->starttime == s->found->starttime)
		return true;
	return false;
}

static struct sw_profiling *create(struct sw_jobs *jobs, const struct sw_submission *s,
				   const struct sw_profile_wish *wish)
{
	struct sw_profiling *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	struct sw_submission submission = *s;
	submission.profile = &p->request;
	submission.store = false; /* samples are not: the profile is */
	*p = (struct sw_profiling){
		.request = {.rate_hz = wish->rate_hz,
			    .mode = wish->mode,
			    .continuous = wish->continuous,
			    .begin_ns = sw_clock_ns(),
			    .begin_real_ns = sw_realtime_ns()},
		.store = s->store,
	};
	p->end_ns = p->request.end_ns = p->request.begin_ns + wish->duration_ms * NS_PER_MS;
	p->series = sw_series_create(jobs, &submission, UINT64_MAX, 0);
	if (p->series == NULL || p->series->names_fd < 0) {
		sw_profiling_destroy(p);
		return NULL;
	}
	p->series->interval_ns = NS_PER_S / (int64_t) wish->rate_hz;
	p->series->owner = p;
	p->series->done = on_done;
	return p;
}

struct sw_profiling *sw_profiling_create(struct sw_jobs *jobs, const struct sw_submission *s,
					 const struct sw_profile_wish *wish,
					 struct sw_refusal *refusal)
{
	if (!has_space(jobs, s, wish->continuous)) {
		jobs->counters->busy_queue_total++;
		(void) sw_refuse(refusal, SW_INTERFACE ".Busy", sw_object_busy(RETRY_MS, "queue"),
				 "busy (queue): too many profiles are being made");
		return NULL;
	}
	if (is_pulled(jobs, s)) {
		jobs->counters->busy_target_total++;
		(void) sw_refuse(refusal, SW_INTERFACE ".Busy", sw_object_busy(RETRY_MS, "target"),
				 "busy (target): a profile of this process is being pulled");
		return NULL;
	}
	struct sw_profiling *p = create(jobs, s, wish);
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

void sw_profiling_end(struct sw_profiling *p)
{
	const struct sw_outcome nothing_more = {0};
	p->end_ns = p->request.end_ns = sw_clock_ns();
	if (p->series->waiter.job != NULL)
		sw_job_end(p->series->waiter.job, p->end_ns);
	else if (p->dump != NULL) {
		(void) sd_event_source_set_enabled(p->series->timer, SD_EVENT_OFF); /* was on */
		finish(p, &nothing_more);
	}
}

void sw_profiling_destroy(struct sw_profiling *p)
{
	if (p == NULL)
		return;
	sw_series_destroy(p->series);
	sw_dump_unref(p->dump);
	free(p);
}
