/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/context.h"
#include "config/journal.h"
#include "rules/load.h"
#include "rules/parse.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

static uid_t uid_of(const char *name)
{
	const struct passwd *user = getpwnam(name);
	return user != NULL ? user->pw_uid : (uid_t) -1;
}

int sw_methods_init(struct sw_methods *methods, const struct sw_server *server,
		    struct sw_jobs *jobs, struct sw_error *err)
{
	*methods = (struct sw_methods){.server = server,
				       .jobs = jobs,
				       .trigger_uid = uid_of(jobs->config->trigger_user),
				       .ship_uid = uid_of(jobs->config->ship_user),
				       .start_ns = sw_clock_ns()};
	sw_acted_alerts_init(&methods->alerts);
	sw_watcher_init(&methods->watcher, jobs, &methods->rules);
	sw_continuous_init(&methods->continuous, jobs, &methods->rules);
	if (gethostname(methods->host, sizeof(methods->host) - 1) < 0)
		return sw_fail_errno(err, SW_E_IO, "the host's name");
	return 0;
}

static void say_rule(void *arg, const char *message)
{
	(void) arg;
	sw_log(SW_LOG_WARNING, "%s", message);
}

/* A reload must not make a rule forget that it is cooling down, or when its next turn is. */
static void last_copy(struct sw_rule *to, size_t n_to, const struct sw_rule *from, size_t n_from)
{
	for (size_t i = 0; i < n_to; i++)
		for (size_t j = 0; j < n_from; j++)
			if (strcmp(to[i].name, from[j].name) == 0) {
				to[i].last_ns = from[j].last_ns;
				to[i].due_ns = from[j].due_ns;
			}
}

static void load(struct sw_methods *methods)
{
	struct sw_error err = {0};
	struct sw_rules rules = {0};
	if (sw_rules_load(methods->jobs->config->rules_dir, say_rule, NULL, &rules, &err) < 0) {
		sw_log(SW_LOG_ERROR, "rules: %s", err.message);
		return;
	}
	if (rules.n_unsafe > 0) {
		sw_log(SW_LOG_ERROR, "rules: a mistake in RequireExe=: the old rules stay");
		sw_rules_deinit(&rules);
		return;
	}
	const struct sw_rules *old = &methods->rules;
	last_copy(rules.rules, rules.n_rules, old->rules, old->n_rules);
	last_copy(rules.events, rules.n_events, old->events, old->n_events);
	last_copy(rules.profiles, rules.n_profiles, old->profiles, old->n_profiles);
	sw_rules_deinit(&methods->rules);
	methods->rules = rules;
}

void sw_methods_load_rules(struct sw_methods *methods)
{
	/* Also where the old rules stay: the configuration that permitted what is watched may be another. */
	sw_watcher_stop(&methods->watcher);
	sw_continuous_stop(&methods->continuous);
	load(methods);
	sw_watcher_start(&methods->watcher);
	sw_continuous_start(&methods->continuous);
}

void sw_methods_deinit(struct sw_methods *methods)
{
	sw_acted_alerts_deinit(&methods->alerts);
	sw_rules_deinit(&methods->rules);
}
