/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/thread_infos.h"
#include "fake.h"
#include "snapshot/read.h"
#include "test.h"

enum {
	/* offsets in DATA */
	AT_STORE = 0x100,     /* the variable */
	AT_FINALIZER = 0x108, /* variables, too */
	AT_SUSPENDER = 0x110,
	AT_STRING_TABLE = 0x118,
	AT_THREADS = 0x1000, /* Thread objects, with what belongs to each */
	THREAD_BYTES = 0x800,
	AT_HANDLE = 0x400, /* in there */
	AT_OBJECT = 0x480,
	AT_STRING = 0x500,
	AT_TEB = 0x3800,
	N_THREADS = 4,
	DATA_BYTES = 0x4000,
	STRING_TABLE = 0x5550,
	LINK = 112,
};

#define DATA UINT64_C(0x600000000000)

static const char descriptor[] =
	"{\"version\": 0, \"contracts\": {\"Thread\": 1}, \"globals\": {\"ThreadStore\": [[0], "
	"\"pointer\"],"
	" \"FinalizerThread\": [[1], \"pointer\"], \"GCThread\": [[2], \"pointer\"],"
	" \"StringMethodTable\": [[3], \"pointer\"]}, \"types\": {"
	"\"ThreadStore\": {\"FirstThreadLink\": 88},"
	"\"Thread\": {\"Id\": 16, \"OSId\": 296, \"State\": 0, \"PreemptiveGCDisabled\": 4,"
	" \"GCHandle\": 304, \"LinkNext\": 112},"
	"\"String\": {\"m_FirstChar\": 12, \"m_StringLength\": 8}}}";

struct world {
	uint8_t data[DATA_BYTES];
	struct sw_snapshot *snap;
	struct sw_clr *clr;
};

static void put(struct world *w, size_t at, uint64_t value, size_t bytes)
{
	memcpy(w->data + at, &value, bytes);
}

static uint64_t thread_avma(unsigned i)
{
	return DATA + AT_THREADS + i * THREAD_BYTES;
}

/* Thread i of the runtime, with a name; stack_avma lies in the stack that it has. */
static void thread_make(struct world *w, unsigned i, uint32_t osid, uint64_t stack_avma,
			const char *name)
{
	size_t at = AT_THREADS + i * THREAD_BYTES;
	put(w, at, 0x21220, 4);
	put(w, at + 16, 10 + i, 4);
	put(w, at + LINK, i + 1 < N_THREADS ? thread_avma(i + 1) + LINK : 0, 8);
	put(w, at + 120, stack_avma, 8);
	put(w, at + 296, osid, 4);
	put(w, at + 304, DATA + at + AT_HANDLE, 8);
	put(w, at + AT_HANDLE, DATA + at + AT_OBJECT, 8);
	put(w, at + AT_OBJECT + 8, 0x1234, 8); /* not a string */
	put(w, at + AT_OBJECT + 24, name != NULL ? DATA + at + AT_STRING : 0, 8);
	put(w, at + AT_STRING, STRING_TABLE | 1, 8); /* marked */
	for (size_t k = 0; name != NULL && name[k] != '\0'; k++) {
		put(w, at + AT_STRING + 8, k + 1, 4);
		put(w, at + AT_STRING + 12 + 2 * k, (unsigned char) name[k], 2);
	}
}

static void comm_set(struct sw_snapshot *snap, pid_t tid, const char *comm)
{
	static const uint64_t words[8] = {0};
	struct sw_thread *t = fake_snapshot_stack(snap, tid, 0x401000, words, 8);
	(void) snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

static uint64_t stack_of(pid_t tid)
{
	return FAKE_STACK_AVMA + (uint64_t) tid * FAKE_STACK_BYTES + 64; /* its end */
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	put(w, AT_STORE, DATA + 0x200, 8);
	put(w, AT_FINALIZER, thread_avma(1), 8);
	put(w, AT_STRING_TABLE, STRING_TABLE, 8);
	put(w, 0x200 + 88, thread_avma(0) + LINK, 8);
	/* Numbers as of another pid namespace. */
	thread_make(w, 0, 1, stack_of(101) - 8, "first");
	thread_make(w, 1, 2, stack_of(102), ".NET Finalizer");
	thread_make(w, 2, 3, stack_of(103), "a name longer than comm");
	thread_make(w, 3, 104, 0, "elsewhere");
	*state = w;
	return 0;
}

static void world_finish(struct world *w)
{
	const uint64_t pointers[] = {DATA + AT_STORE, DATA + AT_FINALIZER, DATA + AT_SUSPENDER,
				     DATA + AT_STRING_TABLE};
	const char *why;
	w->snap = fake_snapshot_create();
	w->snap->process.pid = 101;
	comm_set(w->snap, 101, "dotnet");
	comm_set(w->snap, 102, ".NET Finalizer");
	comm_set(w->snap, 103, "a name longer t");
	comm_set(w->snap, 104, "other");
	comm_set(w->snap, 105, ".NET SigHandler");
	comm_set(w->snap, 106, "native");
	fake_snapshot_range(w->snap, DATA, w->data, sizeof(w->data));
	fake_snapshot_finish(w->snap);
	struct sw_clr *clr = w->clr = calloc(1, sizeof(*clr));
	assert_non_null(clr);
	clr->snap = clr->source.snap = w->snap;
	clr->memory = sw_snapshot_memory(&clr->source);
	clr->n_runtimes = 1;
	clr->runtimes[0].usable = true;
	assert_int_equal(sw_clr_contract_parse(descriptor, sizeof(descriptor) - 1, pointers, 4,
					       &clr->runtimes[0].contract, &why),
			 0);
	sw_clr_layout_threads(&clr->runtimes[0].contract, &clr->runtimes[0].at);
}

static int teardown(void **state)
{
	struct world *w = *state;
	sw_clr_thread_infos_destroy(w->clr->infos);
	sw_clr_contract_deinit(&w->clr->runtimes[0].contract);
	sw_arena_deinit(&w->clr->arena);
	free(w->clr);
	fake_snapshot_destroy(w->snap);
	free(w);
	return 0;
}

static void note_is(struct world *w, pid_t tid, int64_t id, const char *name, const char *mode,
		    const char *role)
{
	struct sw_thread_info note = {0};
	assert_true(sw_clr_thread_info(w->clr, sw_snapshot_thread(w->snap, tid), &note));
	assert_string_equal(note.runtime, "clr");
	assert_int_equal(note.id, id);
	assert_string_equal(note.name, name);
	assert_string_equal(note.mode != NULL ? note.mode : "", mode);
	assert_string_equal(note.role != NULL ? note.role : "", role);
}

TEST_OF(test_notes, struct world *w)
{
	put(w, AT_THREADS + 2 * THREAD_BYTES + 4, 1, 4);
	world_finish(w);
	note_is(w, 101, 10, "first", "preemptive", "");
	note_is(w, 102, 11, ".NET Finalizer", "preemptive", "finalizer");
	note_is(w, 103, 12, "a name longer than comm", "cooperative", "");
	/* matched by its number; the kernel knows it by another name, so that neither is proven */
	note_is(w, 104, 13, "", "preemptive", "");
	note_is(w, 105, -1, "", "", "signals");
	struct sw_thread_info note = {0};
	assert_false(sw_clr_thread_info(w->clr, sw_snapshot_thread(w->snap, 106), &note));
}

/* The threads: one that has stopped the others; a pool worker; one that has ended, whose stack is
 * another's now. */
TEST_OF(test_states, struct world *w)
{
	put(w, AT_SUSPENDER, thread_avma(0), 8);
	put(w, AT_THREADS + THREAD_BYTES, 0x21a20, 4);
	put(w, AT_THREADS + 2 * THREAD_BYTES, 0x1021220, 4);
	world_finish(w);
	note_is(w, 101, 10, "first", "preemptive", "suspending");
	note_is(w, 102, -1, "", "", "finalizer");
	note_is(w, 103, 12, "a name longer than comm", "preemptive", "thread-pool");
}

/* A string that a collection has moved meanwhile is no name. */
TEST_OF(test_moved, struct world *w)
{
	put(w, AT_THREADS + AT_STRING, STRING_TABLE + 8, 8);
	put(w, AT_THREADS + 2 * THREAD_BYTES + AT_STRING + 12, 'A', 2);
	put(w, AT_THREADS + THREAD_BYTES + AT_STRING + 8, 0x10000, 4);
	world_finish(w);
	note_is(w, 101, 10, "", "preemptive", "");
	note_is(w, 102, 11, "", "preemptive", "finalizer");
	note_is(w, 103, 12, "", "preemptive", "");
}

/* A list of threads that bites its tail ends. */
TEST_OF(test_circle, struct world *w)
{
	put(w, AT_THREADS + 3 * THREAD_BYTES + LINK, thread_avma(0) + LINK, 8);
	world_finish(w);
	note_is(w, 103, 12, "a name longer than comm", "preemptive", "");
}

/*
 * Windows' numbers: 105 is what Linux calls another thread, and all Thread objects have addresses of stacks
 * that are others' here.
 */
TEST_OF(test_windows, struct world *w)
{
	thread_make(w, 0, 105, stack_of(102) - 8, NULL);
	thread_make(w, 2, 0x1f0, stack_of(101) - 8, "other");
	for (unsigned i = 0; i < 2; i++) {
		put(w, AT_TEB + i * 0x100 + 0x30, DATA + AT_TEB + i * 0x100, 8);
		put(w, AT_TEB + i * 0x100 + 0x48, i == 0 ? 0x1f0 : 2, 8);
	}
	world_finish(w);
	w->clr->runtimes[0].is_windows = true;
	for (size_t i = 0; i < w->snap->n_threads; i++)
		if (w->snap->threads[i].tid == 104)
			w->snap->threads[i].gs_base = DATA + AT_TEB;
		else if (w->snap->threads[i].tid == 101)
			w->snap->threads[i].gs_base = DATA + AT_TEB + 0x100;
		else if (w->snap->threads[i].tid == 103)
			w->snap->threads[i].gs_base = DATA + AT_TEB + 8; /* no TEB */
	note_is(w, 104, 12, "other", "preemptive", "");
	note_is(w, 101, 11, ".NET Finalizer", "preemptive", "finalizer");
	note_is(w, 105, -1, "", "", "signals");
	struct sw_thread_info note = {0};
	assert_false(sw_clr_thread_info(w->clr, sw_snapshot_thread(w->snap, 103), &note));
	assert_false(sw_clr_thread_info(w->clr, sw_snapshot_thread(w->snap, 106), &note));
}
