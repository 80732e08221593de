/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report for the person who was woken at night: what matters first, the many idle threads as
 * one stack, what is missing or guessed said where it is.
 */
#include "report/text/put.h"
#include "cleanup.h"
#include "errors.h"
#include "report/activity.h"
#include "report/text/frames.h"
#include "report/text/goroutines.h"
#include "report/text/stacks.h"
#include "report/text/tasks.h"
#include "report/text/threads.h"
#include "report/text/verdict.h"
#include "report/text/waits.h"
#include "report/text/width.h"
#include "utc.h"
#include "utf8.h"

#include <inttypes.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOT_CAPTURED_SHOWN = 10, RUNTIMES_SHOWN = 3 };

static void put_uptime(struct sw_text_writer *w, int64_t uptime_ms)
{
	long long minutes = uptime_ms / 60000, seconds = uptime_ms / 1000;
	if (minutes >= 48 * 60)
		sw_put(w, ", up %lld days", minutes / (24 * 60));
	else if (minutes >= 120)
		sw_put(w, ", up %lld h %lld min", minutes / 60, minutes % 60);
	else if (minutes >= 2)
		sw_put(w, ", up %lld min", minutes);
	else
		sw_put(w, ", up %lld s", seconds);
}

static const char *resource_find(const struct sw_report *r, const char *key)
{
	for (size_t i = 0; i < r->process.n_resource; i++)
		if (strcmp(r->process.resource[i].key, key) == 0)
			return r->process.resource[i].value;
	return NULL;
}

/* The service that the process says it is: semantic conventions of OpenTelemetry 1.37. */
static void put_service(struct sw_text_writer *w)
{
	static const struct {
		const char *key, *word;
	} shown[] = {
		{"service.name", ", service "},
		{"service.version", " "},
		{"k8s.pod.name", ", pod "},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(shown); i++) {
		const char *value = resource_find(w->report, shown[i].key);
		if (value == NULL || value[0] == '\0')
			continue;
		sw_put(w, "%s", shown[i].word);
		sw_put_foreign(w, value);
	}
}

static void put_owner(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	if (r->host_name == NULL)
		sw_put(w, "ran on another machine");
	if (r->process.uid != (uid_t) -1)
		sw_put(w, "%suid %u", r->host_name == NULL ? ", " : "", r->process.uid);
	if (r->process.ppid >= 0)
		sw_put(w, ", parent %d", (int) r->process.ppid);
	if (r->process.unit != NULL) {
		sw_put(w, ", unit ");
		sw_put_foreign(w, r->process.unit);
	}
	if (r->process.container != NULL)
		sw_put(w, ", container %.12s", r->process.container);
	put_service(w);
	if (r->process.uptime_ms >= 0)
		put_uptime(w, r->process.uptime_ms);
	sw_put(w, "\n");
}

/* Whether threads were read from a process that ran: cores and fixtures were not. */
static bool is_live(const struct sw_report *r)
{
	for (size_t i = 0; i < r->n_threads; i++) {
		const char *by = r->threads[i].captured_by;
		if (by != NULL && (strcmp(by, "iterator") == 0 || strcmp(by, "ptrace") == 0))
			return true;
	}
	return false;
}

static void put_stopped(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = r->timings.n_stopped > 0 ? (size_t) r->timings.n_stopped : 0;
	double ms = (double) r->timings.stopped_us / 1000;
	if (n == 0 && r->timings.n_stopped == 0 && is_live(r)) {
		double took_ms = (double) r->timings.copy_us / 1000;
		sw_put(w, ", nothing was stopped (captured in %.*f ms)", took_ms < 1 ? 2 : 0,
		       took_ms);
	} else if (n > 0 && n < r->n_threads) {
		sw_put(w, ", ");
		sw_put_number(w, n);
		sw_put(w, " of ");
		sw_put_number(w, r->n_threads);
		sw_put(w, " threads stopped for %.2f ms", ms);
	} else if (r->timings.stopped_us > 0) {
		sw_put(w, ", stopped for %.2f ms", ms);
	}
}

static void put_time(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	enum sw_text_time kind = w->options->time;
	if (kind == SW_TEXT_TIME_START && r->process.uptime_ms >= 0) {
		sw_put_seconds(w, r->process.uptime_ms);
		sw_put(w, " after its start");
		return;
	}
	static const char format[] = "%Y-%m-%d %H:%M:%S";
	time_t seconds = (time_t) (r->time_ns / 1000000000);
	struct tm local;
	char stamp[64], zone[32] = "UTC";
	/* localtime_r() fails for years beyond int only. */
	if (kind == SW_TEXT_TIME_LOCAL && localtime_r(&seconds, &local) != NULL) {
		(void) strftime(stamp, sizeof(stamp), format, &local);
		(void) strftime(zone, sizeof(zone), "%z", &local);
	} else {
		sw_utc_format(stamp, sizeof(stamp), format, r->time_ns);
	}
	sw_put(w, "%s.%03d %s", stamp, (int) (r->time_ns % 1000000000 / 1000000), zone);
}

static void put_when(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	put_time(w);
	if (r->host_name != NULL) {
		sw_put(w, " on ");
		sw_put_foreign(w, r->host_name);
	}
	put_stopped(w);
	if (r->timings.interrupted_calls > 0)
		sw_put(w, ", %zu system call%s interrupted", r->timings.interrupted_calls,
		       sw_plural(r->timings.interrupted_calls));
	sw_put(w, "\n");
}

/* A dump of another program than was expected has this warning; nothing else is wrong then. */
static bool is_of_program(const struct sw_report_warning *warning)
{
	return strcmp(warning->code, "other_program") == 0;
}

static size_t put_of_program(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = 0;
	for (size_t i = 0; i < r->n_warnings; i++) {
		if (!is_of_program(&r->warnings[i]))
			continue;
		sw_style_begin(w, SW_STYLE_ALARM);
		sw_put_foreign(w, r->warnings[i].message);
		sw_style_end(w);
		sw_put(w, "\n");
		n++;
	}
	return n;
}

/* Said before anything else, so that nobody reads half a dump as a whole one. */
static void put_missing(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t threads = 0, stacks = 0, goroutines = 0, tasks = 0;
	for (size_t i = 0; i < r->n_threads; i++)
		threads += !r->threads[i].captured &&
			   strcmp(r->threads[i].reason, "not_requested") != 0;
	for (size_t i = 0; i < r->n_stacks; i++)
		if (strcmp(r->stacks[i].end, "complete") != 0) {
			stacks += r->stacks[i].n_threads;
			goroutines += r->stacks[i].n_threads == 0 ? r->stacks[i].n_goroutines : 0;
			tasks += r->stacks[i].n_threads == 0 ? r->stacks[i].n_tasks : 0;
		}
	size_t of_program = put_of_program(w);
	if (r->complete || (of_program > 0 && of_program == r->n_warnings && threads + stacks == 0))
		return;
	sw_style_begin(w, SW_STYLE_ALARM);
	sw_put(w, "Not complete:");
	if (threads > 0)
		sw_put(w, " %zu thread%s not captured;", threads, sw_plural(threads));
	if (stacks > 0)
		sw_put(w, " stacks of %zu thread%s cut short;", stacks, sw_plural(stacks));
	if (goroutines > 0)
		sw_put(w, " stacks of %zu goroutine%s cut short;", goroutines,
		       sw_plural(goroutines));
	if (tasks > 0)
		sw_put(w, " stacks of %zu task%s cut short;", tasks, sw_plural(tasks));
	sw_put(w, " see the end");
	sw_style_end(w);
	sw_put(w, "\n");
}

/* The name of the runtime, for people. */
static const char *runtime_name(const char *name)
{
	static const char *const names[][2] = {{"hotspot", "java"},
					       {"clr", ".NET"},
					       {"cpython", "python"}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

/* ", java 17.0.15": without what a distribution adds. */
static void put_runtime_versions(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = 0;
	for (size_t i = 0; i < r->process.n_runtimes && n < RUNTIMES_SHOWN; i++) {
		const struct sw_report_runtime *runtime = &r->process.runtimes[i];
		if (runtime->version == NULL || runtime->version[0] == '\0')
			continue;
		char version[32];
		(void) snprintf(version, sizeof(version), "%.*s",
				(int) strcspn(runtime->version, "+ "),
				runtime->version); /* cut is fine: -v has it whole */
		sw_put(w, ", ");
		sw_put_foreign(w, runtime_name(runtime->name));
		sw_put(w, " ");
		sw_put_foreign(w, version);
		n++;
	}
}

/* The class with which a Java program began, as long as its main() goes on: the command line, which
 * names it, is in no dump. */
static void put_main_class(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_stack *s = sw_stack_of(r, &r->threads[i]);
		const struct sw_report_frame *first = NULL;
		if (s == NULL || strcmp(sw_report_thread_name(&r->threads[i]), "main") != 0)
			continue;
		for (size_t k = 0; k < s->n_frames; k++)
			if (strcmp(s->frames[k].kind, "jvm") == 0 && !s->frames[k].internal &&
			    s->frames[k].function != NULL)
				first = &s->frames[k];
		size_t size = first != NULL ? strlen(first->function) : 0;
		if (size <= strlen(".main") ||
		    strcmp(first->function + size - strlen(".main"), ".main") != 0 ||
		    strcmp(s->end, "complete") != 0)
			continue;
		sw_put(w, ", main class ");
		sw_utf8_append_plain(&w->text, first->function, size - strlen(".main"));
		return;
	}
}

static void put_head(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t from = w->text.size;
	sw_style_begin(w, SW_STYLE_BOLD);
	sw_put_foreign(w, r->process.comm);
	sw_put(w, ", pid %d", (int) r->process.pid);
	sw_style_end(w);
	sw_put(w, ": %zu thread%s", r->n_threads, sw_plural(r->n_threads));
	if (r->n_all_threads > 0)
		sw_put(w, " of %zu", r->n_all_threads);
	sw_text_goroutines_count(w);
	sw_text_tasks_count(w);
	sw_put(w, ", %zu distinct stack%s", r->n_stacks, sw_plural(r->n_stacks));
	put_runtime_versions(w);
	if (r->process.exe != NULL) {
		sw_put(w, ", ");
		sw_put_foreign(w, r->process.exe);
	}
	put_main_class(w);
	sw_put(w, "\n");
	put_owner(w);
	put_when(w);
	if (r->reason != NULL) {
		sw_put(w, "reason: ");
		sw_put_foreign(w, r->reason);
		sw_put(w, "\n");
	}
	put_missing(w);
	sw_wrap(w, from);
}

/* Put the goroutine or task of a stack that this thread runs. */
static void put_run(struct sw_text_writer *w, const struct sw_report_stack *s, pid_t tid)
{
	for (size_t i = 0; i < s->n_goroutines; i++) {
		struct sw_report_stack one = *s;
		one.goroutines = &s->goroutines[i];
		one.n_goroutines = 1;
		if (s->goroutines[i].tid == tid)
			sw_text_goroutines_run(w, &one);
	}
	sw_text_tasks_run(w, s, tid);
}

/* Each thread with its own stack, in the order of their ids. */
static void put_each(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	for (size_t i = 0; i < r->n_threads; i++) {
		if (r->threads[i].stack < 0)
			continue;
		sw_put(w, "\n");
		const struct sw_report_stack *s = &r->stacks[r->threads[i].stack];
		sw_text_threads(w, &i, 1);
		put_run(w, s, r->threads[i].tid);
		sw_text_frames(w, s);
	}
}

/* Threads with one stack are shown together: those that share it with one that is not idle are not
 * counted as idle. */
static void share_stacks(const struct sw_report *r, enum sw_activity *activities)
{
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		size_t idle = 0;
		for (size_t k = 0; k < s->n_threads; k++)
			idle += activities[s->threads[k]] == SW_ACTIVITY_IDLE;
		for (size_t k = 0; k < s->n_threads && idle < s->n_threads; k++)
			if (activities[s->threads[k]] == SW_ACTIVITY_IDLE)
				activities[s->threads[k]] = SW_ACTIVITY_OTHER;
	}
}

static void put_threads(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	sw_cleanup(sw_free_p) enum sw_activity *activities =
		calloc(r->n_threads + 1, sizeof(*activities));
	if (activities == NULL) {
		w->text.failed = true;
		return;
	}
	for (size_t i = 0; i < r->n_threads; i++)
		activities[i] = sw_activity_of(r, &r->threads[i]);
	share_stacks(r, activities);
	sw_text_verdict(w, activities);
	if (w->options->no_group)
		put_each(w);
	else
		sw_text_stacks(w, activities);
	sw_text_goroutines(w);
	sw_text_tasks(w);
}

static void put_not_captured(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = 0, unasked = 0, from = w->text.size;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		if (t->captured)
			continue;
		if (strcmp(t->reason, "not_requested") == 0) {
			unasked++;
			continue;
		}
		if (n++ == 0)
			sw_put_styled(w, SW_STYLE_ALARM, "\nThreads without a stack\n");
		if (n > NOT_CAPTURED_SHOWN && !w->options->all && !w->options->verbose)
			continue;
		sw_put(w, "  %d ", (int) t->tid);
		sw_style_begin(w, SW_STYLE_BOLD);
		sw_put_foreign(w, sw_report_thread_name(t));
		sw_style_end(w);
		sw_put(w, ": %s (%s); ", t->reason_text, t->reason);
		sw_text_wait(w, t);
		sw_put(w, "\n");
	}
	if (n > NOT_CAPTURED_SHOWN && !w->options->all && !w->options->verbose)
		sw_put(w, "  … %zu more (--all shows them)\n", n - NOT_CAPTURED_SHOWN);
	if (unasked > 0)
		sw_put(w, "\n%zu thread%s not asked for\n", unasked,
		       unasked == 1 ? " was" : "s were");
	sw_wrap(w, from);
}

/* Whether the message says itself which thread it is about. */
static bool names_thread(const struct sw_report_warning *warning)
{
	char name[32];
	int n = snprintf(name, sizeof(name), "thread %d", (int) warning->tid);
	for (const char *at = warning->message; (at = strstr(at, name)) != NULL; at += n)
		if (!isdigit((unsigned char) at[n]))
			return true;
	return false;
}

static void put_warnings(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = 0, from = w->text.size;
	for (size_t i = 0; i < r->n_warnings; i++) {
		const struct sw_report_warning *warning = &r->warnings[i];
		if (is_of_program(warning))
			continue; /* said in the beginning */
		if (n++ == 0)
			sw_put_styled(w, SW_STYLE_ALARM, "\nWarnings\n");
		sw_put(w, "  %s: ", warning->code);
		sw_put_foreign(w, warning->message);
		if (warning->tid != 0 && !names_thread(warning))
			sw_put(w, " (thread %d)", (int) warning->tid);
		sw_put(w, "\n");
	}
	sw_wrap(w, from);
}

static void put_hints(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	if (r->n_threads + r->n_stacks == 0 && r->n_all_threads > 0)
		return; /* none that was looked for is here */
	size_t from = w->text.size;
	if (r->n_hints > 0)
		sw_put_styled(w, SW_STYLE_BOLD, "\nHints\n");
	for (size_t i = 0; i < r->n_hints; i++) {
		sw_put(w, "  ");
		sw_put_foreign(w, r->hints[i].message);
		sw_put(w, "\n");
	}
	sw_wrap(w, from);
}

static void put_modules(struct sw_text_writer *w)
{
	sw_put_styled(w, SW_STYLE_BOLD, "\nModules\n");
	for (size_t i = 0; i < w->report->n_modules; i++) {
		const struct sw_report_module *m = &w->report->modules[i];
		sw_put(w, "  %#014llx-%#014llx  ", (unsigned long long) m->start_avma,
		       (unsigned long long) m->end_avma);
		sw_put_foreign(w, m->path);
		sw_put(w, "%s\n      %s, build-id %s, names from %s",
		       m->deleted ? " (deleted)" : "", m->format,
		       m->build_id != NULL ? m->build_id : "none", m->symbols);
		if (m->symbols_why != NULL) {
			sw_put(w, ": ");
			sw_put_foreign(w, m->symbols_why);
		}
		if (m->problem != NULL) {
			sw_put(w, "; ");
			sw_put_foreign(w, m->problem);
		}
		sw_put(w, "\n");
	}
}

static void put_runtimes(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	if (r->process.n_runtimes > 0)
		sw_put_styled(w, SW_STYLE_BOLD, "\nRuntimes\n");
	for (size_t i = 0; i < r->process.n_runtimes; i++) {
		const struct sw_report_runtime *runtime = &r->process.runtimes[i];
		sw_put(w, "  ");
		sw_put_foreign(w, runtime->name);
		sw_put(w, runtime->version != NULL ? " " : "");
		sw_put_foreign(w, runtime->version);
		sw_put(w, runtime->where != NULL ? ", " : "");
		sw_put_foreign(w, runtime->where);
		sw_put(w, "\n");
	}
	if (r->process.n_registries > 0)
		sw_put_styled(w, SW_STYLE_BOLD, "\nRegistries of generated code\n");
	for (size_t i = 0; i < r->process.n_registries; i++) {
		const struct sw_report_registry *registry = &r->process.registries[i];
		sw_put(w, "  ");
		sw_put_foreign(w, registry->name);
		sw_put(w, ", %lld %s", (long long) registry->entries,
		       registry->entries == 1 ? "entry" : "entries");
		sw_put(w, registry->where != NULL ? ", " : "");
		sw_put_foreign(w, registry->where);
		sw_put(w, "\n");
	}
}

static void put_timings(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	sw_put_styled(w, SW_STYLE_BOLD, "\nTimings\n");
	sw_put(w,
	       "  attach %.2f ms, stopped %.2f ms (one thread at most %.2f ms), copy %.2f ms,\n"
	       "  unwind %.2f ms, names %.2f ms, in all %.2f ms; dump %s\n",
	       (double) r->timings.attach_us / 1000, (double) r->timings.stopped_us / 1000,
	       (double) r->timings.longest_thread_stop_us / 1000,
	       (double) r->timings.copy_us / 1000, (double) r->timings.unwind_us / 1000,
	       (double) r->timings.symbolize_us / 1000, (double) r->timings.total_us / 1000, r->id);
	if (r->timings.stopped_why != NULL) {
		if (r->timings.n_stopped > 0 && r->timings.n_stopped < (int64_t) r->n_threads)
			sw_put(w,
			       "  %" PRId64 " of %zu threads were stopped: ", r->timings.n_stopped,
			       r->n_threads);
		else
			sw_put(w, "  All threads were stopped: ");
		sw_put_foreign(w, r->timings.stopped_why);
		sw_put(w, "\n");
	}
	if (r->timings.realtime_refused)
		sw_put(w, "  Real-time priority was refused (CAP_SYS_NICE): on a busy machine "
			  "captures "
			  "take longer\n");
}

int sw_report_text(const struct sw_report *report, const struct sw_text_options *options,
		   char **ret_text, size_t *ret_size, struct sw_error *err)
{
	static const struct sw_text_options defaults = {0};
	struct sw_text_writer w = {.report = report,
				   .options = options != NULL ? options : &defaults};
	put_head(&w);
	put_threads(&w);
	put_not_captured(&w);
	if (w.options->verbose) {
		put_runtimes(&w);
		put_modules(&w);
		put_timings(&w);
	}
	put_warnings(&w);
	if (!w.options->no_hints)
		put_hints(&w);
	if (w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_text = w.text.data;
	*ret_size = w.text.size;
	return 0;
}
