/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A dump into the tree: each of its distinct stacks once for each role that its threads have. */
#include "cleanup.h"
#include "errors.h"
#include "merge/newest.h"
#include "merge/tables.h"
#include "report/frame_kind.h"
#include "text.h"

#include <string.h>

enum { FIRST = 64 };

/* A report on its way in. */
struct adding {
	struct sw_merge *m;
	const struct sw_report *report;
	uint32_t process;
	uint32_t program;
	struct sw_text name; /* owned; of a frame or a thread */
	uint32_t *path;      /* owned; frames of a stack, outermost first */
	size_t n_path, path_capacity;
	uint32_t running_leaf; /* the last one of path without its line */
};

/* The name that many of a kind have: without the number at the end. */
static size_t stem_of(const char *name)
{
	size_t size = strlen(name);
	while (size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9')
		size--;
	return size;
}

static int stem_find(struct adding *a, const char *name, uint32_t *ret)
{
	size_t stem = stem_of(name);
	if (stem == 0 || name[stem] == '\0')
		return sw_merge_string_find(a->m, name, strlen(name), ret);
	a->name.size = 0;
	sw_text_append(&a->name, name, stem);
	sw_text_append(&a->name, "*", 1);
	return a->name.failed ? -SW_E_NOMEM
			      : sw_merge_string_find(a->m, a->name.data, a->name.size, ret);
}

static int string_find(struct adding *a, const char *s, uint32_t *ret)
{
	return sw_merge_string_find(a->m, s, strlen(s), ret);
}

/* An address would be another one in each process. */
static void put_function(struct adding *a, const struct sw_report_frame *f)
{
	bool known = f->module >= 0 && f->has_offset;
	a->name.size = 0;
	if (f->function != NULL && f->function[0] != '\0')
		sw_text_append(&a->name, f->function, strlen(f->function));
	else if (known)
		sw_frame_place_name(&a->name, a->report, f);
	else
		sw_text_append(&a->name, "code in no file", strlen("code in no file"));
	if (sw_guess_name(f->trust) != NULL)
		sw_text_append(&a->name, " [guess]", strlen(" [guess]"));
}

static int frame_find(struct adding *a, const struct sw_report_frame *f, bool line, uint32_t *ret)
{
	bool named = f->function != NULL && f->function[0] != '\0';
	struct sw_merge_frame frame = {
		.libc = !named || sw_frame_is_libc(a->report, f),
		.line = line && !a->m->options.functions && f->file != NULL ? f->line : 0,
	};
	put_function(a, f);
	int r = a->name.failed
			? -SW_E_NOMEM
			: sw_merge_string_find(a->m, a->name.data, a->name.size, &frame.function);
	if (r == 0 && named && f->file != NULL)
		r = string_find(a, sw_base_name(f->file), &frame.file);
	/* The name of managed code says whose it is; a runtime may compile it anew, to another place. */
	if (r == 0 && named && f->module >= 0 && !sw_frame_is_managed(f))
		r = string_find(a, sw_base_name(a->report->modules[f->module].path), &frame.module);
	return r == 0 ? sw_merge_frame_find(a->m, &frame, ret) : r;
}

static int path_push(struct adding *a, uint32_t frame)
{
	uint32_t *grown = sw_grow(a->path, a->n_path, &a->path_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	a->path = grown;
	a->path[a->n_path++] = frame;
	return 0;
}

/* A call that is none: why a stack is not here, or not whole. */
static int note_push(struct adding *a, const char *format, const char *what)
{
	struct sw_merge_frame frame = {.libc = true};
	uint32_t index;
	a->name.size = 0;
	sw_text_printf(&a->name, format, what);
	if (a->name.failed)
		return -SW_E_NOMEM;
	int r = sw_merge_string_find(a->m, a->name.data, a->name.size, &frame.function);
	if (r == 0)
		r = sw_merge_frame_find(a->m, &frame, &index);
	return r == 0 ? path_push(a, index) : r;
}

/* The innermost calls of a deeper recursion are left out, and the place says so. */
static int path_make(struct adding *a, const struct sw_report_stack *stack)
{
	int r = 0;
	size_t from = stack->n_frames;
	a->n_path = 0;
	/* At the root, so that it is not taken for a stack that begins there. */
	if (strcmp(stack->end, "complete") != 0)
		r = note_push(a, "[cut: %s]", stack->end);
	for (size_t n = 0; r == 0 && from > 0; from--) {
		const struct sw_report_frame *f = &stack->frames[from - 1];
		uint32_t frame;
		if (sw_frame_is_hidden(f))
			continue;
		if (n++ == SW_MERGE_CALLS_MAX) {
			r = note_push(a, "[%s]", "more calls");
			break;
		}
		r = frame_find(a, f, true, &frame);
		if (r == 0)
			r = path_push(a, frame);
	}
	if (r < 0 || a->n_path == 0)
		return r;
	a->running_leaf = a->path[a->n_path - 1];
	for (size_t i = 0; from == 0 && i < stack->n_frames; i++)
		if (!sw_frame_is_hidden(&stack->frames[i]))
			return frame_find(a, &stack->frames[i], false, &a->running_leaf);
	return 0;
}

static void count(struct sw_merge *m, uint32_t place, uint32_t process, uint64_t n)
{
	for (; place != SW_MERGE_NONE; place = m->places[place].parent) {
		struct sw_merge_place *p = &m->places[place];
		if (p->last_process != process)
			p->n_processes++;
		p->last_process = process;
		p->n_threads += n;
	}
}

static int here_new(struct sw_merge *m, uint32_t *ret)
{
	if (m->free_heres != SW_MERGE_NONE) {
		*ret = m->free_heres;
		m->free_heres = m->heres[*ret].next_own;
		return 0;
	}
	if (m->n_heres >= m->options.max_places)
		return -SW_E_LIMIT;
	struct sw_merge_here *grown =
		sw_grow(m->heres, m->n_heres, &m->heres_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->heres = grown;
	*ret = (uint32_t) m->n_heres++;
	return 0;
}

/* The entry of the process that is being added is the first one, if there is one. */
static int here_find(struct adding *a, uint32_t place, struct sw_merge_here **ret)
{
	struct sw_merge *m = a->m;
	struct sw_merge_place *p = &m->places[place];
	if (p->first_here != SW_MERGE_NONE && m->heres[p->first_here].process == a->process) {
		*ret = &m->heres[p->first_here];
		return 0;
	}
	uint32_t index;
	int r = here_new(m, &index);
	if (r < 0)
		return r;
	struct sw_merge_process *process = &m->processes[a->process];
	m->heres[index] = (struct sw_merge_here){.process = a->process,
						 .place = place,
						 .next = p->first_here,
						 .before = SW_MERGE_NONE,
						 .next_own = process->first_own,
						 .least_ms = -1,
						 .most_ms = -1};
	if (p->first_here != SW_MERGE_NONE)
		m->heres[p->first_here].before = index;
	p->first_here = process->first_own = index;
	*ret = &m->heres[index];
	return 0;
}

/* n threads, goroutines or tasks that are at the path. running: its innermost line says nothing. */
static int put(struct adding *a, uint32_t program, uint32_t name, uint64_t n, bool running,
	       int64_t since_ms)
{
	uint32_t role, place;
	struct sw_merge_here *here = NULL;
	int r = sw_merge_role_find(a->m, program, name, &role);
	if (r < 0)
		return r;
	place = a->m->roles[role].root;
	for (size_t i = 0; r == 0 && i < a->n_path; i++) {
		bool leaf = running && i + 1 == a->n_path;
		r = sw_merge_place_find(a->m, place, leaf ? a->running_leaf : a->path[i], &place);
	}
	if (r == 0)
		r = here_find(a, place, &here);
	if (r < 0)
		return r;
	here->n_threads += (uint32_t) n;
	here->n_running += running ? (uint32_t) n : 0;
	if (since_ms >= 0 && (here->least_ms < 0 || since_ms < here->least_ms))
		here->least_ms = since_ms;
	if (since_ms > here->most_ms)
		here->most_ms = since_ms;
	count(a->m, place, a->process, n);
	return 0;
}

/* Puts threads, or counts those that find no space. */
static int put_or_leave(struct adding *a, uint32_t program, uint32_t name, uint64_t n, bool running,
			int64_t since_ms)
{
	int r = put(a, program, name, n, running, since_ms);
	if (r == -SW_E_LIMIT)
		a->m->left_threads += n;
	return r == -SW_E_LIMIT ? 0 : r;
}

static int thread_add(struct adding *a, const struct sw_report_thread *t)
{
	uint32_t name = 0;
	int r = 0;
	if (t->tid != a->report->process.pid) {
		const char *called = sw_report_thread_name(t);
		r = stem_find(a, called[0] != '\0' ? called : "[no name]", &name);
	}
	if (r == -SW_E_LIMIT)
		a->m->left_threads++;
	if (r < 0)
		return r == -SW_E_LIMIT ? 0 : r;
	return put_or_leave(a, a->program, name, 1, t->state == 'R', t->since_ms);
}

/* Goroutines and tasks that no thread runs. */
static int threadless_add(struct adding *a, const struct sw_report_stack *stack)
{
	uint64_t n_tasks = 0;
	uint32_t name = 0;
	int r = 0;
	for (size_t i = 0; i < stack->n_tasks; i++)
		n_tasks += stack->tasks[i].tid == 0;
	uint64_t n = stack->n_goroutines > 0 ? stack->n_goroutines : n_tasks;
	if (n == 0)
		return 0;
	r = string_find(a, stack->n_goroutines > 0 ? "goroutines" : "tasks", &name);
	if (r == 0)
		r = put_or_leave(a, a->program, name, n, false, -1);
	return r;
}

static int stack_add(struct adding *a, const struct sw_report_stack *stack)
{
	int r = path_make(a, stack);
	if (r == -SW_E_LIMIT) {
		a->m->left_threads += stack->n_threads;
		return 0;
	}
	for (size_t i = 0; r == 0 && i < stack->n_threads; i++)
		r = thread_add(a, &a->report->threads[stack->threads[i]]);
	return r == 0 && stack->n_threads == 0 ? threadless_add(a, stack) : r;
}

static int missing_add(struct adding *a, const struct sw_report_thread *t)
{
	a->n_path = 0;
	int r = note_push(a, "[not captured: %s]", t->reason != NULL ? t->reason : "unknown");
	if (r == 0) {
		a->running_leaf = a->path[0];
		r = thread_add(a, t);
	} else if (r == -SW_E_LIMIT) {
		a->m->left_threads++;
		r = 0;
	}
	return r;
}

static int all_add(struct adding *a)
{
	const struct sw_report *report = a->report;
	const char *exe = report->process.exe;
	int r = exe != NULL && sw_base_name(exe)[0] != '\0'
			? string_find(a, sw_base_name(exe), &a->program)
			: stem_find(a, report->process.comm, &a->program);
	for (size_t i = 0; r == 0 && i < report->n_stacks; i++)
		r = stack_add(a, &report->stacks[i]);
	for (size_t i = 0; r == 0 && i < report->n_threads; i++)
		if (report->threads[i].stack < 0)
			r = missing_add(a, &report->threads[i]);
	a->m->processes[a->process].program = a->program;
	return r;
}

/* NULL is kept. */
static bool copy(struct sw_merge *m, const char *from, const char **to)
{
	*to = from != NULL ? sw_arena_strdup(&m->arena, from) : NULL;
	return from == NULL || *to != NULL;
}

/* process: of a new one, the number of processes. */
static int process_set(struct sw_merge *m, uint32_t process, const struct sw_report *report,
		       const char *name)
{
	struct sw_merge_process *grown = sw_grow(m->processes, m->n_processes,
						 &m->processes_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->processes = grown;
	struct sw_merge_process p = {.time_ns = report->time_ns,
				     .starttime = report->process.starttime,
				     .first_own = SW_MERGE_NONE,
				     .n_threads = report->n_threads,
				     .pid = report->process.pid,
				     .complete = report->complete};
	const char *host = report->host_name != NULL ? report->host_name : "";
	if (!copy(m, name, &p.name) || !copy(m, host, &p.host) ||
	    !copy(m, report->process.comm, &p.comm) || !copy(m, report->process.unit, &p.unit) ||
	    !copy(m, report->process.container, &p.container))
		return -SW_E_NOMEM;
	grown[process] = p;
	m->n_processes += process == m->n_processes;
	return 0;
}

static int report_add(struct adding *a, const char *name)
{
	struct sw_merge *m = a->m;
	const uint64_t left_before = m->left_threads;
	int r = process_set(m, a->process, a->report, name);
	if (r == 0)
		r = all_add(a);
	sw_text_deinit(&a->name);
	free(a->path);
	if (a->process < m->n_processes)
		m->processes[a->process].left_threads = m->left_threads - left_before;
	return r;
}

/* The newer one of two dumps of a process counts, the first one if they are the same. */
static int same_add(struct sw_merge *m, uint32_t same, const struct sw_report *report,
		    const char *name)
{
	struct adding a = {.m = m, .report = report, .process = same};
	const struct sw_merge_process *known = &m->processes[same];
	bool is_newer = report->time_ns > known->time_ns;
	int r = sw_merge_older_add(m, is_newer ? known->name : name, same);
	if (r < 0 || !is_newer)
		return r;
	sw_merge_process_clear(m, same);
	return report_add(&a, name);
}

int sw_merge_add(struct sw_merge *merge, const struct sw_report *report, const char *name,
		 struct sw_error *err)
{
	struct adding a = {.m = merge, .report = report, .process = (uint32_t) merge->n_processes};
	uint32_t same;
	int r = sw_merge_same_find(merge, report, a.process, &same);
	if (r < 0)
		return sw_fail_nomem(err);
	if (same == SW_MERGE_NONE && merge->n_processes >= merge->options.max_processes)
		return sw_fail(err, SW_E_LIMIT, "these are more than %zu processes",
			       merge->options.max_processes);
	r = same != SW_MERGE_NONE ? same_add(merge, same, report, name) : report_add(&a, name);
	if (r == -SW_E_LIMIT)
		return sw_fail(err, SW_E_LIMIT, "names of these processes take too much memory");
	return r < 0 ? sw_fail_nomem(err) : 0;
}
