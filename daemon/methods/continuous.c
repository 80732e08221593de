/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/continuous.h"
#include "config/journal.h"
#include "jobs/profile.h"
#include "methods/target.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	TARGETS_MAX = 64,
	BUSY_MS = 1000,    /* until a section whose profiles are still made is asked again */
	SPREAD_PARTS = 10, /* a turn is late by up to this part of the interval, */
	FIRST_MS = 10000,  /* and the first one by no more than this */
};
static const int64_t ns_per_ms = 1000000;

/* A process of a section: a profile of it is being made, or could not be made. */
struct sw_profiled {
	TAILQ_ENTRY(sw_profiled) link;
	struct sw_continuous *continuous; /* borrowed */
	struct sw_rule *rule;             /* borrowed */
	pid_t pid;
	struct sw_profiling *profiling; /* owned; NULL: none */
	bool found;                     /* in this turn */
	bool said;                      /* that there is no profile */
};

/*
 * The sections act with the daemon's own authority: Deny= and RequireExe= limit them. The number of the user is nobody's:
 * dumps of users do not go for these profiles in the store, where whoever has most gives way.
 */
static const struct sw_caller section_caller = {.uid = (uid_t) -2,
						.gid = (gid_t) -2,
						.privileged = true,
						.same_user_ns = true};

static void end_profiling(struct sw_profiled *profiled)
{
	profiled->continuous->n_running -= profiled->profiling != NULL;
	sw_profiling_destroy(profiled->profiling);
	profiled->profiling = NULL;
}

static void forget(struct sw_profiled *profiled)
{
	end_profiling(profiled);
	TAILQ_REMOVE(&profiled->continuous->profiled, profiled, link);
	free(profiled);
}

/* ---- one profile ------------------------------------------------------------------------------ */

static void refused(struct sw_profiled *profiled, const struct sw_refusal *refusal)
{
	profiled->continuous->jobs->counters->continuous_failed_total++;
	if (!profiled->said)
		sw_log(SW_LOG_WARNING, "profile %s: process %d: %s", profiled->rule->name,
		       (int) profiled->pid, refusal->message);
	profiled->said = true;
}

static void on_done(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	struct sw_profiled *profiled = profiling->arg;
	if (outcome->dump != NULL) {
		profiled->continuous->jobs->counters->continuous_total++;
		profiled->said = false;
	} else {
		refused(profiled, outcome->refusal);
	}
	end_profiling(profiled);
}

static bool begin_one(struct sw_profiled *profiled, struct sw_found *found,
		      struct sw_refusal *refusal)
{
	struct sw_continuous *c = profiled->continuous;
	const struct sw_rule *rule = profiled->rule;
	const struct sw_profile_wish wish = {.mode = rule->profile_mode,
					     .rate_hz = sw_share_rate(&c->share, rule->rate_hz),
					     .duration_ms = rule->profile_ms,
					     .continuous = true};
	char reason[SW_WORKER_REASON_MAX];
	(void) snprintf(reason, sizeof(reason), "profile: %s", rule->name); /* cut is fine */
	struct sw_submission submission = {.caller = &section_caller,
					   .found = found,
					   .reason = reason,
					   .require_exe = rule->require_exe,
					   .store = true};
	const char *bad;
	/* No options: the configuration's. Cannot fail. */
	(void) sw_options_read(c->jobs->config, NULL, &submission.options, &submission.store, &bad);
	if (!sw_found_init(found, profiled->pid, 0, -EBADF, refusal) ||
	    !sw_target_permitted(c->jobs, &section_caller, found, refusal))
		return false;
	if (!sw_target_exe_allowed(rule, found))
		return sw_refuse(refusal, SW_INTERFACE ".NotPermitted", NULL,
				 "RequireExe= forbids its executable");
	profiled->profiling = sw_profiling_create(c->jobs, &submission, &wish, refusal);
	if (profiled->profiling == NULL)
		return false;
	profiled->profiling->arg = profiled;
	profiled->profiling->done = on_done;
	c->n_running++;
	if (sw_profiling_start(profiled->profiling))
		return true;
	end_profiling(profiled);
	return sw_refuse(refusal, SW_INTERFACE ".Failed", NULL, "not enough memory");
}

static void begin(struct sw_profiled *profiled)
{
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	if (!begin_one(profiled, &found, &refusal))
		refused(profiled, &refusal);
	sw_found_deinit(&found);
	sw_refusal_deinit(&refusal);
}

/* ---- a turn ----------------------------------------------------------------------------------- */

static struct sw_profiled *profiled_of(struct sw_continuous *c, struct sw_rule *rule, pid_t pid)
{
	struct sw_profiled *profiled;
	TAILQ_FOREACH(profiled, &c->profiled, link)
	if (profiled->rule == rule && profiled->pid == pid)
		return profiled;
	profiled = calloc(1, sizeof(*profiled));
	if (profiled == NULL)
		return NULL; /* its next turn tries it again */
	*profiled = (struct sw_profiled){.continuous = c, .rule = rule, .pid = pid};
	TAILQ_INSERT_TAIL(&c->profiled, profiled, link);
	return profiled;
}

/* Returns how many of the word's processes have a profile now. */
static uint32_t word_take(struct sw_continuous *c, struct sw_rule *rule, const char *word,
			  uint32_t max)
{
	pid_t pids[TARGETS_MAX];
	size_t n_pids = 0;
	uint32_t n = 0;
	if (sw_target_select_word(word, TARGETS_MAX, pids, &n_pids, NULL) < 0)
		return 0; /* none is there now */
	for (size_t i = 0; i < n_pids && n < max; i++) {
		struct sw_profiled *profiled = profiled_of(c, rule, pids[i]);
		if (profiled == NULL || profiled->found)
			continue;
		profiled->found = true;
		begin(profiled);
		n += profiled->profiling != NULL;
	}
	return n;
}

static void turn(struct sw_continuous *c, struct sw_rule *rule)
{
	struct sw_profiled *profiled, *next;
	uint32_t n = 0;
	TAILQ_FOREACH(profiled, &c->profiled, link)
	profiled->found = profiled->found && profiled->rule != rule;
	for (char **word = rule->targets; *word != NULL; word++)
		n += word_take(c, rule, *word, rule->max_targets - n);
	for (profiled = TAILQ_FIRST(&c->profiled); profiled != NULL; profiled = next) {
		next = TAILQ_NEXT(profiled, link);
		if (profiled->rule == rule && !profiled->found)
			forget(profiled);
	}
}

static bool is_running(const struct sw_continuous *c, const struct sw_rule *rule)
{
	const struct sw_profiled *profiled;
	TAILQ_FOREACH(profiled, &c->profiled, link)
	if (profiled->rule == rule && profiled->profiling != NULL)
		return true;
	return false;
}

/* Machines that were started at the same time do not sample at the same time. The digits of a clock are good enough
 * for this. */
static int64_t spread(const struct sw_rule *rule, int64_t now_ns, int64_t most_ms)
{
	int64_t ns = rule->interval_ms * ns_per_ms / SPREAD_PARTS;
	return now_ns % ((ns < most_ms * ns_per_ms ? ns : most_ms * ns_per_ms) + 1);
}

/* ---- time ------------------------------------------------------------------------------------- */

/* Takes the CPU time that workers have used until now. */
static void account(struct sw_continuous *c, int64_t now_ns)
{
	const uint64_t used_us = c->jobs->spawner->shared->continuous_us;
	int64_t longest_ms = 0;
	for (size_t i = 0; i < c->rules->n_profiles; i++)
		if (c->rules->profiles[i].interval_ms > longest_ms)
			longest_ms = c->rules->profiles[i].interval_ms;
	c->jobs->counters->continuous_cpu_us_total += used_us - c->counted_us;
	c->counted_us = used_us;
	sw_share_update(&c->share, c->jobs->config->profile_cpu_x100, now_ns, used_us);
	sw_share_period(&c->share, c->jobs->config->profile_cpu_x100, longest_ms * ns_per_ms);
}

/* Gives it its turn, or says when it is asked again. */
static void rule_go(struct sw_continuous *c, struct sw_rule *rule, int64_t now_ns)
{
	if (is_running(c, rule)) {
		rule->due_ns = now_ns + BUSY_MS * ns_per_ms;
	} else {
		turn(c, rule);
		rule->due_ns = now_ns + rule->interval_ms * ns_per_ms +
			       spread(rule, now_ns, rule->interval_ms);
	}
}

static void sleep_until_due(struct sw_continuous *c)
{
	const int64_t now_ns = sw_clock_ns();
	int64_t due_ns = INT64_MAX;
	for (size_t i = 0; i < c->rules->n_profiles; i++)
		if (c->rules->profiles[i].due_ns < due_ns)
			due_ns = c->rules->profiles[i].due_ns;
	if (due_ns < c->rest_ns)
		due_ns = c->rest_ns;
	const uint64_t us = due_ns > now_ns ? (uint64_t) (due_ns - now_ns) / 1000 : 0;
	/* When one fails, the turns begin again at the next reload. */
	if (sd_event_source_set_time_relative(c->timer, us) >= 0)
		(void) sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

static int on_time(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_continuous *c = arg;
	(void) source;
	(void) now_us;
	account(c, sw_clock_ns());
	const int64_t wait_ns = sw_share_wait_ns(&c->share, c->jobs->config->profile_cpu_x100);
	c->rest_ns = wait_ns > 0 ? c->share.at_ns + wait_ns : 0;
	c->jobs->counters->continuous_postponed_total += wait_ns > 0;
	for (size_t i = 0; wait_ns == 0 && i < c->rules->n_profiles; i++) {
		const int64_t now_ns = sw_clock_ns();
		if (c->rules->profiles[i].due_ns <= now_ns)
			rule_go(c, &c->rules->profiles[i], now_ns);
	}
	sleep_until_due(c);
	return 0;
}

void sw_continuous_init(struct sw_continuous *c, struct sw_jobs *jobs, struct sw_rules *rules)
{
	*c = (struct sw_continuous){.jobs = jobs, .rules = rules};
	TAILQ_INIT(&c->profiled);
	sw_share_init(&c->share, sw_clock_ns(), 0);
}

void sw_continuous_start(struct sw_continuous *c)
{
	const int64_t now_ns = sw_clock_ns();
	if (c->rules->n_profiles == 0)
		return;
	if (c->timer == NULL &&
	    sd_event_add_time_relative(c->jobs->event, &c->timer, CLOCK_MONOTONIC, UINT64_MAX / 2,
				       0, on_time, c) < 0) {
		sw_log(SW_LOG_ERROR, "sections [profile NAME] do nothing: there is no memory");
		return;
	}
	for (size_t i = 0; i < c->rules->n_profiles; i++) {
		struct sw_rule *rule = &c->rules->profiles[i];
		if (rule->due_ns == 0)
			rule->due_ns = now_ns + spread(rule, now_ns, FIRST_MS);
	}
	c->rest_ns = 0; /* the share may be another */
	sleep_until_due(c);
}

void sw_continuous_stop(struct sw_continuous *c)
{
	struct sw_profiled *profiled;
	while ((profiled = TAILQ_FIRST(&c->profiled)) != NULL)
		forget(profiled);
	(void) sd_event_source_disable_unref(c->timer); /* NULL is fine */
	c->timer = NULL;
}
