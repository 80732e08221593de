/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/watch.h"
#include "config/journal.h"
#include "jobs/run.h"
#include "jobs/series.h"
#include "methods/target.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/probes.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
	WATCHES_MAX = 16, /* at once: each is a process */
	LOOK_MS = 2000,
	LOOK_SHARE = 50,    /* a look takes at most this part of the time of the broker */
	REFUSED_MS = 60000, /* until a process that could not be watched is tried again, */
	BUSY_MS = 5000,     /* and where that was for a moment */
	BREAK_MS = 1000, /* a process that maps code all the time is not looked at all the time */
	LASTS_MS = 3600000,    /* of one worker */
	OVERHEAD_MS = 3600000, /* until breakpoints that took too much are tried again */
	TARGETS_MAX = 64,
};
static const int64_t ns_per_ms = 1000000;

/* A process that a rule watches, or could not watch. */
struct sw_watch {
	TAILQ_ENTRY(sw_watch) link;
	struct sw_watcher *watcher; /* borrowed */
	struct sw_rule *rule;       /* borrowed */
	pid_t pid;
	struct sw_series *series; /* owned; NULL: it waits until again_ns */
	struct sw_worker_events wish;
	int64_t began_ns, again_ns; /* CLOCK_MONOTONIC */
	uint64_t starttime;
	bool found; /* by the look that is being made */
	bool said;  /* that it cannot be watched */
};

/* The rules act with the daemon's own authority: Deny=, RequireExe= and Events= limit them. */
static const struct sw_caller rule_caller = {.privileged = true, .same_user_ns = true};

static bool is_function(const struct sw_rule *rule)
{
	return rule->event.options.what == SW_EVENT_FUNCTION;
}

static enum sw_deny_rule authorize(const struct sw_watcher *watcher, const struct sw_rule *rule)
{
	const struct sw_config *config = watcher->jobs->config;
	return is_function(rule) ? sw_authorize_functions(config, &rule_caller)
				 : sw_authorize_events(config, &rule_caller);
}

/* The number of lines about captures: the rule may be gone by then. */
static const uid_t any_rule = UINT32_MAX;

static void say_left_out(struct sw_watcher *watcher, int64_t now_ns)
{
	uint64_t left_out;
	uid_t which;
	while ((left_out = sw_log_limit_left_out(&watcher->log_limit, now_ns, &which)) > 0)
		sw_log(SW_LOG_NOTICE, "rule %s: %llu lines were left out",
		       which < watcher->rules->n_events ? watcher->rules->events[which].name : "*",
		       (unsigned long long) left_out);
}

/* Whether there may be a line more about a rule: users start processes that it names, and have events, as often as they
 * like. */
static bool may_say(struct sw_watcher *watcher, uid_t number)
{
	const int64_t now_ns = sw_clock_ns();
	const bool may = sw_log_limit_take(&watcher->log_limit, number, now_ns);
	say_left_out(watcher, now_ns);
	return may;
}

__attribute__((format(printf, 4, 5))) static void
say(struct sw_watcher *watcher, const struct sw_rule *rule, int priority, const char *fmt, ...)
{
	char line[SW_ERROR_MESSAGE_MAX + 128];
	va_list ap;
	if (!may_say(watcher, (uid_t) (rule - watcher->rules->events)))
		return;
	va_start(ap, fmt);
	(void) vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	sw_log(priority, "rule %s: %s", rule->name, line);
}

static void end_series(struct sw_watch *watch)
{
	watch->watcher->n_running -= watch->series != NULL;
	sw_series_destroy(watch->series);
	watch->series = NULL;
}

static void forget(struct sw_watch *watch)
{
	end_series(watch);
	TAILQ_REMOVE(&watch->watcher->watches, watch, link);
	free(watch);
}

static void look_in(struct sw_watcher *watcher, int64_t ms)
{
	const int64_t least_ms = (watcher->rest_ns - sw_clock_ns()) / ns_per_ms;
	if (ms < least_ms)
		ms = least_ms;
	/* When one fails, processes are looked for at the next reload. */
	if (watcher->timer != NULL &&
	    sd_event_source_set_time_relative(watcher->timer, (uint64_t) ms * 1000) >= 0)
		(void) sd_event_source_set_enabled(watcher->timer, SD_EVENT_ONESHOT);
}

/* ---- captures that follow --------------------------------------------------------------------- */

static void on_captured(struct sw_series *series, const struct sw_outcome *outcome)
{
	/* A capture that was begun and failed is in the log. */
	if (outcome->dump == NULL && outcome->target == NULL && may_say(series->owner, any_rule))
		sw_log(SW_LOG_WARNING, "%s: process %d is not captured: %s", series->reason,
		       (int) series->pid, outcome->refusal->message);
	if (outcome->dump == NULL || !sw_series_next(series))
		sw_series_destroy(series);
}

static void submission_fill(const struct sw_watch *watch, struct sw_found *found, char *reason,
			    size_t size, struct sw_submission *ret)
{
	const char *bad;
	(void) snprintf(reason, size, "event: %s", watch->rule->name); /* cut is fine */
	*ret = (struct sw_submission){.caller = &rule_caller,
				      .found = found,
				      .reason = reason,
				      .require_exe = watch->rule->require_exe,
				      .alert = true,
				      .by_event = true,
				      .store = true};
	/* No options: the configuration's. Cannot fail. */
	(void) sw_options_read(watch->watcher->jobs->config, NULL, &ret->options, &ret->store,
			       &bad);
}

/* The whole process, if it is still there. */
static void capture(const struct sw_watch *watch)
{
	struct sw_jobs *jobs = watch->watcher->jobs;
	const struct sw_rule *rule = watch->rule;
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	struct sw_submission submission;
	char reason[SW_WORKER_REASON_MAX];
	if (sw_found_init(&found, watch->pid, watch->starttime, -EBADF, &refusal)) {
		submission_fill(watch, &found, reason, sizeof(reason), &submission);
		struct sw_series *series =
			sw_series_create(jobs, &submission, rule->count, rule->interval_ms);
		if (series != NULL) {
			series->owner = watch->watcher;
			series->done = on_captured;
			if (!sw_series_next(series))
				sw_series_destroy(series);
		}
	} else {
		say(watch->watcher, rule, SW_LOG_NOTICE, "process %d is not captured: %s",
		    (int) watch->pid, refusal.message);
	}
	sw_found_deinit(&found);
	sw_refusal_deinit(&refusal);
}

/* ---- the event -------------------------------------------------------------------------------- */

static void fired(struct sw_watch *watch, bool has_stack)
{
	struct sw_watcher *watcher = watch->watcher;
	struct sw_rule *rule = watch->rule;
	struct sw_watch *w, *next;
	rule->last_ns = sw_clock_ns();
	watcher->jobs->counters->events_fired_total++;
	if (!has_stack)
		say(watcher, rule, SW_LOG_NOTICE, "%s of process %d, without a stack",
		    rule->event.name, (int) watch->pid);
	if (rule->event.options.what != SW_EVENT_DEATH)
		capture(watch);
	for (w = TAILQ_FIRST(&watcher->watches); w != NULL; w = next) {
		next = TAILQ_NEXT(w, link);
		if (w->rule == rule)
			forget(w);
	}
}

/* Whether it is to be said that a process cannot be watched: of many that lack the function of a rule, of the first. */
static bool is_said_first(struct sw_watch *watch, const struct sw_refusal *refusal)
{
	const bool absent =
		is_function(watch->rule) && strcmp(refusal->name, SW_INTERFACE ".Unsupported") == 0;
	const bool first = !watch->said && !(absent && watch->rule->said_absent);
	watch->rule->said_absent |= absent;
	watch->said = true;
	return first;
}

static void refused(struct sw_watch *watch, const struct sw_refusal *refusal)
{
	const bool ended = strcmp(refusal->name, SW_INTERFACE ".NoSuchProcess") == 0 ||
			   strcmp(refusal->name, SW_INTERFACE ".TargetExited") == 0;
	/* That one has ended by then is usual, but for one that Target= names by its number. */
	if (is_said_first(watch, refusal))
		say(watch->watcher, watch->rule, ended ? SW_LOG_INFO : SW_LOG_WARNING,
		    "process %d cannot be watched: %s", (int) watch->pid, refusal->message);
	watch->again_ns =
		sw_clock_ns() + (sw_refusal_is_final(refusal) ? REFUSED_MS : BUSY_MS) * ns_per_ms;
	look_in(watch->watcher, 0); /* another one may have its place */
}

/* Breakpoints that take too much of a process are not for it. */
static void took_too_much(struct sw_watch *watch, const struct sw_worker_ended *ended)
{
	say(watch->watcher, watch->rule, SW_LOG_WARNING,
	    "process %d is not watched any more: it comes to breakpoints of %s %" PRIu64
	    " times a second, which takes more than %d %% of a CPU, or %d %% of what it uses",
	    (int) watch->pid, watch->rule->event.name, ended->n_a_second, SW_OVERHEAD_PERCENT,
	    SW_OVERHEAD_OWN_PERCENT);
	watch->again_ns = sw_clock_ns() + OVERHEAD_MS * ns_per_ms;
	look_in(watch->watcher, 0); /* another one may have its place */
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct sw_watch *watch = series->owner;
	struct sw_watcher *watcher = watch->watcher;
	const struct sw_worker_ended *ended = outcome->ended;
	const int64_t now_ns = sw_clock_ns();
	end_series(watch);
	if (outcome->dump != NULL || (ended != NULL && ended->end == SW_WORKER_END_COUNT)) {
		fired(watch, outcome->dump != NULL);
	} else if (ended == NULL) {
		refused(watch, outcome->refusal);
	} else if (ended->end == SW_WORKER_END_EXITED) {
		forget(watch);
	} else if (ended->end == SW_WORKER_END_OVERHEAD) {
		took_too_much(watch, ended);
	} else { /* it has other code, or the time of its worker is over */
		watch->again_ns =
			now_ns + (now_ns - watch->began_ns < BREAK_MS * ns_per_ms ? BREAK_MS : 0) *
					 ns_per_ms;
		look_in(watcher, (watch->again_ns - now_ns) / ns_per_ms);
	}
}

static void on_state(struct sw_series *series, const char *state)
{
	struct sw_watch *watch = series->owner;
	if (strcmp(state, "resumed") != 0)
		return;
	watch->began_ns = sw_clock_ns();
	watch->rule->said_absent = false;
	watch->watcher->jobs->counters->events_watched_total++;
	say(watch->watcher, watch->rule, SW_LOG_INFO, "process %d is watched for %s",
	    (int) watch->pid, watch->rule->event.name);
}

static bool permitted(const struct sw_watch *watch, const struct sw_found *found,
		      struct sw_refusal *refusal)
{
	enum sw_deny_rule rule = authorize(watch->watcher, watch->rule);
	if (rule != SW_DENY_NONE)
		return sw_refuse_denied(refusal, found->pid, rule);
	if (!sw_target_permitted(watch->watcher->jobs, &rule_caller, found, refusal))
		return false;
	return sw_target_exe_allowed(watch->rule, found) ||
	       sw_refuse(refusal, SW_INTERFACE ".NotPermitted", NULL,
			 "RequireExe= forbids its executable");
}

static void begin(struct sw_watch *watch)
{
	struct sw_watcher *watcher = watch->watcher;
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	struct sw_submission submission;
	char reason[SW_WORKER_REASON_MAX];
	watch->wish = (struct sw_worker_events){.wanted = true,
						.kept = true,
						.options = watch->rule->event.options,
						.end_ns = sw_clock_ns() + LASTS_MS * ns_per_ms};
	(void) snprintf(watch->wish.name, sizeof(watch->wish.name), "%s",
			watch->rule->event.name); /* fits */
	(void) snprintf(watch->wish.function, sizeof(watch->wish.function), "%s",
			watch->rule->event.function); /* likewise */
	watch->wish.is_declared = watch->rule->event.is_declared;
	watch->began_ns = sw_clock_ns();
	if (!sw_found_init(&found, watch->pid, 0, -EBADF, &refusal) ||
	    !permitted(watch, &found, &refusal)) {
		refused(watch, &refusal);
	} else {
		watch->said &= watch->starttime == found.starttime;
		watch->starttime = found.starttime;
		submission_fill(watch, &found, reason, sizeof(reason), &submission);
		submission.sampled = false;
		submission.events = &watch->wish;
		watch->series = sw_series_create(watcher->jobs, &submission, 1, 0);
		watcher->n_running += watch->series != NULL;
	}
	if (watch->series != NULL) {
		watch->series->owner = watch;
		watch->series->done = on_done;
		watch->series->state = on_state;
		if (!sw_series_next(watch->series))
			end_series(watch);
	}
	sw_found_deinit(&found);
	sw_refusal_deinit(&refusal);
}

/* ---- processes -------------------------------------------------------------------------------- */

static struct sw_watch *watch_of(struct sw_watcher *watcher, const struct sw_rule *rule, pid_t pid)
{
	struct sw_watch *watch;
	TAILQ_FOREACH(watch, &watcher->watches, link)
	if (watch->rule == rule && watch->pid == pid)
		return watch;
	return NULL;
}

/* MaxTargets=: processes that are watched. Those that cannot be, whose number others may choose, take no place. */
static bool has_place(const struct sw_watcher *watcher, const struct sw_rule *rule)
{
	const struct sw_watch *watch;
	uint32_t n = 0;
	TAILQ_FOREACH(watch, &watcher->watches, link)
	n += watch->rule == rule && watch->series != NULL;
	return n < rule->max_targets;
}

static void found_one(struct sw_watcher *watcher, struct sw_rule *rule, pid_t pid)
{
	struct sw_watch *watch = watch_of(watcher, rule, pid);
	if (watch != NULL)
		watch->found = true;
	if (watch != NULL && (watch->series != NULL || sw_clock_ns() < watch->again_ns))
		return;
	if (!has_place(watcher, rule)) {
		if (!rule->said_full)
			say(watcher, rule, SW_LOG_NOTICE,
			    "process %d is not watched: %u processes are (MaxTargets=)", (int) pid,
			    rule->max_targets);
		rule->said_full = true;
		return;
	}
	if (watch == NULL) {
		watch = calloc(1, sizeof(*watch));
		if (watch == NULL)
			return; /* the next look tries it again */
		watch->watcher = watcher;
		watch->rule = rule;
		watch->pid = pid;
		watch->found = true;
		TAILQ_INSERT_TAIL(&watcher->watches, watch, link);
	}
	if (watcher->n_running == WATCHES_MAX) {
		if (!watcher->said_full)
			say(watcher, rule, SW_LOG_WARNING,
			    "process %d is not watched: %d processes are", (int) pid, WATCHES_MAX);
		watcher->said_full = true;
		return;
	}
	begin(watch);
}

/* The processes of all words of Target=. */
static void look_for(struct sw_watcher *watcher, struct sw_rule *rule)
{
	for (char **word = rule->targets; *word != NULL; word++) {
		pid_t pids[TARGETS_MAX];
		size_t n_pids = 0;
		struct sw_error err = {0};
		int r = sw_target_select_word(*word, TARGETS_MAX, pids, &n_pids, &err);
		if (r < 0 && r != -SW_E_NOT_FOUND && !rule->said_select) {
			say(watcher, rule, SW_LOG_WARNING, "Target=%s: %s", *word, err.message);
			rule->said_select = true;
		}
		for (size_t i = 0; i < n_pids; i++)
			found_one(watcher, rule, pids[i]);
	}
}

static bool is_cooling(const struct sw_rule *rule, int64_t now_ns)
{
	return rule->last_ns != INT64_MIN && now_ns - rule->last_ns < rule->cooldown_ms * ns_per_ms;
}

static int on_look(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_watcher *watcher = arg;
	struct sw_watch *watch, *next;
	const int64_t now_ns = sw_clock_ns();
	(void) source;
	(void) now_us;
	TAILQ_FOREACH(watch, &watcher->watches, link)
	{
		watch->found = false;
		if (watch->series != NULL && watch->series->waiter.job != NULL)
			sw_job_look_again(watch->series->waiter.job);
	}
	for (size_t i = 0; i < watcher->rules->n_events; i++)
		if (!is_cooling(&watcher->rules->events[i], now_ns) &&
		    authorize(watcher, &watcher->rules->events[i]) == SW_DENY_NONE)
			look_for(watcher, &watcher->rules->events[i]);
	for (watch = TAILQ_FIRST(&watcher->watches); watch != NULL; watch = next) {
		next = TAILQ_NEXT(watch, link);
		if (!watch->found && watch->series == NULL)
			forget(watch);
	}
	const int64_t end_ns = sw_clock_ns();
	watcher->rest_ns = end_ns + (end_ns - now_ns) * LOOK_SHARE;
	look_in(watcher, LOOK_MS);
	return 0;
}

void sw_watcher_init(struct sw_watcher *watcher, struct sw_jobs *jobs, struct sw_rules *rules)
{
	*watcher = (struct sw_watcher){.jobs = jobs, .rules = rules};
	TAILQ_INIT(&watcher->watches);
}

void sw_watcher_start(struct sw_watcher *watcher)
{
	const struct sw_jobs *jobs = watcher->jobs;
	if (watcher->rules->n_events == 0)
		return;
	if (jobs->config->user_mode ||
	    sw_authorize_events(jobs->config, &rule_caller) != SW_DENY_NONE) {
		sw_log(SW_LOG_WARNING, "rules with OnEvent= do nothing: %s",
		       jobs->config->user_mode ? "snapwalkd --user has no privileges for events"
					       : "Events=no");
		return;
	}
	for (size_t i = 0; i < watcher->rules->n_events; i++)
		if (authorize(watcher, &watcher->rules->events[i]) != SW_DENY_NONE)
			sw_log(SW_LOG_WARNING, "rule %s does nothing: FunctionEvents=no",
			       watcher->rules->events[i].name);
	/* Half a second of slack lets wake-ups come together. */
	if (watcher->timer == NULL &&
	    sd_event_add_time_relative(jobs->event, &watcher->timer, CLOCK_MONOTONIC, 0,
				       LOOK_MS / 4 * 1000, on_look, watcher) < 0) {
		sw_log(SW_LOG_ERROR, "rules with OnEvent= do nothing: there is no memory");
		return;
	}
	look_in(watcher, 0);
}

void sw_watcher_stop(struct sw_watcher *watcher)
{
	struct sw_watch *watch;
	while ((watch = TAILQ_FIRST(&watcher->watches)) != NULL)
		forget(watch);
	(void) sd_event_source_disable_unref(watcher->timer); /* NULL is fine */
	watcher->timer = NULL;
	watcher->said_full = false;
	/* The numbers will be those of other rules: no minute is waited for. */
	say_left_out(watcher, INT64_MAX);
	watcher->log_limit = (struct sw_log_limit){0};
	for (size_t i = 0; i < watcher->rules->n_events; i++)
		watcher->rules->events[i].said_full = watcher->rules->events[i].said_select =
			watcher->rules->events[i].said_absent = false;
}
