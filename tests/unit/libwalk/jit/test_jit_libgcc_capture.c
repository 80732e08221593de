/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of lists and trees that are copied in the stop, and those that are proven without a
 * copy: both are our own memory, which changes between the hooks. */
#include "capture_case.h"
#include "jit/libgcc/capture.h"
#include "jit/libgcc/prepare.h"
#include "jit/libgcc/source.h"
#include "jit/libgcc/tables.h"
#include "jit/libgcc/known.h"
#include "test.h"

enum {
	MANY = 400,  /* objects of a large registry */
	LONG = 3000, /* of one that is not read in whole in the stop */
	FEW = 3,     /* of a small one */
	PER_LEAF = 10,
	LEAVES = MANY / PER_LEAF,
	INNER = 4, /* nodes between the root and the leaves */
	ARRAY = 4096,
};

struct object {
	uint64_t words[6];
	uint8_t gap[512]; /* so that objects are no neighbours */
	uint32_t table[4];
	uint8_t other_gap[512];
};

struct node {
	uint64_t version;
	uint32_t count, type;
	uint64_t words[30];
};

struct scene {
	struct capture_case c;
	struct sw_jit_root root;
	void *state;
	uint64_t first[3]; /* what the root leads to */
	struct object objects[LONG + 1];
	struct node tree_root, inner[INNER], leaves[LEAVES];
};

static uint64_t at(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

/* Objects in the order of their addresses, linked. */
static struct scene *scene_create(size_t n)
{
	struct scene *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	capture_case_init(&s->c);
	s->root = (struct sw_jit_root){.avma = at(s->first), .detail = SW_JIT_LIBGCC_LIST};
	s->first[0] = at(&s->objects[0]);
	for (size_t i = 0; i <= n; i++) { /* one more, which is not in the list */
		struct object *o = &s->objects[i];
		*o = (struct object){.words = {UINT64_MAX, 0, 0, at(o->table), 0,
					       i + 1 < n ? at(&s->objects[i + 1]) : 0},
				     .table = {8, 0, (uint32_t) i, 0}};
	}
	return s;
}

/* The same objects in a tree. */
static struct scene *tree_create(void)
{
	struct scene *s = scene_create(MANY);
	s->root.detail = SW_JIT_LIBGCC_TREE;
	s->first[0] = at(&s->tree_root);
	s->tree_root = (struct node){.version = 4, .count = INNER};
	for (size_t i = 0; i < INNER; i++) {
		s->tree_root.words[2 * i + 1] = at(&s->inner[i]);
		s->inner[i] = (struct node){.version = 4, .count = LEAVES / INNER};
		for (size_t k = 0; k < LEAVES / INNER; k++)
			s->inner[i].words[2 * k + 1] = at(&s->leaves[i * LEAVES / INNER + k]);
	}
	for (size_t i = 0; i < LEAVES; i++) {
		s->leaves[i] = (struct node){.version = 4, .count = PER_LEAF, .type = 1};
		for (size_t k = 0; k < PER_LEAF; k++)
			s->leaves[i].words[3 * k + 2] = at(&s->objects[i * PER_LEAF + k]);
	}
	return s;
}

static void scene_destroy(struct scene *s)
{
	capture_case_deinit(&s->c);
	free(s);
}

static const struct sw_jit_libgcc_known *prepared(struct scene *s)
{
	struct sw_jit_capture c = {&s->c.capture, &s->root, 1, &s->state};
	assert_int_equal(sw_jit_libgcc_prepare(&c), 0);
	return s->state;
}

/* The wanted memory is copied, then the hook runs. Returns how many copies it made. */
static size_t captured(struct scene *s)
{
	struct sw_jit_capture c = {&s->c.capture, &s->root, 1, &s->state};
	capture_case_copy(&s->c);
	assert_int_equal(sw_jit_libgcc_capture(&c), 0);
	assert_false(s->c.space.space_short);
	sw_jit_libgcc_prove(s->state);
	return s->c.snap->n_ranges;
}

static bool is_copied(struct scene *s, const void *p, size_t bytes)
{
	if (sw_capture_wanted(&s->c.capture, at(p), NULL, bytes))
		return true;
	for (size_t i = 0; i < s->c.snap->n_ranges; i++)
		if (s->c.snap->ranges[i].start_avma == at(p) && s->c.snap->ranges[i].bytes >= bytes)
			return true;
	return false;
}

static bool is_proven(struct scene *s, size_t object)
{
	const struct sw_jit_libgcc_known *k = s->state;
	const struct object *o = &s->objects[object];
	const struct sw_jit_libgcc_table table = {.object_avma = at(o),
						  .what_avma = o->words[3],
						  .avma = o->words[3]};
	const struct sw_jit_libgcc_known_table *t = sw_jit_libgcc_known_find(k, &table);
	return t != NULL && t->proven;
}

static size_t proven(struct scene *s)
{
	size_t n = 0;
	for (size_t i = 0; i < MANY; i++)
		n += is_proven(s, i);
	return n;
}

/* Nothing has changed as far as it is looked at: the newest are copied, and nothing proven. */
TEST(test_quiet_list)
{
	struct scene *s = scene_create(MANY);
	const struct sw_jit_libgcc_known *k = prepared(s);
	assert_true(k->whole && k->quiet && k->parts.too_many);
	assert_int_equal(k->n, MANY);
	/* The list's start, objects, tables, of which one may be on two pages. */
	assert_in_range(captured(s), 1 + 2 * SW_JIT_LIBGCC_NEWEST, 2 + 3 * SW_JIT_LIBGCC_NEWEST);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(is_copied(s, s->objects[i].table, 16), i < SW_JIT_LIBGCC_NEWEST);
	assert_int_equal(proven(s), 0);
	assert_false(k->cut);
	scene_destroy(s);
}

/* An object came in front, and one in the midst is gone: all objects are looked at, and the table
 * that was not known is copied. */
TEST(test_changed_list)
{
	struct scene *s = scene_create(MANY);
	(void) prepared(s);
	s->objects[MANY].words[5] = s->first[0];
	s->first[0] = at(&s->objects[MANY]);
	s->objects[199].words[5] = at(&s->objects[201]);
	size_t copies = captured(s);
	assert_in_range(copies, 1 + MANY + SW_JIT_LIBGCC_NEWEST,
			2 + MANY + SW_JIT_LIBGCC_NEWEST); /* a table may be on two pages */
	assert_true(is_copied(s, s->objects[MANY].table, sizeof(s->objects[MANY].table)));
	assert_int_equal(proven(s), 0);
	scene_destroy(s);
}

/* Many that lie together are copied with the stacks: what the list had in the stop, each table with the
 * bytes that it had then. */
TEST(test_dense_list)
{
	struct scene *s = scene_create(0);
	static uint64_t objects[MANY][6];
	static uint32_t tables[MANY][8];
	s->first[0] = at(objects[MANY - 1]);
	for (size_t i = 0; i < MANY; i++) {
		memcpy(tables[i], (uint32_t[]){8, 0, (uint32_t) i, 0}, 16);
		const uint64_t o[6] = {UINT64_MAX,    0, 0,
				       at(tables[i]), 0, i > 0 ? at(objects[i - 1]) : 0};
		memcpy(objects[i], o, sizeof(o));
	}
	assert_false(prepared(s)->parts.too_many);
	assert_true(s->c.space.n_parts <= 3); /* of what a large one costs nothing is paid */
	tables[75][2] = 0x75;
	assert_int_equal(captured(s), 0);
	uint32_t bytes[4];
	for (size_t i = 0; i < MANY; i++) {
		assert_true(sw_capture_wanted(&s->c.capture, at(tables[i]), bytes, sizeof(bytes)));
		assert_int_equal(bytes[2], i == 75 ? 0x75 : i);
		assert_true(is_copied(s, objects[i], sizeof(objects[i])));
	}
	scene_destroy(s);
}

/* A small one: what is new, wherever it is, and what was there with the bytes that it has now. */
TEST(test_small)
{
	struct scene *s = scene_create(FEW);
	assert_false(prepared(s)->parts.too_many);
	s->objects[1].words[5] = at(&s->objects[FEW]);
	s->objects[FEW].words[5] = at(&s->objects[2]);
	(void) captured(s); /* how many: as below */
	for (size_t i = 0; i <= FEW; i++) {
		assert_true(is_copied(s, s->objects[i].words, SW_JIT_LIBGCC_OBJECT_BYTES));
		assert_true(is_copied(s, s->objects[i].table, sizeof(s->objects[i].table)));
		assert_false(is_proven(s, i));
	}
	scene_destroy(s);
}

/* No version has changed: nothing is copied. */
TEST(test_quiet_tree)
{
	struct scene *s = tree_create();
	const struct sw_jit_libgcc_known *k = prepared(s);
	assert_true(k->whole && k->quiet && k->parts.too_many);
	assert_int_equal(k->n, MANY);
	assert_int_equal(k->n_nodes, 1 + INNER + LEAVES);
	assert_int_equal(captured(s), 0);
	assert_int_equal(proven(s), MANY);
	scene_destroy(s);
}

/* A leaf has changed: an object says what it said, but its table is another one. Only what hangs on that
 * leaf is copied, and not taken for what it was. */
TEST(test_changed_tree)
{
	struct scene *s = tree_create();
	(void) prepared(s);
	s->leaves[7].version = 8;
	s->objects[75].table[2] = 0x75;
	size_t copies = captured(s), nodes = 1 + INNER + LEAVES;
	assert_in_range(copies, 1 + nodes + 2 * PER_LEAF, 1 + nodes + 3 * PER_LEAF);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(is_proven(s, i), i / PER_LEAF != 7);
		assert_int_equal(is_copied(s, s->objects[i].words, 40), i / PER_LEAF == 7);
	}
	assert_true(is_copied(s, s->objects[75].table, sizeof(s->objects[75].table)));
	scene_destroy(s);
}

/* The first window was disturbed, and the hook runs again: what it compared then proves nothing now. */
TEST(test_window_again)
{
	struct scene *s = tree_create();
	(void) prepared(s);
	assert_int_equal(captured(s), 0);
	assert_int_equal(proven(s), MANY);
	s->leaves[7].version = s->leaves[20].version = 8;
	(void) captured(s); /* how many: as above */
	assert_int_equal(proven(s), MANY - 2 * PER_LEAF);
	scene_destroy(s);
}

/* A node is being changed: it is looked at even though it had that version. */
TEST(test_locked_tree)
{
	struct scene *s = tree_create();
	s->leaves[7].version = 5;
	const struct sw_jit_libgcc_known *k = prepared(s);
	assert_false(k->whole || k->quiet);
	(void) captured(s); /* how many: as above */
	assert_int_equal(proven(s), MANY - PER_LEAF);
	assert_true(is_copied(s, s->objects[75].table, sizeof(s->objects[75].table)));
	scene_destroy(s);
}

/* The hook makes so many reads of so many tables, whatever the list is. */
TEST(test_limits)
{
	struct scene *s = scene_create(LONG);
	(void) prepared(s);
	s->objects[LONG].words[5] = s->first[0]; /* it has changed, so all is looked at */
	s->first[0] = at(&s->objects[LONG]);
	assert_int_equal(captured(s), SW_JIT_LIBGCC_STOP_READS);
	assert_true(((const struct sw_jit_libgcc_known *) s->state)->cut);
	scene_destroy(s);

	/* Arrays that lead to the same table again and again: a large registry for all that. */
	s = scene_create(MANY);
	static uint64_t array[ARRAY];
	for (size_t i = 0; i + 1 < ARRAY; i++)
		array[i] = at(s->objects[0].table);
	for (size_t i = 0; i < MANY; i++) {
		s->objects[i].words[3] = at(array);
		s->objects[i].words[4] = 2;
	}
	const struct sw_jit_libgcc_known *k = prepared(s);
	assert_int_equal(k->n, SW_JIT_LIBGCC_KNOWN_MAX);
	assert_true(k->parts.too_many);
	assert_false(k->whole);
	assert_true(captured(s) <= SW_JIT_LIBGCC_STOP_READS);
	scene_destroy(s);
}
