/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/all_processes: which processes are listed, and what is shown of each. */
#include "beam_world.h"
#include "runtimes/beam/all_processes.h"
#include "runtimes/beam/names.h"
#include "runtimes/beam/window.h"
#include "test.h"

enum {
	NOWHERE = 0x66660000,
	FULL = 0x40000000, /* of memory in which each word leads to the first process */
	FULL_BYTES = 64 << 20,
	FRAMES_MAX = 8,
};

static struct beam_world world;
static const struct sw_beam_layout *at;
static struct sw_beam_window window;
static struct sw_thread thread;

struct frames {
	struct sw_frame_sink sink;
	struct sw_frame all[FRAMES_MAX];
	size_t n, max;
};

static bool frame_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct frames *f = (struct frames *) sink;
	if (f->n == f->max)
		return false;
	f->all[f->n++] = (struct sw_frame){.pc_avma = address_avma, .cookie = cookie};
	return true;
}

static int setup(void **state)
{
	beam_world_init(&world);
	at = world.beam.found.layout;
	window = (struct sw_beam_window){.whole = true};
	world.beam.window = &window;
	thread = (struct sw_thread){.tid = 7, .fs_base = BEAM_FS_BASE, .captured = true};
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	return 0;
}

static int teardown(void **state)
{
	sw_beam_all_processes_destroy(world.beam.processes);
	world.beam.processes = NULL;
	return 0;
}

/* The list made anew. why NULL: it must be whole. */
static size_t list(const char *why)
{
	const char *got = "not said";
	sw_beam_all_processes_destroy(world.beam.processes);
	world.beam.processes = NULL;
	size_t n = sw_beam_all_processes(&world.beam, &got);
	assert_non_null(world.beam.processes);
	if (why == NULL)
		assert_null(got);
	else
		assert_string_equal(got, why);
	return n;
}

static struct frames shown;

static struct sw_runtime_task show(size_t n)
{
	struct sw_runtime_task task = {0};
	shown = (struct frames){.sink.add = frame_add, .max = FRAMES_MAX};
	assert_true(sw_beam_process_show(&world.beam, n, &task, &shown.sink));
	return task;
}

static void first_u64(uint64_t off, uint64_t value)
{
	beam_world_u64(&world, BEAM_PROCESSES + off, value);
}

static const char *said(size_t i)
{
	static struct sw_description d;
	static char text[sizeof(d.function) + sizeof(d.file) + 16];
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_beam_names(&world.beam, &shown.all[i], &d), 1);
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

TEST_WITH(test_all, setup, teardown)
{
	static const char *const names[] = {"<0.80.0>", "<0.81.0>", "<0.82.0>", "<0.83.0>"};
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	for (size_t i = 0; i < BEAM_N_PROCESSES; i++) {
		struct sw_runtime_task task = show(i);
		assert_int_equal(task.info.address_avma, BEAM_PROCESSES + i * BEAM_PROCESS_STRIDE);
		assert_string_equal(task.info.name, names[i]);
		assert_string_equal(task.info.state, "waiting");
		assert_string_equal(task.info.initial_call, "chain:f1/1");
		assert_true(task.info.has_messages);
		assert_int_equal(task.info.messages, i);
		assert_int_equal(task.info.tid, 0);
		assert_false(task.live_read || task.may_miss);
		if (i == 0)
			assert_string_equal(task.info.registered, "f1");
		else
			assert_null(task.info.registered);
		assert_int_equal(shown.n, 3);
		assert_string_equal(said(0), "chain:f2/2 :0"); /* between calls no line is kept */
		assert_string_equal(said(1), "chain:f2/2 c.erl:74565");
		assert_string_equal(said(2), "chain:f1/1 c.erl:10");
	}
}

/* The reasons about the list, and about processes that may have gone on. */
TEST_WITH(test_reasons, setup, teardown)
{
	window.processes_cut = true;
	assert_int_equal(list("not all processes could be copied"), BEAM_N_PROCESSES);
	window.processes_cut = false;
	world.snap.live = true;
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_false(show(0).live_read);
	window.whole = false;
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_true(show(0).live_read);
	window.whole = true;
	world.priv.hooks_torn = true;
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_true(show(0).live_read);
	world.beam.window = NULL;
	world.priv.hooks_torn = world.snap.live = false; /* a core file */
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_false(show(0).live_read);
	world.beam.found.processes_svma = 0;
	assert_int_equal(list("the table of processes could not be read"), 0);
	world.beam.found.layout = NULL;
	assert_int_equal(list("this release of Erlang/OTP is not read"), 0);
}

TEST_WITH(test_runs, setup, teardown)
{
	uint64_t second = BEAM_PROCESSES + BEAM_PROCESS_STRIDE;
	beam_world_u64(&world, BEAM_SCHEDULERS + at->sched_process, second);
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_int_equal(show(1).info.tid, 7);
	assert_int_equal(shown.n, 0); /* those of the thread are its */
	assert_int_equal(show(0).info.tid, 0);
	assert_int_equal(shown.n, 3);
	thread.captured = false; /* nothing says that the thread still runs it */
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_int_equal(show(1).info.tid, 0);
}

/* The stack of a process that somebody executes, or whose stack is being moved, is not as the
 * process has it. */
TEST_WITH(test_states, setup, teardown)
{
	static const struct {
		uint32_t state;
		const char *name;
		size_t n_frames;
	} rows[] = {
		{0x100002a, "waiting", 3},
		{0x1002a, "suspended", 3},
		{0x202a, "runnable", 3},
		{0xa02a, "running", 0},
		{0x3002a, "garbage_collecting", 0},
		{0x1882a, "exiting", 0},
	};
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		beam_world_u32(&world, BEAM_PROCESSES + at->process_state, rows[i].state);
		assert_string_equal(show(0).info.state, rows[i].name);
		assert_int_equal(shown.n, rows[i].n_frames);
	}
	beam_world_u32(&world, BEAM_PROCESSES + at->process_state, 1 << 10); /* it is free */
	struct sw_runtime_task task = {0};
	assert_false(sw_beam_process_show(&world.beam, 0, &task, &shown.sink));
}

/* A process that waits in C code goes on nowhere in a module: then it says which function it is
 * in. */
TEST_WITH(test_in_c, setup, teardown)
{
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	first_u64(at->process_next, NOWHERE);
	first_u64(at->process_current, BEAM_MFA);
	(void) show(0);
	assert_int_equal(shown.n, 3);
	assert_string_equal(said(0), "chain:f2/2 :0");
	assert_int_equal(shown.all[0].cookie, SW_BEAM_MFA);
	first_u64(at->process_current, NOWHERE); /* it has no name */
	(void) show(0);
	assert_int_equal(shown.n, 3);
	assert_string_equal(said(0), "[Erlang function] :0");
	first_u64(at->process_current, 0);
	(void) show(0);
	assert_string_equal(said(0), "[shared code of the JIT] :0");
}

/* A stack of which one part is not as it must be has no frames; the process is there all the same. */
TEST_WITH(test_stacks, setup, teardown)
{
	static const uint64_t own = BEAM_STACKS, end = BEAM_STACKS + 8 * BEAM_STACK_WORDS;
	static const struct {
		uint64_t stop, hend;
	} rows[] = {
		{own + 4, end + 4},
		{own, own},                               /* nothing is on it */
		{end, own},                               /* its end lies before it */
		{own, own + SW_BEAM_OWN_STACK_MAX + 8},   /* too long */
		{own, UINT64_MAX - 7},                    /* all of the memory there is */
		{0, end},                                 /* from nowhere */
		{UINT64_MAX - 7, 0},                      /* around the end of memory */
		{NOWHERE, NOWHERE + 40},                  /* not there */
		{own, BEAM_WORLD + BEAM_WORLD_BYTES + 8}, /* its end is not there */
		{own, end + 8},                           /* goes on behind its end */
		{own, end - 8},                           /* has no end */
		{own, end - 1},
	};
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		first_u64(at->process_stop, rows[i].stop);
		first_u64(at->process_hend, rows[i].hend);
		assert_string_equal(show(0).info.name, "<0.80.0>");
		assert_int_equal(shown.n, 0);
	}
	first_u64(at->process_stop, own);
	first_u64(at->process_hend, end);
	beam_world_u64(&world, own, BEAM_EXIT); /* it ends twice */
	(void) show(0);
	assert_int_equal(shown.n, 0);
	beam_world_u64(&world, own, 0);
	beam_world_u64(&world, end - 8, 0);
	world.beam.exit_avma = 0; /* not known: then 0 is not it */
	(void) show(0);
	assert_int_equal(shown.n, 0);
}

/* Words that have no tag, and lead into no code. */
TEST_WITH(test_words, setup, teardown)
{
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	beam_world_u64(&world, BEAM_STACKS, BEAM_STACKS); /* to itself */
	beam_world_u64(&world, BEAM_STACKS + 8, NOWHERE);
	beam_world_u64(&world, BEAM_STACKS + 24, BEAM_MODULE_END);
	(void) show(0);
	assert_int_equal(shown.n, 1);
	/* No more than are asked for. */
	shown.max = 2;
	shown.n = 0;
	struct sw_runtime_task task = {0};
	assert_true(sw_beam_process_show(&world.beam, 1, &task, &shown.sink));
	assert_int_equal(shown.n, 2);
}

TEST_WITH(test_registered, setup, teardown)
{
	static const uint64_t addresses[] = {NOWHERE, BEAM_REGISTERED + 4,
					     BEAM_REGISTERED + 8, /* another's */
					     BEAM_PROCESSES,      /* itself */
					     UINT64_MAX - 7};
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		first_u64(at->process_registered, addresses[i]);
		assert_null(show(0).info.registered);
	}
	first_u64(at->process_registered, BEAM_REGISTERED);
	static const uint64_t terms[] = {0, 0x13, UINT64_MAX, 3 << 6 | 0xb};
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
		beam_world_u64(&world, BEAM_REGISTERED + 32, terms[i]);
		assert_null(show(0).info.registered);
	}
	first_u64(at->process_initial + 16, 256); /* more arguments than there can be */
	assert_null(show(0).info.initial_call);
	first_u64(at->process_initial + 16, 255);
	assert_string_equal(show(0).info.initial_call, "chain:f1/255");
}

/* Places that are no process: they are counted as one that could not be read, or not at all. */
TEST_WITH(test_places, setup, teardown)
{
	beam_world_u64(&world, BEAM_SLOTS, BEAM_PROCESSES + 4); /* no pointer */
	beam_world_u64(&world, BEAM_SLOTS + 16, NOWHERE);
	beam_world_u64(&world, BEAM_SLOTS + 24, BEAM_WORLD + BEAM_WORLD_BYTES - 8);
	beam_world_u64(&world, BEAM_SLOTS + 40, BEAM_TABLE);
	assert_int_equal(list(NULL), BEAM_N_PROCESSES + 3);
	for (size_t i = 1; i <= 2; i++) {
		struct sw_runtime_task task = show(i);
		assert_null(task.info.name);
		assert_int_equal(task.info.tid, 0);
		assert_int_equal(shown.n, 0);
	}
	struct sw_runtime_task task = {0};
	assert_false(sw_beam_process_show(&world.beam, 4, &task, &shown.sink)); /* it has no id */
	/* The same process in two places. */
	beam_world_u64(&world, BEAM_SLOTS + 40, BEAM_PROCESSES);
	assert_int_equal(list(NULL), BEAM_N_PROCESSES + 3);
	assert_string_equal(show(0).info.name, "<0.80.0>");
	assert_string_equal(show(4).info.name, "<0.80.0>");
}

static bool full_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	if (avma < FULL || avma - FULL >= FULL_BYTES || length > FULL_BYTES)
		return sw_memory_read(fake_memory(&world.fake), avma, buffer, length);
	for (size_t i = 0; i + 8 <= length; i += 8) {
		uint64_t process = BEAM_PROCESSES;
		memcpy((uint8_t *) buffer + i, &process, sizeof(process));
	}
	return true;
}

/* Lengths that are not so, and a table that has no end. */
TEST_WITH(test_table, setup, teardown)
{
	static const struct sw_memory_ops ops = {.read = full_read};
	beam_world_u32(&world, BEAM_TABLE + at->table_n, 0);
	assert_int_equal(list(NULL), 0);
	beam_world_u32(&world, BEAM_TABLE + at->table_n, UINT32_MAX);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, BEAM_STACKS);
	assert_int_equal(list("the table of processes could not be copied"), 0);
	world.fake.reads = 0;
	world.beam.memory = (struct sw_memory){&ops, NULL};
	beam_world_u64(&world, BEAM_TABLE + at->table_places, FULL);
	assert_int_equal(list("the table of processes is too large"), SW_BEAM_TABLE_MAX);
	assert_true(world.fake.reads <
		    64); /* of the table itself alone: its places are not there */
	assert_string_equal(show(SW_BEAM_TABLE_MAX - 1).info.name, "<0.80.0>");
	/* The table's end is not there. */
	beam_world_u32(&world, BEAM_TABLE + at->table_n, FULL_BYTES / 8 / 64);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, FULL + FULL_BYTES - 4096);
	assert_int_equal(list("the table of processes could not be copied"), 512);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, UINT64_MAX - 7);
	assert_int_equal(list("the table of processes could not be copied"), 0);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, 0);
	assert_int_equal(list("the table of processes could not be read"), 0);
}

/* The schedulers' arrays say how many there are: more than there can be. */
TEST_WITH(test_schedulers, setup, teardown)
{
	for (unsigned kind = 0; kind < SW_BEAM_KINDS; kind++)
		beam_world_u64(&world, BEAM_VARIABLES + 16 * kind + 8, UINT64_MAX);
	thread.fs_base = 0x1234;
	world.fake.reads = 0;
	assert_int_equal(list(NULL), BEAM_N_PROCESSES);
	assert_true(world.fake.reads < SW_BEAM_KINDS * (SW_BEAM_SCHEDULERS_MAX + 2) + 64);
}
