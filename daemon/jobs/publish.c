/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens to every new dump besides being sent to who asked for it. */
#include "jobs/job.h"
#include "methods/subscribe.h"
#include "cleanup.h"
#include "errors.h"
#include "config/journal.h"
#include "worker/ondump.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static struct sw_store_entry entry_of(const struct sw_dump *dump, uid_t owner)
{
	return (struct sw_store_entry){.id = dump->id,
				       .summary = sw_dump_summary_text(dump),
				       .uid = owner,
				       .pid = dump->pid,
				       .comm = dump->comm,
				       .time_ns = dump->time_ns};
}

int sw_keep_store(struct sw_broker *broker, struct sw_dump *dump, uid_t owner)
{
	struct sw_error err = {0};
	if (broker->store == NULL || !broker->config->store)
		return 0;
	/* The summary on disk says that it is on disk. */
	int r = sw_dump_set_stored(dump, true);
	const struct sw_store_entry entry = entry_of(dump, owner);
	if (r == 0 && entry.summary == NULL)
		r = sw_fail_nomem(&err);
	if (r == 0)
		r = sw_store_put(broker->store, &entry, dump->text, dump->size, &err);
	if (r == 0)
		return 0;
	broker->counters.store_failed_total++;
	sw_log(SW_LOG_ERROR, "dump %s is not kept: %s", dump->id, err.message);
	(void) sw_dump_set_stored(dump, false); /* without memory nobody will read it either */
	return r;
}

static void run_command(struct sw_broker *broker, const struct sw_dump *dump, const char *reason)
{
	struct sw_error err = {0};
	if (broker->on_dump == NULL)
		return;
	const struct sw_store_entry entry = entry_of(dump, 0);
	if (sw_on_dump_start(broker->on_dump, &entry, reason, dump->text, dump->size, &err) < 0)
		sw_log(SW_LOG_WARNING, "OnDump= is not run for dump %s: %s", dump->id, err.message);
}

void sw_keep_dump(struct sw_broker *broker, struct sw_dump *dump, uid_t owner, bool store,
		  bool quiet, const char *reason)
{
	const struct sw_log_capture entry = {.pid = dump->pid,
					     .comm = dump->comm,
					     .id = dump->id,
					     .reason = reason,
					     .stopped_us = dump->stopped_us,
					     .n_threads = dump->n_threads};
	if (store)
		(void) sw_keep_store(broker, dump, owner); /* said there */
	run_command(broker, dump, reason);
	sw_subscribers_tell(broker, owner, dump, NULL);
	if (!quiet)
		sw_log_captured(&entry);
}

void sw_keep_failure(struct sw_broker *broker, const struct sw_job *job,
		     const struct sw_refusal *refusal)
{
	const struct sw_log_capture entry = {.pid = job->request.pid,
					     .comm = job->comm,
					     .reason = job->request.reason,
					     .error = refusal->message};
	broker->counters.captures_failed_total++;
	sw_subscribers_tell(broker, job->owner, NULL, refusal->message);
	sw_log_captured(&entry);
}

static int on_command_result(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_broker *broker = arg;
	struct sw_on_dump_result result;
	struct sw_error err = {0};
	int r;
	(void) fd;
	(void) events;
	while ((r = sw_on_dump_next(broker->on_dump, &result, &err)) > 0) {
		if (result.timed_out)
			sw_log(SW_LOG_WARNING, "OnDump= was killed after %u ms for dump %s",
			       broker->config->on_dump_timeout_ms, result.id);
		else if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
			sw_log(SW_LOG_WARNING, "OnDump= ended with %s %d for dump %s",
			       WIFEXITED(result.status) ? "status" : "signal",
			       WIFEXITED(result.status) ? WEXITSTATUS(result.status)
							: WTERMSIG(result.status),
			       result.id);
	}
	if (r < 0) {
		sw_log(SW_LOG_ERROR, "OnDump= is not run any more: %s", err.message);
		(void) sd_event_source_set_enabled(source, SD_EVENT_OFF); /* or it would spin */
	}
	return 0;
}

int sw_keep_init(struct sw_broker *broker, struct sw_error *err)
{
	if (broker->on_dump != NULL &&
	    sd_event_add_io(broker->event, &broker->on_dump_result, sw_on_dump_fd(broker->on_dump),
			    EPOLLIN, on_command_result, broker) < 0)
		return sw_fail_nomem(err);
	return 0;
}
