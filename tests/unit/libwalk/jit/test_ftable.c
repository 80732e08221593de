/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of <snapwalk/ftable.h> in the program that includes it. */
#include "test.h"

#include <snapwalk/ftable.h>

#include <sys/wait.h>

static unsigned released;

static void count_release(void *arg)
{
	released += (unsigned) (uintptr_t) arg;
}

static struct swft_table *add(uint64_t start)
{
	struct swft_desc d;
	memset(&d, 0, sizeof(d));
	d.kind = SWFT_FRAME_POINTER;
	d.start = (const void *) (uintptr_t) start;
	d.bytes = 16;
	d.release = count_release;
	d.release_arg = (void *) 1;
	return swft_add(&d);
}

/* Tables that a reader would use. */
static size_t live_count(void)
{
	size_t n = 0;
	for (uint64_t at = snapwalk_ftable_v1.first; at != 0;) {
		const struct swft_chunk *c = (const struct swft_chunk *) (uintptr_t) at;
		const struct swft_table *t = (const struct swft_table *) (c + 1);
		for (uint32_t i = 0; i < c->used; i++) {
			assert_int_equal(t[i].seq % 2, 0);
			if (t[i].state != SWFT_LIVE)
				continue;
			assert_int_equal(t[i].check, ~t[i].id);
			n++;
		}
		at = c->next;
	}
	return n;
}

TEST(test_add_and_remove)
{
	struct swft_table *a = add(0x1000), *b = add(0x2000);
	assert_int_equal(live_count(), 2);
	assert_int_equal(a->start, 0x1000);
	assert_int_equal(a->end, 0x1010);
	assert_true(b->id > a->id);
	uint64_t seq = a->seq, changes = snapwalk_ftable_v1.changes;
	swft_remove(a);
	assert_int_equal(a->seq, seq + 2);
	assert_int_equal(snapwalk_ftable_v1.changes, changes + 1);
	assert_int_equal(live_count(), 1);
	swft_remove(b);
	swft_remove(NULL);
	assert_int_equal(released, 0); /* somebody may be reading */
	swft_flush();
	assert_int_equal(released, 2);
	assert_int_equal(live_count(), 0);
}

TEST(test_nothing_to_add)
{
	struct swft_desc d;
	memset(&d, 0, sizeof(d));
	assert_null(swft_add(&d));
	d.start = (const void *) UINTPTR_MAX;
	d.bytes = 2;
	assert_null(swft_add(&d));
}

/* Payload stays until so many others were removed; then its table is used again, and not before. */
TEST(test_quarantine)
{
	swft_flush();
	released = 0;
	struct swft_table *first = add(0x1000);
	swft_remove(first);
	for (unsigned i = 0; i < SWFT_QUARANTINE; i++) {
		struct swft_table *t = add(0x2000);
		assert_ptr_not_equal(t, first);
		assert_int_equal(released, 0);
		swft_remove(t);
	}
	assert_int_equal(released, 1);
	uint64_t seq = first->seq;
	assert_ptr_equal(add(0x3000), first);
	assert_int_equal(first->seq, seq + 2);
	swft_remove(first);
	swft_flush();
	assert_int_equal(released, SWFT_QUARANTINE + 2);
}

/* Chunks grow, and tables stay where they are. */
TEST(test_many)
{
	enum { MANY = 3000 };
	static struct swft_table *tables[MANY];
	for (unsigned i = 0; i < MANY; i++)
		tables[i] = add(0x1000 + 16 * i);
	assert_int_equal(live_count(), MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(tables[i]->start, 0x1000 + 16 * i);
	for (unsigned i = 0; i < MANY; i++)
		swft_remove(tables[i]);
	uint64_t newest = snapwalk_ftable_v1.first;
	swft_flush();
	for (unsigned i = 0; i < MANY; i++)
		tables[i] = add(0x1000);
	assert_int_equal(snapwalk_ftable_v1.first, newest); /* nothing new was needed */
	for (unsigned i = 0; i < MANY; i++)
		swft_remove(tables[i]);
	swft_flush();
}

TEST(test_grow_and_fill)
{
	struct swft_desc d;
	memset(&d, 0, sizeof(d));
	d.kind = SWFT_DEFERRED;
	d.start = "code";
	d.bytes = 4;
	d.format = "a format of more than 16 bytes";
	struct swft_table *t = swft_add(&d);
	assert_memory_equal(t->format, "a format of more", SWFT_FORMAT_BYTES);
	uint64_t seq = t->seq;
	swft_fill(t, "data", 4);
	assert_string_equal((const char *) (uintptr_t) t->data, "data");
	assert_int_equal(t->count, 4);
	swft_grow(t, 5, 6, 7, 8);
	assert_int_equal(t->count, 5);
	assert_int_equal(t->info_bytes, 6);
	assert_int_equal(t->n_symbols, 7);
	assert_int_equal(t->names_bytes, 8);
	assert_int_equal(t->seq, seq); /* readers are not disturbed */
	swft_remove(t);
	swft_flush();
}

/* A child of fork() inherits the lock and a table that is being written, from a thread that it does
 * not have. */
TEST(test_after_fork)
{
	struct swft_table *cut = add(0x1000);
	swft_remove(cut);
	swft_flush();
	assert_int_equal(snapwalk_ftable_v1.unused, (uint64_t) (uintptr_t) cut);
	cut->seq++;
	snapwalk_ftable_v1.lock = (uint64_t) getpid();
	pid_t child = fork();
	if (child == 0) {
		struct swft_table *t = add(0x2000);
		_exit(t == cut && t->seq % 2 == 0 && t->state == SWFT_LIVE ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	snapwalk_ftable_v1.lock = 0;
	cut->seq++;
}

/* The list that swft_flush() or swft_remove() leave where a fork() cuts them off. */
TEST(test_after_fork_in_list)
{
	swft_flush();
	for (unsigned cut = 0; cut < 2; cut++) {
		struct swft_table *stale = add(0x1000), *t = add(0x2000);
		released = 0;
		snapwalk_ftable_v1.quarantine_first = cut == 0 ? 0 : (uint64_t) (uintptr_t) stale;
		snapwalk_ftable_v1.quarantine_last = cut == 0 ? (uint64_t) (uintptr_t) stale : 0;
		swft_remove(t);
		swft_flush();
		assert_int_equal(released, 1);
		for (unsigned i = 0; i < SWFT_QUARANTINE + 1; i++)
			swft_remove(add(0x3000));
		assert_int_equal(released, 2);
		swft_flush();
	}
}
