/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/go: tables, names, and the way from stack to stack, over a made program. */
#include "go_world.h"
#include "arch/arch.h"
#include "runtimes/go/find.h"
#include "runtimes/go/image.h"
#include "runtimes/go/names.h"
#include "runtimes/go/runtime.h"
#include "runtimes/go/step.h"
#include "runtimes/go/window.h"
#include "test.h"

static struct go_world world;

static int setup(void **state)
{
	go_world_init(&world, true);
	return 0;
}

static struct sw_go_image image_of(const struct go_world *w, bool expected)
{
	struct sw_elf elf;
	struct sw_go_image image;
	assert_true(sw_elf_init(&elf, (struct sw_bytes){w->image, sizeof(w->image)}));
	assert_int_equal(sw_go_image_read(&elf, &image), expected);
	return image;
}

/* A program without the section of its version: the text to which a variable leads, with the length that this says. */
TEST(test_version_searched)
{
	enum { OTHER = GO_RODATA + 0x1c00, TEXT = GO_RODATA + 0x1d00, VARIABLE = GO_DATA + 0x300 };
	static const char other[] = "go1.11 and later",
			  far[] = "go1.26-with-more-behind-it-than-there-"
				  "is-space-for-in-what-is-kept";
	static const struct {
		const char *text;
		uint64_t length;
		const char *version;
	} cases[] = {
		{"go1.26.1", 8, "1.26.1"},
		{"go1.26.1", 7, ""}, /* of another variable */
		{"go1.x", 5, ""},
		{far, sizeof(far) - 1, ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct go_world w;
		go_world_init(&w, true);
		memcpy(w.image + (OTHER - GO_BASE), other, sizeof(other));
		memcpy(w.image + (TEXT - GO_BASE), cases[i].text, strlen(cases[i].text));
		go_world_module(&w, VARIABLE - GO_MODULE, TEXT);
		go_world_module(&w, VARIABLE - GO_MODULE + 8, cases[i].length);
		assert_string_equal(image_of(&w, true).version, cases[i].version);
	}
}

/* ---- tables ------------------------------------------------------------------------------------ */

static void check_table(bool v118)
{
	static struct go_world w;
	struct sw_go_func f;
	int32_t value;
	go_world_init(&w, v118);
	struct sw_go_image image = image_of(&w, true);
	assert_int_equal(image.text_svma, GO_TEXT);
	assert_int_equal(image.end_svma, GO_TEXT + GO_N_FUNCS * GO_FUNC_BYTES);
	assert_int_equal(image.gofunc_svma, GO_TREE);
	assert_int_equal(image.tls, SW_GO_TLS_OFFSET);
	assert_int_equal(image.tls_value, -8);
	assert_int_equal(image.gsignal_off, 80);
	assert_int_equal(image.vdso_off, 8 * GO_M_VDSO_SP);
	assert_true(sw_go_image_func(&image, go_world_pc(GO_OUTER, 0), &f));
	assert_string_equal(f.name, "main.outer");
	assert_int_equal(f.start_off, GO_OUTER * GO_FUNC_BYTES);
	assert_true(sw_go_image_func(&image, go_world_pc(GO_OUTER, 0) - 1, &f));
	assert_string_equal(f.name, "main.leaf");
	assert_false(sw_go_image_func(&image, GO_TEXT - 1, &f));
	assert_false(sw_go_image_func(&image, image.end_svma, &f));
	assert_true(sw_go_image_func(&image, go_world_pc(GO_GOEXIT, 1), &f));
	assert_int_equal(f.flags, SW_GO_FUNC_TOP);
	assert_true(sw_go_image_func(&image, go_world_pc(GO_OUTER, 3), &f));
	static const struct {
		unsigned offset;
		int32_t delta;
	} deltas[] = {{0, 0}, {3, 0}, {4, GO_FRAME}, {0x3b, GO_FRAME}, {0x3c, 0}};
	for (size_t i = 0; i < 5; i++) {
		assert_true(sw_go_value(&image.table, &f, f.sp_table,
					f.start_off + deltas[i].offset, &value));
		assert_int_equal(value, deltas[i].delta);
	}
	assert_false(sw_go_value(&image.table, &f, f.sp_table, f.end_off, &value));
	assert_false(sw_go_value(&image.table, &f, 0, f.start_off, &value));
}

TEST(test_heap)
{
	struct sw_map map = {.start_avma = UINT64_C(0x3239dc000000),
			     .end_avma = UINT64_C(0x3239dc400000),
			     .prot = SW_MAP_READ | SW_MAP_WRITE,
			     .path = ""};
	assert_true(sw_go_may_be_heap(&map));
	map.end_avma = map.start_avma + 0x21000; /* an arena of malloc() */
	assert_false(sw_go_may_be_heap(&map));
	map.start_avma += 0x200000;
	map.end_avma = map.start_avma + 0x400000;
	assert_false(sw_go_may_be_heap(&map));
	map.start_avma -= 0x200000;
	map.end_avma -= 0x200000;
	map.path = "[heap]";
	assert_false(sw_go_may_be_heap(&map));
}

/* Since 1.27 what funcdata is counted from is in the table, and a small number where it was. */
TEST(test_funcdata_127)
{
	static struct go_world w;
	go_world_init(&w, false);
	go_world_module(&w, 320, 0x40);
	go_world_module(&w, 344, GO_TREE);
	go_world_module(&w, 352, GO_TREE + 0x100);
	assert_int_equal(image_of(&w, true).gofunc_svma, GO_TREE);
	/* An older one: a list with a capacity, and others behind it. */
	go_world_module(&w, 320, GO_TREE + 8);
	go_world_module(&w, 344, 1);
	assert_int_equal(image_of(&w, true).gofunc_svma, GO_TREE + 8);
	go_world_module(&w, 344, GO_TREE);
	go_world_module(&w, 352, UINT64_MAX);
	assert_int_equal(image_of(&w, true).gofunc_svma, GO_TREE + 8);
}

TEST_WITH(test_table, setup, NULL)
{
	check_table(true);
	check_table(false);
}

/* A table that is cut short is no table, wherever that is. */
TEST_WITH(test_table_cut, setup, NULL)
{
	const uint8_t *bytes = world.image + (GO_TABLE - GO_BASE);
	struct sw_go_pclntab table;
	struct sw_go_func f;
	assert_true(sw_go_pclntab_open((struct sw_bytes){bytes, 0x1000}, &table));
	assert_false(sw_go_pclntab_open((struct sw_bytes){bytes, 71}, &table));
	assert_false(sw_go_pclntab_open((struct sw_bytes){bytes, 0x400}, &table));
	/* Whole up to the first record. */
	assert_true(sw_go_pclntab_open((struct sw_bytes){bytes, 0x500}, &table));
	assert_false(sw_go_func_at(&table, 0, &f));
	world.image[GO_TABLE - GO_BASE] = 0xfb; /* of 1.2 */
	(void) image_of(&world, false);
}

TEST_WITH(test_tls, setup, NULL)
{
	struct sw_go_image image;
	/* mov $-16, %rcx; mov %fs:(%rcx), %rbx */
	go_world_code(&world, GO_MORESTACK, 0, "\x48\xc7\xc1\xf0\xff\xff\xff\x64\x48\x8b\x19", 11);
	image = image_of(&world, true);
	assert_int_equal(image.tls, SW_GO_TLS_OFFSET);
	assert_int_equal(image.tls_value, -16);
	/* mov 0x100(%rip), %rcx; mov %fs:(%rcx), %rbx */
	go_world_code(&world, GO_MORESTACK, 0, "\x48\x8b\x0d\x00\x01\x00\x00\x64\x48\x8b\x19", 11);
	image = image_of(&world, true);
	assert_int_equal(image.tls, SW_GO_TLS_SLOT);
	assert_int_equal(image.tls_value, go_world_pc(GO_MORESTACK, 7 + 0x100));
	go_world_code(&world, GO_MORESTACK, 0, "\x90\x90\x90", 3);
	image = image_of(&world, true);
	assert_int_equal(image.tls, SW_GO_TLS_NONE);
}

/* ---- walks ------------------------------------------------------------------------------------- */

/* The walk, as offsets of functions: {function, offset}, which end it as expected. */
struct expected {
	enum go_world_func func;
	unsigned offset;
};

/* Whether a frame of the last walk says that others may be missing. */
static bool missed;

#define EXPECT(end, ...)                                    \
	expect(end, (const struct expected[]){__VA_ARGS__}, \
	       sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void expect(enum sw_end end, const struct expected *frames, size_t n)
{
	struct sw_snapshot *snap = go_world_snapshot(&world);
	struct sw_walks *walks;
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_walks, 1);
	const struct sw_walk *walk = &walks->walks[0];
	missed = false;
	for (size_t i = 0; i < n && i < walk->n_frames; i++) {
		missed |= (walk->frames[i].flags & SW_FRAME_MAY_MISS) != 0;
		uint64_t pc = go_world_pc(frames[i].func, frames[i].offset);
		assert_int_equal(walk->frames[i].pc_avma, pc);
		assert_string_equal(walk->frames[i].kind, "go");
		if (i > 0) {
			assert_string_equal(walk->frames[i].by, "go");
			assert_int_equal(walk->frames[i].trust, SW_TRUST_RUNTIME);
		}
	}
	assert_int_equal(walk->n_frames, n);
	assert_int_equal(walk->end, end);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

/* The call before main.outer()'s 0x18. */
static void outer_calls(enum go_world_func func)
{
	uint64_t from = go_world_pc(GO_OUTER, 0x18);
	int32_t distance = (int32_t) (go_world_pc(func, 0) - from);
	uint8_t call[5] = {0xe8};
	memcpy(call + 1, &distance, sizeof(distance));
	go_world_code(&world, GO_OUTER, 0x13, call, sizeof(call));
}

/* main.leaf(), called by main.outer() at 0x18, whose frame begins at word n of the goroutine's stack. */
static void goroutine_put(size_t n)
{
	world.stack[n] = go_world_pc(GO_OUTER, 0x18);
	/* outer()'s own frame is between sp and its return address. */
	world.stack[n + 1 + GO_FRAME / 8] = go_world_pc(GO_GOEXIT, 1);
}

TEST_WITH(test_goroutine, setup, NULL)
{
	goroutine_put(0);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
}

/* No frame has 20 bytes, or 1 GiB: what lies there is no return address. */
TEST_WITH(test_frame_size, setup, NULL)
{
	static const uint8_t sizes[] = {2, 4, 0x30, 0x38, 0x2f, 4, 0};
	uint8_t *table = memmem(world.image, sizeof(world.image), sizes, sizeof(sizes));
	assert_non_null(table);
	table[2] = 0x28;
	goroutine_put(0);
	EXPECT(SW_END_NO_UNWIND_INFO, {GO_LEAF, 0}, {GO_OUTER, 0x18});
}

/* A signal interrupted main.outer() at its first instruction: what comes before it is another function. */
TEST_WITH(test_signal_first, setup, NULL)
{
	enum { FRAME = 1, OUTERS = 60 }; /* words */
	struct sw_walks *walks;
	/* mov $15, %rax; syscall */
	go_world_code(&world, GO_OUTER, 0x28, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	world.stack[0] = go_world_pc(GO_OUTER, 0x28);
	world.stack[FRAME + sw_arch_sigframe_off(SW_ARCH_RA) / 8] = go_world_pc(GO_OUTER, 0);
	world.stack[FRAME + sw_arch_sigframe_off(SW_ARCH_SP) / 8] = go_world_stack(OUTERS);
	world.stack[OUTERS] = go_world_pc(GO_GOEXIT, 1);
	struct sw_snapshot *snap = go_world_snapshot(&world);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	const struct sw_walk *walk = &walks->walks[0];
	assert_int_equal(walk->end, SW_END_COMPLETE);
	assert_int_equal(walk->n_frames, 4);
	assert_int_equal(walk->frames[2].pc_avma, go_world_pc(GO_OUTER, 0));
	assert_true(walk->frames[2].flags & SW_FRAME_EXACT_PC);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

TEST_WITH(test_names, setup, NULL)
{
	goroutine_put(0);
	struct sw_snapshot *snap = go_world_snapshot(&world);
	struct sw_walks *walks;
	static struct sw_description d;
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	const struct sw_frame *outer = &walks->walks[0].frames[1];
	assert_int_equal(sw_walk_describe_inlined(walks, outer, 0, &d), 1);
	assert_string_equal(d.function, "main.inner");
	assert_string_equal(d.file, "/src/main.go");
	assert_int_equal(d.line, 20);
	assert_int_equal(sw_walk_describe_inlined(walks, outer, 1, &d), 1);
	assert_string_equal(d.function, "main.outer");
	assert_int_equal(d.line, 10); /* of the call */
	assert_int_equal(d.start_avma, go_world_pc(GO_OUTER, 0));
	assert_int_equal(sw_walk_describe_inlined(walks, outer, 2, &d), 0);
	assert_int_equal(sw_walk_describe(walks, outer, &d), 1);
	assert_string_equal(d.function, "main.outer");
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].name, "go");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

static void on_system_stack(enum go_world_func func, unsigned offset)
{
	world.sp = go_world_system(0);
	world.slot = GO_G0;
	world.system[0] = go_world_pc(func, offset);
}

TEST_WITH(test_systemstack, setup, NULL)
{
	on_system_stack(GO_SYSTEMSTACK, 0x20);
	outer_calls(GO_SYSTEMSTACK);
	goroutine_put(4);
	world.curg[7] = go_world_stack(4);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_SYSTEMSTACK, 0x20}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	/* The goroutine was left: what its g says is of another time. */
	world.pc = go_world_pc(GO_SCHEDULE, 8);
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_SCHEDULE, 8}, {GO_SYSTEMSTACK, 0x20});
	world.pc = go_world_pc(GO_LEAF, 0);
	outer_calls(GO_LEAF); /* what is there is of another time */
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_SYSTEMSTACK, 0x20});
	outer_calls(GO_SYSTEMSTACK);
	world.curg[7] = GO_STACK_END + 8; /* not on its stack */
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_SYSTEMSTACK, 0x20});
	/* Still, or again, on the goroutine's own stack. */
	world.pc = go_world_pc(GO_SYSTEMSTACK, 4);
	world.sp = go_world_stack(4);
	EXPECT(SW_END_COMPLETE, {GO_SYSTEMSTACK, 4}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
}

TEST_WITH(test_morestack, setup, NULL)
{
	on_system_stack(GO_MORESTACK, 0x20);
	outer_calls(GO_MORESTACK);
	goroutine_put(4);
	world.curg[7] = go_world_stack(5);
	world.curg[8] = go_world_pc(GO_OUTER, 0x18);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_MORESTACK, 0x20}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	world.pc = go_world_pc(GO_SCHEDULE, 8);
	EXPECT(SW_END_COMPLETE, {GO_SCHEDULE, 8}, {GO_MORESTACK, 0x20});
}

TEST_WITH(test_mcall, setup, NULL)
{
	on_system_stack(GO_MCALL, 0x20);
	world.system[1] = go_world_pc(GO_OUTER, 0x18); /* stale */
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_MCALL, 0x20});
	world.pc = go_world_pc(GO_MCALL, 4);
	world.sp = go_world_stack(0);
	goroutine_put(0);
	EXPECT(SW_END_COMPLETE, {GO_MCALL, 4}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
}

TEST_WITH(test_mstart, setup, NULL)
{
	on_system_stack(GO_MSTART, 5);
	world.system[1] = go_world_pc(GO_CLONE, 0x30);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_MSTART, 5});
}

TEST_WITH(test_asmcgocall, setup, NULL)
{
	outer_calls(GO_ASMCGOCALL);
	goroutine_put(4);
	for (unsigned layout = 0; layout < 2; layout++) {
		size_t g_at = layout == 0 ? 6 : 1, depth_at = layout == 0 ? 5 : 0;
		memset(world.system, 0, sizeof(world.system));
		on_system_stack(GO_ASMCGOCALL, 0x22);
		world.system[1 + g_at] = GO_CURG;
		world.system[1 + depth_at] = GO_STACK_END - go_world_stack(4);
		EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
		       {GO_GOEXIT, 1});
	}
	/* Called on g0's stack: it is moved on it. */
	memset(world.system, 0, sizeof(world.system));
	on_system_stack(GO_ASMCGOCALL, 0x22);
	world.system[1 + 5] = go_world_system(9);
	world.system[9] = go_world_pc(GO_OUTER, 0x18);
	world.system[10 + GO_FRAME / 8] = go_world_pc(GO_MCALL, 0x20);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_MCALL, 0x20});
	/* Between the switch and the call the goroutine's sp is in rdx, behind it in memory. */
	memset(world.system, 0, sizeof(world.system));
	world.sp = go_world_system(0);
	world.pc = go_world_pc(GO_ASMCGOCALL, 0x10);
	sw_regs_set(&world.regs, SW_X86_64_RDX, go_world_stack(4));
	EXPECT(SW_END_COMPLETE, {GO_ASMCGOCALL, 0x10}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
	sw_regs_set(&world.regs, SW_X86_64_RDX, 0);
	world.pc = go_world_pc(GO_ASMCGOCALL, 0x28);
	world.system[6] = GO_CURG;
	world.system[5] = GO_STACK_END - go_world_stack(4);
	EXPECT(SW_END_COMPLETE, {GO_ASMCGOCALL, 0x28}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
}

/* C code without tables, three words above which asmcgocall() has called it. */
TEST_WITH(test_linked, setup, NULL)
{
	outer_calls(GO_ASMCGOCALL);
	goroutine_put(4);
	go_world_code(&world, GO_ASMCGOCALL, 0x20, "\xff\xd0", 2);
	go_world_code(&world, GO_LINKED, 0x10, "\xff\xd0", 2);
	world.slot = GO_G0;
	world.sp = go_world_system(0);
	world.pc = go_world_pc(GO_LINKED, 0x12);
	world.system[3] = go_world_pc(GO_ASMCGOCALL, 0x22);
	world.system[4 + 6] = GO_CURG;
	world.system[4 + 5] = GO_STACK_END - go_world_stack(4);
	world.g0[7] = go_world_system(12);
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	assert_false(missed);
	/* A callback is in the thread, deeper: its own sched.sp keeps that of this call. */
	world.sp = go_world_system(2);
	world.g0[7] = go_world_system(0);
	world.system[0] = go_world_system(1);
	world.system[1] = go_world_system(13);
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	world.system[1] = go_world_system(0); /* nonsense */
	EXPECT(SW_END_NO_UNWIND_INFO, {GO_LINKED, 0x12});
	world.sp = go_world_system(0);
	world.system[0] = world.system[1] = 0;
	/* Since 1.25 it takes less space, and C is jumped to by a function of its own. */
	world.g0[7] = go_world_system(6);
	go_world_code(&world, GO_ASMCGOCALL, 0x1d, "\xe8\0\0\0\0", 5);
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	go_world_code(&world, GO_ASMCGOCALL, 0x20, "\xff\xd0", 2);
	/* The frame that an earlier call from a callback has left, of the same goroutine, is not at
	 * its place. */
	world.g0[7] = go_world_system(30);
	world.system[21] = go_world_pc(GO_ASMCGOCALL, 0x22);
	world.system[22 + 6] = GO_CURG;
	world.system[22 + 5] = GO_STACK_END - go_world_stack(4);
	world.system[4 + 5] += 16;
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	assert_true(missed);
	world.system[4 + 5] -= 16;
	world.system[21] = 0;
	EXPECT(SW_END_NO_UNWIND_INFO, {GO_LINKED, 0x12});
	world.g0[7] = go_world_system(12);
	/* In between is what may be a return address of C code. */
	world.system[1] = go_world_pc(GO_LINKED, 0x12);
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	assert_true(missed);
	/* Words of an earlier call: they are passed, up to the one with the goroutine. */
	world.system[0] = go_world_pc(GO_ASMCGOCALL, 0x22);
	EXPECT(SW_END_COMPLETE, {GO_LINKED, 0x12}, {GO_ASMCGOCALL, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	/* The saved word is another goroutine's, or not behind the call. */
	world.system[4 + 6] = GO_GSIGNAL;
	EXPECT(SW_END_NO_UNWIND_INFO, {GO_LINKED, 0x12});
	world.system[4 + 6] = GO_CURG;
	world.system[3] = go_world_pc(GO_ASMCGOCALL, 0x23);
	EXPECT(SW_END_NO_UNWIND_INFO, {GO_LINKED, 0x12});
}

/* The goroutine's frame of cgocallback() is words 1 to 4, and ends where it had called C. */
TEST_WITH(test_cgocallback, setup, NULL)
{
	world.sp = go_world_stack(0);
	world.stack[0] = go_world_pc(GO_CGOCALLBACK, 0x20);
	world.stack[4] = go_world_pc(GO_OUTER, 0x18); /* what Go itself would follow, without C */
	/* On g0's stack: sched.sp as it was before, below which asmcgocall() keeps the goroutine's. */
	world.g0[7] = go_world_system(40);
	world.system[40] = go_world_system(80);
	world.system[43] = go_world_pc(GO_CROSSCALL2, 0x10);
	world.system[44] = go_world_pc(GO_MCALL, 0x20);
	world.system[72 + 6] = GO_CURG;
	world.system[72 + 5] = GO_STACK_END - go_world_stack(5);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_CGOCALLBACK, 0x20}, {GO_CROSSCALL2, 0x10},
	       {GO_MCALL, 0x20});
	/* The callback is not the last one: another one was made from it. */
	world.g0[7] = go_world_system(20);
	world.system[20] = go_world_system(40);
	world.system[32 + 6] = GO_CURG;
	world.system[32 + 5] = GO_STACK_END - go_world_stack(0);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_CGOCALLBACK, 0x20}, {GO_CROSSCALL2, 0x10},
	       {GO_MCALL, 0x20});
	world.system[72 + 5] -= 8; /* none of them */
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_CGOCALLBACK, 0x20});
	/* Called by a thread that C made: nothing is below. */
	world.g0[7] = world.system[40] = go_world_system(40);
	world.stack[4] = go_world_pc(GO_GOEXIT, 1);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_CGOCALLBACK, 0x20}, {GO_CROSSCALL2, 0x10},
	       {GO_MCALL, 0x20});
}

/* Step once, from pc and sp of the system's stack, which is no thread's first frame. */
static struct sw_stepped step_from(uint64_t pc, uint64_t sp, uint64_t callee_avma)
{
	struct sw_snapshot *snap = go_world_snapshot(&world);
	struct sw_stepped s = {0};
	void *go = NULL;
	assert_int_equal(sw_runtime_go.open(snap, NULL, &go), 0);
	struct sw_snapshot_memory memory = {.snap = snap, .thread = &snap->threads[0]};
	struct sw_cursor cursor = {.snap = snap,
				   .thread = &snap->threads[0],
				   .memory = sw_snapshot_memory(&memory),
				   .place = &snap->places[0],
				   .lookup_avma = pc - 1,
				   .callee_avma = callee_avma,
				   .depth = 2};
	sw_regs_set(&cursor.regs, SW_ARCH_SP, sp);
	sw_regs_set(&cursor.regs, SW_ARCH_RA, pc);
	assert_int_equal(sw_runtime_go.step(go, &cursor, &s), SW_STEP_OK);
	sw_runtime_go.close(go);
	fake_snapshot_destroy(snap);
	return s;
}

static uint64_t reg(const struct sw_stepped *s, unsigned number)
{
	uint64_t value = 0;
	assert_true(sw_regs_get(&s->regs, number, &value));
	return value;
}

/* C code that calls Go gets its registers back from where crosscall2() keeps them. */
TEST_WITH(test_crosscall2, setup, NULL)
{
	for (uint64_t i = 0; i < 6; i++)
		world.system[10 + i] = 100 + i;
	world.system[16] = GO_C_CODE + 0x10;
	struct sw_stepped s = step_from(go_world_pc(GO_CROSSCALL2, 0x10), go_world_system(16), 0);
	assert_int_equal(s.regs.pc_avma, GO_C_CODE + 0x10);
	assert_int_equal(s.regs.sp_avma, go_world_system(17));
	assert_int_equal(reg(&s, SW_X86_64_RBX), 100);
	assert_int_equal(reg(&s, SW_X86_64_R12), 101);
	assert_int_equal(reg(&s, SW_X86_64_R15), 104);
	assert_int_equal(reg(&s, SW_X86_64_RBP), 105);
}

/* The C code in which a thread's Go code begins: beside Go's own in the file. */
TEST_WITH(test_entry, setup, NULL)
{
	const uint64_t pc = GO_TEXT + GO_N_FUNCS * GO_FUNC_BYTES + 0x20;
	/* pop %r15; pop %rbp; pop %rbx; ret */
	memcpy(world.image + (pc - GO_BASE), "\x41\x5f\x5d\x5b\xc3", 5);
	world.system[0] = 1;
	world.system[1] = 2;
	world.system[2] = 3;
	world.system[3] = GO_C_CODE + 0x10;
	struct sw_stepped s = step_from(pc, go_world_system(0), go_world_pc(GO_MSTART, 5));
	assert_int_equal(s.regs.pc_avma, GO_C_CODE + 0x10);
	assert_int_equal(s.regs.sp_avma, go_world_system(4));
	assert_int_equal(reg(&s, SW_X86_64_R15), 1);
	assert_int_equal(reg(&s, SW_X86_64_RBP), 2);
	assert_int_equal(reg(&s, SW_X86_64_RBX), 3);
}

TEST_WITH(test_gogo, setup, NULL)
{
	world.pc = go_world_pc(GO_GOGO, 0x10);
	world.sp = go_world_stack(4);
	world.curg[8] = go_world_pc(GO_LEAF, 8);
	world.stack[4] = go_world_pc(GO_GOEXIT, 1);
	EXPECT(SW_END_COMPLETE, {GO_GOGO, 0x10}, {GO_LEAF, 8}, {GO_GOEXIT, 1});
}

TEST_WITH(test_clone, setup, NULL)
{
	world.sp = go_world_system(0);
	world.system[0] = go_world_pc(GO_MCALL, 0x20);
	world.pc = go_world_pc(GO_CLONE, 0x12);
	sw_regs_set(&world.regs, SW_X86_64_RAX, 8);
	EXPECT(SW_END_COMPLETE, {GO_CLONE, 0x12}, {GO_MCALL, 0x20});
	sw_regs_set(&world.regs, SW_X86_64_RAX, 0);
	EXPECT(SW_END_COMPLETE, {GO_CLONE, 0x12}); /* the new thread */
	sw_regs_set(&world.regs, SW_X86_64_RAX, 8);
	world.pc = go_world_pc(GO_CLONE, 0x30);
	EXPECT(SW_END_COMPLETE, {GO_CLONE, 0x30});
}

TEST_WITH(test_vdso, setup, NULL)
{
	goroutine_put(4);
	world.pc = go_world_pc(GO_NANOTIME1, 0x20);
	world.sp = go_world_system(3);
	sw_regs_set(&world.regs, SW_X86_64_R12, go_world_stack(4));
	EXPECT(SW_END_COMPLETE, {GO_NANOTIME1, 0x20}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
	/* Before it is there. */
	world.pc = go_world_pc(GO_NANOTIME1, 4);
	world.sp = go_world_stack(4);
	sw_regs_set(&world.regs, SW_X86_64_R12, 16);
	EXPECT(SW_END_COMPLETE, {GO_NANOTIME1, 4}, {GO_OUTER, 0x18}, {GO_GOEXIT, 1});
}

/* In the vDSO, which may have what was in r12 anywhere: m has the sp of nanotime1()'s caller. */
TEST_WITH(test_vdso_noted, setup, NULL)
{
	on_system_stack(GO_NANOTIME1, 0x22);
	outer_calls(GO_NANOTIME1);
	goroutine_put(4);
	world.m[GO_M_VDSO_SP] = go_world_stack(5);
	world.m[GO_M_VDSO_SP + 1] = go_world_pc(GO_OUTER, 0x18);
	EXPECT(SW_END_COMPLETE, {GO_LEAF, 0}, {GO_NANOTIME1, 0x22}, {GO_OUTER, 0x18},
	       {GO_GOEXIT, 1});
	/* The saved pc is of another call. */
	outer_calls(GO_MCALL);
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_NANOTIME1, 0x22});
	outer_calls(GO_NANOTIME1);
	world.m[GO_M_VDSO_SP + 1] = go_world_pc(GO_OUTER, 0x19);
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_NANOTIME1, 0x22});
	world.m[GO_M_VDSO_SP] = 0;
	EXPECT(SW_END_BAD_UNWIND_INFO, {GO_LEAF, 0}, {GO_NANOTIME1, 0x22});
}

/* The code to which asyncPreempt() returns was not calling it: the instruction itself counts. */
TEST_WITH(test_injected, setup, NULL)
{
	world.pc = go_world_pc(GO_ASYNC_PREEMPT, 4);
	world.stack[0] = go_world_pc(GO_OUTER, 4);
	world.stack[1 + GO_FRAME / 8] = go_world_pc(GO_GOEXIT, 1);
	EXPECT(SW_END_COMPLETE, {GO_ASYNC_PREEMPT, 4}, {GO_OUTER, 4}, {GO_GOEXIT, 1});
}

/* A thread that ran on after its g was copied does not follow it to another stack. */
TEST_WITH(test_stale, setup, NULL)
{
	on_system_stack(GO_SYSTEMSTACK, 0x20);
	outer_calls(GO_SYSTEMSTACK);
	goroutine_put(4);
	world.curg[7] = go_world_stack(4);
	struct sw_snapshot *snap = go_world_snapshot(&world);
	struct sw_go_seen seen = {GO_TID, sw_go_window_mark(&snap->threads[0])};
	struct sw_go_window window = {.seen = &seen, .n_seen = 1, .copied = true};
	for (unsigned moved = 0; moved < 2; moved++) {
		void *go = NULL;
		seen.mark += moved;
		assert_int_equal(sw_runtime_go.open(snap, &window, &go), 0);
		assert_non_null(go);
		struct sw_snapshot_memory memory = {.snap = snap, .thread = &snap->threads[0]};
		struct sw_cursor cursor = {.snap = snap,
					   .thread = &snap->threads[0],
					   .memory = sw_snapshot_memory(&memory),
					   .place = &snap->places[0],
					   .depth = 2};
		sw_regs_set(&cursor.regs, SW_ARCH_SP, go_world_system(1));
		sw_regs_set(&cursor.regs, SW_ARCH_RA, go_world_pc(GO_SYSTEMSTACK, 0x20));
		cursor.lookup_avma = cursor.regs.pc_avma - 1;
		struct sw_stepped s = {0};
		assert_int_equal(sw_runtime_go.step(go, &cursor, &s),
				 moved ? SW_STEP_FAIL : SW_STEP_OK);
		if (moved)
			assert_int_equal(s.end, SW_END_MEMORY);
		else
			assert_int_equal(s.regs.pc_avma, go_world_pc(GO_OUTER, 0x18));
		sw_runtime_go.close(go);
	}
	fake_snapshot_destroy(snap);
}

static bool nobody_runs(struct sw_capture *capture)
{
	return false;
}

/* The copy is that of the last window, for a thread that is where it was then. */
TEST_WITH(test_window_again, setup, NULL)
{
	static const struct sw_capture_ops ops = {.is_whole = nobody_runs};
	struct sw_go_seen seen[2] = {{0}};
	struct sw_go_window window = {.seen = seen, .seen_max = 1};
	void *found = &window;
	struct sw_snapshot *snap = go_world_snapshot(&world);
	struct sw_capture capture = {.snap = snap, .ops = &ops, .found = &found};
	struct sw_thread *t = &snap->threads[0];
	snap->n_threads = 1;
	assert_int_equal(sw_go_in_window(&capture), 0);
	assert_true(sw_go_window_fits(&window, t));
	sw_regs_set(&t->regs, SW_ARCH_RA, t->regs.pc_avma + 1);
	assert_false(sw_go_window_fits(&window, t));
	assert_int_equal(sw_go_in_window(&capture), 0);
	assert_int_equal(window.n_seen, 1);
	assert_true(sw_go_window_fits(&window, t));
	sw_regs_set(&t->regs, SW_ARCH_SP, t->regs.sp_avma + 8);
	assert_false(sw_go_window_fits(&window, t));
	fake_snapshot_destroy(snap);
}

/* A process without Go's heap is asked for nothing. */
TEST_WITH(test_probe, setup, NULL)
{
	struct sw_snapshot *snap = go_world_snapshot(&world);
	assert_true(sw_runtime_go.probe(snap));
	fake_snapshot_destroy(snap);
	snap = fake_snapshot_create();
	fake_snapshot_map(snap, 0x400000, 0x500000, "r-xp", "/bin/x");
	fake_snapshot_finish(snap);
	assert_false(sw_runtime_go.probe(snap));
	fake_snapshot_destroy(snap);
}
