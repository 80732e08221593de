/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From reports to the tables of a profile. */
#include "profile/tables.h"
#include "cleanup.h"
#include "errors.h"
#include "report/activity.h"
#include "report/idle.h"
#include "report/frame_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNSEEN = UINT32_MAX, NO_SPACE = UINT32_MAX - 1, MARK_BYTES = 128, WAIT_BYTES = 256 };

/* A report on its way into the tables. */
struct adding {
	struct sw_profile *profile;
	const struct sw_report *report;
	uint32_t *nodes;     /* owned; of each stack: its node, UNSEEN or NO_SPACE */
	uint32_t *modules;   /* owned; of each module, UNSEEN */
	uint32_t generation; /* of the process */
};

static int module_of(struct adding *a, const struct sw_report_frame *f, bool grow, uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	if (f->module < 0 || (a->modules[f->module] != UNSEEN)) {
		*ret = f->module < 0 ? 0 : a->modules[f->module];
		return 1;
	}
	const struct sw_report_module *m = &a->report->modules[f->module];
	struct sw_profile_module module = {.start_avma = m->start_avma, .end_avma = m->end_avma};
	if (f->has_offset)
		module.bias = f->pc_avma - f->offset;
	int r = sw_profile_string_find(p, m->path, grow, &module.path);
	if (r > 0)
		r = sw_profile_string_find(p, m->build_id, grow, &module.build_id);
	if (r > 0)
		r = sw_profile_module_find(p, &module, grow, ret);
	/* where the load address is not known, another frame may tell it */
	if (r > 0 && f->has_offset) {
		struct sw_profile_module *known =
			(struct sw_profile_module *) p->modules.items + *ret;
		a->modules[f->module] = *ret;
		if (known->bias == 0 && known->start_avma == m->start_avma)
			known->bias = module.bias;
	}
	return r;
}

static uint32_t flags_of(const struct sw_report_frame *f)
{
	uint32_t flags = f->inlined ? SW_PROFILE_INLINED : 0;
	flags |= sw_frame_is_hidden(f) ? SW_PROFILE_INTERNAL : 0;
	flags |= sw_guess_name(f->trust) != NULL ? SW_PROFILE_GUESS : 0;
	flags |= f->signal ? SW_PROFILE_SIGNAL : 0;
	flags |= f->has_offset ? 0 : SW_PROFILE_AVMA;
	return flags | (f->may_miss ? SW_PROFILE_MAY_MISS : 0);
}

/* Addresses of code that is in no file say nothing once the process has ended, and differ in every
 * run: where such a frame has a name, that is what it is. */
static uint64_t address_of(const struct sw_report_frame *f)
{
	if (f->has_offset)
		return f->offset;
	return f->function != NULL ? 0 : f->pc_avma;
}

static int frame_of(struct adding *a, const struct sw_report_frame *f, bool grow, uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	struct sw_profile_frame frame = {
		.address = address_of(f),
		.line = f->line,
		.flags = flags_of(f),
	};
	int r = sw_profile_string_find(p, f->function, grow, &frame.function);
	if (r > 0)
		r = sw_profile_string_find(p, f->file, grow, &frame.file);
	if (r > 0)
		r = sw_profile_string_find(p, f->kind, grow, &frame.kind);
	if (r > 0)
		r = module_of(a, f, grow, &frame.module);
	return r > 0 ? sw_profile_frame_find(p, &frame, grow, ret) : r;
}

static int mark_text(struct sw_profile *p, const char *text, bool grow, uint32_t *node)
{
	struct sw_profile_frame frame = {.flags = SW_PROFILE_MARK};
	int r = sw_profile_string_find(p, text, grow, &frame.function);
	return r > 0 ? sw_profile_node_of_frame(p, *node, &frame, grow, node) : r;
}

/* A mark about a stack stands at its root, so that the stack is not taken for one that begins
 * there. */
static int mark(struct sw_profile *p, const char *what, const char *reason, bool grow,
		uint32_t *node)
{
	char text[MARK_BYTES];
	(void) snprintf(text, sizeof(text), "[%s: %s]", what, reason);
	return mark_text(p, text, grow, node);
}

/* Where stacks of the report begin. */
static int root_of(struct adding *a, bool grow, uint32_t *ret_node)
{
	const struct sw_report *report = a->report;
	char text[MARK_BYTES];
	*ret_node = 0;
	if (!a->profile->by_process)
		return 1;
	const char *comm = report->process.comm != NULL ? report->process.comm : "";
	if (report->process.pid == 0)
		(void) snprintf(text, sizeof(text), "%s (ended)", comm); /* likewise */
	else
		(void) snprintf(text, sizeof(text), "%s (%d)", comm,
				(int) report->process.pid); /* cut, when it is longer */
	return mark_text(a->profile, text, grow, ret_node);
}

static int node_of_stack(struct adding *a, const struct sw_report_stack *s, uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	bool grow = sw_profile_has_space(p);
	uint32_t node = 0, frame = 0;
	const size_t max = SW_PROFILE_DEPTH_MAX - p->by_process;
	int r = root_of(a, grow, &node);
	bool deep = s->n_frames > max;
	if (r > 0 && (deep || strcmp(s->end, "complete") != 0))
		r = mark(p, "cut", deep ? "frame_limit" : s->end, grow, &node);
	for (size_t i = deep ? max : s->n_frames; i > 0 && r > 0; i--) {
		r = frame_of(a, &s->frames[i - 1], grow, &frame);
		if (r > 0)
			r = sw_profile_node_find(p, node, frame, grow, &node);
	}
	/* A whole that is a part of another one's is still a stack of its own. */
	if (r > 0 && !grow && !p->is_stack[node] && p->n_stacks >= p->limits.max_stacks)
		r = 0;
	if (r > 0)
		*ret = node;
	return r;
}

static int node_of_thread(struct adding *a, const struct sw_report_thread *t, uint32_t *ret)
{
	if (t->stack < 0) {
		bool grow = sw_profile_has_space(a->profile);
		int r = root_of(a, grow, ret);
		return r > 0 ? mark(a->profile, "no stack",
				    t->reason != NULL ? t->reason : "unknown", grow, ret)
			     : r;
	}
	uint32_t *known = &a->nodes[t->stack];
	if (*known == UNSEEN) {
		int r = node_of_stack(a, &a->report->stacks[t->stack], known);
		if (r < 0)
			return r;
		if (r == 0)
			*known = NO_SPACE;
	}
	*ret = *known;
	return *known != NO_SPACE;
}

/* In what a thread is blocked. An address or a descriptor would be another one in every run. */
static void wait_of(const struct sw_report_thread *t, char *ret)
{
	const struct sw_report_wait *w = t->blocked_on;
	const char *target = w != NULL && w->fd < 0 ? w->target : NULL;
	const char *what = w != NULL            ? sw_report_wait_name(w, t->syscall)
			   : t->state == 'T'    ? "stopped"
			   : t->state == 't'    ? "traced"
			   : t->syscall != NULL ? t->syscall
			   : t->wchan != NULL   ? t->wchan
						: "";
	(void) snprintf(ret, WAIT_BYTES, "%s%s%s", what, target != NULL ? " " : "",
			target != NULL ? target : "");
}

/* A thread that the iterator captured had no CPU at that instant: its state says that it wants
 * one. */
static bool waits_for_cpu(const struct sw_report_thread *t, enum sw_profile_state given)
{
	if (given != SW_PROFILE_AS_REPORTED)
		return given == SW_PROFILE_RUNNABLE;
	return t->captured_by != NULL &&
	       strcmp(t->captured_by, sw_captured_by_name(SW_CAPTURED_ITERATOR)) == 0;
}

static int state_of(struct adding *a, const struct sw_report_thread *t, enum sw_profile_state given,
		    struct sw_profile_row *row)
{
	char wait[WAIT_BYTES] = "";
	const char *place = NULL;
	bool blocked =
		given >= SW_PROFILE_BLOCKED || (given == SW_PROFILE_AS_REPORTED && t->state != 'R');
	row->state = blocked                   ? SW_PROFILE_BLOCKED
		     : waits_for_cpu(t, given) ? SW_PROFILE_RUNNABLE
					       : SW_PROFILE_ON_CPU;
	if (blocked)
		place = sw_idle_place(a->report, t);
	if (place != NULL || given == SW_PROFILE_IDLE)
		row->state = SW_PROFILE_IDLE;
	if (blocked && place == NULL) {
		wait_of(t, wait);
		place = wait;
	}
	int r = sw_profile_string_find(a->profile, place, sw_profile_has_space(a->profile),
				       &row->wait);
	if (r == 0)
		row->wait = 0;
	return r < 0 ? r : 0;
}

/* The thread of a key: 1, 0 where there is no space, -SW_E_NOMEM. */
static int thread_find(struct adding *a, const struct sw_report_thread *t, uint32_t key,
		       uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	const struct sw_profile_thread thread = {.pid = (uint32_t) a->report->process.pid,
						 .generation = a->generation,
						 .tid = (uint32_t) t->tid,
						 .key = key,
						 .name = key};
	return sw_profile_thread_find(p, &thread, p->threads.n < p->limits.max_threads, ret);
}

/*
 * A runtime's data cannot be read in each sample: a thread is the same with its name and without. A thread that
 * its runtime gives another name begins anew.
 */
static int thread_named(struct adding *a, const struct sw_report_thread *t, uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	const char *runtime = sw_report_thread_name(t);
	bool grow = p->threads.n < p->limits.max_threads;
	uint32_t comm, name;
	int r = sw_profile_string_find(p, t->comm, grow, &comm);
	if (r > 0)
		r = thread_find(a, t, comm, ret);
	if (r <= 0 || runtime == t->comm)
		return r;
	r = sw_profile_string_find(p, runtime, grow, &name);
	if (r <= 0)
		return r;
	struct sw_profile_thread *known = (struct sw_profile_thread *) p->threads.items + *ret;
	if (known->name == comm)
		known->name = name;
	return known->name == name ? 1 : thread_find(a, t, name, ret);
}

/* The thread itself; where there are too many, all of the process that found no space. */
static int thread_of(struct adding *a, const struct sw_report_thread *t, uint32_t *ret)
{
	struct sw_profile *p = a->profile;
	struct sw_profile_thread others = {.pid = (uint32_t) a->report->process.pid,
					   .generation = a->generation};
	int r = thread_named(a, t, ret);
	if (r != 0)
		return r;
	r = sw_profile_string_find(p, "[other threads]", true, &others.key);
	others.name = others.key;
	bool grow = p->threads.n < p->limits.max_threads + SW_PROFILE_PROCESSES_MAX;
	return r > 0 ? sw_profile_thread_find(p, &others, grow, ret) : r;
}

static int add_thread(struct adding *a, const struct sw_report_thread *t,
		      const struct sw_profile_weight *weight, uint32_t *ret_row)
{
	struct sw_profile *p = a->profile;
	struct sw_profile_row row = {0};
	uint32_t index = SW_PROFILE_NO_ROW;
	int r = node_of_thread(a, t, &row.node);
	if (r > 0)
		r = thread_of(a, t, &row.thread);
	if (r > 0 && (r = state_of(a, t, weight->state, &row)) == 0)
		r = sw_profile_row_find(p, &row, &index);
	if (r < 0)
		return r;
	*ret_row = r > 0 ? index : SW_PROFILE_NO_ROW;
	sw_profile_again(p, *ret_row, weight->count, weight->ns);
	return 0;
}

static int add_resource(struct adding *a, const struct sw_profile_process *process, bool grow)
{
	const struct sw_report *report = a->report;
	struct sw_profile *p = a->profile;
	struct sw_profile_attribute attribute = {.pid = process->pid,
						 .generation = process->generation};
	uint32_t index;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < report->process.n_resource; i++) {
		const struct sw_attribute *from = &report->process.resource[i];
		r = sw_profile_string_find(p, from->key, grow, &attribute.key);
		if (r > 0)
			r = sw_profile_string_find(p, from->value, grow, &attribute.value);
		if (r > 0)
			r = sw_profile_attribute_find(p, &attribute, &index);
	}
	return r;
}

static int add_process(struct adding *a)
{
	const struct sw_report *report = a->report;
	struct sw_profile *p = a->profile;
	struct sw_profile_process process = {.pid = (uint32_t) report->process.pid,
					     .starttime = report->process.starttime};
	uint32_t index;
	bool grow = sw_profile_has_space(p);
	int r = sw_profile_string_find(p, report->process.comm, grow, &process.comm);
	if (r > 0)
		r = sw_profile_string_find(p, report->process.exe, grow, &process.exe);
	if (r > 0)
		r = sw_profile_string_find(p, report->process.unit, grow, &process.unit);
	if (r > 0)
		r = sw_profile_string_find(p, report->process.container, grow, &process.container);
	if (r > 0)
		r = sw_profile_process_add(p, &process, &index);
	a->generation = process.generation;
	if (r > 0)
		r = add_resource(a, &process, grow);
	if (r >= 0)
		r = sw_profile_string_find(p, report->host_name, grow, &p->host);
	if (r >= 0)
		r = sw_profile_string_find(p, report->host_kernel, grow, &p->kernel);
	return r < 0 ? r : 0;
}

static int adding_init(struct adding *a)
{
	const struct sw_report *report = a->report;
	a->nodes = calloc(report->n_stacks + 1, sizeof(*a->nodes));
	a->modules = calloc(report->n_modules + 1, sizeof(*a->modules));
	if (a->nodes == NULL || a->modules == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < report->n_stacks; i++)
		a->nodes[i] = UNSEEN;
	for (size_t i = 0; i < report->n_modules; i++)
		a->modules[i] = UNSEEN;
	return 0;
}

int sw_profile_add(struct sw_profile *profile, const struct sw_report *report,
		   const struct sw_profile_weight *weights, uint32_t *ret_rows,
		   struct sw_error *err)
{
	static const struct sw_profile_weight one = {.count = 1};
	struct adding a = {.profile = profile, .report = report};
	int r = adding_init(&a);
	if (r == 0)
		r = add_process(&a);
	for (size_t i = 0; i < report->n_threads && r == 0; i++) {
		const struct sw_profile_weight *weight = weights != NULL ? &weights[i] : &one;
		uint32_t row = SW_PROFILE_NO_ROW;
		if (!weight->skip)
			r = add_thread(&a, &report->threads[i], weight, &row);
		if (ret_rows != NULL)
			ret_rows[i] = row;
	}
	free(a.nodes);
	free(a.modules);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* Counts stay at the largest number that every format has, rather than beginning again. */
static void count_up(uint64_t *to, uint64_t by)
{
	if (__builtin_add_overflow(*to, by, to) || *to > INT64_MAX)
		*to = INT64_MAX;
}

void sw_profile_again(struct sw_profile *p, uint32_t row, uint64_t count, uint64_t ns)
{
	if (row >= p->rows.n) {
		count_up(&p->left_count, count);
		count_up(&p->left_ns, ns);
		return;
	}
	struct sw_profile_row *r = (struct sw_profile_row *) p->rows.items + row;
	count_up(&r->count, count);
	count_up(&r->ns, ns);
	count_up(&p->count, count);
	count_up(&p->ns, ns);
}

int sw_profile_restate(struct sw_profile *p, uint32_t row, enum sw_profile_state state,
		       uint32_t *ret_row, struct sw_error *err)
{
	struct sw_profile_row other;
	*ret_row = SW_PROFILE_NO_ROW;
	if (row >= p->rows.n)
		return 0;
	other = *sw_profile_row_at(p, row);
	if (state != SW_PROFILE_AS_REPORTED)
		other.state = state;
	if (state == SW_PROFILE_ON_CPU || state == SW_PROFILE_RUNNABLE)
		other.wait = 0;
	other.count = other.ns = 0;
	return sw_profile_row_find(p, &other, ret_row) < 0 ? sw_fail_nomem(err) : 0;
}
