/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "broker.h"
#include "methods/alerts.h"
#include "rpc/connection.h"
#include "jobs/job.h"
#include "jobs/series.h"
#include "cleanup.h"
#include "errors.h"
#include "config/journal.h"
#include "rules/load.h"
#include "rules/parse.h"
#include "worker/ondump.h"

#include <snapwalk/clock.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

static void say_rule(void *arg, const char *message)
{
	(void) arg;
	sw_log(SW_LOG_WARNING, "%s", message);
}

/* Names of users and groups: may load modules and ask services, which the sandbox forbids. */
static void look_up(struct sw_broker *broker, struct sw_config *config)
{
	const struct passwd *user = getpwnam(config->trigger_user);
	gid_t gid = 0;
	broker->trigger_uid = user != NULL ? user->pw_uid : (uid_t) -1;
	config->group_found = sw_group_find(config->group, &gid);
	config->group_gid = gid;
	config->group_looked_up = true;
}

int sw_broker_init(struct sw_broker *broker, struct sw_config *config, struct sw_error *err)
{
	*broker = (struct sw_broker){.config = config, .start_ns = sw_clock_ns()};
	TAILQ_INIT(&broker->connections);
	TAILQ_INIT(&broker->subscriptions);
	TAILQ_INIT(&broker->jobs);
	TAILQ_INIT(&broker->recent);
	TAILQ_INIT(&broker->series);
	TAILQ_INIT(&broker->alerts);
	look_up(broker, config);
	if (gethostname(broker->host, sizeof(broker->host) - 1) < 0)
		return sw_fail_errno(err, SW_E_IO, "the host's name");
	return 0;
}

static int on_spawner_gone(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_broker *broker = arg;
	(void) source;
	(void) fd;
	(void) events;
	/* What it had of privileges is gone with it: only a new start brings them back. */
	sw_log(SW_LOG_ERROR, "the spawner has died: no capture can be made any more");
	(void) sd_event_exit(broker->event, SW_E_IO); /* fails only after the loop */
	return 0;
}

static void open_store(struct sw_broker *broker)
{
	struct sw_error err = {0};
	if (!broker->config->store)
		return;
	if (sw_store_open(broker->config, &broker->store, &err) < 0) {
		/* Captures are worth more than their being kept. */
		sw_log(SW_LOG_ERROR, "dumps are not kept: %s", err.message);
		broker->store = NULL;
	}
}

static void load_rules(struct sw_broker *broker)
{
	struct sw_error err = {0};
	struct sw_rules rules = {0};
	if (sw_rules_load(broker->config->rules_dir, say_rule, NULL, &rules, &err) < 0) {
		sw_log(SW_LOG_ERROR, "rules: %s", err.message);
		return;
	}
	/* A reload must not make a rule forget that it is cooling down. */
	for (size_t i = 0; i < rules.n_rules; i++)
		for (size_t j = 0; j < broker->rules.n_rules; j++)
			if (strcmp(rules.rules[i].name, broker->rules.rules[j].name) == 0)
				rules.rules[i].last_ns = broker->rules.rules[j].last_ns;
	sw_rules_deinit(&broker->rules);
	broker->rules = rules;
}

int sw_broker_start(struct sw_broker *broker, struct sw_spawner *spawner, struct sw_error *err)
{
	broker->spawner = spawner;
	if (sd_event_new(&broker->event) < 0 ||
	    sd_event_add_io(broker->event, &broker->spawner_gone, spawner->pidfd, EPOLLIN,
			    on_spawner_gone, broker) < 0 ||
	    sw_recent_init(broker) < 0 || sw_limits_create(broker->config, &broker->limits) < 0)
		return sw_fail_nomem(err);
	open_store(broker);
	load_rules(broker);
	int r = sw_keep_init(broker, err);
	if (r == 0)
		r = sw_broker_accept_start(broker, err);
	return r;
}

int sw_broker_run(struct sw_broker *broker, struct sw_error *err)
{
	int r = sd_event_loop(broker->event);
	if (r < 0) {
		errno = -r;
		return sw_fail_errno(err, SW_E_IO, "the event loop");
	}
	return r == 0 ? 0 : sw_fail(err, r, "the spawner has died");
}

void sw_broker_reconfigure(struct sw_broker *broker, struct sw_config *config)
{
	const struct sw_config *old = broker->config;
	/* What was looked up before the sandbox, and cannot be asked again in it. */
	config->group_looked_up = old->group_looked_up;
	config->group_found = old->group_found;
	config->group_gid = old->group_gid;
	broker->config = config;
	sw_limits_reconfigure(broker->limits, config);
	if (broker->store != NULL)
		sw_store_reconfigure(broker->store, config);
	else
		open_store(broker);
	struct sw_error err;
	if (sw_spawner_configure(broker->spawner, config, &err) < 0)
		sw_log(SW_LOG_ERROR, "workers go by the old Deny= and DumpMax=: %s", err.message);
	sw_recent_clear(broker);
	load_rules(broker);
}

static void sockets_close(struct sw_broker *broker)
{
	for (size_t i = 0; i < broker->n_listeners; i++) {
		(void) sd_event_source_disable_unref(broker->listeners[i].source);
		sw_close_p(&broker->listeners[i].fd);
	}
	broker->n_listeners = 0;
}

/* Only those of alerts are left: their last word lets go of what they hold. */
static void series_end(struct sw_broker *broker)
{
	struct sw_series *series;
	struct sw_refusal refusal = {0};
	(void) sw_refuse(&refusal, SW_INTERFACE ".Failed", NULL, "the daemon ends");
	const struct sw_outcome outcome = {.refusal = &refusal};
	while ((series = TAILQ_FIRST(&broker->series)) != NULL) {
		sw_waiter_cancel(&series->waiter);
		series->done(series, &outcome);
	}
	sw_refusal_deinit(&refusal);
}

void sw_broker_deinit(struct sw_broker *broker)
{
	sockets_close(broker);
	while (!TAILQ_EMPTY(&broker->connections))
		sw_connection_destroy(TAILQ_FIRST(&broker->connections));
	series_end(broker);
	sw_jobs_end(broker);
	sw_recent_clear(broker);
	sw_alerts_clear(broker);
	sw_on_dump_destroy(broker->on_dump);
	sw_store_close(broker->store);
	sw_limits_destroy(broker->limits);
	sw_rules_deinit(&broker->rules);
	(void) sd_event_source_disable_unref(broker->recent_expiry);
	(void) sd_event_source_disable_unref(broker->start_jobs);
	(void) sd_event_source_disable_unref(broker->on_dump_result);
	(void) sd_event_source_disable_unref(broker->accept_again);
	(void) sd_event_source_disable_unref(broker->spawner_gone);
	(void) sd_event_unref(broker->event);
}
