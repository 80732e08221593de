/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dumps younger than MinIntervalSec=, which are returned again. In memory, because that is where
 * they are needed in a storm; a single timer runs while there are any.
 */
#include "jobs/recent.h"
#include "jobs/job.h"
#include "policy/program.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <malloc.h>
#include <string.h>

enum {
	RECENT_MAX = 64,
	RECENT_BYTES_MAX = 32 << 20,
	RECENT_TRIM_BYTES = 256 << 10, /* a page here and there is not worth the call */
};

struct sw_recent {
	TAILQ_ENTRY(sw_recent) link;
	struct sw_job_options options;
	struct sw_dump *dump; /* owned */
	/* The user who captured it, and the process as it was when it stood still. */
	bool privileged, same_user_ns;
	uid_t uid;
	gid_t gid;
	struct sw_target_creds target;
	int program_fd; /* owned */
	int64_t expires_ns;
};

static void drop(struct sw_recents *recents, struct sw_recent *recent)
{
	TAILQ_REMOVE(&recents->list, recent, link);
	recents->n--;
	recents->bytes -= recent->dump->size;
	sw_dump_unref(recent->dump);
	sw_close_p(&recent->program_fd);
	free(recent);
}

/* The timer is for the oldest; none when there is none. */
static void schedule(struct sw_recents *recents)
{
	const struct sw_recent *oldest = TAILQ_FIRST(&recents->list);
	int64_t us = oldest != NULL ? (oldest->expires_ns - sw_clock_ns()) / 1000 + 1 : 0;
	/* Should this fail, dumps that are too old are still never returned, and pushed out. */
	(void) sd_event_source_set_time_relative(recents->expiry, us > 0 ? (uint64_t) us : 0);
	(void) sd_event_source_set_enabled(recents->expiry,
					   oldest != NULL ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_expiry(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_recents *recents = arg;
	struct sw_recent *oldest;
	size_t before = recents->bytes;
	int64_t now_ns = sw_clock_ns();
	(void) source;
	(void) now_us;
	while ((oldest = TAILQ_FIRST(&recents->list)) != NULL && oldest->expires_ns <= now_ns)
		drop(recents, oldest);
	/* An idle daemon is small. */
	if (before - recents->bytes >= RECENT_TRIM_BYTES || recents->n == 0)
		(void) malloc_trim(0); /* says whether it found something */
	schedule(recents);
	return 0;
}

void sw_recent_init(struct sw_recents *recents)
{
	*recents = (struct sw_recents){0};
	TAILQ_INIT(&recents->list);
}

int sw_recent_start(struct sw_recents *recents, sd_event *event)
{
	int r = sd_event_add_time_relative(event, &recents->expiry, CLOCK_MONOTONIC, 0, 100 * 1000,
					   on_expiry, recents);
	return r < 0 ? r : sd_event_source_set_enabled(recents->expiry, SD_EVENT_OFF);
}

void sw_recent_clear(struct sw_recents *recents)
{
	while (!TAILQ_EMPTY(&recents->list))
		drop(recents, TAILQ_FIRST(&recents->list));
}

void sw_recent_deinit(struct sw_recents *recents)
{
	sw_recent_clear(recents);
	(void) sd_event_source_disable_unref(recents->expiry);
}

/* As for joining a capture: a caller with other ids needs a capture of their own. */
static bool same_right(const struct sw_recent *recent, const struct sw_caller *caller)
{
	if (recent->privileged || caller->privileged)
		return recent->privileged == caller->privileged;
	return recent->uid == caller->uid && recent->gid == caller->gid &&
	       recent->same_user_ns == caller->same_user_ns;
}

static bool same_process(const struct sw_recent *recent, const struct sw_found *found)
{
	return recent->dump->pid == found->pid && recent->dump->starttime == found->starttime;
}

/* Is the process still what it was? Its number, start time and pidfd are the same after exec(). */
static bool still_holds(const struct sw_recent *recent, const struct sw_found *found)
{
	const struct sw_target_rights *now = &found->creds.rights;
	return memcmp(&recent->target.rights, now, sizeof(*now)) == 0 &&
	       sw_program_runs(recent->program_fd);
}

struct sw_dump *sw_recent_find(struct sw_recents *recents, const struct sw_found *found,
			       const struct sw_caller *caller, const struct sw_job_options *options,
			       const struct sw_target_creds **ret_target)
{
	struct sw_recent *recent, *previous;
	int64_t now_ns = sw_clock_ns();
	for (recent = TAILQ_LAST(&recents->list, sw_recent_list); recent != NULL;
	     recent = previous) {
		previous = TAILQ_PREV(recent, sw_recent_list, link);
		if (!same_process(recent, found))
			continue;
		if (!still_holds(recent, found)) {
			drop(recents, recent); /* for whomever it was: that process is no more */
			continue;
		}
		if (!same_right(recent, caller) ||
		    memcmp(&recent->options, options, sizeof(*options)) != 0)
			continue;
		*ret_target = &recent->target;
		return recent->expires_ns > now_ns ? recent->dump : NULL;
	}
	return NULL;
}

void sw_recent_forget(struct sw_recents *recents, const char *id)
{
	struct sw_recent *recent, *next;
	for (recent = TAILQ_FIRST(&recents->list); recent != NULL; recent = next) {
		next = TAILQ_NEXT(recent, link);
		if (strcmp(recent->dump->id, id) == 0)
			drop(recents, recent);
	}
}

void sw_recent_add(struct sw_recents *recents, struct sw_dump *dump, struct sw_job *job,
		   uint32_t interval_ms)
{
	const struct sw_worker_request *request = &job->request;
	int64_t interval_ns = interval_ms * INT64_C(1000000);
	struct sw_recent *recent;
	if (interval_ns == 0 || dump->size > RECENT_BYTES_MAX || job->program_fd < 0 ||
	    (recent = malloc(sizeof(*recent))) == NULL)
		return; /* then the next caller gets a new one */
	*recent = (struct sw_recent){.options = job->options,
				     .dump = sw_dump_ref(dump),
				     .privileged = request->privileged,
				     .same_user_ns = request->caller_same_user_ns,
				     .uid = request->caller_uid,
				     .gid = request->caller_gid,
				     .target = job->target,
				     .program_fd = sw_take_fd(job->program_fd),
				     .expires_ns = sw_clock_ns() + interval_ns};
	TAILQ_INSERT_TAIL(&recents->list, recent, link);
	recents->n++;
	recents->bytes += dump->size;
	while (recents->n > RECENT_MAX || recents->bytes > RECENT_BYTES_MAX)
		drop(recents, TAILQ_FIRST(&recents->list));
	schedule(recents);
}
