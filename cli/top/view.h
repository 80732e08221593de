/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TOP_VIEW_H
#define SW_CLI_TOP_VIEW_H

#include "common/options.h"
#include "text.h"

#include <snapwalk/sampler.h>

/* The view of top as lines of text. Knows neither terminal nor process. */

/*
 * The place of a thread, one line each: its name, what it waits for ("" nothing, or unknown), the
 * frames that say most ("a < b < c"), and all frames that are kept, innermost first. Nothing in it
 * steers a terminal.
 */
enum { SW_TOP_NAME, SW_TOP_WAITS, SW_TOP_FRAMES, SW_TOP_STACK };

struct sw_top_thread {
	pid_t tid;
	enum sw_activity activity;
	int64_t since_ns;   /* off the CPU; -1: unknown */
	double cpu_percent; /* of one CPU; below 0: unknown */
	const char *place;  /* borrowed; see above */
};

struct sw_top_list {
	const char *title;             /* borrowed: of the process. One line */
	int64_t time_ns;               /* CLOCK_REALTIME */
	struct sw_top_thread *threads; /* borrowed; they are sorted here */
	size_t n_threads;
};

/* The choices of the user. Zero-initialised is the first view. */
struct sw_top_view {
	enum sw_top_sort sort;
	char filter[64]; /* threads with this text in any line; "": all */
	bool editing;    /* the filter is being typed */
	bool frozen;
	bool stacks; /* frames one below the other */
	bool help;
	size_t first;      /* of the threads that pass, the uppermost one that is shown */
	char message[256]; /* instead of the line of keys, until the next key; printable */
};

/* For a terminal of rows and columns: at most so many lines and characters, each line ends with
 * '\n' but the last. view->first is brought into range. */
void sw_top_render(struct sw_top_list *list, struct sw_top_view *view, size_t rows, size_t columns,
		   struct sw_text *ret);

/* For a file: title, head and at most limit threads, whole lines. */
void sw_top_print(struct sw_top_list *list, const struct sw_top_view *view, size_t limit,
		  struct sw_text *ret);

/* The same as one object of JSON in a line. */
void sw_top_json(struct sw_top_list *list, const struct sw_top_view *view, size_t limit,
		 struct sw_text *ret);

/* 42 -> "42s", 840 -> "14m", 90000 -> "25h"; at most 5 characters. -1: "-". */
void sw_top_age(int64_t ns, char ret[static 8]);

#endif
