/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "text.h"
#include "walk_case.h"
#include "wine_case.h"
#include "runtimes/wine/tables.h"
#include "test.h"

#include <inttypes.h>
#include <time.h>

enum {
	JIT = 0x60000000,     /* code, its unwind information at + 0x80, its table at + 0x40 */
	ENTRIES = 0x61000000, /* of the list */
	SP = WINE_WINDOWS_END - 0x80,
};

struct entry {
	uint64_t next, prev, base, end, table;
	uint32_t count, max;
	uint64_t callback, context;
};

/*
 * push rbx; sub rsp, 0x20; call rax; then a function without an entry: ret
 */
static const uint8_t code[0x200] = {
	[0x100] = 0x53,
	0x48,
	0x83,
	0xec,
	0x20,
	0xff,
	0xd0,
	0x90,
	0x48,
	0x83,
	0xc4,
	0x20,
	0x5b,
	0xc3,
	[0x180] = 0xc3,
	[0x40] = 0x00,
	0x01,
	0,
	0,
	0x0e,
	0x01,
	0,
	0,
	0x80,
	0,
	0,
	0,
	[0x80] = 1,
	5,
	2,
	0,
	5,
	0x32,
	1,
	0x30,
};

static struct wine_case *jit_case(struct entry *entries, size_t n)
{
	struct wine_case *w = malloc(sizeof(*w));
	assert_non_null(w);
	wine_case_init(w);
	for (size_t i = 0; i < n; i++) {
		entries[i].next =
			i + 1 < n ? ENTRIES + (i + 1) * sizeof(*entries) : wine_dll(WINE_LIST);
		entries[i].prev =
			i > 0 ? ENTRIES + (i - 1) * sizeof(*entries) : wine_dll(WINE_LIST);
	}
	if (n > 0) {
		w->list[0] = ENTRIES;
		w->list[1] = ENTRIES + (n - 1) * sizeof(*entries);
	}
	/* rsp after the call: 0x20 bytes, rbx, the return address into a Windows function. */
	wine_put(w, SP + 0x20, 0xb0b);
	wine_put(w, SP + 0x28, wine_dll(WINE_APP) + 8);
	wine_put(w, SP + 0x30, wine_dll(WINE_START) + 0x10);
	return w;
}

static struct sw_snapshot *jit_snapshot(struct wine_case *w, const struct entry *entries, size_t n,
					uint64_t pc, uint64_t sp)
{
	struct sw_snapshot *snap = wine_case_snapshot(w, pc, sp);
	fake_snapshot_range(snap, JIT, code, sizeof(code));
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "rwxp", "");
	if (n > 0)
		fake_snapshot_range(snap, ENTRIES, entries, n * sizeof(*entries));
	return snap;
}

static void walk_one(struct entry *entries, size_t n, enum sw_end end, const char *why,
		     size_t n_frames, struct sw_runtime *ret_registry)
{
	struct wine_case *w = jit_case(entries, n);
	struct sw_snapshot *snap = jit_snapshot(w, entries, n, JIT + 0x107, SP);
	struct sw_walks *walks;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, &(struct sw_walk_options){.mode = SW_WALK_TABLES},
				     &walks, NULL),
			 0);
	assert_string_equal(sw_end_name(walks->walks[0].end), sw_end_name(end));
	if (why != NULL)
		assert_string_equal(walks->walks[0].why, why);
	assert_int_equal(walks->walks[0].n_frames, n_frames);
	memset(ret_registry, 0, sizeof(*ret_registry));
	if (walks->n_runtimes > 1)
		*ret_registry = walks->runtimes[1];
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

/* From the call, where its table undoes sub and push; the registers, too. */
TEST(test_table)
{
	struct entry entries[] = {
		{.base = JIT - 0x1000, .end = JIT, .table = JIT, .count = 9},
		{.base = JIT, .end = JIT + 0x200, .table = JIT + 0x40, .count = 1}};
	struct wine_case *w = jit_case(entries, 2);
	wine_put(w, SP + 0x38, 0);
	struct sw_snapshot *snap = jit_snapshot(w, entries, 2, JIT + 0x107, SP);
	struct walk_cursor cursor;
	fake_snapshot_finish(snap);
	walk_cursor_init(&cursor, snap, &snap->threads[0], false);
	const struct sw_unwinder_ops *ops = walk_unwinder("wine-function-tables");
	struct sw_stepped stepped = {0};
	void *tables;
	uint64_t cookie = 0;
	assert_int_equal(ops->attach(snap, NULL, &tables), 0);
	assert_int_equal(ops->step(tables, &cursor.cursor, &stepped), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, wine_dll(WINE_APP) + 8);
	assert_int_equal(stepped.regs.sp_avma, SP + 0x30);
	assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_RBX), 0xb0b);
	assert_int_equal(stepped.flags, 0);
	assert_true(ops->owns(tables, &cursor.cursor, &cookie));
	cursor.cursor.lookup_avma = JIT + 0x200;
	assert_false(ops->owns(tables, &cursor.cursor, &cookie));
	assert_int_equal(ops->step(tables, &cursor.cursor, &stepped), SW_STEP_DECLINE);
	ops->detach(tables);
	fake_snapshot_destroy(snap);
	free(w);
}

/* A leaf has no entry: right for the first frame, said to be wrong for one that made a call. */
TEST(test_leaf)
{
	struct entry entries[] = {
		{.base = JIT, .end = JIT + 0x200, .table = JIT + 0x40, .count = 1}};
	struct wine_case *w = jit_case(entries, 1);
	struct sw_snapshot *snap = jit_snapshot(w, entries, 1, JIT + 0x180, SP + 0x28);
	struct walk_cursor cursor;
	fake_snapshot_finish(snap);
	const struct sw_unwinder_ops *ops = walk_unwinder("wine-function-tables");
	void *tables;
	assert_int_equal(ops->attach(snap, NULL, &tables), 0);
	struct sw_stepped stepped = {0};
	walk_cursor_init(&cursor, snap, &snap->threads[0], true);
	assert_int_equal(ops->step(tables, &cursor.cursor, &stepped), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, wine_dll(WINE_APP) + 8);
	assert_int_equal(stepped.regs.sp_avma, SP + 0x30);
	walk_cursor_init(&cursor, snap, &snap->threads[0], false);
	assert_int_equal(ops->step(tables, &cursor.cursor, &stepped), SW_STEP_FAIL);
	assert_int_equal(stepped.end, SW_END_NO_UNWIND_INFO);
	assert_string_equal(stepped.why, "code that made a call and has no entry in its table");
	ops->detach(tables);
	fake_snapshot_destroy(snap);
	free(w);
}

/* The first in the list counts: here one that only the process can ask. */
TEST(test_callback)
{
	struct sw_runtime registry;
	struct entry entries[] = {
		{.base = JIT, .end = JIT + 0x200, .table = JIT | 3, .callback = 0x1234},
		{.base = JIT, .end = JIT + 0x200, .table = JIT + 0x40, .count = 1}};
	walk_one(entries, 2, SW_END_NO_UNWIND_INFO,
		 "only a function of the process knows the code's unwind information", 1,
		 &registry);
	assert_string_equal(registry.name, "wine-function-tables");
	assert_int_equal(registry.entries, 2);
	assert_string_equal(registry.problem, "");
}

TEST(test_malformed)
{
	struct sw_runtime registry;
	/* Ends before it begins: covers nothing. */
	struct entry backwards[] = {{.base = JIT + 0x200, .end = JIT, .table = JIT, .count = 1}};
	walk_one(backwards, 1, SW_END_NO_UNWIND_INFO, "code that belongs to no module", 1,
		 &registry);
	assert_null(registry.name);
	/* The entry's table has no entry for the code: taken for a leaf, as the first frame may
	 * be. */
	struct entry wrong[] = {{.base = JIT, .end = JIT + 0x200, .table = JIT + 0x44, .count = 1}};
	walk_one(wrong, 1, SW_END_NO_UNWIND_INFO, "code without a table entry that is no leaf", 1,
		 &registry);
	assert_int_equal(registry.entries, 1);
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u; /* Knuth's */
	return *state >> 33;
}

/* The explanation of the first table of the list that covers avma; "" when there is none. */
static void expect(const struct entry *entries, size_t n, uint64_t avma, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (avma < entries[i].base || avma >= entries[i].end)
			continue;
		snprintf(text, size,
			 "table: for [0x%" PRIx64 ", 0x%" PRIx64
			 "), a function of the process knows its entries\n",
			 entries[i].base, entries[i].end);
		return;
	}
}

/* As many as are followed, that overlap: the first one in the list is found, in no time. */
TEST(test_many)
{
	enum { N = SW_WINE_TABLES_MAX, SPAN = N * 64, ASKED = 2000, LOOKUPS = 2000000 };
	struct entry *entries = calloc(N, sizeof(*entries));
	uint64_t random = 1;
	assert_non_null(entries);
	for (size_t i = 0; i < N; i++) {
		entries[i].base = JIT + random_next(&random) % SPAN;
		entries[i].end = entries[i].base + 1 + random_next(&random) % 1024;
		entries[i].callback = 1;
	}
	struct wine_case *w = jit_case(entries, N);
	struct sw_snapshot *snap = jit_snapshot(w, entries, N, JIT + 0x107, SP);
	const struct sw_unwinder_ops *ops = walk_unwinder("wine-function-tables");
	struct walk_cursor cursor;
	void *tables;
	fake_snapshot_finish(snap);
	walk_cursor_init(&cursor, snap, &snap->threads[0], true);
	assert_int_equal(ops->attach(snap, NULL, &tables), 0);
	for (size_t i = 0; i < ASKED; i++) {
		char expected[128];
		uint64_t avma = JIT - 64 + random_next(&random) % (SPAN + 2048);
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		expect(entries, N, avma, expected, sizeof(expected));
		ops->explain(tables, snap, avma, &text);
		assert_string_equal(text.data != NULL ? text.data : "", expected);
	}
	clock_t begin = clock();
	uint64_t cookie, owned = 0;
	for (size_t i = 0; i < LOOKUPS; i++) {
		cursor.cursor.lookup_avma = JIT + random_next(&random) % SPAN;
		owned += ops->owns(tables, &cursor.cursor, &cookie);
	}
	assert_in_range(owned, LOOKUPS / 2, LOOKUPS);
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC); /* one by one: many times that */
	ops->detach(tables);
	fake_snapshot_destroy(snap);
	free(w);
	free(entries);
}

/* A list that leads nowhere, and one without an end. */
TEST(test_list)
{
	static const uint64_t words[] = {0x1000, 0x1000, 0x500, 0x600, 0x700, 1, 0, 0, 0x2000};
	struct fake_memory fake = FAKE_MEMORY({0x1000, words, sizeof(words)});
	struct sw_wine_table *tables;
	const char *problem;
	size_t n;
	/* 0x1000 leads to itself and is an entry; the head, elsewhere, is never met. */
	assert_int_equal(sw_wine_tables_read(fake_memory(&fake), 0x1000 + 8, &tables, &n, &problem),
			 0);
	assert_int_equal(n, SW_WINE_TABLES_MAX);
	assert_int_equal(tables[0].base_avma, 0x500);
	assert_int_equal(tables[0].end_avma, 0x600);
	assert_int_equal(tables[0].table_avma, 0x700);
	assert_int_equal(tables[0].n_functions, 1);
	assert_false(tables[0].callback);
	assert_string_equal(problem, "more tables than are followed, or a list without end");
	free(tables);
	assert_int_equal(sw_wine_tables_read(fake_memory(&fake), 0x1040, &tables, &n, &problem), 0);
	assert_int_equal(n, 0);
	assert_string_equal(problem, "the list of tables could not be read to its end");
	free(tables);
	assert_int_equal(sw_wine_tables_read(fake_memory(&fake), 0x9000, &tables, &n, &problem), 0);
	assert_int_equal(n, 0);
	assert_string_equal(problem, "the list of tables could not be read to its end");
	free(tables);
}
