/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython: chains, pairing with native frames, names and lines over made structures. */
#include "cpython_world.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/functions.h"
#include "runtimes/cpython/structures/lines.h"
#include "runtimes/cpython/names.h"
#include "test.h"

static struct cpython_world world;

/* The frames that frames() adds, as "name:line ...". */
struct collected {
	struct sw_frame_sink sink;
	char text[256];
};

static bool collect(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct collected *c = (struct collected *) sink;
	struct sw_frame frame = {.pc_avma = address_avma, .cookie = cookie};
	static struct sw_description d;
	size_t n = strlen(c->text);
	memset(&d, 0, sizeof(d));
	if (!sw_cpython_names(&world.c, &frame, &d))
		(void) snprintf(d.function, sizeof(d.function), "?");
	else
		assert_string_equal(d.file, "/srv/app.py");
	(void) snprintf(c->text + n, sizeof(c->text) - n, "%s:%u ", d.function, d.line); /* fits */
	return true;
}

/* The functions of native_frame(), where the test says that it has a name. */
static const struct sw_cpython_functions loop = {.n = 1,
						 .all = {{0x1000, 0x2000, SW_CPYTHON_LOOP}}};

static const struct sw_thread thread = {.tid = 1, .fs_base = WORLD_ID};

static bool native_frame_of(const struct sw_thread *whose, uint64_t sp, uint64_t caller_sp,
			    struct collected *ret)
{
	struct sw_cursor c = {.snap = &world.snap,
			      .thread = whose,
			      .memory = world.c.memory,
			      .place = &world.place,
			      .regs = whose->regs,
			      .lookup_avma = 0x1234};
	c.regs.sp_avma = sp;
	*ret = (struct collected){.sink.add = collect};
	return sw_cpython_frames(&world.c, &c, caller_sp, &ret->sink);
}

static bool native_frame(uint64_t sp, uint64_t caller_sp, struct collected *ret)
{
	return native_frame_of(&thread, sp, caller_sp, ret);
}

static void world_begin(unsigned minor, bool without_gil)
{
	cpython_world_init_of(&world, minor, without_gil);
	assert_true(world.c.usable);
	assert_true(sw_cpython_threads_read(&world.c));
	assert_int_equal(world.c.n_threads, 1);
}

static void begin(unsigned minor)
{
	world_begin(minor, false);
}

/* Each native frame has the functions of its own activation, in their order; others have none. */
TEST(test_pairing)
{
	for (unsigned minor = 11; minor <= 14; minor++) {
		struct collected got;
		begin(minor);
		assert_false(native_frame(WORLD_STACK - 0x80, WORLD_STACK, &got)); /* a leaf in C */
		assert_string_equal(got.text, "");
		assert_true(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
		assert_string_equal(got.text, "leaf:12 inner:12 ");
		/* without a symbol, between two activations: the interpreter's own */
		assert_true(native_frame(WORLD_STACK + 0x100, WORLD_STACK + 0x100, &got));
		assert_string_equal(got.text, "");
		assert_true(native_frame(WORLD_STACK + 0x100, WORLD_STACK + 0x200, &got));
		assert_string_equal(got.text, "outer:12 ");
		/* Another thread, which is none of Python's. */
		const struct sw_thread other = {.tid = 2, .fs_base = WORLD_ID + 0x1000};
		(void) native_frame_of(&other, WORLD_STACK, WORLD_STACK + 0x100, &got);
		assert_string_equal(got.text, "");
		cpython_world_deinit(&world);
	}
}

/* Nothing is shown of an activation whose frames do not lead to its end, or to what comes after it. */
TEST(test_broken_chain)
{
	struct collected got;
	for (unsigned minor = 11; minor <= 14; minor++) {
		begin(minor);
		cpython_world_u64(&world, cpython_world_frame(0) + world.c.at.layout.frame_previous,
				  0);
		assert_false(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
		assert_string_equal(got.text, "");
		bool cframes = world.c.at.layout.pairing == SW_CPYTHON_BY_CFRAME;
		assert_int_equal(native_frame(WORLD_STACK + 0x100, WORLD_STACK + 0x200, &got),
				 cframes);
		assert_string_equal(got.text, cframes ? "outer:12 " : "");
		cpython_world_deinit(&world);
	}
}

/*
 * An activation that is linked and does not lead to the next one yet: what it leads to was left there. The
 * next one is at the same depth of its native frame.
 */
TEST(test_entered)
{
	struct collected got;
	for (unsigned minor = 11; minor <= 12; minor++)
		for (uint64_t left = 0; left <= WORLD_STACK + 0x80; left += WORLD_STACK + 0x80) {
			begin(minor);
			world.c.functions = &loop;
			cpython_world_u64(&world,
					  WORLD_STACK + 0x10 + world.c.at.layout.cframe_previous,
					  left);
			assert_false(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
			assert_string_equal(got.text, "");
			assert_true(native_frame(WORLD_STACK + 0x100, WORLD_STACK + 0x200, &got));
			assert_string_equal(got.text, "outer:12 ");
			assert_false(native_frame(WORLD_STACK + 0x200, WORLD_STACK + 0x300, &got));
			cpython_world_deinit(&world);
		}
}

/*
 * 3.8 to 3.10: an activation that has left its frame, or has not linked it yet, has the address of
 * its caller's in it, too; that is of the next one. An activation that has nothing but registers
 * saved has no frame.
 */
TEST(test_left)
{
	struct collected got;
	for (unsigned minor = 8; minor <= 10; minor++)
		for (unsigned references = 0; references <= 1; references++) {
			struct sw_thread leaves = {.tid = 1, .fs_base = WORLD_ID};
			uint64_t leaf = cpython_world_frame(0), outer = cpython_world_frame(2);
			begin(minor);
			world.c.functions = &loop;
			cpython_world_u64(&world, WORLD_THREAD + world.c.at.layout.thread_frame,
					  outer);
			cpython_world_u64(&world, WORLD_STACK + 0x20, outer);
			cpython_world_u64(&world, WORLD_STACK + 0x120, outer);
			cpython_world_u64(&world, leaf, references);
			sw_regs_set(&leaves.regs, 3, leaf);
			sw_regs_set(&leaves.regs, 12, outer);
			assert_false(native_frame_of(&leaves, WORLD_STACK - 8, WORLD_STACK, &got));
			world.c.thread = NULL;
			/* A frame that is not referred to is free: this is the frame's own
			 * activation. */
			assert_int_equal(native_frame_of(&leaves, WORLD_STACK, WORLD_STACK + 0x100,
							 &got),
					 references == 0);
			assert_string_equal(got.text, references == 0 ? "outer:12 " : "");
			assert_int_equal(native_frame_of(&leaves, WORLD_STACK + 0x100,
							 WORLD_STACK + 0x200, &got),
					 references == 1);
			assert_string_equal(got.text, references == 1 ? "outer:12 " : "");
			cpython_world_deinit(&world);
		}
}

/* A generator, or a function that has just been called, which is not linked to its caller: registers have it. */
static void unlinked(unsigned minor, uint8_t owner)
{
	struct collected got;
	struct sw_thread resumes = {.tid = 1, .fs_base = WORLD_ID};
	begin(minor);
	const struct sw_cpython_layout *l = &world.c.at.layout;
	cpython_world_u64(&world, cpython_world_frame(0) + l->frame_previous, 0);
	world.data[cpython_world_frame(0) + l->frame_owner - WORLD] = owner;
	sw_regs_set(&resumes.regs, 6, cpython_world_frame(0));
	sw_regs_set(&resumes.regs, 8, WORLD_STACK + 0x40); /* the activation's own */
	assert_false(native_frame_of(&resumes, WORLD_STACK, WORLD_STACK + 0x100, &got));
	sw_regs_set(&resumes.regs, 3, cpython_world_frame(1));
	world.c.thread = NULL;
	assert_true(native_frame_of(&resumes, WORLD_STACK, WORLD_STACK + 0x100, &got));
	assert_string_equal(got.text, "inner:12 ");
	assert_true(native_frame_of(&resumes, WORLD_STACK + 0x100, WORLD_STACK + 0x200, &got));
	assert_string_equal(got.text, "outer:12 ");
	cpython_world_deinit(&world);
}

TEST(test_unlinked)
{
	for (unsigned minor = 12; minor <= 14; minor++)
		for (uint8_t owner = 0; owner <= 1; owner++) /* a thread's stack, a generator */
			unlinked(minor, owner);
}

/* Give a frame of the code so many words in the data stack. */
static void frame_words(unsigned code, uint32_t words)
{
	const struct sw_cpython_layout *l = &world.c.at.layout;
	uint8_t *data = world.data + cpython_world_code(code) - WORLD;
	uint32_t part = words - (l->minor == 11 ? 9 : 0), stack = 2;
	if (l->minor == 11) {
		part -= stack;
		memcpy(data + l->code_stack_words, &stack, sizeof(stack));
	}
	memcpy(data + l->code_frame_words, &part, sizeof(part));
}

/* inner() has just called leaf(). */
struct called {
	uint64_t leaf, previous; /* where its frame is, and what that leads to */
	uint64_t caller;         /* in a register */
	bool found;
};

enum {
	CALLED = WORLD_FRAMES + 0x180, /* a frame at the end of inner()'s, which is that long */
	UNUSED = WORLD_FRAMES +
		 0x200,        /* one that leads where inner() does, and that does not end there */
	CHUNK = WORLD + 0xf80, /* with inner() */
	NEXT_CHUNK = WORLD_OBJECTS,
	CHUNK_DATA = 24,
};

static void called_put(const struct called *called)
{
	const struct sw_cpython_layout *l = &world.c.at.layout;
	uint64_t code = cpython_world_code(0);
	frame_words(1, (CALLED - WORLD_FRAMES - 0x80) / 8);
	frame_words(2, 16);
	world.data[code + l->code_traceable - WORLD] = 1;
	cpython_world_u64(&world, called->leaf + l->frame_previous, called->previous);
	cpython_world_u64(&world, called->leaf + l->frame_code, code);
	cpython_world_u64(&world, called->leaf + l->frame_instruction,
			  code + l->code_instructions - 2);
	cpython_world_u64(&world, WORLD_STACK + 0x10 + l->cframe_frame, called->leaf);
	memcpy(world.data + UNUSED - WORLD, world.data + cpython_world_frame(1) - WORLD, 0x80);
	cpython_world_u64(&world, NEXT_CHUNK, CHUNK);
	cpython_world_u64(&world, CHUNK + 16, (CALLED - CHUNK - CHUNK_DATA) / 8);
}

static void called_is(unsigned minor, const struct called *called)
{
	struct collected got;
	struct sw_thread calls = {.tid = 1, .fs_base = WORLD_ID};
	begin(minor);
	world.c.functions = &loop;
	called_put(called);
	sw_regs_set(&calls.regs, 3, called->caller);
	sw_regs_set(&calls.regs, 6, called->leaf);
	sw_regs_set(&calls.regs, 12, cpython_world_frame(2)); /* of another activation */
	assert_int_equal(native_frame_of(&calls, WORLD_STACK, WORLD_STACK + 0x100, &got),
			 called->found);
	assert_string_equal(got.text, called->found ? "inner:12 " : "");
	assert_int_equal(got.sink.may_miss, !called->found);
	assert_int_equal(got.sink.without, !called->found);
	assert_true(native_frame_of(&calls, WORLD_STACK + 0x100, WORLD_STACK + 0x200, &got));
	assert_string_equal(got.text, "outer:12 ");
	assert_false(got.sink.may_miss || got.sink.without);
	cpython_world_deinit(&world);
}

/* A function that has just been called leads to what a frame before it left there: its caller ends where it lies. */
TEST(test_called)
{
	uint64_t inner = cpython_world_frame(1);
	const struct called cases[] = {
		{CALLED, 0, inner, true},
		{CALLED, WORLD + WORLD_BYTES, inner, true},
		{CALLED, UNUSED, inner, true}, /* though all that leads to is whole */
		{CALLED, inner, inner, true},
		{CALLED, inner, 0, true}, /* it has been linked */
		{CALLED, UNUSED, 0, false},
		{CALLED, 0, UNUSED, false},
		{CALLED, 0, 0, false},
		{CALLED + 8, inner, inner, false},
		{NEXT_CHUNK + CHUNK_DATA, 0, inner, true},
		{NEXT_CHUNK + CHUNK_DATA, 0, UNUSED, false},
		{NEXT_CHUNK + CHUNK_DATA + 8, 0, inner, false},
	};
	for (unsigned minor = 11; minor <= 12; minor++)
		for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
			called_is(minor, &cases[i]);
}

/* A frame that the activation begins with needs no proof: it is linked first. */
TEST(test_called_first)
{
	struct collected got;
	for (unsigned minor = 11; minor <= 12; minor++) {
		begin(minor);
		world.c.functions = &loop;
		const struct sw_cpython_layout *l = &world.c.at.layout;
		uint64_t inner = cpython_world_frame(1);
		cpython_world_u64(&world, WORLD_STACK + 0x10 + l->cframe_frame, inner);
		cpython_world_u64(&world, inner + l->frame_instruction,
				  cpython_world_code(1) + l->code_instructions - 2);
		world.data[cpython_world_code(1) + l->code_traceable - WORLD] = 1;
		assert_true(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
		assert_string_equal(got.text, "");
		assert_false(got.sink.may_miss || got.sink.without);
		cpython_world_deinit(&world);
	}
}

/* A frame that leads to itself ends at the limit. */
TEST(test_cycle)
{
	struct collected got;
	for (unsigned minor = 8; minor <= 14; minor++) {
		begin(minor);
		cpython_world_u64(&world, cpython_world_frame(0) + world.c.at.layout.frame_previous,
				  cpython_world_frame(0));
		(void) native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got);
		assert_true(world.c.chain.n_frames <= SW_CPYTHON_WALK_FRAMES_MAX);
		assert_int_equal(sw_snapshot_limit(&world.snap, 0) != NULL, world.c.chain.limited);
		assert_true(world.c.chain.limited || minor == 8);
		assert_string_equal(got.text, "");
		cpython_world_deinit(&world);
	}
}

/* Memory that is no code object, or was freed, gives no name, and its activation no frames. */
TEST(test_code_object)
{
	struct sw_cpython_code code;
	for (unsigned minor = 8; minor <= 14; minor++) {
		begin(minor);
		uint64_t avma = cpython_world_code(0);
		assert_true(sw_cpython_code_read(&world.c.at, world.c.memory, avma, &code));
		assert_int_equal(code.first_line, 10);
		cpython_world_u64(&world, avma, 0x7f0012345678); /* the next free one */
		assert_false(sw_cpython_code_read(&world.c.at, world.c.memory, avma, &code));
		cpython_world_u64(&world, avma, 1);
		cpython_world_u64(&world, avma + 8, WORLD_CODE_TYPE + 8);
		assert_false(sw_cpython_code_read(&world.c.at, world.c.memory, avma, &code));
		assert_false(sw_cpython_code_read(&world.c.at, world.c.memory, avma + 4, &code));
		assert_false(sw_cpython_code_read(&world.c.at, world.c.memory, 0, &code));
		if (minor > 10) {
			struct collected got;
			assert_false(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
			assert_string_equal(got.text, "");
		}
		cpython_world_deinit(&world);
	}
}

/* A function that has not begun is not counted by the interpreter either; a generator is. */
TEST(test_not_begun)
{
	struct collected got;
	begin(12);
	const struct sw_cpython_layout *l = &world.c.at.layout;
	world.data[cpython_world_code(0) + l->code_traceable - WORLD] = WORLD_OFFSET / 2 + 1;
	assert_true(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
	assert_string_equal(got.text, "inner:12 ");
	world.data[cpython_world_frame(0) + l->frame_owner - WORLD] = 1;
	world.c.thread = NULL;
	assert_true(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
	assert_string_equal(got.text, "leaf:12 inner:12 ");
	cpython_world_deinit(&world);
}

TEST(test_offsets_refused)
{
	struct sw_cpython_layout layout;
	const char *missing;
	begin(13);
	struct sw_memory m = world.c.memory;
	assert_false(sw_cpython_layout_read(m, WORLD_RUNTIME, 14, &layout, &missing));
	assert_string_equal(missing, "its debug offsets");
	for (uint64_t word = 1; word <= 2; word++) { /* without the GIL the class is elsewhere */
		cpython_world_u64(&world, WORLD_RUNTIME + 16, word);
		assert_false(sw_cpython_layout_read(m, WORLD_RUNTIME, 13, &layout, &missing));
		assert_string_equal(missing, "its debug offsets");
	}
	cpython_world_u64(&world, WORLD_RUNTIME + 16, 0);
	assert_true(sw_cpython_layout_read(m, WORLD_RUNTIME, 13, &layout, &missing));
	world.data[WORLD_RUNTIME - WORLD] = 'X'; /* the cookie is another one */
	assert_false(sw_cpython_layout_read(m, WORLD_RUNTIME, 13, &layout, &missing));
	world.data[WORLD_RUNTIME - WORLD] = 'x';
	cpython_world_u64(&world, WORLD_RUNTIME + 8 * 29, 1 << 20); /* frame.previous */
	assert_false(sw_cpython_layout_read(m, WORLD_RUNTIME, 13, &layout, &missing));
	assert_false(sw_cpython_layout_read(m, WORLD + WORLD_BYTES, 13, &layout, &missing));
	assert_false(sw_cpython_layout_of(7, &layout));
	cpython_world_deinit(&world);
}

/* Heads of objects are longer, and inner() executes a copy of its code. */
TEST(test_without_gil)
{
	struct collected got;
	for (unsigned minor = 13; minor <= 14; minor++) {
		struct sw_thread_info note;
		world_begin(minor, true);
		const struct sw_cpython_layout *l = &world.c.at.layout;
		cpython_world_name_thread(&world);
		assert_int_equal(l->head_more, 16);
		assert_int_equal(l->code_traceable, minor == 13 ? 200 : 208);
		assert_true(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
		assert_string_equal(got.text, "leaf:12 inner:12 ");
		assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
		assert_string_equal(note.name, "worker-1");
		if (minor == 14) { /* of a copy that is not there nothing is said */
			world.data[cpython_world_frame(1) + l->frame_copy - WORLD] = 2;
			world.c.thread = NULL;
			assert_false(native_frame(WORLD_STACK, WORLD_STACK + 0x100, &got));
		}
		cpython_world_deinit(&world);
	}
}

static void string_is(const void *characters, size_t n, unsigned width, bool ascii,
		      const char *wanted)
{
	uint64_t avma = WORLD_STRINGS;
	char text[16];
	cpython_world_u64(&world, avma + 16, n);
	cpython_world_u64(&world, avma + 32, width << 2 | 1 << 5 | (unsigned) ascii << 6);
	memcpy(world.data + (avma - WORLD) +
		       (ascii ? world.c.at.layout.string_ascii : world.c.at.layout.string_other),
	       characters, n * width);
	bool read = sw_cpython_string(&world.c.at, world.c.memory, avma, text, sizeof(text));
	assert_int_equal(read, wanted != NULL);
	if (wanted != NULL)
		assert_string_equal(text, wanted);
}

TEST(test_strings)
{
	static const uint16_t two[] = {0x20ac, 'x'};
	static const uint32_t four[] = {0x1f600, 'y'}, wrong[] = {0x110000};
	begin(11);
	string_is("name", 4, 1, true, "name");
	string_is("\xe4h", 2, 1, false, "\xc3\xa4h");
	string_is(two, 2, 2, false, "\xe2\x82\xacx");
	string_is(four, 2, 4, false, "\xf0\x9f\x98\x80y");
	string_is("0123456789abcdefgh", 18, 1, true, "0123456789abcde"); /* cut to fit */
	string_is("0123456789abcd\xe4", 15, 1, false, "0123456789abcd"); /* at a character */
	string_is(wrong, 1, 4, false, NULL);
	string_is("xyz", 1, 3, true, NULL);
	string_is("", 0, 1, true, NULL);
	cpython_world_deinit(&world);
}

#define LINE(minor, table, offset) \
	sw_cpython_line(minor, (struct sw_bytes){table, sizeof(table)}, 100, offset)

TEST(test_lines)
{
	/* 3.8: Objects/lnotab_notes.txt: the pairs (0, 1), (6, 1), (44, 5), (255, 0), (45, -3) */
	static const uint8_t increments[] = {0, 1, 6, 1, 44, 5, 255, 0, 45, 0xfd};
	assert_int_equal(LINE(8, increments, -1), 100);
	assert_int_equal(LINE(8, increments, 0), 101);
	assert_int_equal(LINE(9, increments, 5), 101);
	assert_int_equal(LINE(9, increments, 6), 102);
	assert_int_equal(LINE(9, increments, 50), 107);
	assert_int_equal(LINE(9, increments, 349), 107);
	assert_int_equal(LINE(9, increments, 350), 104);
	static const uint8_t ranges[] = {6, 1, 4, 0x80, 4, 0xff};
	assert_int_equal(LINE(10, ranges, 5), 101);
	assert_int_equal(LINE(10, ranges, 6), 0); /* has none */
	assert_int_equal(LINE(10, ranges, 12), 100);
	assert_int_equal(LINE(10, ranges, 14), 0);
	static const uint8_t locations[] = {
		0x80 | 13 << 3,     2,          /* one unit, line +1 */
		0x80 | 11 << 3 | 1, 1, 2,       /* two units, line +1 */
		0x80 | 15 << 3,                 /* one unit, none */
		0x80 | 14 << 3,     3, 0, 1, 2, /* one unit, line -1 */
		0x80 | 2 << 3,      7,          /* one unit, the same line */
	};
	assert_int_equal(LINE(11, locations, 0), 101);
	assert_int_equal(LINE(11, locations, 4), 102);
	assert_int_equal(LINE(12, locations, 6), 0);
	assert_int_equal(LINE(12, locations, 8), 101);
	assert_int_equal(LINE(13, locations, 10), 101);
	assert_int_equal(LINE(13, locations, 12), 0);
	static const uint8_t malformed[] = {0x12, 0x80 | 13 << 3, 0x7f, 0x7f};
	assert_int_equal(LINE(13, malformed, 0), 0);
}

TEST(test_functions)
{
	static const struct {
		const char *name;
		enum sw_cpython_function what;
	} cases[] = {
		{"_PyEval_EvalFrameDefault", SW_CPYTHON_LOOP},
		{"_PyEval_EvalFrameDefault.cold", SW_CPYTHON_LOOP},
		{"_TAIL_CALL_CALL", SW_CPYTHON_LOOP},
		{"method_vectorcall", SW_CPYTHON_GLUE},
		{"pymain_run_python.constprop.0", SW_CPYTHON_GLUE},
		{"_PyObject_VectorcallTstate.lto_priv.7", SW_CPYTHON_GLUE},
		{"list_sort_impl", SW_CPYTHON_OTHER},
		{"take_gil", SW_CPYTHON_OTHER},
		{"_PyEval_Vectors", SW_CPYTHON_OTHER},
		{"call", SW_CPYTHON_OTHER},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		assert_int_equal(sw_cpython_function_named(cases[i].name), cases[i].what);
}

/* A thread is known by its own pointer; the holder of the lock is said. */
TEST(test_thread)
{
	struct sw_thread_info note;
	begin(11);
	const struct sw_cpython_layout *l = &world.c.at.layout;
	cpython_world_u64(&world, WORLD_THREAD + l->thread_number, 7);
	assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
	assert_string_equal(note.runtime, "cpython");
	assert_int_equal(note.id, 7);
	assert_null(note.mode);
	cpython_world_u64(&world, WORLD_RUNTIME + l->gil_locked, 1);
	cpython_world_u64(&world, WORLD_RUNTIME + l->gil_holder, WORLD_THREAD);
	assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
	assert_string_equal(note.mode, "holds_gil");
	assert_false(sw_cpython_thread_note(&world.c, &(struct sw_thread){.fs_base = 1}, &note));
	cpython_world_deinit(&world);
}

/* threading._active has the name; what is not as it must be has none. */
TEST(test_thread_name)
{
	struct sw_thread_info note;
	for (unsigned minor = 8; minor <= 14; minor++) {
		begin(minor);
		assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
		assert_string_equal(note.name, "");
		cpython_world_name_thread(&world);
		world.c.active_interp_avma = 0;
		assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
		assert_string_equal(note.name, "worker-1");
		cpython_world_u64(&world, WORLD_OBJECTS + 0x400 + 24, 1); /* another thread's id */
		assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
		assert_string_equal(note.name, "worker-1"); /* they are read once for all threads */
		world.c.active_interp_avma = 0;
		assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
		assert_string_equal(note.name, "");
		cpython_world_deinit(&world);
	}
}

/* A dictionary that says more entries than there may be, and keys that lead to nowhere, have nothing. */
TEST(test_hostile_objects)
{
	struct sw_thread_info note;
	for (unsigned minor = 8; minor <= 13; minor++)
		for (uint64_t at = 0; at < 0x1000; at += 8) {
			begin(minor);
			cpython_world_name_thread(&world);
			cpython_world_u64(&world, WORLD_OBJECTS + at,
					  at % 16 ? UINT64_MAX : 1 << 30);
			assert_true(sw_cpython_thread_note(&world.c, &thread, &note));
			if (note.name[0] != '\0')
				assert_string_equal(note.name, "worker-1");
			cpython_world_deinit(&world);
		}
}
