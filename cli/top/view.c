/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/view.h"
#include "common/json_text.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	NAME_MIN = 15, /* as long as the kernel's names */
	NAME_MAX_COLUMNS = 24,
	WIDE_COLUMNS = 100, /* from where on names get more space */
	STACK_LINES = 6,    /* of a thread, with frames one below the other */
	HEAD_LINES = 3,
	KEYS_COLUMNS = 58, /* of the line of keys, when it is longest */
	HELP_INDENT = 11,
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
};

/* ---- parts -------------------------------------------------------------------------------- */

void sw_top_age(int64_t ns, char ret[static 8])
{
	int64_t s = ns / NS_PER_S;
	unsigned ms = (unsigned) (ns / NS_PER_MS);
	if (ns < 0)
		(void) snprintf(ret, 8, "-");
	else if (s < 1)
		(void) snprintf(ret, 8, "%ums", ms % 1000);
	else if (s < 100)
		(void) snprintf(ret, 8, "%us", (unsigned) s);
	else if (s < 100 * 60)
		(void) snprintf(ret, 8, "%um", (unsigned) (s / 60) % 1000);
	else if (s < 100 * 3600)
		(void) snprintf(ret, 8, "%uh", (unsigned) (s / 3600) % 1000);
	else
		(void) snprintf(ret, 8, "%ud", (unsigned) (s / 86400 < 9999 ? s / 86400 : 9999));
}

static const char *state_of(const struct sw_top_thread *t)
{
	switch (t->activity) {
	case SW_ACTIVITY_ON_CPU: return "running";
	case SW_ACTIVITY_RUNNABLE: return "runnable";
	case SW_ACTIVITY_BLOCKED: return "blocked";
	case SW_ACTIVITY_OTHER: return "stopped";
	}
	return "";
}

/* A line of the thread's place, without its end. */
static const char *line_of(const struct sw_top_thread *t, size_t number, size_t *ret_size)
{
	const char *line = t->place;
	for (; number > 0 && line != NULL; number--) {
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	*ret_size = line != NULL ? strcspn(line, "\n") : 0;
	return line;
}

/* ---- which, in which order ---------------------------------------------------------------- */

static bool passes(const struct sw_top_thread *t, const char *filter)
{
	char tid[16];
	if (filter[0] == '\0')
		return true;
	(void) snprintf(tid, sizeof(tid), "%d", (int) t->tid);
	return strcmp(tid, filter) == 0 || strcasestr(state_of(t), filter) != NULL ||
	       (t->place != NULL && strcasestr(t->place, filter) != NULL);
}

static int by_tid(const struct sw_top_thread *a, const struct sw_top_thread *b)
{
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_cpu(const void *left, const void *right)
{
	const struct sw_top_thread *a = left, *b = right;
	int more = (b->cpu_percent > a->cpu_percent) - (b->cpu_percent < a->cpu_percent);
	int busier = (int) a->activity - (int) b->activity;
	return more != 0 ? more : busier != 0 ? busier : by_tid(a, b);
}

static int by_state(const void *left, const void *right)
{
	const struct sw_top_thread *a = left, *b = right;
	int order = (int) a->activity - (int) b->activity;
	return order != 0 ? order : by_cpu(a, b);
}

static int by_since(const void *left, const void *right)
{
	const struct sw_top_thread *a = left, *b = right;
	int order = (b->since_ns > a->since_ns) - (b->since_ns < a->since_ns);
	return order != 0 ? order : by_tid(a, b);
}

static int by_name(const void *left, const void *right)
{
	const struct sw_top_thread *a = left, *b = right;
	size_t a_size, b_size;
	const char *a_name = line_of(a, SW_TOP_NAME, &a_size);
	const char *b_name = line_of(b, SW_TOP_NAME, &b_size);
	if (a_name == NULL || b_name == NULL)
		return a_name != b_name ? (a_name == NULL) - (b_name == NULL) : by_tid(a, b);
	int order = memcmp(a_name, b_name, a_size < b_size ? a_size : b_size);
	if (order == 0)
		order = (a_size > b_size) - (a_size < b_size);
	return order != 0 ? order : by_tid(a, b);
}

/* Move the threads that pass the filter to the head. Returns how many. */
static size_t choose(struct sw_top_list *list, const struct sw_top_view *view)
{
	static int (*const orders[])(const void *, const void *) = {
		[SW_TOP_BY_CPU] = by_cpu,
		[SW_TOP_BY_STATE] = by_state,
		[SW_TOP_BY_SINCE] = by_since,
		[SW_TOP_BY_NAME] = by_name,
	};
	size_t n = 0;
	for (size_t i = 0; i < list->n_threads; i++) {
		if (!passes(&list->threads[i], view->filter))
			continue;
		struct sw_top_thread moved = list->threads[i];
		list->threads[i] = list->threads[n];
		list->threads[n++] = moved;
	}
	if (n > 0)
		qsort(list->threads, n, sizeof(*list->threads), orders[view->sort]);
	return n;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A line that is cut at columns; columns 0: never. It is there without an end. */
struct line {
	struct sw_text *text;
	size_t columns, used;
};

static void put(struct line *l, const char *s, size_t size)
{
	size_t n = 0;
	while (n < size && (l->columns == 0 || l->used < l->columns)) {
		uint32_t c;
		n += sw_utf8_decode(s + n, size - n, &c);
		l->used++;
	}
	sw_text_append(l->text, s, n);
}

__attribute__((format(printf, 2, 3))) static void put_printf(struct line *l, const char *fmt, ...)
{
	char buffer[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(buffer, sizeof(buffer), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(l, buffer, strlen(buffer));
}

/* As long as width, with spaces behind it. */
static void put_padded(struct line *l, const char *s, size_t size, size_t width)
{
	size_t end = l->used + width, n = 0;
	struct line field = {.text = l->text, .columns = end, .used = l->used};
	if (l->columns != 0 && field.columns > l->columns)
		field.columns = l->columns;
	put(&field, s, size);
	for (n = field.used; n < field.columns; n++)
		sw_text_append(l->text, " ", 1);
	l->used = field.columns;
}

static size_t name_columns(size_t columns)
{
	return columns == 0 || columns >= WIDE_COLUMNS ? NAME_MAX_COLUMNS : NAME_MIN;
}

static void put_head(struct line *l)
{
	put_printf(l, "%7s ", "TID");
	put_padded(l, "NAME", 4, name_columns(l->columns));
	put_printf(l, " %-8s %5s %5s %s", "STATE", "SINCE", "%CPU", "WHERE");
}

static void put_thread(struct line *l, const struct sw_top_thread *t, bool with_frames)
{
	size_t size;
	char age[8];
	const char *name = line_of(t, SW_TOP_NAME, &size);
	put_printf(l, "%7d ", (int) t->tid);
	put_padded(l, name != NULL ? name : "", size, name_columns(l->columns));
	sw_top_age(t->activity == SW_ACTIVITY_ON_CPU ? -1 : t->since_ns, age);
	put_printf(l, " %-8s %5s ", state_of(t), age);
	if (t->cpu_percent < 0)
		put_printf(l, "%5s ", "-");
	else
		put_printf(l, "%5.1f ", t->cpu_percent);
	const char *waits = line_of(t, SW_TOP_WAITS, &size);
	if (size > 0 && t->activity >= SW_ACTIVITY_BLOCKED) {
		put(l, waits, size);
		put(l, ": ", with_frames ? 2 : 0);
	}
	const char *frames = line_of(t, SW_TOP_FRAMES, &size);
	if (with_frames)
		put(l, frames, size);
}

static const struct {
	const char *key, *what;
} keys[] = {
	{"c s w n", "sort by CPU, state, since when, name"},
	{"/", "only threads with a text in their name, state or stack; Esc: all again"},
	{"l", "frames one below the other"},
	{"space", "freeze, and go on"},
	{"d", "a dump of all threads, into a file of this directory"},
	{"arrows", "move; so do page up, page down, home and end"},
	{"?", "this help"},
	{"q", "quit"},
};

static void put_state(struct line *l, const struct sw_top_view *view)
{
	static const char *const sorts[] = {"CPU", "state", "since", "name"};
	if (view->editing)
		put_printf(l, "/%s_", view->filter);
	else if (view->message[0] != '\0')
		put_printf(l, "%s", view->message);
	else {
		bool narrow = l->columns != 0 && l->columns < KEYS_COLUMNS;
		put_printf(l, "%sby %s  ?: help", view->frozen ? "FROZEN  " : "",
			   sorts[view->sort]);
		if (!narrow)
			put_printf(l, "  d: dump  space: %s", view->frozen ? "go on" : "freeze");
		put_printf(l, "  q: quit");
		if (view->filter[0] != '\0') /* last: it may be as long as a line */
			put_printf(l, "  only \"%s\"", view->filter);
	}
}

static void put_title(struct line *l, const struct sw_top_list *list)
{
	struct tm parts = {0};
	time_t now = (time_t) (list->time_ns / NS_PER_S);
	size_t n[SW_ACTIVITY_OTHER + 1] = {0};
	double cpu = 0;
	for (size_t i = 0; i < list->n_threads; i++) {
		n[list->threads[i].activity]++;
		cpu += list->threads[i].cpu_percent > 0 ? list->threads[i].cpu_percent : 0;
	}
	(void) localtime_r(&now, &parts); /* fails for years beyond int only */
	put_printf(l, "%02d:%02d:%02d ", parts.tm_hour, parts.tm_min, parts.tm_sec);
	put(l, list->title, strlen(list->title));
	put_printf(l, ": %zu threads, %zu run", list->n_threads, n[SW_ACTIVITY_ON_CPU]);
	if (n[SW_ACTIVITY_RUNNABLE] > 0)
		put_printf(l, ", %zu runnable", n[SW_ACTIVITY_RUNNABLE]);
	put_printf(l, ", %zu blocked", n[SW_ACTIVITY_BLOCKED]);
	if (n[SW_ACTIVITY_OTHER] > 0)
		put_printf(l, ", %zu stopped", n[SW_ACTIVITY_OTHER]);
	put_printf(l, "; %.0f %% CPU", cpu);
}

/* Lines of a view: how many are left. */
struct page {
	struct sw_text *text;
	size_t columns, left;
	bool any;
};

static bool line_begin(struct page *p, struct line *ret)
{
	if (p->left == 0)
		return false;
	p->left--;
	if (p->any)
		sw_text_append(p->text, "\n", 1);
	p->any = true;
	*ret = (struct line){.text = p->text, .columns = p->columns};
	return true;
}

/* A key and what it does, on as many lines as that takes. */
static void page_help(struct page *p, const char *key, const char *what)
{
	struct line l;
	if (!line_begin(p, &l))
		return;
	put_printf(&l, "  %-8s", key);
	while (*what != '\0') {
		size_t size = strcspn(what, " ");
		if (l.columns != 0 && l.used + 1 + size > l.columns && l.used > HELP_INDENT) {
			if (!line_begin(p, &l))
				return;
			put_printf(&l, "%*s", HELP_INDENT - 1, "");
		}
		put(&l, " ", 1);
		put(&l, what, size);
		what += size + (what[size] == ' ');
	}
}

static size_t lines_of(const struct sw_top_thread *t, bool stacks)
{
	size_t n = 1, size;
	while (stacks && n <= STACK_LINES && line_of(t, SW_TOP_STACK + n - 1, &size) != NULL &&
	       size > 0)
		n++;
	return n;
}

static void page_thread(struct page *p, const struct sw_top_thread *t, bool stacks)
{
	struct line l;
	size_t n = lines_of(t, stacks);
	if (line_begin(p, &l))
		put_thread(&l, t, !stacks);
	for (size_t i = 1; i < n && line_begin(p, &l); i++) {
		size_t size;
		const char *frame = line_of(t, SW_TOP_STACK + i - 1, &size);
		put_printf(&l, "%12s", "");
		put(&l, frame, size);
	}
}

void sw_top_render(struct sw_top_list *list, struct sw_top_view *view, size_t rows, size_t columns,
		   struct sw_text *ret)
{
	struct page p = {.text = ret, .columns = columns, .left = rows};
	struct line l;
	size_t n = choose(list, view);
	if (view->first >= n)
		view->first = n > 0 ? n - 1 : 0;
	/* The last page is full. */
	size_t space = rows > HEAD_LINES ? rows - HEAD_LINES : 0, last = n, used = 0;
	while (last > 0 && (used += lines_of(&list->threads[last - 1], view->stacks)) <= space)
		last--;
	if (view->first > last)
		view->first = last;
	if (line_begin(&p, &l))
		put_title(&l, list);
	if (line_begin(&p, &l))
		put_state(&l, view);
	for (size_t i = 0; view->help && i < sizeof(keys) / sizeof(keys[0]); i++)
		page_help(&p, keys[i].key, keys[i].what);
	if (view->help)
		return;
	if (line_begin(&p, &l))
		put_head(&l);
	for (size_t i = view->first; i < n && p.left > 0; i++)
		page_thread(&p, &list->threads[i], view->stacks);
}

void sw_top_print(struct sw_top_list *list, const struct sw_top_view *view, size_t limit,
		  struct sw_text *ret)
{
	struct page p = {.text = ret, .left = SIZE_MAX};
	struct line l;
	size_t n = choose(list, view);
	if (line_begin(&p, &l))
		put_title(&l, list);
	if (line_begin(&p, &l))
		put_head(&l);
	for (size_t i = 0; i < n && i < limit; i++)
		page_thread(&p, &list->threads[i], view->stacks);
	sw_text_append(ret, "\n", 1);
}

/* A line of what is known as a string; "" is left out. */
static void json_line(struct sw_text *text, const char *name, const struct sw_top_thread *t,
		      size_t number)
{
	struct sw_text one = {0};
	size_t size;
	const char *line = line_of(t, number, &size);
	if (size > 0)
		sw_text_append(&one, line, size);
	if (one.size > 0)
		sw_json_text_member(text, name, one.data);
	text->failed |= one.failed;
	sw_text_deinit(&one);
}

static void json_frames(struct sw_text *text, const struct sw_top_thread *t)
{
	size_t size;
	const char *line = line_of(t, SW_TOP_STACK, &size);
	sw_text_printf(text, ",\"frames\":[");
	for (size_t i = 0; line != NULL && size > 0; i++) {
		struct sw_text one = {0};
		sw_text_append(&one, line, size);
		sw_text_append(text, ",", i > 0);
		if (!one.failed)
			sw_utf8_append_json_string(text, one.data);
		text->failed |= one.failed;
		sw_text_deinit(&one);
		line = line_of(t, SW_TOP_STACK + i + 1, &size);
	}
	sw_text_append(text, "]", 1);
}

static void json_thread(struct sw_text *text, const struct sw_top_thread *t)
{
	sw_text_printf(text, "{\"tid\":%d", (int) t->tid);
	json_line(text, "name", t, SW_TOP_NAME);
	sw_text_printf(text, ",\"state\":\"%s\"", state_of(t));
	if (t->activity != SW_ACTIVITY_ON_CPU && t->since_ns >= 0)
		sw_text_printf(text, ",\"since_ms\":%" PRId64, t->since_ns / NS_PER_MS);
	if (t->cpu_percent >= 0)
		sw_text_printf(text, ",\"cpu_percent\":%.1f", t->cpu_percent);
	if (t->activity >= SW_ACTIVITY_BLOCKED)
		json_line(text, "wait", t, SW_TOP_WAITS);
	json_frames(text, t);
	sw_text_append(text, "}", 1);
}

void sw_top_json(struct sw_top_list *list, const struct sw_top_view *view, size_t limit,
		 struct sw_text *ret)
{
	size_t n = choose(list, view);
	sw_text_printf(ret, "{\"schema\":\"snapwalk.top/1\",\"time_ns\":%" PRId64, list->time_ns);
	sw_json_text_member(ret, "process", list->title);
	sw_text_printf(ret, ",\"n_threads\":%zu,\"threads\":[", list->n_threads);
	for (size_t i = 0; i < n && i < limit; i++) {
		sw_text_append(ret, ",", i > 0);
		json_thread(ret, &list->threads[i]);
	}
	sw_text_printf(ret, "]}\n");
}
