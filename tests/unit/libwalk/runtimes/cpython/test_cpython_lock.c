/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/lock, structures/withs: who waits for a Lock, and in whose with statement it is, over made
 * structures. */
#include "cpython_world.h"
#include "arch/arch.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/lock.h"
#include "test.h"

#include <sys/syscall.h>

enum {
	WAITER_ID = 0x7f00bb00,
	SEMAPHORE = 0x7f001230,
	LOCK = WORLD_OBJECTS + 0x800,
	TYPE = WORLD_OBJECTS + 0x880,
	TYPE_NAME = WORLD_OBJECTS + 0x8e0,
	EXIT = WORLD_OBJECTS + 0x900, /* of the lock */
	EXIT_TYPE = WORLD_OBJECTS + 0x940,
	EXIT_TYPE_NAME = WORLD_OBJECTS + 0x990,
	DEFINITION = WORLD_OBJECTS + 0x9c0,
	EXIT_NAME = WORLD_OBJECTS + 0x9d0,
	TABLES = WORLD_OBJECTS + 0xa00, /* of handlers: one for each code, 0x80 each */
	NAMES = WORLD_OBJECTS + 0xb80,  /* that functions look up, likewise */
	STRINGS = WORLD_OBJECTS + 0xd00,
	VALUES = WORLD_OBJECTS + 0xf00, /* up to 3.10: the stack of a frame */
	SP = WORLD_TASKS,
	PARKED = SP + 0x100,
	LEAF = 0,
	OUTER = 2,
	DEPTH = 3, /* of the stack in the body */
	HANDLER = 8,
	AROUND = 12, /* a handler that is none of a with statement */
};

static struct cpython_world world;
static struct sw_thread threads[2];
static struct sw_runtime_wait wait;

static void bytes_put(uint64_t avma, const void *bytes, size_t n)
{
	if (n > 0) /* bytes may be NULL then */
		memcpy(world.data + (avma - WORLD), bytes, n);
}

static uint64_t more(void)
{
	return world.c.at.layout.head_more;
}

/* A name that a function looks up. */
static void look_up(unsigned code, const char *name)
{
	unsigned minor = world.c.at.layout.minor;
	uint64_t names = NAMES + 0x40 * code, string = STRINGS + 0x80 * code;
	bool byte = more() != 0 && minor >= 14;
	cpython_world_u64(&world, cpython_world_code(code) + more() + (minor <= 10 ? 64 : 32),
			  names);
	cpython_world_u64(&world, names + more() + 16, name != NULL);
	cpython_world_u64(&world, names + more() + (minor >= 14 ? 32 : 24), string);
	if (name == NULL)
		return;
	cpython_world_u64(&world, string + more() + 16, strlen(name));
	cpython_world_u64(&world, string + more() + 32,
			  byte ? (1 | 1 << 3 | 1 << 4) << 8 : 1 << 2 | 1 << 5 | 1 << 6);
	bytes_put(string + world.c.at.layout.string_ascii, name, strlen(name));
}

/* The entries of a code's table: its handlers, and what is at them. */
static void table_put(unsigned code, const uint8_t *entries, size_t n)
{
	static const uint8_t of_with[][4] = {{35, 0, 49, 0},
					     {35, 0, 49, 0},
					     {33, 0, 44, 0},
					     {32, 0, 43, 0}};
	const struct sw_cpython_layout *l = &world.c.at.layout;
	uint64_t table = TABLES + 0x80 * code,
		 instructions = cpython_world_code(code) + l->code_instructions;
	cpython_world_u64(&world, cpython_world_code(code) + more() + 40, table);
	cpython_world_u64(&world, table + more() + 16, n);
	bytes_put(table + more() + 32, entries, n);
	bytes_put(instructions + 2 * HANDLER, of_with[l->minor - 11U], 4);
}

/* A function is in the body of a with statement of the lock. */
static void enter(unsigned code)
{
	static const uint8_t table[] = {0x80 | 2, 4, HANDLER, DEPTH << 1 | 1};
	const struct sw_cpython_layout *l = &world.c.at.layout;
	uint64_t frame = cpython_world_frame(code),
		 slot = frame + l->frame_locals + 8 * (DEPTH - 1);
	if (l->minor >= 11) {
		table_put(code, table, sizeof(table));
	} else {
		const uint32_t blocks[] = {2,         122, 2,
					   DEPTH - 1, 122, l->minor == 10 ? HANDLER : 2 * HANDLER,
					   DEPTH};
		uint64_t at = frame + (l->minor == 10 ? 104 : 112);
		bytes_put(at, blocks, 4);
		bytes_put(at + 8, blocks + 1, sizeof(blocks) - 4);
		cpython_world_u64(&world, frame + 64, VALUES);
		world.data[WORLD_STRINGS + 0x700 + 32 + 2 * HANDLER - WORLD] =
			l->minor == 8 ? 81 : 49;
		slot = VALUES + 8 * (DEPTH - 1);
	}
	cpython_world_u64(&world, slot, l->minor >= 14 ? LOCK | 1 : EXIT);
}

/* The first thread executes leaf() for inner() for outer(); the second one waits for a lock. */
static void make(unsigned minor, bool without_gil)
{
	cpython_world_init_of(&world, minor, without_gil);
	assert_true(world.c.usable);
	bool parked = minor >= 14;
	cpython_world_u64(&world, LOCK + more() + 8, TYPE);
	cpython_world_u64(&world, LOCK + more() + 16, parked ? 3 : SEMAPHORE);
	cpython_world_u64(&world, LOCK + more() + 32, !parked);
	cpython_world_u64(&world, TYPE + more() + 24, TYPE_NAME);
	bytes_put(TYPE_NAME, "_thread.lock", sizeof("_thread.lock"));
	cpython_world_u64(&world, EXIT + more() + 8, EXIT_TYPE);
	cpython_world_u64(&world, EXIT + more() + 16, DEFINITION);
	cpython_world_u64(&world, EXIT + more() + 24, LOCK);
	cpython_world_u64(&world, EXIT_TYPE + more() + 24, EXIT_TYPE_NAME);
	bytes_put(EXIT_TYPE_NAME, "builtin_function_or_method",
		  sizeof("builtin_function_or_method"));
	cpython_world_u64(&world, DEFINITION, EXIT_NAME);
	bytes_put(EXIT_NAME, "__exit__", sizeof("__exit__"));
	for (unsigned i = 0; i < 3; i++) {
		look_up(i, NULL);
		if (minor >= 11)
			table_put(i, NULL, 0);
	}
	cpython_world_u64(&world, SP, LOCK);
	cpython_world_u64(&world, PARKED - 8, LOCK + more() + 16);
	for (size_t i = 0; i < 2; i++)
		threads[i] = (struct sw_thread){.tid = 100 + (pid_t) i,
						.captured = true,
						.captured_by = SW_CAPTURED_CORE,
						.syscall = SYS_futex,
						.regs.sp_avma = SP,
						.fs_base = i == 0 ? WORLD_ID : WAITER_ID};
	sw_regs_set(&threads[1].regs, SW_X86_64_RDI, parked ? PARKED : SEMAPHORE);
	world.snap.threads = threads;
	world.snap.n_threads = 2;
	assert_true(sw_cpython_threads_read(&world.c));
	assert_int_equal(world.c.n_threads, 1);
}

static bool waits(const struct sw_thread *thread)
{
	struct sw_cpython_waited waited;
	wait = (struct sw_runtime_wait){0};
	sw_cpython_bodies_destroy(world.c.bodies);
	world.c.bodies = NULL;
	if (!sw_cpython_waited_find(&world.c, thread, &waited))
		return false;
	assert_false(waited.again);
	return sw_cpython_lock_wait(&world.c, thread, &waited, &wait);
}

static pid_t owner(void)
{
	assert_true(waits(&threads[1]));
	assert_string_equal(wait.kind, "python_lock");
	assert_int_equal(wait.address_avma, LOCK);
	if (wait.owner_tid != 0)
		assert_string_equal(wait.trust, "with");
	else
		assert_null(wait.trust);
	return wait.owner_tid;
}

TEST(test_versions)
{
	for (unsigned minor = 8; minor <= 14; minor++)
		for (unsigned without = 0; without <= (minor >= 13); without++) {
			make(minor, without);
			assert_int_equal(owner(), 0);
			enter(OUTER);
			assert_int_equal(owner(), 100);
			enter(LEAF);
			assert_int_equal(owner(), 0); /* it was given back in one of the two */
			cpython_world_deinit(&world);
		}
}

/* A capture reads all that tells who has the lock for which a thread of the interpreter waits. */
TEST(test_touched)
{
	for (unsigned minor = 8; minor <= 14; minor++)
		for (unsigned without = 0; without <= (minor >= 13); without++) {
			make(minor, without);
			enter(OUTER);
			for (size_t i = 0; i < 2; i++)
				threads[i].captured_by = SW_CAPTURED_ITERATOR;
			sw_regs_set(&threads[0].regs, SW_X86_64_RDI,
				    minor >= 14 ? PARKED : SEMAPHORE);
			cpython_world_touch(&world); /* something runs */
			memset(world.was_read + (SP - WORLD), true, 160 * 8);
			assert_false(waits(&threads[0]));
			world.priv.hooks_whole = true;
			cpython_world_touch(&world);
			memset(world.was_read + (SP - WORLD), true, 160 * 8);
			assert_true(waits(&threads[0]));
			assert_string_equal(wait.kind, "python_lock");
			assert_int_equal(wait.owner_tid, 100); /* it has itself what it waits for */
			cpython_world_deinit(&world);
		}
}

static void move(uint64_t by_bytes)
{
	const struct sw_cpython_layout *l = &world.c.at.layout;
	cpython_world_u64(&world, cpython_world_frame(LEAF) + l->frame_instruction,
			  cpython_world_code(LEAF) + l->code_instructions + by_bytes);
}

/* Before the body, and behind it. */
TEST(test_body)
{
	static const struct {
		unsigned at;
		bool inside;
	} cases[] = {{2, false}, {4, true}, {10, true}, {12, false}, {2 * HANDLER, false}};
	for (unsigned minor = 11; minor <= 14; minor++) {
		make(minor, false);
		enter(LEAF);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			move(cases[i].at);
			assert_int_equal(owner(), cases[i].inside ? 100 : 0);
		}
		cpython_world_deinit(&world);
	}
	/* Blocks: of another kind, none, too many, another handler, below nothing. */
	static const struct {
		unsigned off;
		uint32_t value;
	} blocks[] = {{20, 257}, {0, 1}, {0, 21}, {24, AROUND}, {28, 0}};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		make(9, false);
		enter(LEAF);
		assert_int_equal(owner(), 100);
		bytes_put(cpython_world_frame(LEAF) + 112 + blocks[i].off, &blocks[i].value, 4);
		assert_int_equal(owner(), 0);
		cpython_world_deinit(&world);
	}
}

/* A handler within the body, whose own handler is the statement's; tables that are damaged. */
TEST(test_tables)
{
	static const uint8_t depth = DEPTH << 1 | 1;
	static const uint8_t around[] = {0x80 | 2, 4, AROUND, 9, 0x80 | AROUND, 1, HANDLER, depth};
	static const uint8_t another[] = {0x80 | 2, 4, AROUND, 9, 0x80 | AROUND, 1, 16, depth};
	static const uint8_t cycle[] = {0x80 | 2, 4, AROUND, 9, 0x80 | AROUND, 1, AROUND, depth};
	static const uint8_t endless[] = {0x80 | 2, 0x44, 0x40};
	static const uint8_t large[] = {0x80 | 2, 4, HANDLER, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1};
	static const uint8_t two_bytes[] = {0x80 | 0x40, 2,       0x40, 4,
					    0x40,        HANDLER, 0x40, DEPTH << 1};
	static const struct {
		const uint8_t *bytes;
		size_t n;
		bool inside;
	} cases[] = {
		{around, sizeof(around), true},      {another, sizeof(another), false},
		{cycle, sizeof(cycle), false},       {endless, sizeof(endless), false},
		{large, sizeof(large), false},       {two_bytes, sizeof(two_bytes), true},
		{around, sizeof(around) - 1, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(12, false);
		enter(LEAF);
		table_put(LEAF, cases[i].bytes, cases[i].n);
		assert_int_equal(owner(), cases[i].inside ? 100 : 0);
		cpython_world_deinit(&world);
	}
}

/* The lock is not locked; what is entered is another one; the exit is something else. */
TEST(test_no_owner)
{
	static const struct {
		uint64_t avma, value;
	} cases[] = {
		{LOCK + 32, 0},          {EXIT + 24, LOCK + 8}, {EXIT + 8, TYPE},
		{DEFINITION, TYPE_NAME}, {EXIT + 16, 0x10},     {EXIT_TYPE + 24, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(11, false);
		enter(LEAF);
		assert_int_equal(owner(), 100);
		cpython_world_u64(&world, cases[i].avma, cases[i].value);
		assert_int_equal(owner(), 0);
		cpython_world_deinit(&world);
	}
	make(14, false);
	enter(LEAF);
	cpython_world_u64(&world, LOCK + 16, 2);
	assert_int_equal(owner(), 0);
	threads[0].captured = false;
	cpython_world_u64(&world, LOCK + 16, 3);
	assert_int_equal(owner(), 0);
	cpython_world_deinit(&world);
}

/* A thread that has just begun is in the interpreter's list, and has no id yet. */
TEST(test_thread_without_id)
{
	make(11, false);
	enter(LEAF);
	struct sw_cpython_thread *both = calloc(2, sizeof(*both));
	assert_non_null(both);
	both[0] = both[1] = world.c.threads[0];
	both[0].id = 0;
	free(world.c.threads);
	world.c.threads = both;
	world.c.n_threads = 2;
	assert_int_equal(owner(), 100);
	cpython_world_deinit(&world);
}

static void file_is(const char *file)
{
	uint64_t avma = WORLD_STRINGS + 0x400;
	cpython_world_u64(&world, avma + 16, strlen(file));
	bytes_put(avma + world.c.at.layout.string_ascii, file, strlen(file));
}

/* The function that runs in the body may have given the lock back. */
TEST(test_given_back)
{
	static const struct {
		unsigned entered, looks_up;
		const char *name;
		bool kept;
	} cases[] = {
		{OUTER, LEAF, "release", false},       {LEAF, LEAF, "release", false},
		{LEAF, OUTER, "release", true},        {OUTER, LEAF, "released", true},
		{OUTER, LEAF, "__exit__", false},      {OUTER, LEAF, "release_lock", false},
		{OUTER, LEAF, "_release_save", false}, {OUTER, LEAF, "acquire", true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(12, false);
		enter(cases[i].entered);
		look_up(cases[i].looks_up, cases[i].name);
		assert_int_equal(owner(), cases[i].kept ? 100 : 0);
		file_is("python3.9/threading.py");
		assert_int_equal(owner(), 100); /* none is a condition that waits */
		file_is("/Lib/logging/__init__.py");
		assert_int_equal(owner(), 100);
		file_is("shop/threading.py"); /* of that name, but not the library's */
		assert_int_equal(owner(), cases[i].kept ? 100 : 0);
		cpython_world_u64(&world, cpython_world_code(LEAF) + 32, 0x18);
		assert_int_equal(owner(),
				 cases[i].entered == OUTER || cases[i].entered == LEAF ? 0 : 100);
		cpython_world_deinit(&world);
	}
}

static void rename_leaf(const char *name)
{
	uint64_t avma = WORLD_STRINGS; /* leaf's */
	cpython_world_u64(&world, avma + 16, strlen(name));
	bytes_put(avma + world.c.at.layout.string_ascii, name, strlen(name));
}

/* Conditions wait for locks of their own, and so does who waits for a thread's end; they give back theirs. */
TEST(test_library)
{
	make(11, false);
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, SEMAPHORE);
	look_up(LEAF, "_release_save");
	rename_leaf("Condition.wait");
	assert_true(waits(&threads[0])); /* somebody's own */
	enter(OUTER);
	file_is("python3/threading.py");
	assert_false(waits(&threads[0]));
	assert_int_equal(owner(), 0); /* which lock the condition has cannot be read */
	rename_leaf("Thread._wait_for_tstate_lock");
	assert_true(waits(&threads[0]));
	assert_string_equal(wait.kind, "thread");
	assert_int_equal(wait.owner_tid, 0); /* there is no Thread */
	assert_int_equal(owner(), 100);
	/* A function of a program with that name waits for a lock, of which its owner is known. */
	static const char *const files[] = {"threading.py",         "shop/threading.py",
					    "/python/threading.py", "mypython3/threading.py",
					    "/threading.py",        "3/mythreading.py"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		rename_leaf("Pool.join");
		file_is(files[i]);
		assert_true(waits(&threads[0]));
		assert_string_equal(wait.kind, "python_lock");
	}
	file_is("python3/threading.py");
	rename_leaf("Event.wait");
	look_up(LEAF, "_cond");
	assert_true(waits(&threads[0]));
	assert_int_equal(wait.owner_tid, 100); /* it has itself what it waits for */
	cpython_world_deinit(&world);
}
