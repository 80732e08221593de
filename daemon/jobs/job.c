/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/job.h"
#include "jobs/kept.h"
#include "jobs/run.h"
#include "jobs/state.h"
#include "rpc/reply.h"
#include "rules/match.h"
#include "worker/life.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <string.h>

enum {
	QUEUE_RETRY_MS = 1000,
	END_MS = 1000, /* from its dump, or its kill, to a worker's end */
	LEFT_MAX = 16, /* killed workers that are not gone; more of them keep their slots */
	NS_PER_MS = 1000000,
};

static bool same_process(const struct sw_job *job, pid_t pid, uint64_t starttime)
{
	return job->request.pid == pid && job->request.starttime == starttime;
}

/* The worker judges the caller again: a caller with other ids needs a capture of their own. */
static bool same_right(const struct sw_job *job, const struct sw_submission *s)
{
	bool privileged = sw_caller_is_privileged(job->jobs->config, s->caller);
	if (job->request.privileged || privileged)
		return job->request.privileged == privileged;
	return job->request.caller_uid == s->caller->uid &&
	       job->request.caller_gid == s->caller->gid &&
	       job->request.caller_same_user_ns == s->caller->same_user_ns;
}

static bool same_exe(const struct sw_job *job, const struct sw_submission *s)
{
	if (job->require_exe == NULL || s->require_exe == NULL)
		return job->require_exe == s->require_exe;
	return strcmp(job->require_exe, s->require_exe) == 0;
}

bool sw_job_is_sample(const struct sw_job *job)
{
	return job->request.profile.rate_hz > 0;
}

bool sw_job_is_events(const struct sw_job *job)
{
	return job->request.events.wanted;
}

static struct sw_job *job_find(struct sw_jobs *jobs, const struct sw_submission *s)
{
	struct sw_job *job;
	if (s->profile != NULL || s->events != NULL)
		return NULL;
	TAILQ_FOREACH(job, &jobs->list, link)
	if (job->state != SW_JOB_ENDED && !sw_job_is_sample(job) && !sw_job_is_events(job) &&
	    same_process(job, s->found->pid, s->found->starttime) &&
	    memcmp(&job->options, &s->options, sizeof(job->options)) == 0 && same_right(job, s) &&
	    same_exe(job, s))
		return job;
	return NULL;
}

static enum sw_submitted busy(struct sw_refusal *refusal, uint64_t *counter, const char *why,
			      int64_t retry_ms)
{
	++*counter;
	(void) sw_refuse(refusal, SW_INTERFACE ".Busy", sw_object_busy(retry_ms, why),
			 "busy (%s): again in %lld ms", why, (long long) retry_ms);
	return SW_SUBMITTED_REFUSED;
}

/* Queue quotas are counted per user; all alerts count as one user. */
static bool is_users(const struct sw_job *job, uid_t uid)
{
	return !job->alert && job->request.caller_uid == uid;
}

static size_t count_state(const struct sw_jobs *jobs, enum sw_job_state state, uid_t uid)
{
	const struct sw_job *job;
	size_t n = 0;
	TAILQ_FOREACH(job, &jobs->list, link)
	n += job->state == state && is_users(job, uid);
	return n;
}

/* A pull has the daemon's right to the process, and its caller's place in the queue. */
static bool is_preferred(const struct sw_jobs *jobs, const struct sw_submission *s)
{
	if (s->pulled)
		return s->caller->uid == 0;
	return s->alert || sw_caller_is_privileged(jobs->config, s->caller);
}

/* A quarter of the queue is for root, Group= and alerts, and no user has more than a quarter. */
static bool queue_has_space(const struct sw_jobs *jobs, const struct sw_submission *s)
{
	size_t all = jobs->config->queue, quarter = all / 4;
	if (jobs->n_queued >= all || is_preferred(jobs, s))
		return jobs->n_queued < all;
	return jobs->n_queued < all - quarter &&
	       count_state(jobs, SW_JOB_QUEUED, s->caller->uid) < (quarter > 0 ? quarter : 1);
}

/* A worker that looked at it waits for what does not come: the next one would, too. */
static bool has_left(const struct sw_jobs *jobs, pid_t pid, uint64_t starttime)
{
	const struct sw_job *job;
	TAILQ_FOREACH(job, &jobs->list, link)
	if (job->late && same_process(job, pid, starttime))
		return true;
	return false;
}

/* May another capture be queued? SUBMITTED_WAIT: it may. */
static enum sw_submitted admit(struct sw_jobs *jobs, const struct sw_submission *s,
			       struct sw_refusal *refusal)
{
	struct sw_counters *n = jobs->counters;
	int64_t now_ns = sw_clock_ns();
	if (!queue_has_space(jobs, s))
		return busy(refusal, &n->busy_queue_total, "queue", QUEUE_RETRY_MS);
	uint32_t ms = sw_limits_target(jobs->limits, s->found->pid, s->found->starttime, now_ns);
	if (ms == 0 && has_left(jobs, s->found->pid, s->found->starttime))
		ms = QUEUE_RETRY_MS;
	if (ms > 0)
		return busy(refusal, &n->busy_target_total, "target", ms);
	bool is_unlimited =
		s->caller->uid == 0 ||
		(jobs->config->user_mode && sw_caller_is_privileged(jobs->config, s->caller));
	if (!s->paid && !is_unlimited)
		ms = sw_limits_take(jobs->limits, s->caller->uid, now_ns);
	if (ms > 0)
		return busy(refusal, &n->busy_rate_total, "rate", ms);
	return SW_SUBMITTED_WAIT;
}

static void request_fill(struct sw_job *job, const struct sw_submission *s)
{
	const struct sw_caller *caller = s->caller;
	struct sw_worker_request *r = &job->request;
	*r = (struct sw_worker_request){
		.seq = s->seq,
		.pid = s->found->pid,
		.starttime = s->found->starttime,
		.privileged = sw_caller_is_privileged(job->jobs->config, caller),
		.caller_uid = caller->uid,
		.caller_gid = caller->gid,
		.caller_same_user_ns = caller->same_user_ns,
		.stop = s->options.stop,
		.max_stop_ms = s->options.max_stop_ms,
		.names_timeout_ms = s->options.names_timeout_ms,
		.depth = s->options.depth,
		.memory_mib = job->jobs->config->worker_memory_mib,
		.stack_bytes = s->options.stack_bytes,
		.symbols = s->options.symbols,
		.no_inlines = s->options.no_inlines,
	};
	const struct sw_rule rule = {.require_exe = job->require_exe};
	(void) sw_rule_exe_path(&rule, r->required, sizeof(r->required)); /* or it is a pattern */
	/* With fewer groups the worker can only refuse what it might have permitted. */
	for (; r->n_groups < caller->n_groups && r->n_groups < SW_WORKER_GROUPS_MAX; r->n_groups++)
		r->groups[r->n_groups] = caller->groups[r->n_groups];
	if (s->profile != NULL)
		r->profile = *s->profile;
	if (s->events != NULL)
		r->events = *s->events;
	r->repeats = s->keeper != NULL && s->keeper->wanted;
	job->keeper = s->keeper;
	job->lasts = r->events.wanted ||
		     (r->profile.rate_hz > 0 && r->profile.size > 0 && !r->profile.alone);
	if (s->reason != NULL)
		(void) snprintf(r->reason, sizeof(r->reason), "%s", s->reason); /* checked before */
}

static void job_destroy(struct sw_job *job)
{
	sw_job_run_deinit(job);
	(void) sd_event_source_disable_unref(job->deadline);
	sw_close_p(&job->target_pidfd);
	sw_close_p(&job->names_fd);
	sw_close_p(&job->program_fd);
	free(job->require_exe);
	free(job);
}

/* The job's answer was given, but its process is still there. */
static void end_is_late(struct sw_job *job)
{
	job->late = true;
	if (!job->left) {
		job->jobs->counters->workers_killed_total++;
		sw_job_kill(job);
		sw_job_left(job);
	}
	sw_log(SW_LOG_WARNING,
	       "the worker that looked at process %d (%s) does not end: it waits for a file or a "
	       "page "
	       "that does not come (%zu such workers)",
	       (int) job->request.pid, job->comm, job->jobs->n_left);
}

static int on_deadline(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_job *job = arg;
	if (job->state == SW_JOB_ENDED) {
		end_is_late(job);
		return 0;
	}
	struct sw_refusal refusal = {0};
	const char *what = job->state == SW_JOB_QUEUED ? "queue" : "capture";
	(void) source;
	(void) now_us;
	(void) sw_refuse(&refusal, SW_INTERFACE ".Timeout", sw_object_string("what", what),
			 "it took longer than %llu ms", (unsigned long long) job->deadline_ms);
	if (job->state == SW_JOB_RUNNING) {
		job->jobs->counters->workers_killed_total++;
		sw_job_kill(job);
		sw_job_left(job);
	}
	sw_job_finish(job, NULL, &refusal);
	return 0;
}

static struct sw_job *job_create(struct sw_jobs *jobs, const struct sw_submission *s)
{
	struct sw_job *job = calloc(1, sizeof(*job));
	if (job == NULL)
		return NULL;
	*job = (struct sw_job){.jobs = jobs,
			       .options = s->options,
			       .target = s->found->creds,
			       .target_pidfd = -EBADF,
			       .names_fd = -EBADF,
			       .program_fd = -EBADF,
			       .pidfd = -EBADF,
			       .stream = -EBADF};
	TAILQ_INIT(&job->waiters);
	job->require_exe = s->require_exe != NULL ? strdup(s->require_exe) : NULL;
	request_fill(job, s);
	(void) snprintf(job->comm, sizeof(job->comm), "%s", s->found->creds.comm); /* same size */
	job->deadline_ms = jobs->config->timeout_ms;
	uint64_t us = job->deadline_ms * UINT64_C(1000);
	if ((s->require_exe != NULL && job->require_exe == NULL) ||
	    sd_event_add_time_relative(jobs->event, &job->deadline, CLOCK_MONOTONIC, us, 0,
				       on_deadline, job) < 0) {
		job_destroy(job);
		return NULL;
	}
	job->target_pidfd = sw_take_fd(s->found->pidfd);
	if (s->names_fd > 0) /* the series may end before; fails: without it */
		job->names_fd = fcntl(s->names_fd, F_DUPFD_CLOEXEC, 0);
	return job;
}

static bool target_is_busy(const struct sw_jobs *jobs, pid_t pid)
{
	const struct sw_job *job;
	TAILQ_FOREACH(job, &jobs->list, link)
	if (job->state == SW_JOB_RUNNING && job->request.pid == pid && !job->lasts)
		return true;
	return false;
}

static struct sw_job *next_ready(const struct sw_jobs *jobs)
{
	struct sw_job *job, *best = NULL;
	size_t fewest = 0, earliest = 0;
	const bool has_slot = jobs->n_running < jobs->config->workers;
	/* Alerts first; then the user with the fewest captures under way, of these the one whose turn
	 * was longest ago, of these the one who came first. */
	TAILQ_FOREACH(job, &jobs->list, link)
	{
		if (job->state != SW_JOB_QUEUED || target_is_busy(jobs, job->request.pid) ||
		    (!has_slot && !job->lasts))
			continue;
		if (job->alert)
			return job;
		size_t n = count_state(jobs, SW_JOB_RUNNING, job->request.caller_uid);
		size_t turn = sw_turns_of(&jobs->turns, job->request.caller_uid);
		if (best != NULL && (n > fewest || (n == fewest && turn >= earliest)))
			continue;
		best = job;
		fewest = n;
		earliest = turn;
	}
	return best;
}

void sw_job_last(struct sw_job *job)
{
	const bool events = sw_job_is_events(job);
	const int64_t end_ns = events ? job->request.events.end_ns : job->request.profile.end_ns;
	int64_t left_ms = (end_ns - sw_clock_ns()) / NS_PER_MS;
	if (left_ms > SW_WORKER_LIFE_MS && !events)
		left_ms = SW_WORKER_LIFE_MS;
	uint64_t ms = job->jobs->config->timeout_ms + (uint64_t) (left_ms > 0 ? left_ms : 0);
	/* When this fails it is cut short. */
	if (sd_event_source_set_time_relative(job->deadline, ms * UINT64_C(1000)) >= 0)
		job->deadline_ms = ms;
}

static void slot_take(struct sw_job *job)
{
	struct sw_jobs *jobs = job->jobs;
	if (!job->lasts) {
		jobs->n_running++;
		return;
	}
	if (sw_job_is_events(job)) { /* these have as long as a capture to begin */
		jobs->n_watching++;
	} else {
		jobs->n_lasting++;
		sw_job_last(job);
	}
}

static void slot_give(struct sw_job *job)
{
	if (job->lasts && sw_job_is_events(job))
		job->jobs->n_watching--;
	else if (job->lasts)
		job->jobs->n_lasting--;
	else
		job->jobs->n_running--;
}

/* Called from the event loop, not from within a submission: so are on_stream and on_deadline. */
static void start_ready(struct sw_jobs *jobs)
{
	struct sw_job *job;
	while ((job = next_ready(jobs)) != NULL) {
		struct sw_error err = {0};
		struct sw_refusal refusal = {0};
		/* Asked again: another job of this target may have used its time up meanwhile. */
		uint32_t ms = sw_limits_target(jobs->limits, job->request.pid,
					       job->request.starttime, sw_clock_ns());
		if (ms > 0) {
			(void) busy(&refusal, &jobs->counters->busy_target_total, "target", ms);
			sw_job_finish(job, NULL, &refusal);
			continue;
		}
		if (sw_job_run(job, &err) == 0) {
			job->state = SW_JOB_RUNNING;
			if (!job->alert)
				sw_turns_had(&jobs->turns, job->request.caller_uid);
			jobs->n_queued--;
			slot_take(job);
			sw_job_tell(job, "stopped");
			continue;
		}
		sw_log(SW_LOG_ERROR, "no worker could be started: %s", err.message);
		(void) sw_refuse(&refusal, SW_INTERFACE ".Failed",
				 sw_object_string("detail", "no worker could be started"),
				 "no worker could be started: %s", err.message);
		sw_job_finish(job, NULL, &refusal);
	}
}

static void wait_for(struct sw_job *job, struct sw_waiter *waiter, bool coalesced)
{
	waiter->job = job;
	waiter->coalesced = coalesced;
	TAILQ_INSERT_TAIL(&job->waiters, waiter, link);
}

static int on_start(sd_event_source *source, void *arg)
{
	(void) source;
	start_ready(arg);
	return 0;
}

/* Soon, from the event loop: a call must not be answered while it is still being made. */
static void start_soon(struct sw_jobs *jobs)
{
	if (jobs->start == NULL &&
	    sd_event_add_defer(jobs->event, &jobs->start, on_start, jobs) < 0)
		return; /* without memory the deadline answers */
	(void) sd_event_source_set_enabled(jobs->start, SD_EVENT_ONESHOT); /* as above */
}

enum sw_submitted sw_job_submit(struct sw_jobs *jobs, const struct sw_submission *s,
				struct sw_waiter *waiter, struct sw_dump **ret_dump,
				struct sw_refusal *refusal)
{
	struct sw_job *job = job_find(jobs, s);
	if (job != NULL) {
		jobs->counters->coalesced_total++;
		job->store |= s->store;
		job->alert |= s->alert;
		job->by_event &= s->by_event;
		job->sampled &= s->sampled;
		wait_for(job, waiter, true);
		return SW_SUBMITTED_WAIT;
	}
	const struct sw_target_creds *target = NULL;
	struct sw_dump *dump =
		s->fresh ? NULL
			 : sw_recent_find(&jobs->recent, s->found, s->caller, &s->options, &target);
	if (dump != NULL) {
		jobs->counters->coalesced_total++;
		const struct sw_origin origin = {.target = target,
						 .by = s->caller->uid,
						 .alert = s->alert,
						 .by_event = s->by_event};
		if (s->store && !dump->stored)
			(void) sw_publish_store(&jobs->publisher, dump, &origin);
		*ret_dump = sw_dump_ref(dump);
		return SW_SUBMITTED_DUMP;
	}
	enum sw_submitted admitted = admit(jobs, s, refusal);
	if (admitted != SW_SUBMITTED_WAIT)
		return admitted;
	job = job_create(jobs, s);
	if (job == NULL) {
		(void) sw_refuse(refusal, SW_INTERFACE ".Failed",
				 sw_object_string("detail", "not enough memory"),
				 "not enough memory");
		return SW_SUBMITTED_REFUSED;
	}
	job->store = s->store;
	job->alert = s->alert;
	job->by_event = s->by_event;
	job->sampled = s->sampled;
	TAILQ_INSERT_TAIL(&jobs->list, job, link);
	jobs->n_queued++;
	wait_for(job, waiter, false);
	start_soon(jobs);
	return SW_SUBMITTED_WAIT;
}

void sw_job_tell(struct sw_job *job, const char *state)
{
	struct sw_waiter *waiter, *next;
	/* state() may cancel its own waiter, no other. */
	for (waiter = TAILQ_FIRST(&job->waiters); waiter != NULL; waiter = next) {
		next = TAILQ_NEXT(waiter, link);
		if (waiter->state != NULL)
			waiter->state(waiter, state);
	}
}

static void remove_job(struct sw_job *job)
{
	struct sw_jobs *jobs = job->jobs;
	TAILQ_REMOVE(&jobs->list, job, link);
	job_destroy(job);
	start_soon(jobs);
}

static void publish_failure(const struct sw_job *job, const struct sw_refusal *refusal)
{
	const struct sw_log_capture failure = {.pid = job->request.pid,
					       .comm = job->comm,
					       .reason = job->request.reason,
					       .error = refusal->message};
	const struct sw_origin origin = {.target = &job->target,
					 .by = job->request.caller_uid,
					 .alert = job->alert,
					 .by_event = job->by_event,
					 .sampled = job->sampled};
	sw_publish_failure(&job->jobs->publisher, &failure, &origin);
}

static void finish(struct sw_job *job, struct sw_dump *dump, const struct sw_worker_ended *ended,
		   struct sw_refusal *refusal)
{
	struct sw_jobs *jobs = job->jobs;
	bool ran = job->state == SW_JOB_RUNNING;
	struct sw_waiter *waiter;
	job->state = SW_JOB_ENDED;
	/* From now on: for its process to end. When this fails it comes at its old time. */
	(void) sd_event_source_set_time_relative(job->deadline, END_MS * UINT64_C(1000));
	(void) sd_event_source_set_enabled(job->deadline, SD_EVENT_ONESHOT);
	/* Later samples of a profile may fail: it says how many. A rule that waits for an event says it itself, and so does
	 * a section [profile NAME]. */
	if (dump == NULL && ended == NULL && job->request.profile.size == 0 &&
	    !job->request.profile.continuous && !job->request.events.kept)
		publish_failure(job, refusal);
	while ((waiter = TAILQ_FIRST(&job->waiters)) != NULL) {
		const struct sw_outcome outcome = {.dump = dump,
						   .coalesced = waiter->coalesced,
						   .target = &job->target,
						   .refusal = refusal,
						   .lasted = ran && job->lasts,
						   .n_sampled = job->n_sampled,
						   .by_clock = job->by_clock,
						   .ended = ended};
		TAILQ_REMOVE(&job->waiters, waiter, link);
		waiter->job = NULL;
		waiter->done(waiter, &outcome);
	}
	sw_refusal_deinit(refusal);
	if (!ran) {
		jobs->n_queued--;
		remove_job(job);
	}
}

void sw_job_finish(struct sw_job *job, struct sw_dump *dump, struct sw_refusal *refusal)
{
	finish(job, dump, NULL, refusal);
}

void sw_job_finish_events(struct sw_job *job, const struct sw_worker_ended *ended)
{
	struct sw_refusal none = {0};
	finish(job, NULL, ended, &none);
}

bool sw_refusal_is_final(const struct sw_refusal *refusal)
{
	static const char *const final[] = {SW_INTERFACE ".NoSuchProcess",
					    SW_INTERFACE ".TargetExited",
					    SW_INTERFACE ".ProcessChanged",
					    SW_INTERFACE ".NotPermitted",
					    SW_INTERFACE ".Unsupported",
					    SW_INTERFACE ".NotTraceable"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(final); i++)
		if (strcmp(refusal->name, final[i]) == 0)
			return true;
	return false;
}

void sw_job_left(struct sw_job *job)
{
	struct sw_jobs *jobs = job->jobs;
	if (job->left || jobs->n_left >= LEFT_MAX)
		return;
	job->left = true;
	jobs->n_left++;
	slot_give(job);
	start_soon(jobs);
}

void sw_job_gone(struct sw_job *job)
{
	if (job->left)
		job->jobs->n_left--;
	else
		slot_give(job);
	remove_job(job);
}

void sw_waiter_detach(struct sw_waiter *waiter)
{
	if (waiter->job != NULL)
		TAILQ_REMOVE(&waiter->job->waiters, waiter, link);
	waiter->job = NULL;
}

void sw_waiter_cancel(struct sw_waiter *waiter)
{
	struct sw_job *job = waiter->job;
	sw_waiter_detach(waiter);
	if (job == NULL || !TAILQ_EMPTY(&job->waiters))
		return;
	if (job->state == SW_JOB_QUEUED) {
		job->jobs->n_queued--;
		remove_job(job);
	} else if (job->state == SW_JOB_RUNNING && job->lasts) {
		struct sw_refusal refusal = {0};
		(void) sw_refuse(&refusal, SW_INTERFACE ".Failed", NULL, "nobody waits for it");
		sw_job_kill(job);
		sw_job_finish(job, NULL, &refusal);
	}
}

void sw_job_end(struct sw_job *job, int64_t end_ns)
{
	job->request.profile.end_ns = end_ns; /* for the worker of one that is queued */
	if (job->state == SW_JOB_RUNNING && job->lasts)
		sw_job_enough(job);
}

void sw_jobs_settle(struct sw_jobs *jobs)
{
	enum { SETTLE_MS = 3000 };
	const int64_t end_ms = sw_clock_ms() + SETTLE_MS;
	struct sw_job *job, *next;
	TAILQ_FOREACH(job, &jobs->list, link)
	if (job->state == SW_JOB_RUNNING && job->lasts)
		sw_job_enough(job);
	for (job = TAILQ_FIRST(&jobs->list); job != NULL; job = next) {
		next = TAILQ_NEXT(job, link);
		if (job->state == SW_JOB_RUNNING && job->lasts)
			sw_job_await(job, end_ms);
	}
}

void sw_jobs_end(struct sw_jobs *jobs)
{
	struct sw_job *job;
	while ((job = TAILQ_FIRST(&jobs->list)) != NULL) {
		if (job->state != SW_JOB_QUEUED)
			sw_job_kill(job);
		TAILQ_REMOVE(&jobs->list, job, link);
		job_destroy(job);
	}
}
