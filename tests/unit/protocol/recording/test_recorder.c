/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A run of hours, as fast as it can be counted: what the recorder and the profile take does not grow once each
 * stack was seen. SNAPWALK_SAMPLES=3564000 is ten hours at 99 Hz.
 */
#include "snapshot/snapshot.h"
#include "test.h"

#include <snapwalk/pipeline.h>
#include <snapwalk/recorder.h>

#include <malloc.h>

enum {
	STACKS = 24,  /* of a thread: where it is */
	THREADS = 40, /* at once */
	NAMES = 1000, /* thread ids, which come again */
	MS = 1000000,
#ifdef __SANITIZE_ADDRESS__
	/* The sanitizer's allocator does not say how much is in use, and a sample takes seven times as long: as many
	 * threads come and go, and none is sampled as often. */
	TURNS = 10,
#else
	TURNS = 100, /* samples of a thread until another one comes in its place */
#endif
	GENERATION = THREADS * TURNS,
	SAMPLES = 37 * GENERATION, /* each number comes again: 25 generations have all NAMES */
};

struct world {
	struct sw_session *session;
	struct sw_pipeline pipeline; /* of a recorded process: its snapshot is what is sampled */
	struct sw_thread thread;     /* the one that runs in it, as it was */
	uint64_t number;
	struct sw_sample_change changes[2];
};

static pid_t tid_of(uint64_t number)
{
	return (pid_t) (1000 + number % NAMES);
}

/* A thread runs; after TURNS of its samples another one comes in its place. */
static int next(void *arg, struct sw_sample *ret, struct sw_error *err)
{
	struct world *w = arg;
	uint64_t n = w->number++, generation = n / GENERATION, slot = n % THREADS;
	struct sw_snapshot *snap = w->pipeline.snap;
	struct sw_thread *t = &snap->threads[0];
	*t = w->thread;
	t->tid = tid_of(generation * THREADS + slot);
	(void) snprintf(t->comm, sizeof(t->comm), "worker-%u", (unsigned) (n % 3));
	t->regs.pc_avma += n * 7 % STACKS;
	snap->n_threads = 1;
	sw_snapshot_index_threads(snap);
	*ret = (struct sw_sample){.number = n + 1,
				  .time_ns = (int64_t) n * 10 * MS,
				  .begin_ns = (int64_t) n * 10 * MS,
				  .snap = snap,
				  .changes = w->changes,
				  .n_threads = THREADS,
				  .generation = 1,
				  .light = true};
	if (n >= THREADS && n / GENERATION != (n - THREADS) / GENERATION)
		w->changes[ret->n_changes++] = (struct sw_sample_change){
			.slot = (uint32_t) slot,
			.tid = tid_of((n - THREADS) / GENERATION * THREADS + slot),
			.kind = SW_CHANGE_ENDED};
	w->changes[ret->n_changes++] =
		(struct sw_sample_change){.slot = (uint32_t) slot,
					  .tid = t->tid,
					  .kind = SW_CHANGE_READ,
					  .activity =
						  n % 2 ? SW_ACTIVITY_ON_CPU : SW_ACTIVITY_BLOCKED,
					  .times = {.time_ns = ret->begin_ns, .queued_ns = -1}};
	return 0;
}

TEST(test_flat)
{
	const struct sw_origin fixture = {.kind = SW_FROM_FIXTURE,
					  .path = SW_TESTS_DIR "/fixtures/signal-stacks"};
	const struct sw_pipeline_options names = {0};
	const char *wanted = getenv("SNAPWALK_SAMPLES");
	uint64_t n_samples = wanted != NULL ? strtoull(wanted, NULL, 10) : SAMPLES;
	struct world w = {0};
	struct sw_profile *profile;
	struct sw_recorder *recorder;
	assert_int_equal(sw_session_create(&w.session, NULL), 0);
	assert_int_equal(sw_pipeline_run(w.session, &fixture, &names, &w.pipeline, NULL), 0);
	size_t n_threads = w.pipeline.snap->n_threads;
	w.thread = w.pipeline.snap->threads[0];
	assert_int_equal(sw_profile_create(NULL, &profile, NULL), 0);
	struct sw_profile_adding adding = {.profile = profile, .interval_ns = 10 * MS};
	const struct sw_recorder_sink sink = sw_profile_sink(&adding);
	const struct sw_recorder_source source = {.next = next, .arg = &w};
	const struct sw_recorder_options options = {.source = &source};
	assert_int_equal(sw_recorder_create(NULL, &options, w.session, &sink, &recorder, NULL), 0);
	size_t settled = 0, stacks = 0;
	for (uint64_t i = 0; i < n_samples; i++) {
		assert_int_equal(sw_recorder_sample(recorder, NULL), 0);
		if (i == n_samples * 4 / 5) {
			settled = mallinfo2().uordblks;
			stacks = sw_profile_totals(profile).n_stacks;
		}
	}
	size_t end = mallinfo2().uordblks;
	sw_recorder_settle(recorder);
	const struct sw_profile_totals totals = sw_profile_totals(profile);
	printf("# %llu samples, %zu stacks, %zu threads, %zu rows, %zu KiB, of which the last "
	       "fifth %zd bytes\n",
	       (unsigned long long) n_samples, totals.n_stacks, totals.n_threads, totals.n_rows,
	       end / 1024, (ssize_t) (end - settled));
	assert_int_equal(totals.n_stacks, stacks);
	assert_true(stacks >= STACKS);
	assert_int_equal(totals.left_count, 0);
	assert_true(end <= settled + 4096);
	assert_int_equal(sw_recorder_totals(recorder)->n_samples, n_samples);
	assert_int_equal(sw_recorder_totals(recorder)->n_read, n_samples);
	assert_int_equal(sw_recorder_totals(recorder)->n_missed, 0);
	sw_recorder_destroy(recorder);
	sw_profile_destroy(profile);
	w.pipeline.snap->n_threads = n_threads;
	w.pipeline.snap->threads[0] = w.thread;
	sw_pipeline_deinit(&w.pipeline);
	sw_session_destroy(w.session);
}
