/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which locks are not let go of between two looks, and which lines of maps are of a file. */
#include "events/memory_locks.h"
#include "cleanup.h"
#include "skip.h"
#include "test.h"

#include <sys/mman.h>

enum { MEMORY = 0x1000, OTHER = 0x2000, OWNER = 0x71, NEXT = 0x81 };

static const struct sw_iterate_lock waits = {.memory = MEMORY,
					     .owner = OWNER,
					     .n_switches = 7,
					     .tid = 12};
static const struct sw_iterate_lock first = {.memory = MEMORY, .owner = OWNER, .tid = 10};

static size_t still(struct sw_iterate_lock was, struct sw_iterate_lock now)
{
	return sw_memory_locks_still(&was, 1, &now, 1);
}

TEST(a_lock_that_nobody_else_took)
{
	struct sw_iterate_lock now = first;
	assert_int_equal(still(first, now), 1);
	now.owner = NEXT;
	assert_int_equal(still(first, now), 0);
	now = first;
	now.memory = OTHER; /* its thread is another program's */
	assert_int_equal(still(first, now), 0);
	now = first;
	now.tid++;
	assert_int_equal(still(first, now), 0);
}

/* A thread that has it for reading stays, whoever else reads meanwhile. */
TEST(a_thread_that_waits)
{
	struct sw_iterate_lock now = waits;
	now.owner = NEXT;
	assert_int_equal(still(waits, now), 1);
	now.n_switches++;
	assert_int_equal(still(waits, now), 0);
	now.n_switches = 0; /* it runs */
	assert_int_equal(still(waits, now), 0);
}

/* Nothing is known without an owner and without a thread that waits: somebody had it at both looks. */
TEST(nothing_is_known)
{
	struct sw_iterate_lock unknown = first;
	unknown.owner = 0;
	assert_int_equal(still(unknown, unknown), 0);
}

TEST(those_that_are_left)
{
	struct sw_iterate_lock seen[] = {first, waits, first}, now[] = {waits, first};
	seen[0].memory = OTHER;
	assert_int_equal(sw_memory_locks_still(seen, 3, now, 2), 2);
	assert_int_equal(seen[0].tid, waits.tid);
	assert_int_equal(seen[1].tid, first.tid);
	assert_int_equal(sw_memory_locks_still(seen, 2, now, 0), 0);
}

static bool is_of(const char *line, uint64_t inode, const char *name)
{
	return sw_memory_locks_maps_line(line, strlen(line), inode, name);
}

TEST(lines_of_maps)
{
	static const char library[] = "7f00-7f10 r-xp 00002000 08:01 4711      /usr/lib/libc.so.6";
	assert_true(is_of(library, 4711, "another"));
	assert_true(is_of(library, 1, "libc.so.6"));
	assert_false(is_of(library, 1, "c.so.6"));
	assert_false(is_of(library, 1, "libc.so"));
	assert_false(is_of(library, 471, ""));
	assert_false(is_of(library, 47112, ""));
	assert_false(is_of("7f00-7f10 rw-p 00000000 00:00 0", 0, ""));
	assert_false(is_of("7f00-7f10 rw-p 00000000 00:00 0    [heap]", 0, "[heap]"));
	assert_false(is_of("7f00-7f10 rw-p", 4711, "libc.so.6"));
	assert_false(is_of("", 4711, "libc.so.6"));
}

/* Our own memory is locked by nobody for long. */
TEST(memory_that_is_let_go)
{
	enum { PATIENCE_NS = 1000000000 };
	struct sw_memory_locks locks;
	struct sw_iterate_lock holder;
	struct sw_error err;
	if (sw_memory_locks_open(&locks, &err) < 0)
		SKIP("the locks cannot be read", "CAP_BPF, CAP_PERFMON");
	sw_cleanup(sw_close_p) int fd = memfd_create("code", MFD_CLOEXEC);
	assert_int_equal(sw_memory_locks_wait(&locks, fd, PATIENCE_NS, &holder, &err), 0);
	sw_memory_locks_close(&locks);
	sw_memory_locks_close(&locks);
}
