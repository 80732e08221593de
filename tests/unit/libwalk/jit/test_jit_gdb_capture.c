/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a list that are copied in the stop: the list is our own memory, which changes
 * between the hooks. */
#include "capture_case.h"
#include "jit/gdb/capture.h"
#include "jit/gdb/prepare.h"
#include "jit/gdb/source.h"
#include "jit/gdb/known.h"
#include "test.h"

#include <sys/mman.h>

enum {
	NEW = 16,     /* nodes in front that come and go */
	MANY = 400,   /* nodes of a large list */
	LONG = 3000,  /* of one that is not read in whole in the stop */
	FEW = 3,      /* of a small one */
	ROW = 64,     /* that must be as they were in a list that changes */
	SYMFILE = 64, /* bytes */
	PAGE = 4096,
};

struct node {
	uint64_t next, previous, symfile, size;
	uint8_t bytes[SYMFILE];
	uint8_t gap[512]; /* so that nodes are no neighbours */
};

struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct scene {
	struct capture_case c;
	struct sw_jit_root roots[2];
	size_t n_roots;
	void *state;
	struct descriptor descriptor;
	struct node nodes[LONG];
};

static uint64_t at(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

/* A list of n nodes in the order of their addresses. */
static struct scene *scene_create(size_t n)
{
	struct scene *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	capture_case_init(&s->c);
	s->roots[0].avma = at(&s->descriptor);
	s->n_roots = 1;
	s->descriptor = (struct descriptor){.version = 1, .first = at(&s->nodes[0])};
	for (size_t i = 0; i < n; i++)
		s->nodes[i] = (struct node){.next = i + 1 < n ? at(&s->nodes[i + 1]) : 0,
					    .symfile = at(s->nodes[i].bytes),
					    .size = SYMFILE};
	return s;
}

static void scene_destroy(struct scene *s)
{
	capture_case_deinit(&s->c);
	free(s);
}

static const struct sw_jit_gdb_known *prepared(struct scene *s)
{
	struct sw_jit_capture c = {&s->c.capture, s->roots, s->n_roots, &s->state};
	assert_int_equal(sw_jit_gdb_prepare(&c), 0);
	return s->state;
}

/* The wanted memory is copied, then the hook runs. Returns how many copies it made. */
static size_t captured(struct scene *s)
{
	struct sw_jit_capture c = {&s->c.capture, s->roots, s->n_roots, &s->state};
	capture_case_copy(&s->c);
	assert_int_equal(sw_jit_gdb_capture(&c), 0);
	assert_false(s->c.space.space_short);
	return s->c.snap->n_ranges;
}

static bool is_copied(struct scene *s, const void *p, size_t bytes)
{
	if (sw_capture_wanted(&s->c.capture, at(p), NULL, bytes))
		return true;
	for (size_t i = 0; i < s->c.snap->n_ranges; i++)
		if (s->c.snap->ranges[i].start_avma == at(p) && s->c.snap->ranges[i].bytes == bytes)
			return true;
	return false;
}

static size_t copied_nodes(struct scene *s, size_t first, size_t last)
{
	size_t n = 0;
	for (size_t i = first; i < last; i++)
		n += is_copied(s, &s->nodes[i], SW_JIT_GDB_NODE_BYTES);
	return n;
}

static size_t copied_symfiles(struct scene *s, size_t first, size_t last)
{
	size_t n = 0;
	for (size_t i = first; i < last; i++)
		n += is_copied(s, s->nodes[i].bytes, SYMFILE);
	return n;
}

/* A large list that nothing happens to: its first node, which proves that. */
TEST(test_quiet)
{
	struct scene *s = scene_create(MANY);
	const struct sw_jit_gdb_known *k = prepared(s);
	assert_true(k->whole && k->quiet && k->parts.too_many);
	assert_int_equal(k->n, MANY);
	assert_int_equal(captured(s), 1);
	assert_int_equal(copied_nodes(s, 0, MANY), 1);
	scene_destroy(s);
}

/* The same beside a variable that cannot be copied: a program whose text is mapped a second time (node)
 * leads to one in reserved memory, which /proc/PID/mem gives and process_vm_readv() does not. */
TEST(test_reserved)
{
	struct scene *s = scene_create(MANY);
	void *reserved = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(reserved != MAP_FAILED);
	s->roots[s->n_roots++].avma = at(reserved);
	assert_true(prepared(s)->quiet);
	assert_int_equal(captured(s), 1);
	assert_int_equal(copied_nodes(s, 0, MANY), 1);
	(void) munmap(reserved, PAGE);
	scene_destroy(s);
}

/* New ones in front: with their symfiles. */
TEST(test_new)
{
	struct scene *s = scene_create(MANY);
	s->descriptor.first = at(&s->nodes[2]);
	assert_int_equal(prepared(s)->n, MANY - 2);
	s->descriptor.first = at(&s->nodes[0]);
	assert_int_equal(captured(s), 2 * (2 + ROW));
	assert_int_equal(copied_nodes(s, 0, MANY), 2 + ROW);
	assert_int_equal(copied_symfiles(s, 0, MANY), 2 + ROW);
	scene_destroy(s);
}

/*
 * The allocator hands out again what was freed: each node in front says what it said, but for one,
 * and only the order has changed. Where the first node in front was taken as proof, the others were
 * read after the stop, in yet another order: a circle.
 */
TEST(test_turned)
{
	for (size_t turn = 1; turn < NEW; turn++) {
		struct scene *s = scene_create(MANY);
		assert_int_equal(prepared(s)->n, MANY);
		s->descriptor.first = at(&s->nodes[turn]);
		s->nodes[NEW - 1].next = at(&s->nodes[0]);
		s->nodes[turn - 1].next = at(&s->nodes[NEW]);
		(void) captured(s); /* how many: as below */
		assert_int_equal(copied_nodes(s, 0, MANY), NEW + ROW);
		assert_int_equal(copied_symfiles(s, 0, NEW), NEW);
		scene_destroy(s);
	}
}

/* A small one: all that is new, wherever it is. */
TEST(test_small)
{
	struct scene *s = scene_create(FEW + 1);
	s->nodes[1].next = at(&s->nodes[3]);
	assert_int_equal(prepared(s)->n, FEW);
	s->nodes[1].next = at(&s->nodes[2]);
	assert_int_equal(captured(s), 2);
	assert_int_equal(copied_nodes(s, 0, FEW + 1), FEW + 1);
	assert_int_equal(copied_symfiles(s, 0, FEW + 1), FEW + 1);
	scene_destroy(s);
}

/* A list that was changing each time it was looked at is a small one for all that: what was read
 * wrongly is not counted again and again. Here it is a circle, which was cut when it is looked at
 * again. */
TEST(test_misread)
{
	struct scene *s = scene_create(NEW);
	s->nodes[NEW - 1].next = at(&s->nodes[0]);
	const struct sw_jit_gdb_known *k = prepared(s);
	assert_false(k->whole || k->quiet || k->parts.too_many);
	s->nodes[NEW - 1].next = 0;
	assert_int_equal(captured(s), 0);
	assert_int_equal(copied_nodes(s, 0, NEW), NEW);
	assert_int_equal(copied_symfiles(s, 0, NEW), NEW);
	scene_destroy(s);
}

/* The hook makes so many reads of so many bytes, whatever the list is. */
TEST(test_limits)
{
	struct scene *s = scene_create(LONG);
	s->nodes[LONG - 1].next = 1; /* leads nowhere, so all is looked at */
	assert_false(prepared(s)->whole);
	assert_int_equal(captured(s), SW_JIT_GDB_STOP_READS);
	assert_true(((const struct sw_jit_gdb_known *) s->state)->cut);
	assert_int_equal(copied_nodes(s, 0, SW_JIT_GDB_STOP_READS / 2), SW_JIT_GDB_STOP_READS / 2);
	scene_destroy(s);

	s = scene_create(MANY);
	s->nodes[MANY - 1].next = 1;
	for (size_t i = 0; i < MANY; i++) /* of the same bytes */
		s->nodes[i].symfile = at(s->nodes), s->nodes[i].size = 100 << 10;
	assert_false(prepared(s)->whole);
	assert_int_equal(captured(s), MANY + 2);
	assert_true(s->c.space.used <= SW_JIT_GDB_STOP_BYTES + MANY * SW_JIT_GDB_NODE_BYTES + 32);
	scene_destroy(s);
}
