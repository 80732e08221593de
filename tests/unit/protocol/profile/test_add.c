/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "cleanup.h"
#include "profile/tables.h"
#include "test.h"

static struct sw_profile *create(const struct sw_profile_limits *limits)
{
	struct sw_profile *p = NULL;
	assert_int_equal(sw_profile_create(limits, &p, NULL), 0);
	return p;
}

static const char *function_of(const struct sw_profile *p, uint32_t node)
{
	const struct sw_profile_node *n = sw_profile_node_at(p, node);
	return sw_profile_text_of(p, sw_profile_frame_at(p, n->frame)->function);
}

/* The rows of the sample: one thread runs, two wait with one stack, one could not be captured. */
TEST(test_rows)
{
	struct sw_profile *p = create(NULL);
	uint32_t rows[4];
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	struct sw_profile_totals totals = sw_profile_totals(p);
	assert_int_equal(totals.count, 8);
	assert_int_equal(totals.left_count, 0);
	assert_int_equal(totals.n_rows, 4);
	assert_int_equal(totals.n_threads, 4);
	assert_int_equal(totals.n_stacks, 3); /* the third says that there is none */
	const struct sw_profile_row *running = sw_profile_row_at(p, rows[0]);
	assert_int_equal(running->count, 2);
	assert_int_equal(running->state, SW_PROFILE_ON_CPU);
	assert_string_equal(sw_profile_text_of(p, running->wait), "");
	const struct sw_profile_row *first = sw_profile_row_at(p, rows[1]);
	const struct sw_profile_row *second = sw_profile_row_at(p, rows[2]);
	assert_int_equal(first->node, second->node);
	assert_int_not_equal(first->thread, second->thread);
	assert_int_equal(first->state, SW_PROFILE_BLOCKED);
	assert_string_equal(sw_profile_text_of(p, first->wait), "futex");
	assert_string_equal(function_of(p, first->node), "__futex_abstimed_wait_common");
	const struct sw_profile_row *missing = sw_profile_row_at(p, rows[3]);
	assert_string_equal(function_of(p, missing->node), "[no stack: stop_timeout]");
	assert_string_equal(sw_profile_text_of(p, missing->wait), "folio_wait_bit");
	sw_profile_destroy(p);
}

/* Threads of processes without a pid, which had ended before anybody looked, are one row for each name. */
TEST(test_ended)
{
	struct sw_profile *p = create(NULL);
	struct sw_report_thread thread = {.comm = "make",
					  .state = 'R',
					  .reason = "exited",
					  .stack = -1};
	const struct sw_report ended = {.process.comm = "make", .threads = &thread, .n_threads = 1};
	uint32_t first, second, other;
	sw_profile_set_by_process(p);
	assert_int_equal(sw_profile_add(p, &ended, NULL, &first, NULL), 0);
	assert_int_equal(sw_profile_add(p, &ended, NULL, &second, NULL), 0);
	struct sw_report pid = ended;
	pid.process.pid = 42;
	assert_int_equal(sw_profile_add(p, &pid, NULL, &other, NULL), 0);
	assert_int_equal(first, second);
	assert_int_not_equal(first, other);
	const struct sw_profile_row *row = sw_profile_row_at(p, first);
	const struct sw_profile_node *node = sw_profile_node_at(p, row->node);
	assert_int_equal(row->count, 2);
	assert_string_equal(function_of(p, row->node), "[no stack: exited]");
	assert_string_equal(function_of(p, node->parent), "make (ended)");
	node = sw_profile_node_at(p, sw_profile_row_at(p, other)->node);
	assert_string_equal(function_of(p, node->parent), "make (42)");
	sw_profile_destroy(p);
}

/* Limits that come later are for what comes after them. */
TEST(test_later_limits)
{
	struct sw_profile *p = create(NULL);
	const struct sw_profile_limits none = {.max_stacks = 1};
	uint32_t rows[4];
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, NULL, NULL), 0);
	sw_profile_set_limits(p, &none);
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	assert_int_equal(sw_profile_totals(p).n_stacks, 3);
	assert_int_equal(sw_profile_totals(p).count, 8);
	assert_int_equal(sw_profile_totals(p).left_count, 0);
	sw_profile_destroy(p);
	p = create(NULL);
	sw_profile_set_limits(p, &none);
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	assert_int_equal(sw_profile_totals(p).n_stacks, 1);
	assert_int_equal(sw_profile_totals(p).left_count, 3);
	assert_false(sw_profile_is_complete(p));
	sw_profile_destroy(p);
}

TEST(test_complete)
{
	struct sw_profile *p = create(NULL);
	struct sw_profile_info info = {.n_wanted = 100, .n_lost = 2};
	sw_profile_set_info(p, &info);
	assert_true(sw_profile_is_complete(p));
	info.n_lost++;
	sw_profile_set_info(p, &info);
	assert_int_equal(sw_profile_get_info(p)->n_lost, 3);
	assert_false(sw_profile_is_complete(p));
	sw_profile_destroy(p);
}

/* Names are clean: no control characters, no bytes that are not UTF-8. */
TEST(test_names)
{
	struct sw_profile *p = create(NULL);
	uint32_t rows[4];
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	uint32_t thread = sw_profile_row_at(p, rows[0])->thread;
	assert_string_equal(sw_profile_text_of(p, sw_profile_thread_at(p, thread)->name),
			    "ser\\x1b[31mver");
	thread = sw_profile_row_at(p, rows[3])->thread;
	assert_string_equal(sw_profile_text_of(p, sw_profile_thread_at(p, thread)->name),
			    "bad\xef\xbf\xbd;name");
	sw_profile_destroy(p);
}

/* A stack from its root: the mark, then frames outwards in. */
TEST(test_cut_stack)
{
	struct sw_profile *p = create(NULL);
	uint32_t rows[4], node;
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, rows, NULL), 0);
	node = sw_profile_row_at(p, rows[0])->node;
	const struct sw_profile_frame *inner =
		sw_profile_frame_at(p, sw_profile_node_at(p, node)->frame);
	assert_int_equal(inner->address, 0x400100); /* neither name nor load address is known */
	assert_string_equal(sw_profile_text_of(p, sw_profile_module_at(p, inner->module)->path),
			    "/usr/bin/server");
	node = sw_profile_node_at(p, node)->parent;
	const struct sw_profile_frame *scan =
		sw_profile_frame_at(p, sw_profile_node_at(p, node)->frame);
	assert_int_equal(scan->flags, SW_PROFILE_GUESS | SW_PROFILE_SIGNAL | SW_PROFILE_MAY_MISS);
	node = sw_profile_node_at(p, sw_profile_node_at(p, node)->parent)->parent;
	assert_string_equal(function_of(p, node), "[cut: no_unwind_info]");
	assert_int_equal(sw_profile_node_at(p, node)->parent, 0);
	sw_profile_destroy(p);
}

/* 'R' of a report: whom the iterator captured had no CPU. */
TEST(test_runnable)
{
	static const struct {
		const char *captured_by;
		char state;
		enum sw_profile_state wanted;
	} cases[] = {{"iterator", 'R', SW_PROFILE_RUNNABLE},
		     {"ptrace", 'R', SW_PROFILE_ON_CPU},
		     {"core", 'R', SW_PROFILE_ON_CPU},
		     {NULL, 'R', SW_PROFILE_ON_CPU},
		     {"iterator", 'D', SW_PROFILE_BLOCKED}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_profile *p = create(NULL);
		struct sw_report_thread thread = sample_report.threads[0];
		struct sw_report report = sample_report;
		uint32_t row;
		thread.state = cases[i].state;
		thread.captured_by = cases[i].captured_by;
		report.threads = &thread;
		report.n_threads = 1;
		assert_int_equal(sw_profile_add(p, &report, NULL, &row, NULL), 0);
		assert_int_equal(sw_profile_row_at(p, row)->state, cases[i].wanted);
		sw_profile_destroy(p);
	}
}

TEST(test_weights)
{
	struct sw_profile *p = create(NULL);
	const struct sw_profile_weight weights[] = {
		{.count = 1, .ns = 10, .state = SW_PROFILE_RUNNABLE},
		{.count = 3, .ns = 30, .state = SW_PROFILE_ON_CPU},
		{.count = 1, .skip = true},
		{.count = 0, .ns = 7, .state = SW_PROFILE_BLOCKED},
	};
	uint32_t rows[4];
	assert_int_equal(sw_profile_add(p, &sample_report, weights, rows, NULL), 0);
	assert_int_equal(rows[2], SW_PROFILE_NO_ROW);
	assert_int_equal(sw_profile_row_at(p, rows[0])->state, SW_PROFILE_RUNNABLE);
	assert_int_equal(sw_profile_row_at(p, rows[1])->state, SW_PROFILE_ON_CPU);
	assert_int_equal(sw_profile_row_at(p, rows[1])->count, 3);
	assert_int_equal(sw_profile_row_at(p, rows[3])->ns, 7);
	sw_profile_again(p, rows[1], 5, 50);
	assert_int_equal(sw_profile_row_at(p, rows[1])->count, 8);
	assert_int_equal(sw_profile_row_at(p, rows[1])->ns, 80);
	uint32_t other;
	assert_int_equal(sw_profile_restate(p, rows[3], SW_PROFILE_ON_CPU, &other, NULL), 0);
	assert_int_equal(sw_profile_row_at(p, other)->state, SW_PROFILE_ON_CPU);
	assert_int_equal(sw_profile_row_at(p, other)->count, 0);
	assert_int_equal(sw_profile_row_at(p, other)->wait, 0);
	assert_int_equal(sw_profile_row_at(p, other)->node, sw_profile_row_at(p, rows[3])->node);
	assert_int_equal(sw_profile_restate(p, other, SW_PROFILE_ON_CPU, &other, NULL), 0);
	assert_int_equal(sw_profile_totals(p).n_rows, 4);
	assert_int_equal(sw_profile_restate(p, SW_PROFILE_NO_ROW, SW_PROFILE_ON_CPU, &other, NULL),
			 0);
	assert_int_equal(other, SW_PROFILE_NO_ROW);
	sw_profile_again(p, rows[1], UINT64_MAX, 1);
	assert_int_equal(sw_profile_totals(p).count, INT64_MAX);
	sw_profile_destroy(p);
}

/* A thread with one stack of some functions. */
struct single {
	struct sw_report report;
	struct sw_report_thread thread;
	struct sw_report_stack stack;
	struct sw_report_frame frames[8];
	char names[8][16];
	size_t zero;
};

static void single_init(struct single *s, pid_t tid, unsigned number)
{
	*s = (struct single){.report = sample_report};
	for (unsigned i = 0; i < 8; i++) {
		(void) snprintf(s->names[i], sizeof(s->names[i]), "f%u_%u", i, number >> i);
		s->frames[i] = sample_frame(s->names[i], 1);
		s->frames[i].offset = 0x1000u * i + (number >> i);
	}
	s->stack = (struct sw_report_stack){.threads = &s->zero,
					    .n_threads = 1,
					    .end = "complete",
					    .frames = s->frames,
					    .n_frames = 8};
	s->thread =
		(struct sw_report_thread){.tid = tid, .comm = "t", .state = 'R', .captured = true};
	s->report.threads = &s->thread;
	s->report.stacks = &s->stack;
	s->report.n_threads = s->report.n_stacks = 1;
}

/* Stacks that do not fit are counted; those that are there go on to be counted where they
 * belong. */
TEST(test_limit_of_stacks)
{
	struct sw_profile *p = create(&(struct sw_profile_limits){.max_stacks = 10});
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 100; i++) {
			struct single s;
			uint32_t row;
			single_init(&s, 1, i);
			assert_int_equal(sw_profile_add(p, &s.report, NULL, &row, NULL), 0);
			assert_true((row == SW_PROFILE_NO_ROW) == (i >= 10));
			sw_profile_again(p, row, 1, 0);
		}
	assert_int_equal(sw_profile_totals(p).n_stacks, 10);
	assert_int_equal(sw_profile_totals(p).count, 40);
	assert_int_equal(sw_profile_totals(p).left_count, 360);
	sw_profile_destroy(p);
}

TEST(test_limit_of_bytes)
{
	enum { MAX = 100000, ONE = 8 * 200 };
	struct sw_profile *p = create(&(struct sw_profile_limits){.max_bytes = MAX});
	size_t bytes = 0;
	for (unsigned i = 0; i < 5000; i++) {
		struct single s;
		single_init(&s, 1, i);
		assert_int_equal(sw_profile_add(p, &s.report, NULL, NULL, NULL), 0);
		if (i == 2500)
			bytes = sw_profile_totals(p).n_bytes;
	}
	struct sw_profile_totals totals = sw_profile_totals(p);
	assert_true(totals.n_bytes >= MAX && totals.n_bytes < MAX + ONE);
	assert_int_equal(totals.n_bytes, bytes);
	assert_true(totals.left_count > 0);
	assert_int_equal(totals.count + totals.left_count, 5000);
	sw_profile_destroy(p);
}

/* Threads that come and go: more than the limit share one for their process. */
TEST(test_limit_of_threads)
{
	struct sw_profile *p = create(&(struct sw_profile_limits){.max_threads = 10});
	for (pid_t tid = 1; tid <= 100; tid++) {
		struct single s;
		single_init(&s, tid, 0);
		assert_int_equal(sw_profile_add(p, &s.report, NULL, NULL, NULL), 0);
	}
	assert_int_equal(sw_profile_totals(p).n_threads, 11);
	assert_int_equal(sw_profile_totals(p).left_count, 0);
	const struct sw_profile_row *others = sw_profile_row_at(p, 10);
	assert_int_equal(others->count, 90);
	assert_int_equal(sw_profile_thread_at(p, others->thread)->tid, 0);
	assert_string_equal(sw_profile_text_of(p, sw_profile_thread_at(p, others->thread)->name),
			    "[other threads]");
	sw_profile_destroy(p);
}

static void named(struct sw_profile *p, const char *comm, const char *name)
{
	struct single s;
	single_init(&s, 1, 0);
	const struct sw_report_managed managed = {.name = name};
	s.thread.comm = comm;
	s.thread.managed = &managed;
	assert_int_equal(sw_profile_add(p, &s.report, NULL, NULL, NULL), 0);
}

/* A thread is the same one whether its runtime's name could be read or not; another name begins anew. */
TEST(test_names_of_a_thread)
{
	struct sw_profile *p = create(NULL);
	named(p, "python3", NULL);
	named(p, "python3", "worker-1");
	named(p, "python3", NULL);
	assert_int_equal(sw_profile_totals(p).n_threads, 1);
	assert_int_equal(sw_profile_totals(p).count, 3);
	assert_string_equal(sw_profile_text_of(p, sw_profile_thread_at(p, 0)->name), "worker-1");
	named(p, "python3", "renamed");
	named(p, "python3", "worker-1");
	named(p, "python3", "renamed");
	assert_int_equal(sw_profile_totals(p).n_threads, 2);
	assert_string_equal(sw_profile_text_of(p, sw_profile_thread_at(p, 1)->name), "renamed");
	/* Another name by the kernel is that of another thread, which may have the number of one that ended. */
	named(p, "java", NULL);
	assert_int_equal(sw_profile_totals(p).n_threads, 3);
	sw_profile_destroy(p);
}

/* A thread is the same one in a profile that was written and read, with its runtime's name and without. */
TEST(test_names_of_a_thread_read)
{
	struct sw_profile *p = create(NULL), *read = NULL;
	char *json = NULL;
	size_t size = 0;
	named(p, "python3", NULL);
	named(p, "python3", "worker-1");
	named(p, "python3", "renamed");
	assert_int_equal(sw_profile_write(p, SW_PROFILE_JSON, NULL, &json, &size, NULL), 0);
	assert_int_equal(sw_profile_parse(json, size, &read, NULL), 0);
	free(json);
	named(read, "python3", "worker-1");
	named(read, "python3", NULL);
	named(read, "python3", "renamed");
	assert_int_equal(sw_profile_totals(read).n_threads, 2);
	assert_int_equal(sw_profile_totals(read).count, 6);
	assert_string_equal(sw_profile_text_of(read, sw_profile_thread_at(read, 0)->name),
			    "worker-1");
	assert_string_equal(sw_profile_text_of(read, sw_profile_thread_at(read, 1)->name),
			    "renamed");
	sw_profile_destroy(read);
	sw_profile_destroy(p);
}

TEST(test_long_name)
{
	struct sw_profile *p = create(NULL);
	struct single s;
	uint32_t row;
	char *name = malloc(3 << 20);
	assert_non_null(name);
	for (size_t i = 0; i < (3 << 20) - 1; i += 3)
		memcpy(name + i, "\xe2\x82\xac", 3); /* not cut within a character */
	name[(3 << 20) - 1] = '\0';
	single_init(&s, 1, 0);
	s.frames[0].function = name;
	assert_int_equal(sw_profile_add(p, &s.report, NULL, &row, NULL), 0);
	const char *kept = function_of(p, sw_profile_row_at(p, row)->node);
	assert_int_equal(strlen(kept), 4095 + strlen("…"));
	assert_string_equal(kept + 4092, "\xe2\x82\xac…");
	free(name);
	sw_profile_destroy(p);
}

/* Where a process has the same file elsewhere its frames are the same ones. */
TEST(test_other_process)
{
	struct sw_profile *p = create(NULL);
	struct single s;
	uint32_t first, second;
	single_init(&s, 1, 0);
	for (size_t i = 0; i < 8; i++)
		s.frames[i].pc_avma = 0x400000 + s.frames[i].offset;
	assert_int_equal(sw_profile_add(p, &s.report, NULL, &first, NULL), 0);
	struct sw_report_module moved[2] = {sample_modules[0], sample_modules[1]};
	moved[0].start_avma += 0x5000;
	moved[0].end_avma += 0x5000;
	s.report.modules = moved;
	s.report.process.pid = 4243;
	for (size_t i = 0; i < 8; i++)
		s.frames[i].pc_avma += 0x5000;
	assert_int_equal(sw_profile_add(p, &s.report, NULL, &second, NULL), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(sw_profile_row_at(p, first)->node, sw_profile_row_at(p, second)->node);
	const struct sw_profile_module *module = sw_profile_module_at(p, 1);
	assert_int_equal(module->bias, 0x400000);
	assert_int_equal(p->processes.n, 2);
	sw_profile_destroy(p);
}
