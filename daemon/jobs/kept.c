/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/kept.h"
#include "jobs/series.h"
#include "jobs/state.h"
#include "worker/life.h"
#include "child.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <sys/socket.h>

enum {
	NS_PER_MS = 1000000,
	KEPT_MAX = 16, /* at once */
	KEPT_PER_USER_MAX = 4,
};

void sw_kept_init(struct sw_kept *kept)
{
	*kept = (struct sw_kept){.pidfd = -EBADF, .stream = -EBADF};
}

/* The worker waits, and has said nothing since its dump. */
static bool is_waiting(const struct sw_kept *kept)
{
	struct pollfd events[] = {{.fd = kept->pidfd, .events = POLLIN},
				  {.fd = kept->stream, .events = POLLIN | POLLRDHUP}};
	return sw_clock_ns() < kept->begin_ns + SW_WORKER_LIFE_MS * (int64_t) NS_PER_MS &&
	       poll(events, SW_ARRAY_SIZE(events), 0) == 0;
}

/* Alerts have those that are for nobody else. */
static bool has_space(const struct sw_job *job)
{
	const struct sw_series *series;
	size_t all = 0, users = 0;
	TAILQ_FOREACH(series, &job->jobs->series, link)
	{
		const bool waits = series->kept.stream >= 0 && is_waiting(&series->kept);
		all += waits;
		users += waits && !series->alert && series->caller.uid == job->request.caller_uid;
	}
	return all < KEPT_MAX &&
	       (job->alert || (users < KEPT_PER_USER_MAX && all < KEPT_MAX - KEPT_PER_USER_MAX));
}

bool sw_kept_put(struct sw_kept *kept, struct sw_job *job)
{
	if (!kept->wanted || kept->stream >= 0 || !has_space(job))
		return false;
	kept->pidfd = sw_take_fd(job->pidfd);
	kept->stream = sw_take_fd(job->stream);
	kept->begin_ns = job->started_ns;
	return true;
}

static void end(struct sw_kept *kept)
{
	if (kept->stream < 0)
		return;
	sw_child_kill(kept->pidfd);
	sw_close_p(&kept->pidfd);
	sw_close_p(&kept->stream);
}

bool sw_kept_take(struct sw_kept *kept, struct sw_job *job)
{
	const struct sw_worker_next next = {.seq = job->request.seq};
	if (kept->stream < 0)
		return false;
	if (!is_waiting(kept) ||
	    send(kept->stream, &next, sizeof(next), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(next)) {
		end(kept);
		return false;
	}
	job->pidfd = sw_take_fd(kept->pidfd);
	job->stream = sw_take_fd(kept->stream);
	job->started_ns = kept->begin_ns;
	return true;
}

/* A capture of it that is under way goes on. */
void sw_kept_drop(struct sw_kept *kept, struct sw_jobs *jobs)
{
	struct sw_job *job;
	TAILQ_FOREACH(job, &jobs->list, link)
	if (job->keeper == kept)
		job->keeper = NULL;
	end(kept);
}

void sw_kept_renew(struct sw_jobs *jobs)
{
	struct sw_series *series;
	TAILQ_FOREACH(series, &jobs->series, link)
	sw_kept_drop(&series->kept, jobs);
}
