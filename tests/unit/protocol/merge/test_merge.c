/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <snapwalk/merge.h>
#include <sys/resource.h>

enum { CALLS = 4096 };

/* Threads of a process, each in a stack of its own: the last frames of a recursion. */
struct world {
	struct sw_report_frame frames[CALLS];
	struct sw_report_stack stacks[CALLS];
	struct sw_report_thread threads[CALLS];
	size_t indices[CALLS];
	char names[CALLS][16];
	struct sw_report report;
};

/* n threads; the i-th is in the calls f(i), f(i + 1) ... f(calls - 1). */
static struct world *world(pid_t pid, size_t n, size_t calls)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	for (size_t i = 0; i < calls; i++) {
		(void) snprintf(w->names[i], sizeof(w->names[i]), "f%zu", i);
		w->frames[i] = (struct sw_report_frame){.module = -1,
							.function = w->names[i],
							.kind = "native",
							.trust = "cfi"};
	}
	for (size_t i = 0; i < n; i++) {
		w->indices[i] = i;
		w->stacks[i] = (struct sw_report_stack){.threads = &w->indices[i],
							.n_threads = 1,
							.end = "complete",
							.frames = w->frames + i,
							.n_frames = calls - i};
		w->threads[i] = (struct sw_report_thread){.tid = pid + (pid_t) i,
							  .comm = i == 0 ? "main" : "worker",
							  .state = 'S',
							  .captured = true,
							  .since_ms = 2000,
							  .stack = (int32_t) i};
	}
	w->report = (struct sw_report){.id = "id",
				       .host_name = "host",
				       .process = {.pid = pid, .comm = "main"},
				       .threads = w->threads,
				       .n_threads = n,
				       .stacks = w->stacks,
				       .n_stacks = n,
				       .complete = true};
	return w;
}

static struct sw_merge *merge_of(const struct sw_merge_options *options)
{
	struct sw_merge *merge;
	assert_int_equal(sw_merge_create(options, &merge, NULL), 0);
	return merge;
}

/* A dump of a process that began at an instant. */
static void add_dump(struct sw_merge *merge, pid_t pid, uint64_t starttime, int64_t time_ns,
		     size_t n, size_t calls, const char *name)
{
	struct world *w = world(pid, n, calls);
	w->report.process.starttime = starttime;
	w->report.time_ns = time_ns;
	assert_int_equal(sw_merge_add(merge, &w->report, name, NULL), 0);
	free(w); /* all that is needed of it is copied */
}

/* A dump that says neither when its process began nor when it was made. */
static void add(struct sw_merge *merge, pid_t pid, size_t n, size_t calls)
{
	add_dump(merge, pid, 0, 0, n, calls, "name");
}

static char *text_of(const struct sw_merge *merge, const struct sw_text_options *how)
{
	char *text;
	size_t size;
	assert_int_equal(sw_merge_text(merge, how, &text, &size, NULL), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static void expect(const struct sw_merge *merge, bool all, const char *part)
{
	const struct sw_text_options how = {.all = all};
	char *text = text_of(merge, &how);
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
	free(text);
}

TEST(test_verdict)
{
	struct sw_merge *merge = merge_of(NULL);
	for (pid_t pid = 10; pid < 40; pid += 10)
		add(merge, pid, 1, pid == 20 ? 2 : 3);
	assert_int_equal(sw_merge_processes(merge), 3);
	assert_true(sw_merge_is_complete(merge));
	expect(merge, false, "\n\n2 of 3 processes are in f2; process 20 is in f1, for 2.0 s\n");
	expect(merge, false,
	       "  2 processes, all but process 20, for 2.0 s:\n    f2\n    f1\n    f0\n");
	assert_int_equal(sw_merge_refuse(merge, "x.json", "why", NULL), 0);
	assert_false(sw_merge_is_complete(merge));
	expect(merge, false, "\nnot merged: x.json: why\n");
	sw_merge_destroy(merge);
}

/* Threads, processes and bytes that find no space are counted and said. */
TEST(test_limits)
{
	const struct sw_merge_options places = {.max_places = 8}, processes = {.max_processes = 1},
				      bytes = {.max_bytes = 64};
	struct sw_error err = {0};
	struct sw_merge *merge = merge_of(&places);
	add(merge, 10, 1, 3);
	add(merge, 20, 1, 20);
	assert_false(sw_merge_is_complete(merge));
	expect(merge, false, "\n1 thread found no space here");
	sw_merge_destroy(merge);

	merge = merge_of(&processes);
	add(merge, 10, 1, 3);
	struct world *w = world(20, 1, 3);
	assert_int_equal(sw_merge_add(merge, &w->report, "name", &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "these are more than 1 processes");
	assert_int_equal(sw_merge_processes(merge), 1);
	free(w);
	sw_merge_destroy(merge);

	merge = merge_of(&bytes);
	add(merge, 10, 1, 100);
	assert_false(sw_merge_is_complete(merge));
	sw_merge_destroy(merge);
}

/* Threads that end in each call of a long recursion: every writer goes as deep as that. */
TEST(test_deep)
{
	struct sw_merge *merge = merge_of(NULL);
	int (*const writers[])(const struct sw_merge *, char **, size_t *,
			       struct sw_error *) = {sw_merge_json, sw_merge_html, sw_merge_folded};
	add(merge, 10, 1000, CALLS);
	expect(merge, true, "[more calls]");
	for (size_t i = 0; i < SW_ARRAY_SIZE(writers); i++) {
		char *text = NULL;
		size_t size;
		assert_int_equal(writers[i](merge, &text, &size, NULL), 0);
		assert_non_null(strstr(text, "[more calls]"));
		free(text);
	}
	sw_merge_destroy(merge);
}

static char *json_of(const struct sw_merge *merge)
{
	char *text;
	size_t size;
	assert_int_equal(sw_merge_json(merge, &text, &size, NULL), 0);
	return text;
}

/* The newest of two dumps of a process counts, in whichever order they come; nothing of the other one is left. */
TEST(test_newest)
{
	for (int newest_first = 0; newest_first < 2; newest_first++) {
		struct sw_merge *merge = merge_of(NULL);
		add_dump(merge, 10, 5, 1000, 1, 3, "other.json");
		if (newest_first)
			add_dump(merge, 20, 5, 2000, 1, 3, "new.json");
		add_dump(merge, 20, 5, 1000, 4, 4, "old.json");
		if (!newest_first)
			add_dump(merge, 20, 5, 2000, 1, 3, "new.json");
		assert_int_equal(sw_merge_processes(merge), 2);
		assert_int_equal(sw_merge_older(merge), 1);
		assert_true(sw_merge_is_complete(merge));
		expect(merge, true, "2 processes of main on host, 2 threads");
		expect(merge, true, "\n\nall 2 processes are in f0\n");
		expect(merge, true,
		       "\nnot counted: old.json: new.json is the newest dump of that process\n");
		sw_merge_destroy(merge);
	}
}

/* Dumps come and go: what is left is what the newest dumps alone would be. */
TEST(test_newest_often)
{
	enum { PROCESSES = 5, TURNS = 40 };
	struct sw_merge *often = merge_of(NULL), *once = merge_of(NULL);
	size_t most = 0;
	for (int turn = 0; turn < TURNS; turn++)
		for (pid_t pid = 10; pid < 10 + PROCESSES; pid++)
			add_dump(often, pid, 7, turn, 1 + (size_t) (pid * 7 + turn * 3) % 5, 6,
				 "x");
	for (pid_t pid = 10; pid < 10 + PROCESSES; pid++)
		add_dump(once, pid, 7, TURNS - 1, 1 + (size_t) (pid * 7 + (TURNS - 1) * 3) % 5, 6,
			 "x");
	assert_int_equal(sw_merge_older(often), PROCESSES * (TURNS - 1));
	const struct sw_text_options all = {.all = true};
	char *a = text_of(often, &all), *b = text_of(once, &all), *end = strstr(a, "not counted");
	assert_non_null(end);
	assert_int_equal(strncmp(a, b, (size_t) (end - a)), 0);
	assert_string_equal(strstr(end, "\n\n"), strstr(b + (end - a) - 1, "\n\n"));
	free(a);
	free(b);
	a = json_of(often);
	for (const char *at = a; (at = strstr(at, "\"here\":[{")) != NULL; at++)
		most++;
	assert_in_range(most, 1, 30);
	free(a);
	sw_merge_destroy(often);
	sw_merge_destroy(once);
}

/* Processes whose start nobody says, or that began at other instants, are not the same. */
TEST(test_not_same)
{
	struct sw_merge *merge = merge_of(NULL);
	add_dump(merge, 10, 0, 1, 1, 3, "a");
	add_dump(merge, 10, 0, 2, 1, 3, "b");
	add_dump(merge, 10, 1, 3, 1, 3, "c");
	add_dump(merge, 10, 2, 4, 1, 3, "d");
	assert_int_equal(sw_merge_processes(merge), 4);
	assert_int_equal(sw_merge_older(merge), 0);
	sw_merge_destroy(merge);
}

/* Nothing was added. */
TEST(test_empty)
{
	struct sw_merge *merge = merge_of(NULL);
	expect(merge, true, "0 processes, 0 threads");
	sw_merge_destroy(merge);
	sw_merge_destroy(NULL);
}

/* Threads whose names only one process has need no sets of processes: these grow with the square of the processes. */
TEST(test_own_names)
{
	enum { PROCESSES = 8000, BYTES_MAX = 8 << 20 };
	struct sw_merge *merge = merge_of(NULL);
	struct world *w = world(1, 2, 3);
	struct rusage before, after;
	char name[16];
	for (int i = 0; i < PROCESSES; i++) {
		(void) snprintf(name, sizeof(name), "own%c%c%c", 'a' + i % 20, 'a' + i / 20 % 20,
				'a' + i / 400);
		w->report.process.pid = w->threads[0].tid = i + 1;
		w->threads[1].comm = name;
		assert_int_equal(sw_merge_add(merge, &w->report, "name", NULL), 0);
	}
	free(w);
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	expect(merge, false, "all 8000");
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_in_range((after.ru_maxrss - before.ru_maxrss) * 1024, 0, BYTES_MAX);
	sw_merge_destroy(merge);
}
