/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The publisher does with every new dump what is done besides sending it to the caller. */
#include "jobs/publish.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static struct sw_store_entry entry_of(const struct sw_dump *dump, const struct sw_origin *origin)
{
	return (struct sw_store_entry){.id = dump->id,
				       .summary = sw_dump_summary_text(dump),
				       .subject = sw_target_subject(origin->target),
				       .by = origin->by,
				       .alert = origin->alert,
				       .pid = dump->pid,
				       .comm = dump->comm,
				       .time_ns = dump->time_ns};
}

int sw_publish_store(struct sw_publisher *publisher, struct sw_dump *dump,
		     const struct sw_origin *origin)
{
	struct sw_error err = {0};
	if (publisher->store == NULL || !publisher->config->store)
		return 0;
	/* The summary on disk says that it is on disk. */
	int r = sw_dump_set_stored(dump, true);
	const struct sw_store_entry entry = entry_of(dump, origin);
	if (r == 0 && entry.summary == NULL)
		r = sw_fail_nomem(&err);
	if (r == 0)
		r = sw_store_put(publisher->store, &entry, dump->text, dump->size, &err);
	if (r == 0)
		return 0;
	publisher->counters->store_failed_total++;
	sw_log(SW_LOG_ERROR, "dump %s is not kept: %s", dump->id, err.message);
	(void) sw_dump_set_stored(dump, false); /* without memory nobody will read it either */
	return r;
}

/* Commands for dumps as long as some may be started. */
static void start_commands(struct sw_publisher *publisher)
{
	struct sw_command command;
	while (sw_commands_peek(&publisher->commands, &command)) {
		struct sw_error err = {0};
		const struct sw_store_entry entry = {.id = command.dump->id,
						     .pid = command.dump->pid,
						     .comm = command.dump->comm};
		int r = sw_on_dump_start(publisher->on_dump, &entry, command.reason,
					 command.dump->text, command.dump->size, &err);
		if (r == -SW_E_LIMIT)
			return; /* the next one that ends makes space */
		if (r < 0)
			sw_log(SW_LOG_WARNING, "OnDump= is not run for dump %s: %s",
			       command.dump->id, err.message);
		sw_commands_pop(&publisher->commands);
	}
}

static void run_command(struct sw_publisher *publisher, struct sw_dump *dump,
			const struct sw_origin *origin, const char *reason)
{
	if (publisher->on_dump == NULL)
		return;
	if (!sw_commands_add(&publisher->commands, dump, origin->by, origin->alert, reason))
		publisher->counters->on_dump_dropped_total++;
	start_commands(publisher);
}

/* A user must not fill the journal; entries that were left out are counted. Alerts are always
 * there, but at events, which are the doing of the user whose process it is. */
static bool may_log(struct sw_publisher *publisher, const struct sw_origin *origin)
{
	uint64_t left_out = 0;
	uid_t who;
	int64_t now_ns = sw_clock_ns();
	const uid_t whose = origin->by_event ? origin->target->rights.uid[0] : origin->by;
	bool may = (origin->alert && !origin->by_event) ||
		   sw_log_limit_take(&publisher->log_limit, whose, now_ns);
	while ((left_out = sw_log_limit_left_out(&publisher->log_limit, now_ns, &who)) > 0)
		sw_log(SW_LOG_NOTICE, "%llu entries of captures for user %lu were left out",
		       (unsigned long long) left_out, (unsigned long) who);
	return may;
}

static void tell(struct sw_publisher *publisher, const struct sw_origin *origin,
		 const struct sw_dump *dump, const char *failure)
{
	const struct sw_subject subject = sw_target_subject(origin->target);
	struct sw_subscriber *subscriber;
	TAILQ_FOREACH(subscriber, &publisher->subscribers, link)
	subscriber->tell(subscriber, &subject, dump, failure);
}

void sw_publish_dump(struct sw_publisher *publisher, struct sw_dump *dump,
		     const struct sw_origin *origin, bool store, bool quiet, const char *reason)
{
	struct sw_log_capture entry = {.pid = dump->pid,
				       .comm = dump->comm,
				       .id = dump->id,
				       .reason = reason,
				       .stopped_us = dump->stopped_us,
				       .n_threads = dump->n_threads};
	if (store)
		(void) sw_publish_store(publisher, dump, origin); /* reported there */
	entry.is_stored = dump->stored;
	if (!origin->sampled)
		run_command(publisher, dump, origin, reason);
	tell(publisher, origin, dump, NULL);
	if (!quiet && may_log(publisher, origin))
		sw_log_captured(&entry);
}

void sw_publish_failure(struct sw_publisher *publisher, const struct sw_log_capture *failure,
			const struct sw_origin *origin)
{
	publisher->counters->captures_failed_total++;
	tell(publisher, origin, NULL, failure->error);
	if (may_log(publisher, origin))
		sw_log_captured(failure);
}

void sw_publish_subscribe(struct sw_publisher *publisher, struct sw_subscriber *subscriber)
{
	TAILQ_INSERT_TAIL(&publisher->subscribers, subscriber, link);
	publisher->n_subscribers++;
}

void sw_publish_unsubscribe(struct sw_publisher *publisher, struct sw_subscriber *subscriber)
{
	TAILQ_REMOVE(&publisher->subscribers, subscriber, link);
	publisher->n_subscribers--;
}

static int on_command_result(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_publisher *publisher = arg;
	struct sw_on_dump_result result;
	struct sw_error err = {0};
	int r;
	(void) fd;
	(void) events;
	while ((r = sw_on_dump_next(publisher->on_dump, &result, &err)) > 0) {
		if (result.timed_out)
			sw_log(SW_LOG_WARNING, "OnDump= was killed after %u ms for dump %s",
			       publisher->config->on_dump_timeout_ms, result.id);
		else if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
			sw_log(SW_LOG_WARNING, "OnDump= ended with %s %d for dump %s",
			       WIFEXITED(result.status) ? "status" : "signal",
			       WIFEXITED(result.status) ? WEXITSTATUS(result.status)
							: WTERMSIG(result.status),
			       result.id);
	}
	if (r == 0)
		start_commands(publisher);
	if (r < 0) {
		sw_log(SW_LOG_ERROR, "OnDump= is not run any more: %s", err.message);
		(void) sd_event_source_set_enabled(source, SD_EVENT_OFF); /* or it would spin */
	}
	return 0;
}

static void open_store(struct sw_publisher *publisher)
{
	struct sw_error err = {0};
	if (!publisher->config->store)
		return;
	if (sw_store_open(publisher->config, &publisher->store, &err) < 0) {
		/* Captures are worth more than their being kept. */
		sw_log(SW_LOG_ERROR, "dumps are not kept: %s", err.message);
		publisher->store = NULL;
	}
}

void sw_publish_init(struct sw_publisher *publisher, const struct sw_config *config,
		     struct sw_counters *counters)
{
	*publisher = (struct sw_publisher){.config = config, .counters = counters};
	sw_commands_init(&publisher->commands);
	TAILQ_INIT(&publisher->subscribers);
}

int sw_publish_start(struct sw_publisher *publisher, sd_event *event, struct sw_error *err)
{
	open_store(publisher);
	if (publisher->on_dump != NULL &&
	    sd_event_add_io(event, &publisher->on_dump_result, sw_on_dump_fd(publisher->on_dump),
			    EPOLLIN, on_command_result, publisher) < 0)
		return sw_fail_nomem(err);
	return 0;
}

void sw_publish_reconfigure(struct sw_publisher *publisher, const struct sw_config *config)
{
	publisher->config = config;
	if (publisher->store != NULL)
		sw_store_reconfigure(publisher->store, config);
	else
		open_store(publisher);
}

void sw_publish_deinit(struct sw_publisher *publisher)
{
	(void) sd_event_source_disable_unref(publisher->on_dump_result);
	sw_commands_deinit(&publisher->commands);
	sw_on_dump_destroy(publisher->on_dump);
	sw_store_close(publisher->store);
}
