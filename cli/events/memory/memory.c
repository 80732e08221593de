/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/memory.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/held_bytes.h"
#include "events/held_output.h"
#include "events/held_profile.h"
#include "events/mappings.h"
#include "events/memory/allocators.h"
#include "events/memory/budget.h"
#include "events/memory/go_heap.h"
#include "events/pairs.h"
#include "run/sandbox.h"

#include <snapwalk/clock.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CENT = 100, NS_PER_S = 1000000000, NS_PER_MS = 1000000 };

struct memory {
	struct sw_event_run *run; /* borrowed: growth; not before memory_prepare() */
	struct sw_held *growth;   /* owned, as the following */
	struct sw_held_kind growth_kind;
	struct sw_pair_list list;
	struct sw_options options; /* of the blocks; what it points to is that of the others */
	struct sw_event_run blocks_run;
	struct sw_held *blocks; /* NULL: they are not followed */
	struct sw_memory_budget budget;
	struct sw_go_heap go;
	bool is_predicted, is_too_dear;
	bool is_absent; /* there is no allocator to follow, as in programs in Go */
	char why[256];  /* they are not followed; "": they are */
	/* The last look at what following costs. */
	int64_t look_ns, look_cpu_ns;
	double look_spent_ns;
	double exceeded_by; /* share of the process's CPU time at which they were given up; 0: they were not */
};

static void memory_deinit(struct memory *m)
{
	if (m->blocks != NULL)
		m->blocks->kind->destroy(m->blocks);
	if (m->growth != NULL)
		m->growth->kind->destroy(m->growth);
	sw_go_heap_deinit(&m->go);
	sw_event_run_deinit(&m->blocks_run);
	sw_memory_budget_deinit(&m->budget);
	for (size_t i = 0; i < m->list.n_texts; i++)
		free(m->list.texts[i]);
}

/* Lists the functions by what the process has mapped. */
static int functions_list(struct memory *m, struct sw_error *err)
{
	struct sw_target *target = NULL;
	sw_cleanup(sw_close_p) int proc_fd = -EBADF;
	int r = sw_target_open(m->run->subject.pid, &target, err);
	if (r == 0)
		r = proc_fd = sw_target_directory(target, err);
	sw_target_close(target);
	return r < 0 ? r : sw_allocators_list(proc_fd, &m->list, err);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* Once a second: the CPU time that calls cost, against what the process uses by itself. */
static bool is_exceeded(struct sw_event_run *run, int64_t now_ns)
{
	struct memory *m = (struct memory *) ((char *) run - offsetof(struct memory, blocks_run));
	if (m->look_ns != 0 && now_ns - m->look_ns < NS_PER_S)
		return false;
	const struct sw_event_cost calls = sw_recorder_event_cost(run->recorder);
	double spent_ns = sw_memory_budget_spent(&m->budget, &calls);
	int64_t cpu_ns = sw_clock_read(run->cpu_clock);
	double seconds = (double) (now_ns - m->look_ns) / NS_PER_S;
	double added = (spent_ns - m->look_spent_ns) / NS_PER_S / seconds;
	double used = (double) (cpu_ns - m->look_cpu_ns) / NS_PER_S / seconds;
	bool first = m->look_ns == 0;
	m->look_ns = now_ns;
	m->look_cpu_ns = cpu_ns;
	m->look_spent_ns = spent_ns;
	if (first || cpu_ns < 0)
		return false;
	m->exceeded_by = sw_memory_budget_exceeded_by(&m->budget, added, used);
	return m->exceeded_by > 0;
}

static int refused(struct memory *m, const char *why)
{
	(void) snprintf(m->why, sizeof(m->why), "%s", why);
	return SW_STATUS_COMPLETE;
}

/* Nothing of the allocator was found: by the reason of the first function that is there and cannot be followed. */
static int not_found(struct memory *m, const struct sw_function *f)
{
	for (size_t i = 0; i < f->n_missing; i++)
		if (!f->missing[i].is_absent)
			return refused(m, f->missing[i].why);
	m->is_absent = true;
	return refused(m, "no allocator is found in what it has mapped");
}

/* The functions, and what it would cost to follow them. */
static int blocks_find(struct memory *m, struct sw_function *f)
{
	struct sw_error err = {0};
	if (functions_list(m, &err) < 0)
		return refused(m, err.message);
	m->options = *m->run->options;
	m->options.of = SW_LEAKS_PAIRS;
	m->options.of_text = "memory";
	m->options.pairs = &m->list;
	int status = sw_pairs_look(&m->options, &m->run->subject, f);
	if (status != SW_STATUS_COMPLETE)
		return refused(m, "its functions cannot be looked up");
	if (f->n == 0)
		return not_found(m, f);
	sw_allocators_tidy(f);
	if (sw_memory_budget_predict(&m->run->subject, f, m->run->options->snapshot.stack_bytes,
				     m->run->options->max_overhead_percent, &m->budget, &err) < 0)
		return refused(m, err.message);
	m->is_predicted = true;
	if (sw_memory_budget_allows(&m->budget, m->budget.predicted_cpus, m->budget.cpus))
		return SW_STATUS_COMPLETE;
	m->is_too_dear = true;
	(void) snprintf(m->why, sizeof(m->why),
			"that would add %s%.0f %% to its CPU time, more than the %" PRIu32
			" %% of --max-overhead",
			m->budget.only != NULL ? "at least " : "",
			sw_memory_budget_share(&m->budget) * PER_CENT,
			m->run->options->max_overhead_percent);
	return SW_STATUS_COMPLETE;
}

static void blocks_begin(struct memory *m)
{
	struct sw_function f = {0};
	struct sw_error err = {0};
	(void) blocks_find(m, &f); /* why says the same */
	if (m->why[0] != '\0') {
		sw_function_deinit(&f);
		return;
	}
	const struct sw_event_options wanted = {
		.what = SW_EVENT_PAIRS,
		.stack_bytes = m->run->options->snapshot.stack_bytes,
		.n_held = m->run->options->limit_given ? m->run->options->limit : 0};
	int r = sw_event_run_open_beside(&m->blocks_run, &m->options, m->run, &f, &wanted, &err);
	if (r == 0)
		r = sw_held_pairs.create(&m->blocks_run, &m->blocks, &err);
	if (r < 0) {
		(void) refused(m, err.message);
		return;
	}
	m->blocks_run.event = sw_held_pairs.event;
	m->blocks_run.arg = m->blocks;
	m->blocks_run.is_over = is_exceeded;
	m->run->beside = &m->blocks_run;
}

/* Complains of blocks that are not there. SW_STATUS_*. */
static int missing_say(const struct memory *m)
{
	const char *name = m->run->subject.name;
	char text[320];
	if (m->why[0] != '\0') {
		(void) snprintf(text, sizeof(text), "blocks are not followed: %s", m->why);
		sw_complain_for(name, text, m->is_too_dear ? "limit" : "unsupported",
				SW_SAID_OF_BLOCKS | sw_overhead_causes(m->run->options));
		return SW_STATUS_MISSING;
	}
	if (m->exceeded_by == 0)
		return SW_STATUS_COMPLETE;
	(void) snprintf(
		text, sizeof(text),
		"blocks were followed for %.0f s only: it allocated more often than before, "
		"and that added at least %.0f %% to its CPU time",
		(double) (m->blocks_run.end_ns - m->blocks_run.begin_ns) / NS_PER_S,
		m->exceeded_by * PER_CENT);
	sw_complain_for(name, text, "limit", sw_overhead_causes(m->run->options));
	return SW_STATUS_MISSING;
}

/* ---- output ----------------------------------------------------------------------------------- */

/* Bytes that are outstanding, of stacks through the allocator. */
static uint64_t bytes_of_allocator(const struct sw_held *h)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < h->n_rows; i++) {
		const struct sw_held_row *row = &h->rows[i];
		if (row->row != SW_RECORDER_NO_ROW &&
		    sw_allocators_are_in(h->run->stacks.stacks[row->row].label))
			bytes += row->outstanding_bytes;
	}
	return bytes;
}

/* The share of the process's own CPU time that following blocks has added, by what calls cost; below 0: not known. */
static double measured_share(const struct memory *m)
{
	const struct sw_event_run *run = &m->blocks_run;
	double cpu_ns = (double) (run->cpu_end_ns - run->cpu_begin_ns);
	double spent_ns = sw_memory_budget_spent(&m->budget, &run->cost);
	if (m->blocks == NULL || run->cpu_begin_ns < 0 || run->cpu_end_ns < 0 || cpu_ns <= spent_ns)
		return -1;
	return spent_ns / (cpu_ns - spent_ns);
}

static int notice_put(const struct memory *m, struct sw_output *output, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (m->run->options->profile_format != SW_PROFILE_TEXT)
		return 0;
	if (m->is_predicted) {
		sw_memory_budget_text(&m->budget, &text);
		sw_text_append(&text, "\n", 1);
	}
	if (m->blocks != NULL)
		sw_pairs_notice(&m->blocks_run, &text);
	return text.failed ? sw_fail_nomem(err)
			   : sw_output_write(output, text.data, text.size, err);
}

static int text_put(const struct memory *m, struct sw_text *text)
{
	sw_text_printf(text, "%smemory from the kernel (brk, mmap, mremap):\n",
		       m->is_predicted ? "\n" : "");
	int r = sw_held_text(m->growth, text);
	sw_text_printf(text, "through malloc and others: ");
	sw_held_bytes_put(text, (double) bytes_of_allocator(m->growth), 0);
	sw_text_printf(text, " of ");
	sw_held_bytes_put(text, (double) m->growth->outstanding_bytes, 0);
	sw_text_append(text, "\n", 1);
	sw_go_heap_text(&m->go, m->run->options->all, text);
	if (r < 0 || m->blocks == NULL)
		return r;
	sw_text_printf(text, "\nblocks of malloc and others:\n");
	r = sw_held_text(m->blocks, text);
	if (measured_share(m) >= 0)
		sw_text_printf(text,
			       "following blocks added about %.1f %% to its CPU time (predicted: "
			       "%.1f %%)\n",
			       measured_share(m) * PER_CENT,
			       sw_memory_budget_share(&m->budget) * PER_CENT);
	return r;
}

static void budget_json(const struct memory *m, struct sw_text *text)
{
	const struct sw_memory_budget *b = &m->budget;
	double seconds = (double) b->counted_ns / NS_PER_S;
	sw_text_printf(text, ",\"followed\":%s,\"budget\":", m->blocks != NULL ? "true" : "false");
	if (!m->is_predicted) {
		sw_text_printf(text, "null");
		return;
	}
	sw_text_printf(text, "{\"counted_ms\":%" PRId64 ",\"acquired_hz\":%.0f,\"released_hz\":",
		       b->counted_ns / NS_PER_MS,
		       (double) (b->calls.n_handing + b->calls.n_handing_stepped) / seconds);
	if (b->only != NULL)
		sw_text_printf(text, "null");
	else
		sw_text_printf(text, "%.0f",
			       (double) (b->calls.n_taking + b->calls.n_taking_stepped) / seconds);
	if (b->only != NULL)
		sw_json_text_member(text, "counted_function", b->only);
	else
		sw_text_printf(text, ",\"counted_function\":null");
	sw_text_printf(
		text,
		",\"acquire_ns\":%.0f,\"release_ns\":%.0f,\"stepped_more_ns\":%.0f"
		",\"cpus\":%.6f,\"predicted_cpus\":%.6f,\"max_share\":%.2f,\"ended_early\":%s"
		",\"measured_share\":",
		b->cost.handing, b->cost.taking, b->cost.stepped_more, b->cpus, b->predicted_cpus,
		(double) b->max_percent / PER_CENT, m->exceeded_by > 0 ? "true" : "false");
	if (measured_share(m) >= 0)
		sw_text_printf(text, "%.6f}", measured_share(m));
	else
		sw_text_printf(text, "null}");
}

/* Each is an object and the end of a line. */
static int json_put(const struct memory *m, struct sw_text *text)
{
	static const char end[] = "}\n";
	const struct sw_held *first = m->blocks != NULL ? m->blocks : m->growth;
	int r = sw_held_json(first, text);
	text->size -= r == 0 ? strlen(end) : 0;
	budget_json(m, text);
	sw_text_printf(text, ",\"growth_through_allocator_bytes\":%" PRIu64,
		       bytes_of_allocator(m->growth));
	sw_go_heap_json(&m->go, text);
	if (r == 0 && m->blocks != NULL) {
		sw_text_printf(text, ",\"growth\":");
		r = sw_held_json(m->growth, text);
		text->size -= r == 0 ? strlen("\n") : 0;
	}
	sw_text_append(text, end, strlen(end));
	return text->failed ? -SW_E_NOMEM : r;
}

static int put(const struct memory *m, struct sw_output *output)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	enum sw_profile_format format = m->run->options->profile_format;
	const struct sw_held *first = m->blocks != NULL ? m->blocks : m->growth;
	int r = sw_held_finish(m->growth);
	if (r == 0 && m->blocks != NULL)
		r = sw_held_finish(m->blocks);
	if (r == 0)
		r = format == SW_PROFILE_JSON   ? json_put(m, &text)
		    : format == SW_PROFILE_TEXT ? text_put(m, &text)
						: sw_held_profile(first, format, &text);
	return sw_event_run_put(output, &text, r);
}

/* ---- the command ------------------------------------------------------------------------------ */

static int stacks_prepare(struct sw_event_run *run, bool profiled, struct sw_error *err)
{
	const enum sw_profile_format format = run->options->profile_format;
	run->stacks.with_json = format == SW_PROFILE_JSON;
	run->stacks.by_function = sw_event_run_changes_code(run);
	if (!profiled || format == SW_PROFILE_JSON || format == SW_PROFILE_TEXT)
		return 0;
	return sw_event_profiled_begin(&run->profiled, err);
}

/* Before growth is followed, whose figures would be of this time, too. */
static int memory_prepare(struct sw_event_run *run)
{
	struct memory *m = run->arg;
	m->run = run;
	blocks_begin(m);
	return SW_STATUS_COMPLETE;
}

static int memory_begin(struct memory *m, struct sw_error *err)
{
	int r = sw_held_mappings.create(m->run, &m->growth, err);
	if (r < 0)
		return r;
	m->growth_kind = sw_held_mappings;
	m->growth_kind.name = "growth";
	m->growth->kind = &m->growth_kind;
	m->run->event = m->growth_kind.event;
	m->run->before_end = sw_held_check;
	m->run->arg = m->growth;
	r = sw_go_heap_open(m->run, &m->go, err);
	if (r == 0)
		r = stacks_prepare(m->run, m->blocks == NULL, err);
	return r == 0 && m->blocks != NULL ? stacks_prepare(&m->blocks_run, true, err) : r;
}

static int run_and_put(struct sw_event_run *run, struct sw_output *output)
{
	struct memory *m = run->arg;
	struct sw_error err = {0};
	if (memory_begin(m, &err) < 0)
		return sw_complain_error(run->subject.name, &err);
	if (sw_sandbox_enter_capturing(run->options, false, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	if (notice_put(m, output, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = m->is_absent ? SW_STATUS_COMPLETE : missing_say(m);
	status = sw_status_worse(status, sw_event_run_all(run));
	if (sw_go_heap_read(run, &m->go, &err) < 0)
		return sw_complain_error(run->subject.name, &err);
	status = sw_status_worse(status, put(m, output));
	bool by_runtime = m->is_absent && m->go.is_go && m->go.why[0] == '\0';
	if (m->why[0] == '\0' || (m->is_absent && !by_runtime))
		status = sw_status_worse(status, missing_say(m));
	const struct sw_error *not_checked = &m->growth->not_checked;
	if (not_checked->code != 0) {
		(void) sw_complain_error(run->subject.name, not_checked); /* all else is there */
		status = sw_status_worse(status, SW_STATUS_MISSING);
	}
	if (m->blocks != NULL)
		status = sw_status_worse(status, sw_event_run_missing(&m->blocks_run));
	return sw_status_worse(status, sw_event_run_missing(run));
}

int sw_memory_leaks(const struct sw_options *options)
{
	const struct sw_event_options wanted = {.what = SW_EVENT_MAPPINGS,
						.stack_bytes = options->snapshot.stack_bytes};
	sw_cleanup(memory_deinit) struct memory m = {.blocks_run = {.proc_fd = -EBADF}};
	return sw_event_run_with(options, NULL, &wanted, memory_prepare, run_and_put, &m);
}
