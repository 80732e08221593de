/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clr_entry_points.c and clr_instances.c. */
#include "runtimes/clr/metadata/instances.h"
#include "clr_r2r_make.h"
#include "test.h"

enum {
	SECTION_ENTRY_POINTS = 103,
	SECTION_INSTANCES = 109,
	SECTION_HOT_COLD = 120,
	FIXUPS = 1, /* of an instance's number */
};

/*
 * Method 1 begins with function 0, 3 with 2 (and has fixups), 5 with 3; 2 and 4 are not compiled.
 *
 *	header	5 elements, their index in bytes: 5 << 2 | 0, as a number of one byte: << 1
 *	index	block 0 begins behind the index
 *	tree	16 | 8 | 4 | 2 | 1: 0b01 goes down to the lower half, which follows; 0b10 down
 *		to the upper, value >> 2 further; n << 2 is element n itself
 */
static const uint8_t entries[] = {
	5 << 2 << 1,
	1,                     /* block 0, from the start of the index */
	1 << 1,                /* below 8: of 16 only the lower half */
	(1 | 2 | 5 << 2) << 1, /* below 4, and the upper half 5 bytes on */
	(1 | 2 | 3 << 2) << 1, /* below 2, and from 2 on 3 bytes on */
	0 << 2 << 1,           /* element 0 alone */
	0 << 1 << 1,           /* function 0 */
	2 << 2 << 1,           /* element 2 alone */
	(2 << 2 | 1) << 1,     /* function 2, fixups */
	4 << 2 << 1,           /* element 4 alone */
	3 << 1 << 1,           /* function 3 */
};

/* 1 and 4 are funclets; 6 and 7 those of instance 5, 9 would be, but for the gap before it. */
static const uint32_t functions[][2] = {
	{0x100, 0x140}, {0x140, 0x160}, {0x160, 0x200}, {0x200, 0x240}, {0x240, 0x260},
	{0x280, 0x2c0}, {0x2c0, 0x2d0}, {0x2d0, 0x2e0}, {0x300, 0x340}, {0x350, 0x360},
	{0x380, 0x3a0}, {0x3a0, 0x3b0}, {0x3c0, 0x3e0}, {0x400, 0x420},
};

/* Signatures as ReadyToRun images have them, and the function that begins there. */
static const struct instance {
	uint8_t function, fixups, n, signature[12];
} instances[] = {
	/* Inner`1<__Canon>.Call<int> */
	{5, 0, 9, {0x44, 0x15, 0x12, 4 << 2, 1, 0x3e, 3, 1, 0x08}},
	/* Inner`1<byte*[,]>.Shapes, with fixups */
	{8, FIXUPS, 12, {0x40, 0x15, 0x11, 4 << 2, 1, 0x14, 0x0f, 0x05, 2, 0, 0, 4}},
	/* Inner`1<int>.Main: no method of that type */
	{10, 0, 7, {0x40, 0x15, 0x12, 4 << 2, 1, 0x08, 1}},
	/* Outer.Main<List`1, N.Outer[]> */
	{12, 0, 8, {0x04, 1, 2, 0x12, 1 << 2 | 1, 0x1d, 0x12, 2 << 2}},
	/* Enumerator<int>.Main: a type of another module, which has the same row as Outer */
	{13, 0, 7, {0x40, 0x15, 0x12, 2 << 2 | 1, 1, 0x08, 1}},
};

enum { N_INSTANCES = sizeof(instances) / sizeof(*instances) };

struct buffer {
	uint8_t bytes[R2R_INSTANCES_MAX];
	size_t n;
};

static void put_byte(struct buffer *b, unsigned value)
{
	assert_true(b->n < sizeof(b->bytes) && value < 256);
	b->bytes[b->n++] = (uint8_t) value;
}

/*
 * Two buckets; entries lie behind them:
 *
 *	1 << 2 | 0	two buckets, an index of bytes
 *	3, a, b		where bucket 0 and 1 begin and the second ends, from behind the header
 */
static void instances_make(const struct instance *list, size_t n, struct buffer *b)
{
	size_t distances[N_INSTANCES + 1];
	b->n = 0;
	put_byte(b, 1 << 2 | 0);
	put_byte(b, 3);
	put_byte(b, 3 + 2); /* one entry in the first */
	put_byte(b, (unsigned) (3 + 2 * n));
	for (size_t i = 0; i < n; i++) {
		put_byte(b, 0x55); /* the hash */
		distances[i] = b->n;
		put_byte(b, 0);
	}
	for (size_t i = 0; i < n; i++) {
		b->bytes[distances[i]] = (uint8_t) ((b->n - distances[i]) << 1);
		for (size_t k = 0; k < list[i].n; k++)
			put_byte(b, list[i].signature[k]);
		put_byte(b, (unsigned) (list[i].fixups ? list[i].function << 2 | 1
						       : list[i].function << 1)
				    << 1);
	}
}

static int setup(void **state)
{
	struct clr_r2r *w = clr_r2r_create(functions, sizeof(functions) / sizeof(*functions));
	clr_r2r_section(w, SECTION_ENTRY_POINTS, R2R_ENTRIES, entries, sizeof(entries));
	*state = w;
	return 0;
}

static int setup_instances(void **state)
{
	struct buffer b;
	setup(state);
	instances_make(instances, N_INSTANCES, &b);
	clr_r2r_section(*state, SECTION_INSTANCES, R2R_INSTANCES, b.bytes, b.n);
	return 0;
}

static int teardown(void **state)
{
	clr_r2r_destroy(*state);
	return 0;
}

static void is_named(struct clr_r2r *w, uint32_t rva, const char *name, uint32_t start_rva,
		     unsigned index)
{
	const char *said = clr_r2r_name(w, rva);
	assert_non_null(said);
	assert_string_equal(said, name);
	assert_int_equal(w->start.start_avma, R2R_BASE + start_rva);
	assert_int_equal(w->start.index, index);
}

TEST_OF(test_names, struct clr_r2r *w)
{
	is_named(w, 0x100, "T.dll!N.Outer.Main(string[])", 0x100, 0);
	is_named(w, 0x160, "T.dll!N.Outer+Inner`1.Call(T, U&, List`1[int])", 0x160, 0);
	is_named(w, 0x200, "T.dll!Last.<Start>b__0()", 0x200, 0);
	assert_null(clr_r2r_name(w, 0x10));
}

TEST_WITH(test_funclets, setup_instances, teardown)
{
	struct clr_r2r *w = *state;
	is_named(w, 0x140, "T.dll!N.Outer.Main(string[])", 0x100, 1);
	is_named(w, 0x240, "T.dll!Last.<Start>b__0()", 0x200, 1);
	is_named(w, 0x2c0, "T.dll!N.Outer+Inner`1[System.__Canon].Call[int](T, U&, List`1[int])",
		 0x280, 1);
	is_named(w, 0x2d0, "T.dll!N.Outer+Inner`1[System.__Canon].Call[int](T, U&, List`1[int])",
		 0x280, 2);
	assert_null(clr_r2r_name(w, 0x350)); /* a gap before it */
	assert_null(clr_r2r_name(w, 0x3a0)); /* of a method without a name */
}

TEST_WITH(test_instances, setup_instances, teardown)
{
	struct clr_r2r *w = *state;
	is_named(w, 0x280, "T.dll!N.Outer+Inner`1[System.__Canon].Call[int](T, U&, List`1[int])",
		 0x280, 0);
	is_named(w, 0x300,
		 "T.dll!N.Outer+Inner`1[byte*[,]].Shapes(int[,], byte*, long&, delegate*, Outer)",
		 0x300, 0);
	is_named(w, 0x3c0,
		 "T.dll!N.Outer.Main[System.Collections.Generic.List`1,N.Outer[]](string[])", 0x3c0,
		 0);
	assert_null(clr_r2r_name(w, 0x380)); /* its owner is another one than it says */
	assert_null(clr_r2r_name(w, 0x400));
}

/* Entries are looked for once, and only when code is nobody else's. */
TEST_WITH(test_lazy, setup_instances, teardown)
{
	struct clr_r2r *w = *state;
	assert_non_null(clr_r2r_name(w, 0x100));
	assert_false(w->names->images == NULL);
	clr_r2r_put(w, R2R_INSTANCES, 3, 1); /* not yet read */
	assert_null(clr_r2r_name(w, 0x280));
	clr_r2r_put(w, R2R_INSTANCES, 1 << 2, 1);
	assert_null(clr_r2r_name(w, 0x280));
}

/* An instance that is not known has no name, nor has what might be its funclet; all others have. */
TEST(test_unknown)
{
	static const struct instance unknown[] = {
		{10, 0, 4, {0x80, 0x80, 1, 1}},                          /* of another module */
		{10, 0, 3, {0x10, 1, 1}},                                /* a MemberRef */
		{10, 0, 3, {0x08, 1, 1}},                                /* a slot */
		{10, 0, 3, {0x00, 1, 1}},                                /* not of an instance */
		{10, 0, 5, {0x04, 1, 1, 0x13, 0}},                       /* a parameter */
		{10, 0, 6, {0x04, 1, 1, 0x3f, 1, 0x08}},                 /* another module's type */
		{10, 0, 5, {0x04, 1, 1, 0x12, 4 << 2 | 2}},              /* a TypeSpec */
		{10, 0, 3, {0x04, 1, 0}},                                /* no argument */
		{20, 0, 4, {0x04, 1, 1, 0x08}},                          /* no such function */
		{10, 0, 8, {0x40, 0x15, 0x13, 4 << 2, 1, 0x3e, 3, 0x0}}, /* an instance of what? */
	};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		const struct instance list[] = {instances[0], unknown[i]};
		struct clr_r2r *w;
		struct buffer b;
		setup((void **) &w);
		instances_make(list, 2, &b);
		clr_r2r_section(w, SECTION_INSTANCES, R2R_INSTANCES, b.bytes, b.n);
		is_named(w, 0x280,
			 "T.dll!N.Outer+Inner`1[System.__Canon].Call[int](T, U&, List`1[int])",
			 0x280, 0);
		assert_null(clr_r2r_name(w, 0x380));
		assert_null(clr_r2r_name(w, 0x2c0));
		assert_null(clr_r2r_name(w, 0x140));
		is_named(w, 0x100, "T.dll!N.Outer.Main(string[])", 0x100, 0);
		clr_r2r_destroy(w);
	}
}

/* Two entries for one function: neither is believed. */
TEST_OF(test_ambiguous, struct clr_r2r *w)
{
	const struct instance list[] = {instances[1], instances[3], instances[1]};
	struct buffer b;
	instances_make(list, 3, &b);
	clr_r2r_section(w, SECTION_INSTANCES, R2R_INSTANCES, b.bytes, b.n);
	assert_null(clr_r2r_name(w, 0x300));
	assert_non_null(clr_r2r_name(w, 0x3c0));
}

/* Parts of methods that lie elsewhere follow others than their own. */
TEST_WITH(test_hot_cold, setup_instances, teardown)
{
	struct clr_r2r *w = *state;
	static const uint32_t pair[] = {4, 3};
	clr_r2r_section(w, SECTION_HOT_COLD, R2R_INSTANCES + 0x200, pair, sizeof(pair));
	assert_null(clr_r2r_name(w, 0x240));
	assert_null(clr_r2r_name(w, 0x2c0));
	assert_non_null(clr_r2r_name(w, 0x200));
	assert_non_null(clr_r2r_name(w, 0x280));
}

TEST_OF(test_without, struct clr_r2r *w)
{
	clr_r2r_put(w, R2R_HEADER + 16 + 12, 104, 4); /* another section */
	assert_null(clr_r2r_name(w, 0x100));
	assert_null(clr_r2r_name(w, 0x140));
}

/* The tables give an answer, and soon, whatever stands in them. */
static void damage(void **state, size_t at, size_t n)
{
	for (size_t end = at + n; at < end; at++)
		for (unsigned value = 0; value < 256; value++) {
			struct clr_r2r *w = *state;
			clr_r2r_put(w, at, value, 1);
			w->fake.reads = 0;
			for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i += 3)
				(void) clr_r2r_name(w, functions[i][0]); /* only that it ends */
			assert_true(w->fake.reads < 20000);
			teardown(state);
			setup_instances(state);
		}
}

TEST_WITH(test_damaged, setup_instances, teardown)
{
	struct buffer b;
	instances_make(instances, N_INSTANCES, &b);
	damage(state, R2R_ENTRIES, sizeof(entries));
	damage(state, R2R_INSTANCES, b.n);
}

/* A bucket of n entries, which all lead to one: Outer.Main<int***************, ...>. */
static bool limits_index(size_t n, unsigned arguments, size_t *ret_count)
{
	enum { HEAD = 1, INDEX = 8, ENTRY = 6, DEPTH = 15 };
	const size_t end = HEAD + INDEX + n * ENTRY;
	struct sw_bytes b = {.size = end + 3 + arguments * (DEPTH + 1) + 1};
	uint8_t *bytes = calloc(1, b.size), *at = bytes + end;
	struct sw_map64 found = {0};
	const uint32_t index[] = {INDEX, (uint32_t) (INDEX + n * ENTRY)};
	assert_non_null(bytes);
	b.data = bytes;
	bytes[0] = 0 << 2 | 2; /* an index of four bytes */
	memcpy(bytes + HEAD, index, sizeof(index));
	for (size_t i = 0; i < n; i++) {
		size_t number = HEAD + INDEX + i * ENTRY + 1;
		uint32_t distance = (uint32_t) (end - number);
		bytes[number] = 0x0f; /* four bytes follow */
		memcpy(bytes + number + 1, &distance, sizeof(distance));
	}
	*at++ = 0x04;
	*at++ = 1;
	*at++ = (uint8_t) arguments;
	for (unsigned i = 0; i < arguments; i++, at += DEPTH + 1) {
		memset(at, 0x0f, DEPTH);
		at[DEPTH] = 0x08;
	}
	*at = 5 << 1 << 1;
	bool all = sw_clr_instances_index(b, 6, &found);
	*ret_count = found.count;
	sw_map64_deinit(&found);
	free(bytes);
	return all;
}

/* However many there are, and however long: the time that they take is bounded, and it is told. */
TEST(test_limits)
{
	size_t count;
	assert_true(limits_index(1, 15, &count)); /* 244 bytes */
	assert_int_equal(count, 1);
	assert_false(limits_index(1, 16, &count)); /* 260 */
	assert_int_equal(count, 0);
	assert_true(limits_index((1 << 17) - 1, 1, &count));
	assert_false(limits_index((1 << 17) + 1, 1, &count));
	assert_int_equal(count, 1);
}
