/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/burst.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "run/obtain.h"
#include "run/output.h"
#include "series/recording.h"
#include "run/sandbox.h"
#include "series/tally.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <time.h>

enum { NS_PER_MS = 1000000, FRAMES_SHOWN = 64, TIDS_SHOWN = 6 };

/* The activity of a thread over all captures, in the order in which it is shown. */
enum verdict {
	VERDICT_SPINS, /* wanted a CPU in each, in the same function */
	VERDICT_WORKS, /* wanted a CPU in each */
	VERDICT_MOVES, /* ran in between */
	VERDICT_NEVER_RAN,
	VERDICT_UNKNOWN, /* no stack, or seen once */
	VERDICTS,
};

/* A thread, by its slot. */
struct seen {
	pid_t tid;
	uint64_t first;
	uint32_t n, n_busy;
	bool ran, missed;
	enum verdict verdict;
	char *common;   /* owned: "name;outermost;...", as far as all of its stacks agree */
	bool same_leaf; /* they agree to the innermost function */
};

struct burst {
	const struct sw_options *options;
	const struct sw_subject *subject; /* borrowed */
	struct sw_recorder_sink sink;
	struct sw_recorder *recorder; /* owned; NULL: it could not be opened */
	struct sw_tally stacks;
	struct seen *seen; /* owned */
	size_t n_seen, seen_max;
	struct sw_tally verdicts[VERDICTS];
	size_t n_threads[VERDICTS];
	bool said_reader;
};

/* ---- captures ----------------------------------------------------------------------------- */

static int rows(void *arg, const struct sw_report *report, const bool *wanted,
		const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err)
{
	struct burst *b = arg;
	(void) activity;
	if (!b->said_reader)
		b->said_reader = sw_complain_of_reader(b->subject->name, report);
	return sw_tally_rows(&b->stacks, report, wanted, ret_rows, err);
}

/* The recorder has to call something: which rows there are is enough. */
static void count(void *arg, uint32_t row, uint64_t n)
{
	(void) arg;
	(void) row;
	(void) n;
}

/* How much of a, in whole frames, is the beginning of b. */
static size_t common_length(const char *a, const char *b)
{
	size_t common = 0;
	for (size_t i = 0;; i++) {
		bool a_ends = a[i] == '\0' || a[i] == ';', b_ends = b[i] == '\0' || b[i] == ';';
		if (a_ends && b_ends)
			common = i;
		if (a[i] != b[i] || a[i] == '\0')
			return common;
	}
}

static bool note_one(struct burst *b, struct seen *s, const struct sw_recorder_thread *t)
{
	if (s->n == 0 || s->first != t->first || s->tid != t->tid) {
		free(s->common);
		*s = (struct seen){.tid = t->tid, .first = t->first, .same_leaf = true};
	}
	s->ran |= s->n > 0 && t->ran;
	s->n++;
	s->n_busy += t->activity == SW_ACTIVITY_ON_CPU || t->activity == SW_ACTIVITY_RUNNABLE;
	s->missed |= t->row == SW_TALLY_NO_ROW;
	if (t->row == SW_TALLY_NO_ROW)
		return true;
	const char *stack = b->stacks.entries[t->row].name;
	if (s->common == NULL) {
		s->common = strdup(stack);
		return s->common != NULL;
	}
	size_t length = common_length(s->common, stack);
	s->same_leaf &= s->common[length] == '\0' && stack[length] == '\0';
	s->common[length] = '\0';
	return true;
}

static int note_all(struct burst *b, struct sw_error *err)
{
	size_t n = sw_recorder_slots(b->recorder);
	while (b->n_seen < n) {
		struct seen *grown = sw_grow(b->seen, b->n_seen, &b->seen_max, 64, sizeof(*grown));
		if (grown == NULL)
			return sw_fail_nomem(err);
		b->seen = grown;
		b->seen[b->n_seen++] = (struct seen){0};
	}
	for (size_t i = 0; i < n; i++) {
		struct sw_recorder_thread t;
		if (sw_recorder_thread(b->recorder, i, &t) && !note_one(b, &b->seen[i], &t))
			return sw_fail_nomem(err);
	}
	return 0;
}

static void wait_ms(uint32_t ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * NS_PER_MS};
	(void) nanosleep(&t, NULL); /* shorter when a signal comes: no harm */
}

/* How many captures succeeded; the last error in *err when none did, or memory is short. */
static int captures_make(struct burst *b, size_t *ret_n, struct sw_error *err)
{
	*ret_n = 0;
	for (uint32_t i = 0; i < b->options->burst_count; i++) {
		struct sw_error why = {0};
		if (i > 0)
			wait_ms(b->options->burst_ms);
		int r = sw_recorder_sample(b->recorder, &why);
		if (r == 0)
			r = note_all(b, &why);
		if (r == 0)
			++*ret_n;
		else if (*ret_n == 0 || r == -SW_E_NOMEM)
			*err = why;
		if (r == -SW_E_NOMEM)
			return r;
		if (sw_recorder_has_ended(b->recorder))
			break;
	}
	return *ret_n > 0 ? 0 : -err->code;
}

/* ---- what they say ------------------------------------------------------------------------ */

static enum verdict verdict_of(const struct seen *s, bool proven)
{
	if (s->common == NULL || s->n < 2)
		return VERDICT_UNKNOWN;
	if (!s->ran && proven)
		return VERDICT_NEVER_RAN;
	if (s->n_busy < s->n)
		return VERDICT_MOVES;
	return s->same_leaf && !s->missed ? VERDICT_SPINS : VERDICT_WORKS;
}

static int sort_out(struct burst *b, struct sw_error *err)
{
	bool proven = sw_recorder_refused(b->recorder)[0] == '\0' &&
		      b->options->snapshot.stop != SW_STOP_ALWAYS;
	for (size_t i = 0; i < b->n_seen; i++) {
		struct seen *s = &b->seen[i];
		uint32_t row;
		if (s->n == 0)
			continue;
		enum verdict v = s->verdict = verdict_of(s, proven);
		b->n_threads[v]++;
		if (s->common == NULL)
			continue;
		if (sw_tally_row(&b->verdicts[v], s->common, strlen(s->common), &row) < 0)
			return sw_fail_nomem(err);
		sw_tally_again(&b->verdicts[v], row, 1);
	}
	for (size_t v = 0; v < VERDICTS; v++) {
		if (sw_tally_merge_numbered(&b->verdicts[v]) < 0)
			return sw_fail_nomem(err);
		sw_tally_sort(&b->verdicts[v]);
	}
	return 0;
}

/* Innermost first. */
static void put_stack(struct sw_text *text, const char *folded)
{
	const char *frames = strchrnul(folded, ';'), *end = folded + strlen(folded);
	size_t shown = 0;
	while (end > frames) {
		const char *begin = memrchr(frames, ';', (size_t) (end - frames));
		if (shown++ < FRAMES_SHOWN)
			sw_text_printf(text, "    %.*s\n", (int) (end - begin - 1), begin + 1);
		end = begin;
	}
	if (shown > FRAMES_SHOWN)
		sw_text_printf(text, "    and %zu more\n", shown - FRAMES_SHOWN);
}

/* Whether a group is that of a stack: of the same name, or of all names that differ in the number
 * at the end only (sw_tally_merge_numbered()). */
static bool is_of_group(const char *group, const char *folded)
{
	size_t name = strcspn(group, ";"), digits;
	if (strcmp(group, folded) == 0)
		return true;
	if (name == 0 || group[name - 1] != '*' || strncmp(group, folded, name - 1) != 0)
		return false;
	digits = strspn(folded + name - 1, "0123456789");
	return digits > 0 && strcmp(group + name, folded + name - 1 + digits) == 0;
}

/* "  (12 13 14 +3 more)" */
static void put_tids(struct sw_text *text, const struct burst *b, enum verdict v, const char *group,
		     unsigned long long n)
{
	bool all = b->options->all || b->options->verbose || n <= TIDS_SHOWN + 1;
	unsigned long long shown = 0;
	for (size_t i = 0; i < b->n_seen && (all || shown < TIDS_SHOWN); i++) {
		const struct seen *s = &b->seen[i];
		if (s->n > 0 && s->verdict == v && s->common != NULL &&
		    is_of_group(group, s->common))
			sw_text_printf(text, "%s%d", shown++ == 0 ? "  (" : " ", (int) s->tid);
	}
	if (shown > 0 && shown < n)
		sw_text_printf(text, " +%llu more", n - shown);
	sw_text_printf(text, shown > 0 ? ")\n" : "\n");
}

static void put_verdict(struct sw_text *text, const struct burst *b, enum verdict v)
{
	static const char *const titles[VERDICTS] = {
		[VERDICT_SPINS] = "busy in each capture, with the same stack",
		[VERDICT_WORKS] = "busy in each capture, making progress; common to their stacks:",
		[VERDICT_MOVES] = "ran in between, and waited; common to their stacks:",
		[VERDICT_NEVER_RAN] = "never ran (by their switch counters)",
		[VERDICT_UNKNOWN] = "seen once, or without a stack",
	};
	const struct sw_tally *t = &b->verdicts[v];
	if (b->n_threads[v] == 0)
		return;
	sw_text_printf(text, "\n%zu %s\n", b->n_threads[v], titles[v]);
	for (size_t i = 0; i < t->n_entries; i++) {
		const char *folded = t->entries[i].name;
		unsigned long long n = t->entries[i].count;
		sw_text_printf(text, "  %llu thread%s  %.*s", n, sw_plural(n),
			       (int) strcspn(folded, ";"), folded);
		put_tids(text, b, v, folded, n);
		put_stack(text, folded);
	}
}

static void put_all(struct sw_text *text, const struct burst *b, size_t n_captures,
		    int64_t elapsed_ns)
{
	const struct sw_recorder_totals *t = sw_recorder_totals(b->recorder);
	size_t n_threads = sw_recorder_threads(b->recorder);
	sw_text_printf(text, "pid %d: %zu capture%s in %.1f s, %zu thread%s; ",
		       (int) b->subject->pid, n_captures, sw_plural(n_captures),
		       (double) elapsed_ns / 1e9, n_threads, sw_plural(n_threads));
	if (t->n_stopped == 0)
		sw_text_printf(text, "nothing was stopped\n");
	else
		sw_text_printf(text, "%llu times a thread was stopped, %.2f ms at most\n",
			       (unsigned long long) t->n_stopped, (double) t->longest_ns / 1e6);
	for (enum verdict v = 0; v < VERDICTS; v++)
		put_verdict(text, b, v);
}

static void burst_deinit(struct burst *b)
{
	sw_recorder_destroy(b->recorder);
	for (size_t i = 0; i < b->n_seen; i++)
		free(b->seen[i].common);
	free(b->seen);
	for (size_t v = 0; v < VERDICTS; v++)
		sw_tally_deinit(&b->verdicts[v]);
	sw_tally_deinit(&b->stacks);
}

/* An error is told here; then there is no recorder. */
static int burst_open(struct burst *b, const struct sw_options *options,
		      const struct sw_subject *subject, struct sw_session *session)
{
	struct sw_error err = {0};
	*b = (struct burst){.options = options,
			    .subject = subject,
			    .sink = {.rows = rows, .count = count, .arg = b}};
	if (sw_recording_open(subject, options, session, &b->sink, &b->recorder, &err) < 0)
		return sw_complain_error(subject->name, &err);
	return SW_STATUS_COMPLETE;
}

static int burst_run(struct burst *b, struct sw_text *text)
{
	const char *name = b->subject->name;
	struct sw_error err = {0};
	size_t n = 0;
	int64_t begin_ns = sw_clock_ns();
	int r = captures_make(b, &n, &err);
	if (r == 0)
		r = sort_out(b, &err);
	if (r < 0)
		return sw_complain_error(name, &err);
	put_all(text, b, n, sw_clock_ns() - begin_ns);
	if (sw_recorder_refused(b->recorder)[0] != '\0')
		sw_complain_for(name, sw_recorder_refused(b->recorder), "unsupported",
				SW_SAID_OF_BURST);
	return n < b->options->burst_count ? SW_STATUS_MISSING : SW_STATUS_COMPLETE;
}

/* Processes are captured one after the other, as each takes its time; all are opened before the first is parsed.
 */
static int run_all(const struct sw_options *options, const struct sw_selection *selection,
		   struct sw_text *text, struct sw_error *err)
{
	struct sw_session *session = NULL;
	size_t n = selection->n_subjects;
	int status = SW_STATUS_COMPLETE;
	sw_cleanup(sw_free_p) struct burst *all = calloc(n + 1, sizeof(*all));
	int r = all != NULL ? sw_session_create(&session, err) : sw_fail_nomem(err);
	for (size_t i = 0; r == 0 && i < n; i++)
		status = sw_status_worse(status, burst_open(&all[i], options,
							    &selection->subjects[i], session));
	if (r == 0)
		r = sw_sandbox_enter_capturing(options, false, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (all[i].recorder != NULL)
			status = sw_status_worse(status, burst_run(&all[i], text));
	for (size_t i = 0; all != NULL && i < n; i++)
		burst_deinit(&all[i]);
	sw_session_destroy(session);
	if (r == 0 && text->failed)
		r = sw_fail_nomem(err);
	return r < 0 ? sw_complain_error("snapwalk", err) : status;
}

static int output_open(const struct sw_options *options, struct sw_output *ret,
		       struct sw_error *err)
{
	int r = sw_output_open(ret, options->output, err);
	return r < 0 ? r : sw_sandbox_entrust(options, ret, err);
}

int sw_burst(const struct sw_options *options)
{
	struct sw_selection selection;
	struct sw_output output;
	struct sw_error err = {0};
	struct sw_text text = {0};
	const char *about = "";
	const char *place = options->output != NULL ? options->output : "standard output";
	int status;
	if (sw_select(options, &selection, &about, &err) < 0) {
		status = sw_complain_error(about, &err);
		sw_selection_deinit(&selection);
		return status;
	}
	if (output_open(options, &output, &err) < 0)
		status = sw_complain_error(place, &err);
	else {
		status = run_all(options, &selection, &text, &err);
		if (text.size > 0 && (sw_output_write(&output, text.data, text.size, &err) < 0 ||
				      sw_output_commit(&output, &err) < 0))
			status = sw_complain_error(place, &err);
	}
	sw_output_deinit(&output);
	sw_text_deinit(&text);
	sw_selection_deinit(&selection);
	return status;
}
