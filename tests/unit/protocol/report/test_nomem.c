/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Out of memory at every allocation there is: the answer is -SW_E_NOMEM, never a crash or half a
 * report. With the address sanitizer, which has a malloc() of its own, these tests are skipped.
 */
#include "sample_report.h"
#include "fake.h"
#include "cleanup.h"
#include "test.h"

#include "skip.h"

#ifndef __SANITIZE_ADDRESS__

#include "refuse_malloc.h"

enum { TRIES_MAX = 100000, THREADS = 40, FRAMES = 50 };

/* Calls with 0, 1, 2, ... allocations until it succeeds; returns how many that takes. */
static size_t until_success(int (*call)(void *arg), void *arg)
{
	for (size_t n = 0; n < TRIES_MAX; n++) {
		refuse.left = n;
		refuse.armed = true;
		int r = call(arg);
		refuse.armed = false;
		if (r == 0)
			return n;
		assert_int_equal(r, -SW_E_NOMEM);
	}
	fail_msg("no success with %d allocations", TRIES_MAX);
	return 0;
}

struct output {
	int (*write)(const struct sw_report *, char **, size_t *, struct sw_error *);
	char *text;
	size_t size;
};

static int text(const struct sw_report *report, char **ret, size_t *ret_size, struct sw_error *err)
{
	return sw_report_text(report, NULL, ret, ret_size, err);
}

static int write_sample(void *arg)
{
	struct output *o = arg;
	struct sw_error err;
	int r = o->write(&sample_report, &o->text, &o->size, &err);
	if (r < 0)
		assert_int_equal(err.code, SW_E_NOMEM);
	return r;
}

TEST(test_writers)
{
	struct output outputs[] = {{.write = sw_report_json},
				   {.write = text},
				   {.write = sw_report_folded}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(outputs); i++) {
		assert_true(until_success(write_sample, &outputs[i]) >= 3);
		assert_int_equal(strlen(outputs[i].text), outputs[i].size);
		char *again;
		size_t size;
		assert_int_equal(outputs[i].write(&sample_report, &again, &size, NULL), 0);
		assert_string_equal(outputs[i].text, again);
		free(again);
		free(outputs[i].text);
	}
}

TEST(test_errno_alone)
{
	struct output o = {.write = sw_report_json};
	refuse.noisy = true;
	int r = write_sample(&o);
	refuse.noisy = false;
	assert_int_equal(r, 0);
	assert_int_equal(strlen(o.text), o.size);
	free(o.text);
}

/* A single allocation is refused, then there is memory again: nothing may be missing in what is
 * called a success. That is how a library that does not look at each of its results gives itself
 * away. */
TEST(test_writers_once)
{
	struct output outputs[] = {{.write = sw_report_json},
				   {.write = text},
				   {.write = sw_report_folded}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(outputs); i++) {
		struct output *o = &outputs[i];
		char *whole;
		size_t size, refused = 0;
		assert_int_equal(o->write(&sample_report, &whole, &size, NULL), 0);
		for (bool reached = true; reached; refused += reached) {
			refuse.left = refused;
			refuse.once = refuse.armed = true;
			int r = write_sample(o);
			reached = !refuse.armed;
			refuse.once = refuse.armed = false;
			if (r == 0) {
				assert_string_equal(o->text, whole);
				assert_int_equal(o->size, size);
				free(o->text);
			} else {
				assert_int_equal(r, -SW_E_NOMEM);
			}
			assert_true(refused < TRIES_MAX);
		}
		assert_true(refused >= 3);
		free(whole);
	}
}

struct building {
	struct sw_walks walks;
	struct sw_report *report;
};

static int build(void *arg)
{
	struct building *b = arg;
	return sw_report_build(&b->walks, NULL, NULL, &b->report, NULL);
}

TEST(test_build)
{
	static struct sw_frame frames[THREADS][FRAMES];
	static struct sw_walk walks[THREADS];
	static const uint64_t words[1];
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_place *place = fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/x", 0x400000,
						      0x400000, 0x500000, NULL, 0);
	for (size_t t = 0; t < THREADS; t++) {
		for (size_t f = 0; f < FRAMES; f++)
			frames[t][f] = (struct sw_frame){.pc_avma = 0x400000 + t * FRAMES + f,
							 .by = "context",
							 .kind = "native",
							 .place = place};
		walks[t] = (struct sw_walk){.thread = fake_snapshot_stack(snap, (pid_t) (1 + t),
									  0x400000, words, 1),
					    .frames = frames[t],
					    .n_frames = FRAMES,
					    .end = t % 2 ? SW_END_MEMORY : SW_END_COMPLETE,
					    .why = t % 2 ? "cut" : NULL};
	}
	static const struct sw_thread_info note = {.runtime = "clr", .name = "Main", .role = "gc"};
	static struct sw_runtime runtimes[] = {
		{.name = "clr", .version = "10.0", .where = "/x", .entries = -1, .problem = "old"},
		{.name = "gdb-jit", .where = "/x", .entries = 1},
	};
	walks[0].info = &note;
	struct building b = {.walks = {.snap = snap,
				       .walks = walks,
				       .n_walks = THREADS,
				       .runtimes = runtimes,
				       .n_runtimes = SW_ARRAY_SIZE(runtimes)}};
	assert_true(until_success(build, &b) >= 20);
	assert_int_equal(b.report->n_stacks, THREADS);
	assert_int_equal(b.report->n_warnings, 2);
	assert_string_equal(b.report->threads[0].managed->name, "Main");
	assert_int_equal(b.report->process.n_registries, 1);
	assert_int_equal(b.report->stacks[THREADS - 1].n_frames, FRAMES);
	sw_report_destroy(b.report);
	fake_snapshot_destroy(snap);
}

#else

TEST(test_skipped)
{
	(void) sample_report;
	SKIP_SANITIZED();
}

#endif
