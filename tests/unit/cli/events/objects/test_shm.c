/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared memory is paired by the events of a process that is this one: what the kernel lists of it is the check in the end. */
#include "events/objects/shm.h"
#include "held_case.h"

#include <snapwalk/clock.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROW = 4, NONE = 0x7fff0000 /* no segment has this number */, BYTES = 4096 };

static const struct sw_held_kind *const of = &sw_held_shm;

static int created(void)
{
	int id = shmget(IPC_PRIVATE, BYTES, 0600);
	assert_true(id >= 0);
	return id;
}

static void removed(int id)
{
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
}

static void begin(void)
{
	begin_of(of, getpid());
}

static void tell_of(enum sw_event_kind kind, enum sw_event_shm what, uint32_t id, uint64_t more,
		    const char *path, uint32_t row)
{
	const struct sw_event event = {.number = number++,
				       .time_ns = sw_clock_ns(),
				       .kind = kind,
				       .text = path,
				       .text_size = path != NULL ? strlen(path) : 0,
				       .n_handles = kind == SW_EVENT_PROGRAM ? 0 : 1,
				       .handles = {{.number = id, .inode = more, .file = what}}};
	assert_int_equal(of->event(held, &event, row, NULL), 0);
}

static void segment(enum sw_event_kind kind, int id, bool sure)
{
	tell_of(kind, SW_EVENT_SHM_SEGMENT, (uint32_t) id, sure, NULL,
		kind == SW_EVENT_ACQUIRED ? ROW : SW_RECORDER_NO_ROW);
}

static void attachment(enum sw_event_kind kind, const void *at)
{
	tell_of(kind, SW_EVENT_SHM_ATTACHMENT, 0, (uintptr_t) at, NULL,
		kind == SW_EVENT_ACQUIRED ? ROW : SW_RECORDER_NO_ROW);
}

static void object(enum sw_event_kind kind, const char *path, uint64_t inode)
{
	tell_of(kind, SW_EVENT_SHM_OBJECT, 0, inode, path,
		kind == SW_EVENT_ACQUIRED ? ROW : SW_RECORDER_NO_ROW);
}

static void finish(void)
{
	assert_int_equal(sw_held_check(held, NULL), 0);
	finish_run();
}

static void figures(uint64_t before, uint64_t before_released, uint64_t unknown, uint64_t unseen)
{
	assert_int_equal(held->before, before);
	assert_int_equal(held->before_released, before_released);
	assert_int_equal(held->unknown_origin, unknown);
	assert_int_equal(held->closed_unseen, unseen);
}

static void row(uint64_t acquired, uint64_t given_up, uint64_t outstanding)
{
	assert_int_equal(row_of(ROW)->acquired, acquired);
	assert_int_equal(row_of(ROW)->released, given_up);
	assert_int_equal(row_of(ROW)->outstanding, outstanding);
}

TEST(test_segments)
{
	int old = created(), older = created(), ids[3];
	begin();
	for (int i = 0; i < 3; i++) {
		ids[i] = created();
		segment(SW_EVENT_ACQUIRED, ids[i], true);
	}
	removed(ids[1]);
	segment(SW_EVENT_RELEASED, ids[1], false);
	removed(old);
	segment(SW_EVENT_RELEASED, old, false);
	finish();
	row(3, 1, 2);
	assert_int_equal(held->n_there, 3);
	figures(1, 1, 0, 0);
	removed(ids[0]);
	removed(ids[2]);
	removed(older);
	end();
}

/* A call without IPC_EXCL finds a segment that is there. */
TEST(test_found_by_key)
{
	int old = created();
	begin();
	int id = created();
	segment(SW_EVENT_ACQUIRED, old, false);
	segment(SW_EVENT_ACQUIRED, id, false);
	segment(SW_EVENT_ACQUIRED, id, false);
	finish();
	row(1, 0, 1);
	figures(1, 0, 0, 0);
	removed(id);
	removed(old);
	end();
}

/* Segments of another process, which was there before or not. */
TEST(test_of_others)
{
	enum { KEY = 0x53574b31 };
	const key_t keys[2] = {KEY, KEY + 1};
	int ids[2];
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			begin();
		pid_t child = fork();
		if (child == 0)
			_exit(shmget(keys[i], BYTES, IPC_CREAT | 0600) < 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		ids[i] = shmget(keys[i], BYTES, 0600);
		assert_true(ids[i] >= 0);
	}
	segment(SW_EVENT_ACQUIRED, ids[0], false);
	segment(SW_EVENT_ACQUIRED, ids[1], false);
	finish();
	row(0, 0, 0);
	assert_int_equal(held->acquired, 0);
	assert_int_equal(held->n_there, 0);
	figures(0, 0, 0, 0);
	removed(ids[0]);
	removed(ids[1]);
	end();
}

TEST(test_attachments)
{
	int id = created();
	void *old = shmat(id, NULL, 0);
	begin();
	void *at[3];
	for (int i = 0; i < 3; i++) {
		at[i] = shmat(id, NULL, 0);
		attachment(SW_EVENT_ACQUIRED, at[i]);
	}
	attachment(SW_EVENT_RELEASED, at[0]);
	assert_int_equal(shmdt(at[0]), 0);
	/* SHM_REMAP over one. */
	attachment(SW_EVENT_ACQUIRED, at[1]);
	attachment(SW_EVENT_RELEASED, &id); /* which is none */
	finish();
	row(4, 2, 2);
	assert_int_equal(held->n_there, 4);
	figures(2, 0, 0, 0);
	assert_true(shmdt(at[1]) == 0 && shmdt(at[2]) == 0 && shmdt(old) == 0);
	removed(id);
	end();
}

/* Removed while it is attached, a segment is no more. */
TEST(test_removed_and_attached)
{
	begin();
	int id = created();
	segment(SW_EVENT_ACQUIRED, id, true);
	void *at = shmat(id, NULL, 0);
	attachment(SW_EVENT_ACQUIRED, at);
	removed(id);
	segment(SW_EVENT_RELEASED, id, false);
	finish();
	row(2, 1, 1);
	assert_int_equal(held->n_there, 1);
	figures(0, 0, 0, 0);
	assert_int_equal(shmdt(at), 0);
	end();
}

static const char *path_of(int n)
{
	static char paths[4][64];
	(void) snprintf(paths[n], sizeof(paths[n]), "/dev/shm/snapwalk-unit-%d-%d", (int) getpid(),
			n);
	return paths[n];
}

static uint64_t object_made(int n)
{
	struct stat st;
	int fd = open(path_of(n), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && fstat(fd, &st) == 0 && close(fd) == 0);
	return st.st_ino;
}

TEST(test_objects)
{
	begin();
	uint64_t inodes[4];
	for (int i = 0; i < 4; i++) {
		inodes[i] = object_made(i);
		object(SW_EVENT_ACQUIRED, path_of(i), inodes[i]);
	}
	assert_int_equal(unlink(path_of(0)), 0);
	/* As shm_unlink(3) may have the name. */
	char path[80];
	(void) snprintf(path, sizeof(path), "/dev/shm//%s", path_of(0) + strlen("/dev/shm/"));
	object(SW_EVENT_RELEASED, path, 0);
	/* Nobody saw how, and another one has the name of the second. */
	assert_true(unlink(path_of(1)) == 0 && unlink(path_of(2)) == 0);
	assert_int_not_equal(object_made(1), inodes[1]);
	object(SW_EVENT_RELEASED, "/dev/shm/snapwalk-unit-none", 0);
	finish();
	row(4, 1, 1);
	assert_int_equal(row_of(ROW)->unseen, 2);
	assert_int_equal(held->n_there, 1);
	figures(0, 0, 0, 2);
	assert_true(unlink(path_of(1)) == 0 && unlink(path_of(3)) == 0);
	end();
}

TEST(test_what_nobody_saw)
{
	begin();
	int id = created();
	void *at = shmat(id, NULL, 0);
	segment(SW_EVENT_ACQUIRED, NONE, true);
	finish();
	row(1, 0, 0);
	assert_int_equal(row_of(ROW)->unseen, 1);
	figures(0, 0, 2, 1);
	assert_int_equal(shmdt(at), 0);
	removed(id);
	end();
}

/* Things that change after the list was begun are neither unknown nor unseen. */
TEST(test_after_the_check)
{
	int old = created();
	begin();
	int seen = created(), unheard = created();
	segment(SW_EVENT_ACQUIRED, seen, true);
	assert_int_equal(sw_held_check(held, NULL), 0);
	segment(SW_EVENT_ACQUIRED, NONE, true);
	segment(SW_EVENT_RELEASED, seen, false);
	segment(SW_EVENT_RELEASED, old, false);
	segment(SW_EVENT_RELEASED, unheard, false);
	finish_run();
	assert_int_equal(held->n_there, 3);
	row(2, 1, 1);
	figures(0, 1, 0, 0);
	removed(seen);
	removed(unheard);
	removed(old);
	end();
}

TEST(test_program)
{
	int old = created();
	void *attached = shmat(old, NULL, 0);
	begin();
	int id = created();
	void *at = shmat(id, NULL, 0);
	segment(SW_EVENT_ACQUIRED, id, true);
	attachment(SW_EVENT_ACQUIRED, at);
	assert_true(shmdt(at) == 0 && shmdt(attached) == 0);
	tell_of(SW_EVENT_PROGRAM, 0, 0, 0, NULL, SW_RECORDER_NO_ROW);
	finish();
	row(2, 1, 1);
	figures(1, 1, 0, 0);
	removed(id);
	removed(old);
	end();
}

/* A segment that was listed before, and whose creation is an event, was not there before. */
TEST(test_listed_and_created)
{
	int id = created();
	begin();
	const struct sw_event event = {
		.kind = SW_EVENT_ACQUIRED,
		.time_ns = held->listed_ns,
		.n_handles = 1,
		.handles = {{.number = (uint32_t) id, .inode = 1, .file = SW_EVENT_SHM_SEGMENT}}};
	assert_int_equal(of->event(held, &event, ROW, NULL), 0);
	finish();
	row(1, 0, 1);
	figures(0, 0, 0, 0);
	removed(id);
	end();
}
