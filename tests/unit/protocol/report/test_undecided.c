/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report/undecided: facts about waits that names may change. */
#include "report/undecided.h"
#include "report/frame_kind.h"
#include "report/waits.h"
#include "cleanup.h"
#include "test.h"

enum { N = 2, WORD = 0x5000, OTHER = 11, ME = 10 };

struct world {
	struct sw_report *report;
	struct sw_report_module module;
	struct sw_report_frame frame;
	struct sw_report_stack stacks[N];
	struct sw_report_thread threads[N];
	struct sw_report_wait waits[N];
	struct sw_report_builder b;
};

/* Thread i waits in a futex, in a function of a module that has these symbols. */
static void make(struct world *w, const char *symbols)
{
	memset(w, 0, sizeof(*w));
	w->report = sw_report_create();
	assert_non_null(w->report);
	w->module = (struct sw_report_module){.path = "/p", .format = "elf", .symbols = symbols};
	w->frame = (struct sw_report_frame){.kind = "native", .trust = "context"};
	w->report->modules = &w->module;
	w->report->n_modules = 1;
	w->report->threads = w->threads;
	w->report->n_threads = N;
	w->report->stacks = w->stacks;
	w->report->n_stacks = N;
	for (int32_t i = 0; i < N; i++) {
		w->stacks[i] = (struct sw_report_stack){.frames = &w->frame, .n_frames = 1};
		w->waits[i] = (struct sw_report_wait){.kind = "futex",
						      .has_address = true,
						      .address_avma = WORD,
						      .fd = -1,
						      .trust = "syscall"};
		w->threads[i] = (struct sw_report_thread){.tid = ME + i,
							  .state = 'S',
							  .syscall = "futex",
							  .stack = i,
							  .blocked_on = &w->waits[i]};
	}
	w->b = (struct sw_report_builder){.report = w->report, .arena = &w->report->priv->arena};
}

static void note(struct world *w, size_t i, const struct sw_report_futex *futex)
{
	static const struct sw_wait_proof proof = {.proven = true, .stayed = true, .instant = 7};
	sw_undecided_note(&w->b, &w->threads[i], futex, &proof);
	assert_false(w->b.failed);
}

/* Facts that blocked_on has are not kept twice, and are there again when they are asked for. */
TEST(test_implied)
{
	static const struct {
		const char *kind;
		struct sw_report_futex futex;
	} rows[] = {
		{"mutex", {.word_avma = WORD, .mutex_owner = OTHER}},
		{"rwlock", {.word_avma = WORD, .rwlock_owner = OTHER}},
		{"thread", {.word_avma = WORD, .joined = OTHER}},
		{"once", {.word_avma = WORD, .once_owner = OTHER}},
		{"rust_once", {.word_avma = WORD, .once_owner = OTHER}},
		{"stdio", {.word_avma = WORD, .stdio_owner = OTHER, .is_stdio = true}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;
		struct sw_report_futex got;
		make(&w, "dynsym");
		w.waits[0].kind = rows[i].kind;
		w.waits[0].owner_tid = OTHER;
		w.waits[0].trust = "memory";
		note(&w, 0, &rows[i].futex);
		sw_undecided_finish(w.report);
		assert_null(w.threads[0].undecided);
		assert_true(sw_undecided_futex(&w.threads[0], &got));
		assert_memory_equal(&got, &rows[i].futex, sizeof(got));
		sw_report_destroy(w.report);
	}
}

/* A fact that blocked_on does not say is kept, and with it the proofs of all that have an owner, or may get one. */
TEST(test_kept)
{
	struct world w;
	struct sw_report_futex got;
	make(&w, "none");
	w.waits[1].kind = "mutex";
	w.waits[1].owner_tid = ME;
	w.waits[1].trust = "memory";
	note(&w, 0, &(struct sw_report_futex){.word_avma = WORD, .mutex_owner = OTHER});
	note(&w, 1, &(struct sw_report_futex){.word_avma = WORD, .mutex_owner = ME});
	sw_undecided_finish(w.report);
	assert_non_null(w.threads[0].undecided);
	assert_int_equal(w.threads[0].undecided->futex.word_avma, 0);
	assert_int_equal(w.threads[0].undecided->futex.mutex_owner, OTHER);
	assert_true(w.threads[0].undecided->has_proof);
	assert_non_null(w.threads[1].undecided);
	assert_int_equal(w.threads[1].undecided->futex.mutex_owner, 0);
	assert_int_equal(w.threads[1].undecided->instant, 7);
	assert_true(sw_undecided_futex(&w.threads[1], &got));
	assert_int_equal(got.mutex_owner, ME);
	sw_report_destroy(w.report);
}

/* A wait that a language's library explains has no address: the futex is kept. */
TEST(test_hidden)
{
	struct world w;
	struct sw_report_futex got;
	make(&w, "symtab");
	w.waits[0] = (struct sw_report_wait){.kind = "queue_get", .fd = -1, .trust = "syscall"};
	note(&w, 0, &(struct sw_report_futex){.word_avma = WORD});
	note(&w, 1, &(struct sw_report_futex){.word_avma = WORD});
	w.waits[1].kind = "condition";
	sw_undecided_finish(w.report);
	assert_non_null(w.threads[0].undecided);
	assert_false(w.threads[0].undecided->has_proof);
	assert_true(sw_undecided_futex(&w.threads[0], &got));
	assert_int_equal(got.word_avma, WORD);
	assert_null(w.threads[1].undecided);
	sw_report_destroy(w.report);
}

/* Where a file has told all that it knows, nothing is kept. */
TEST(test_settled)
{
	struct world w;
	make(&w, "dwarf");
	note(&w, 0, &(struct sw_report_futex){.word_avma = WORD, .mutex_owner = OTHER});
	assert_true(sw_stack_is_settled(w.report, &w.stacks[0]));
	sw_undecided_finish(w.report);
	assert_null(w.threads[0].undecided);
	w.module.symbols = "symtab";
	assert_false(sw_stack_is_settled(w.report, &w.stacks[0]));
	sw_report_destroy(w.report);
}

/* A pc is no return address in the innermost frame, with its inlined calls, and behind a signal. */
TEST(test_exact)
{
	struct sw_report_frame f[6] = {{.inlined = true}, {0}, {.signal = true},
				       {.inlined = true}, {0}, {0}};
	static const bool wanted[6] = {true, true, false, true, true, false};
	for (size_t i = 0; i < 6; i++) {
		f[i].kind = "native";
		f[i].has_offset = true;
		f[i].exact_pc = wanted[i] ? 1 : -1;
	}
	f[5].exact_pc = 1; /* where a thread begins */
	f[0].exact_pc = f[1].exact_pc = -1;
	sw_frames_mark_exact(f, 6);
	static const int said[6] = {-1, -1, 0, 0, 0, 1};
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(f[i].exact_pc, said[i]);
		assert_int_equal(sw_frame_is_exact(f, i), i >= 3);
		f[i].exact_pc = 0;
		assert_int_equal(sw_frame_is_exact(f, i), wanted[i]);
	}
}

/* A futex below the sleep of a language is a sleep. The innermost function of the language that is its program's decides. */
TEST(test_sleep)
{
	static const struct sw_report_frame
		wait = {.kind = "native", .function = "futex_wait"},
		nameless = {.kind = "jvm"},
		internal = {.kind = "jvm", .function = "java.lang.Thread.sleep0", .internal = true},
		sleeps = {.kind = "jvm", .function = "java.lang.Thread.sleep0"},
		tick = {.kind = "jvm", .function = "Main.tick", .line = 4};
	const struct {
		struct sw_report_frame frames[4];
		const char *kind;
	} cases[] = {
		{{wait, sleeps, tick}, "sleep"},     {{wait, nameless, sleeps, tick}, "sleep"},
		{{wait, tick, sleeps}, "futex"},     {{wait, internal, tick}, "futex"},
		{{wait, wait, wait, wait}, "futex"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		const struct sw_report_futex futex = {.word_avma = WORD};
		make(&w, NULL);
		w.stacks[0].n_frames = 0;
		w.stacks[0].frames = (struct sw_report_frame *) cases[i].frames;
		while (w.stacks[0].n_frames < 4 &&
		       cases[i].frames[w.stacks[0].n_frames].kind != NULL)
			w.stacks[0].n_frames++;
		sw_report_decide_futex(&w.b, &w.threads[0], &futex);
		assert_string_equal(w.threads[0].blocked_on->kind, cases[i].kind);
		w.stacks[0].n_frames = 1; /* the native frame alone */
		sw_report_decide_futex(&w.b, &w.threads[0], &futex);
		assert_string_equal(w.threads[0].blocked_on->kind, "futex");
		sw_report_destroy(w.report);
	}
}
