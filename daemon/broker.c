/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "broker.h"
#include "config/journal.h"
#include "methods/table.h"
#include "policy/authorize.h"
#include "errors.h"

#include <errno.h>
#include <pwd.h>
#include <sys/epoll.h>

/* The name of a group: may load modules and ask services, which the sandbox forbids. */
static void look_up(struct sw_config *config)
{
	gid_t gid = 0;
	config->group_found = sw_group_find(config->group, &gid);
	config->group_gid = gid;
	config->group_looked_up = true;
	const struct passwd *user = config->user_mode ? NULL : getpwnam(config->user);
	config->own_group_is_alone =
		user != NULL && !sw_group_has_others(config, user->pw_gid, config->user);
}

int sw_broker_init(struct sw_broker *broker, struct sw_config *config, struct sw_error *err)
{
	*broker = (struct sw_broker){.config = config};
	look_up(config);
	sw_server_init(&broker->server, config, &broker->counters, sw_method_table,
		       &broker->methods);
	sw_jobs_init(&broker->jobs, config, &broker->counters);
	int r = sw_methods_init(&broker->methods, &broker->server, &broker->jobs, err);
	broker->server.reserved_uid = broker->methods.trigger_uid;
	return r;
}

static int on_spawner_gone(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_broker *broker = arg;
	(void) source;
	(void) fd;
	(void) events;
	/* The spawner's privileges are gone with it: only a new start brings them back. */
	sw_log(SW_LOG_ERROR, "the spawner has died: no capture can be made any more");
	(void) sd_event_exit(broker->event, SW_E_IO); /* fails only after the loop */
	return 0;
}

static struct sw_user_ns look(void *spawner, int pidfd, pid_t pid)
{
	return sw_spawner_look(spawner, pidfd, pid);
}

int sw_broker_start(struct sw_broker *broker, struct sw_spawner *spawner, struct sw_error *err)
{
	if (sd_event_new(&broker->event) < 0 ||
	    sd_event_add_io(broker->event, &broker->spawner_gone, spawner->pidfd, EPOLLIN,
			    on_spawner_gone, broker) < 0)
		return sw_fail_nomem(err);
	broker->server.look = look;
	broker->server.look_arg = spawner;
	int r = sw_jobs_start(&broker->jobs, broker->event, spawner, err);
	if (r < 0)
		return r;
	sw_methods_load_rules(&broker->methods);
	return sw_server_start(&broker->server, broker->event, err);
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
	/* Values that were looked up before the sandbox, and cannot be asked for again in it. */
	config->group_looked_up = old->group_looked_up;
	config->group_found = old->group_found;
	config->group_gid = old->group_gid;
	config->own_group_is_alone = old->own_group_is_alone;
	broker->config = config;
	broker->server.config = config;
	sw_jobs_reconfigure(&broker->jobs, config);
	sw_methods_load_rules(&broker->methods);
}

void sw_broker_deinit(struct sw_broker *broker)
{
	sw_server_deinit(&broker->server);
	sw_watcher_stop(&broker->methods.watcher);
	sw_continuous_stop(&broker->methods.continuous);
	sw_jobs_deinit(&broker->jobs);
	sw_methods_deinit(&broker->methods);
	(void) sd_event_source_disable_unref(broker->spawner_gone);
	(void) sd_event_unref(broker->event);
}
