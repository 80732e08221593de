/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The distinct frames, with symbols and managed names made up here: the file under test is
 * included, and asks these functions instead of the symbolizer and the unwinders.
 */
#include <snapwalk/symbolize.h>

static size_t fake_symbols_find(const struct sw_symbols *symbols, const struct sw_frame *frame,
				const struct sw_symbol **ret);
static int fake_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
			      struct sw_description *ret);

#define sw_symbols_find  fake_symbols_find
#define sw_walk_describe fake_walk_describe
#include "report/distinct.c"
#include "test.h"
#undef sw_symbols_find
#undef sw_walk_describe

#include "fake.h"
#include "cleanup.h"

enum {
	EXE_AVMA = 0x400000,
	BYTES = 0x1000,
	INLINED_PC = 0x400010,
	JIT_PC = 0x999,
	JAVA_PC = 0x998
};

static const struct sw_symbol inlined[] = {
	{.function = "inner", .file = "a.h", .line = 3, .line_offset = 1, .inlined = true},
	{.function = "outer", .file = "a.c", .line = 7, .line_offset = -1, .function_offset = 9},
};
static const struct sw_symbol from_jit[] = {
	{.function = "jitted", .source = SW_SOURCE_JIT, .line_offset = -1}};
/* Java's overloads: one name, file and line. */
static const struct sw_symbol overloads[] = {
	{.function = "A.f", .signature = "()V", .file = "A.java", .line = 3, .line_offset = -1},
	{.function = "A.f", .signature = "(I)V", .file = "A.java", .line = 3, .line_offset = -1},
};
static unsigned finds;

static size_t fake_symbols_find(const struct sw_symbols *symbols, const struct sw_frame *frame,
				const struct sw_symbol **ret)
{
	assert_non_null(symbols);
	finds++;
	if (frame->pc_avma == INLINED_PC) {
		*ret = inlined;
		return 2;
	}
	if (frame->pc_avma == JAVA_PC) {
		*ret = &overloads[frame->cookie % 2];
		return 1;
	}
	*ret = from_jit;
	return frame->pc_avma == JIT_PC ? 1 : 0;
}

/* Cookies are names: 1 and 2 are the same function, met twice. */
static int fake_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
			      struct sw_description *ret)
{
	assert_non_null(walks);
	if (frame->cookie == 0)
		return 0;
	(void) strcpy(ret->function, frame->cookie <= 2 ? "py:f" : "py:g"); /* fits */
	return 1;
}

struct scene {
	struct sw_snapshot *snap;
	struct sw_place *exe;
	struct sw_walks walks;
	struct sw_symbols symbols;
	struct sw_arena arena;
	int32_t modules[1];
	struct sw_report_builder b;
	struct sw_distinct_frames distinct;
};

static void scene_init(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->snap = fake_snapshot_create();
	s->exe = fake_snapshot_module(s->snap, SW_MODULE_ELF, "/bin/x", EXE_AVMA, EXE_AVMA,
				      EXE_AVMA + BYTES, NULL, 0);
	s->walks.snap = s->snap;
	s->b = (struct sw_report_builder){.walks = &s->walks,
					  .symbols = &s->symbols,
					  .arena = &s->arena,
					  .modules_by_place = s->modules};
	s->distinct.b = &s->b;
	finds = 0;
}

static void scene_deinit(struct scene *s)
{
	assert_false(s->b.failed);
	sw_distinct_frames_deinit(&s->distinct);
	sw_map64_deinit(&s->b.copies);
	sw_arena_deinit(&s->arena);
	fake_snapshot_destroy(s->snap);
}

static uint32_t get_exact(struct scene *s, uint64_t pc)
{
	struct sw_frame *frame = sw_arena_calloc(&s->arena, 1, sizeof(*frame));
	assert_non_null(frame);
	*frame = (struct sw_frame){.by = "context",
				   .kind = "native",
				   .pc_avma = pc,
				   .place = s->exe,
				   .flags = SW_FRAME_EXACT_PC};
	return sw_distinct_frames_get(&s->distinct, frame);
}

static uint32_t get(struct scene *s, const struct sw_place *place, uint64_t pc, uint64_t cookie)
{
	/* the set keeps the frame it saw first: the caller's walks live longer */
	struct sw_frame *frame = sw_arena_calloc(&s->arena, 1, sizeof(*frame));
	assert_non_null(frame);
	*frame = (struct sw_frame){.by = "context",
				   .kind = "native",
				   .pc_avma = pc,
				   .place = place,
				   .cookie = cookie,
				   .owner = cookie != 0,
				   .trust = SW_TRUST_CFI};
	return sw_distinct_frames_get(&s->distinct, frame);
}

TEST(test_inlined)
{
	struct scene s;
	scene_init(&s);
	uint32_t index = get(&s, s.exe, INLINED_PC, 0);
	const struct sw_distinct_frame *entry = &s.distinct.distinct[index];
	assert_int_equal(entry->n_frames, 2);
	assert_null(entry->managed_name);
	const struct sw_report_frame *f = entry->frames;
	assert_string_equal(f[0].function, "inner");
	assert_string_equal(f[0].file, "a.h");
	assert_int_equal(f[0].line, 3);
	assert_int_equal(f[0].line_offset, 1);
	assert_true(f[0].inlined);
	assert_string_equal(f[1].function, "outer");
	assert_int_equal(f[1].function_offset, 10); /* of the return address, not of the call */
	assert_int_equal(f[1].line_offset, -1);
	assert_false(f[1].inlined);
	for (size_t i = 0; i < 2; i++) {
		assert_true(f[i].pc_avma == INLINED_PC);
		assert_int_equal(f[i].module, 0);
		assert_int_equal(f[i].offset, INLINED_PC - EXE_AVMA);
		assert_string_equal(f[i].trust, "cfi");
	}
	index = get_exact(&s, INLINED_PC);
	assert_int_equal(s.distinct.distinct[index].frames[1].function_offset, 9);
	scene_deinit(&s);
}

TEST(test_asked_once)
{
	struct scene s;
	scene_init(&s);
	uint32_t first = get(&s, s.exe, INLINED_PC, 0);
	assert_int_equal(finds, 1);
	assert_int_equal(get(&s, s.exe, INLINED_PC, 0), first);
	assert_int_equal(finds, 1);
	assert_int_not_equal(get(&s, NULL, INLINED_PC, 0), first);
	assert_int_equal(finds, 2);
	for (uint64_t i = 0; i < 3000; i++) /* the set grows */
		(void) get(&s, s.exe, EXE_AVMA + 0x20 + i, 0);
	assert_int_equal(get(&s, s.exe, INLINED_PC, 0), first);
	assert_int_equal(finds, 3002);
	scene_deinit(&s);
}

/* Interpreted functions: one native address, told apart by name and by nothing else. */
TEST(test_managed)
{
	struct scene s;
	scene_init(&s);
	uint32_t f = get(&s, s.exe, EXE_AVMA, 1);
	assert_string_equal(s.distinct.distinct[f].managed_name, "py:f");
	assert_string_equal(s.distinct.distinct[f].frames[0].function, "py:f");
	assert_int_equal(get(&s, s.exe, EXE_AVMA, 2), f);
	uint32_t g = get(&s, s.exe, EXE_AVMA, 3);
	assert_int_not_equal(g, f);
	assert_string_equal(s.distinct.distinct[g].frames[0].function, "py:g");
	uint32_t native = get(&s, s.exe, EXE_AVMA, 0);
	assert_int_not_equal(native, f);
	assert_null(s.distinct.distinct[native].managed_name);
	scene_deinit(&s);
}

/* The methods that an interpreter executes at one address: those of one name are told apart by
 * their signature. */
TEST(test_overloads)
{
	struct scene s;
	scene_init(&s);
	uint32_t first = get(&s, NULL, JAVA_PC, 2);
	assert_string_equal(s.distinct.distinct[first].frames[0].signature, "()V");
	uint32_t second = get(&s, NULL, JAVA_PC, 1);
	assert_int_not_equal(second, first);
	assert_string_equal(s.distinct.distinct[second].frames[0].signature, "(I)V");
	scene_deinit(&s);
}

static uint32_t get_language(struct scene *s, uint64_t pc, uint64_t cookie)
{
	struct sw_frame *frame = sw_arena_calloc(&s->arena, 1, sizeof(*frame));
	assert_non_null(frame);
	*frame = (struct sw_frame){.by = "toy",
				   .kind = "cpython",
				   .pc_avma = pc,
				   .cookie = cookie,
				   .owner = 1,
				   .flags = SW_FRAME_LANGUAGE | SW_FRAME_EXACT_PC};
	return sw_distinct_frames_get(&s->distinct, frame);
}

/* The same function at two places of the heap is one to the reader. */
TEST(test_language)
{
	struct scene s;
	scene_init(&s);
	uint32_t f = get_language(&s, 0x7f0000001000, 1);
	assert_int_equal(get_language(&s, 0x7f0000002000, 2), f);
	assert_int_equal(get_language(&s, 0x7f0000003000, 1), f);
	assert_int_not_equal(get_language(&s, 0x7f0000001000, 3), f);
	/* one place, other contents: told apart by what they are, not by where */
	assert_int_equal(get_language(&s, 0x7f0000001000, 1), f);
	scene_deinit(&s);
}

/* Code in no module that a JIT's list names: the name identifies it. */
TEST(test_jit)
{
	struct scene s;
	scene_init(&s);
	uint32_t index = get(&s, NULL, JIT_PC, 0);
	const struct sw_distinct_frame *entry = &s.distinct.distinct[index];
	assert_string_equal(entry->managed_name, "jitted");
	assert_string_equal(entry->frames[0].function, "jitted");
	assert_int_equal(entry->frames[0].module, -1);
	scene_deinit(&s);
}

TEST(test_without_symbols)
{
	struct scene s;
	scene_init(&s);
	s.b.symbols = NULL;
	uint32_t index = get(&s, s.exe, INLINED_PC, 0);
	const struct sw_distinct_frame *entry = &s.distinct.distinct[index];
	assert_int_equal(entry->n_frames, 1);
	assert_null(entry->frames[0].function);
	assert_int_equal(finds, 0);
	scene_deinit(&s);
}

/* A frame that comes again is found again: no second entry is made of it. */
TEST(test_found_again)
{
	struct scene s;
	scene_init(&s);
	uint32_t first = get(&s, s.exe, EXE_AVMA + 1, 0);
	assert_int_equal(get(&s, s.exe, EXE_AVMA + 1, 0), first);
	assert_int_equal(s.distinct.n_distinct, 1);
	assert_int_not_equal(get(&s, s.exe, EXE_AVMA + 2, 0), first);
	assert_int_equal(s.distinct.n_distinct, 2);
	scene_deinit(&s);
}
