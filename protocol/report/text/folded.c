/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Folded stacks, the input of flame graph programs: "comm;outermost;...;innermost COUNT", a line
 * for each distinct one, sorted. ';' ends a frame and a line its stack, so that both are replaced
 * in names.
 */
#include "cleanup.h"
#include "errors.h"
#include "arena.h"
#include "report/text/put.h"
#include "report/frame_kind.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

struct line {
	size_t offset; /* of its NUL-terminated text in lines->text */
	const char *text;
	size_t count;
};

struct lines {
	struct sw_text text;
	struct line *lines; /* owned */
	size_t n, capacity;
	bool failed;
	bool each;          /* threads by themselves, with their ids */
	const char **comms; /* owned; all that there are, sorted */
	size_t n_comms;
};

static void put_name(struct sw_text *text, const char *name)
{
	size_t from = text->size;
	sw_utf8_append_plain(text, name, strlen(name));
	if (text->failed)
		return;
	for (size_t i = from; i < text->size; i++)
		if (text->data[i] == ';')
			text->data[i] = ':';
}

static void put_frame(struct sw_text *text, const struct sw_report *report,
		      const struct sw_report_frame *f)
{
	sw_text_append(text, ";", 1);
	if (f->function != NULL)
		put_name(text, f->function);
	else if (f->module >= 0 && f->has_offset)
		sw_frame_place_name(text, report, f);
	else
		put_name(text, "[unknown]"); /* an address would differ in every run */
	if (sw_guess_name(f->trust) != NULL)
		put_name(text, " [guess]");
}

static void put_frames(struct sw_text *text, const struct sw_report *report,
		       const struct sw_report_stack *stack)
{
	/* at the root, so that it is not taken for a stack that begins there */
	if (strcmp(stack->end, "complete") != 0)
		sw_text_printf(text, ";[cut: %s]", stack->end);
	for (size_t i = stack->n_frames; i > 0; i--)
		if (!sw_frame_is_hidden(&stack->frames[i - 1]))
			put_frame(text, report, &stack->frames[i - 1]);
}

static size_t stem_of(const char *comm)
{
	size_t size = strlen(comm);
	while (size > 0 && comm[size - 1] >= '0' && comm[size - 1] <= '9')
		size--;
	return size;
}

/* Whether threads of the process differ from this one in the number at the end only: then they are
 * one kind, "worker-*". The sorted names with the same stem stand in a row, others that begin so
 * among them. */
static bool is_numbered(const struct lines *lines, const char *comm)
{
	size_t stem = stem_of(comm), low = 0, high = lines->n_comms;
	if (stem == 0 || comm[stem] == '\0')
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strncmp(lines->comms[middle], comm, stem) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < lines->n_comms && strncmp(lines->comms[low], comm, stem) == 0; low++) {
		const char *other = lines->comms[low];
		if (strcmp(other, comm) != 0 && stem_of(other) == stem && other[stem] != '\0')
			return true;
	}
	return false;
}

/* tid: of a thread by itself, else 0. */
static void line_add(struct lines *lines, const char *comm, pid_t tid, const char *frames,
		     size_t count)
{
	struct line *grown = sw_grow(lines->lines, lines->n, &lines->capacity, 64, sizeof(*grown));
	if (grown == NULL) {
		lines->failed = true;
		return;
	}
	lines->lines = grown;
	lines->lines[lines->n++] = (struct line){.offset = lines->text.size, .count = count};
	bool numbered = tid == 0 && is_numbered(lines, comm);
	if (comm[0] == '\0') {
		put_name(&lines->text, "[no name]"); /* of a core file's threads */
	} else if (numbered) {
		sw_cleanup(sw_free_p) char *stem = strndup(comm, stem_of(comm));
		lines->failed |= stem == NULL;
		put_name(&lines->text, stem != NULL ? stem : "");
	} else {
		put_name(&lines->text, comm);
	}
	sw_text_append(&lines->text, "*", numbered);
	if (tid != 0)
		sw_text_printf(&lines->text, "-%d", (int) tid);
	sw_text_append(&lines->text, frames, strlen(frames));
	sw_text_append(&lines->text, "", 1);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Tasks that threads run are shown by the stacks of these threads. */
static size_t tasks_waiting(const struct sw_report_stack *stack)
{
	size_t n = 0;
	for (size_t i = 0; i < stack->n_tasks; i++)
		n += stack->tasks[i].tid == 0;
	return n;
}

/* A line for each name that the threads of a stack have. */
static void stack_add(struct lines *lines, const struct sw_report *report,
		      const struct sw_report_stack *stack, struct sw_text *frames)
{
	sw_cleanup(sw_free_p) const char **comms = calloc(stack->n_threads + 1, sizeof(*comms));
	size_t waiting;
	frames->size = 0;
	put_frames(frames, report, stack);
	lines->failed |= comms == NULL || frames->failed;
	if (lines->failed)
		return;
	if (stack->n_threads == 0 && stack->n_goroutines > 0)
		line_add(lines, "goroutine", 0, frames->size > 0 ? frames->data : "",
			 stack->n_goroutines);
	if (stack->n_threads == 0 && (waiting = tasks_waiting(stack)) > 0)
		line_add(lines, "task", 0, frames->size > 0 ? frames->data : "", waiting);
	for (size_t i = 0; lines->each && i < stack->n_threads; i++) {
		const struct sw_report_thread *t = &report->threads[stack->threads[i]];
		line_add(lines, sw_report_thread_name(t), t->tid,
			 frames->size > 0 ? frames->data : "", 1);
	}
	if (lines->each)
		return;
	for (size_t i = 0; i < stack->n_threads; i++)
		comms[i] = sw_report_thread_name(&report->threads[stack->threads[i]]);
	qsort(comms, stack->n_threads, sizeof(*comms), compare_names);
	for (size_t i = 0, count; i < stack->n_threads && !lines->failed; i += count) {
		for (count = 1; i + count < stack->n_threads; count++)
			if (strcmp(comms[i], comms[i + count]) != 0)
				break;
		line_add(lines, comms[i], 0, frames->size > 0 ? frames->data : "", count);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return strcmp(x->text, y->text);
}

/* Different addresses may have the same names: equal lines are added up. */
static void put_sorted(struct lines *lines, struct sw_text *text)
{
	for (size_t i = 0; i < lines->n; i++)
		lines->lines[i].text = lines->text.data + lines->lines[i].offset;
	if (lines->n > 0)
		qsort(lines->lines, lines->n, sizeof(*lines->lines), compare_lines);
	for (size_t i = 0, same; i < lines->n; i += same) {
		size_t count = lines->lines[i].count;
		for (same = 1; i + same < lines->n; same++) {
			if (compare_lines(&lines->lines[i], &lines->lines[i + same]) != 0)
				break;
			count += lines->lines[i + same].count;
		}
		sw_text_append(text, lines->lines[i].text, strlen(lines->lines[i].text));
		sw_text_printf(text, " %zu\n", count);
	}
	sw_text_append(text, "", 0); /* text->data exists, also for nothing */
}

static void comms_sort(struct lines *lines, const struct sw_report *report)
{
	lines->comms = calloc(report->n_threads + 1, sizeof(*lines->comms));
	lines->failed |= lines->comms == NULL;
	if (lines->failed)
		return;
	for (size_t i = 0; i < report->n_threads; i++)
		lines->comms[lines->n_comms++] = sw_report_thread_name(&report->threads[i]);
	if (lines->n_comms > 1)
		qsort(lines->comms, lines->n_comms, sizeof(*lines->comms), compare_names);
}

static int fold_all(const struct sw_report *report, bool each, char **ret_text, size_t *ret_size,
		    struct sw_error *err)
{
	struct lines lines = {.each = each};
	struct sw_text frames = {0}, text = {0};
	comms_sort(&lines, report);
	for (size_t i = 0; i < report->n_stacks && !lines.failed; i++)
		stack_add(&lines, report, &report->stacks[i], &frames);
	if (!lines.failed && !lines.text.failed)
		put_sorted(&lines, &text);
	bool failed = lines.failed || lines.text.failed || text.failed;
	sw_text_deinit(&frames);
	sw_text_deinit(&lines.text);
	free(lines.lines);
	free(lines.comms);
	if (failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret_text = text.data;
	*ret_size = text.size;
	return 0;
}

int sw_report_folded(const struct sw_report *report, char **ret_text, size_t *ret_size,
		     struct sw_error *err)
{
	return fold_all(report, false, ret_text, ret_size, err);
}

int sw_report_folded_threads(const struct sw_report *report, char **ret_text, size_t *ret_size,
			     struct sw_error *err)
{
	return fold_all(report, true, ret_text, ret_size, err);
}
