/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mappings by their events, whose addresses are made up: the list of the check knows nothing of them, and most tests end
 * without it. The list is that of a child, which maps when it is told to: this process may map at any time. */
#include "events/mappings.h"
#include "held_case.h"

#include <snapwalk/clock.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, ROW = 3, BASE = 0x10000000 };

static const struct sw_held_kind *const of = &sw_held_mappings;

static pid_t child;
static int to_child, from_child;
static char *mapped[2]; /* by the child: four pages, one page */

static void child_run(int from, int to)
{
	char byte;
	while (read(from, &byte, 1) == 1) {
		/* A name that is the kernel's own in part. */
		mapped[0] = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE,
				 memfd_create("a[stack]", MFD_CLOEXEC), 0);
		mapped[1] = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (write(to, mapped, sizeof(mapped)) != sizeof(mapped))
			break;
	}
	_exit(0);
}

static void child_maps(void)
{
	assert_int_equal(write(to_child, "x", 1), 1);
	assert_int_equal(read(from_child, mapped, sizeof(mapped)), sizeof(mapped));
	assert_true(mapped[0] != MAP_FAILED && mapped[1] != MAP_FAILED);
}

static void begin(void)
{
	int there[2], back[2];
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		(void) close(there[1]); /* or it never ends */
		child_run(there[0], back[1]);
	}
	assert_true(child > 0);
	to_child = there[1];
	from_child = back[0];
	(void) close(there[0]); /* the child's, as the following */
	(void) close(back[1]);
	begin_of(of, child);
}

static void end_with_child(void)
{
	end();
	assert_int_equal(close(to_child), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(close(from_child), 0);
}

static void tell(pid_t tid, uint32_t row, const struct sw_event *what)
{
	struct sw_event event = *what;
	event.number = number++;
	event.time_ns = sw_clock_ns();
	event.tid = tid;
	assert_int_equal(of->event(held, &event, row, NULL), 0);
}

static void maps(uint64_t page, uint64_t pages)
{
	tell(1, ROW,
	     &(struct sw_event){.kind = SW_EVENT_MAPS_END,
				.call = SYS_mmap,
				.result = (int64_t) (BASE + page * PAGE),
				.arguments = {pages * PAGE}});
}

static void call_begins(pid_t tid, long call, uint64_t first, uint64_t last)
{
	tell(tid, SW_RECORDER_NO_ROW,
	     &(struct sw_event){.kind = SW_EVENT_MAPS_BEGIN,
				.call = call,
				.arguments = {BASE + first * PAGE, BASE + last * PAGE}});
}

static void call_ends(pid_t tid, long call, int64_t result, uint64_t bytes)
{
	tell(tid, ROW + 1,
	     &(struct sw_event){.kind = SW_EVENT_MAPS_END,
				.call = call,
				.result = result,
				.arguments = {bytes}});
}

static void expect(uint32_t number_of, uint64_t acquired, uint64_t outstanding, uint64_t pages)
{
	assert_int_equal(row_of(number_of)->acquired, acquired);
	assert_int_equal(row_of(number_of)->outstanding, outstanding);
	assert_int_equal(row_of(number_of)->acquired - row_of(number_of)->released, outstanding);
	assert_int_equal(row_of(number_of)->outstanding_bytes, pages * PAGE);
}

TEST(test_replace_and_split)
{
	begin();
	maps(0, 10);
	maps(2, 3); /* MAP_FIXED over the first one, which is in two parts now */
	call_begins(1, SYS_munmap, 0, 1);
	call_begins(1, SYS_munmap, 4, 6); /* parts of both */
	maps(5, 1);                       /* where a part was */
	finish_run();
	expect(ROW, 3, 3, 1 + 2 + 4 + 1);
	end_with_child();
}

TEST(test_calls_that_fail)
{
	begin();
	maps(0, 4);
	call_begins(1, SYS_munmap, 1, 3);
	call_begins(2, SYS_munmap, 0, 1); /* of another thread */
	call_ends(1, SYS_munmap, -ENOMEM, 0);
	call_begins(1, SYS_mremap, 3, 4);
	call_ends(1, SYS_mremap, -ENOMEM, PAGE);
	call_begins(1, SYS_brk, 4, 2);
	call_ends(1, SYS_brk, BASE + 4 * PAGE, 0); /* where it was */
	call_begins(1, SYS_mremap, 1, 2);          /* has not returned in the end */
	call_begins(2, SYS_munmap, 2, 4);          /* what those have left */
	finish_run();
	expect(ROW, 1, 1, 1);
	end_with_child();
}

TEST(test_mremap)
{
	begin();
	maps(0, 4);
	maps(20, 2);
	call_begins(1, SYS_mremap, 0, 4); /* grows over the other one */
	call_ends(1, SYS_mremap, BASE + 16 * PAGE, 6 * PAGE);
	call_begins(1, SYS_mremap, 16, 22); /* shrinks: what it grew by is gone, and a page */
	call_ends(1, SYS_mremap, BASE + 16 * PAGE, 3 * PAGE);
	call_begins(1, SYS_mremap, 16, 16); /* of nothing: a copy */
	call_ends(1, SYS_mremap, BASE + 40 * PAGE, 2 * PAGE);
	call_ends(1, SYS_mremap, BASE + 50 * PAGE, PAGE); /* DONTUNMAP */
	finish_run();
	expect(ROW, 2, 1, 3);
	expect(ROW + 1, 3, 2, 3);
	end_with_child();
}

TEST(test_brk)
{
	begin();
	call_begins(1, SYS_brk, 0, 4);
	call_ends(1, SYS_brk, BASE + 4 * PAGE - 100, 0);
	call_begins(1, SYS_brk, 4, 6);
	call_ends(1, SYS_brk, BASE + 6 * PAGE, 0);
	call_begins(1, SYS_brk, 6, 3);
	call_ends(1, SYS_brk, BASE + 3 * PAGE, 0);
	finish_run();
	expect(ROW + 1, 2, 1, 3);
	end_with_child();
}

TEST(test_against_the_list)
{
	begin();
	child_maps();
	const uint64_t late = (uintptr_t) mapped[1];
	const struct sw_event seen = {.kind = SW_EVENT_MAPS_END,
				      .call = SYS_mmap,
				      .result = (int64_t) (uintptr_t) mapped[0],
				      .arguments = {3 * PAGE}};
	tell(1, ROW, &seen);
	maps(0, 2); /* is not in the list */
	assert_int_equal(sw_held_check(held, NULL), 0);
	maps(5, 1); /* came after it */
	tell(1, SW_RECORDER_NO_ROW,
	     &(struct sw_event){.kind = SW_EVENT_MAPS_BEGIN,
				.call = SYS_munmap,
				.arguments = {late, late + PAGE}});
	finish_run();
	assert_int_equal(held->unknown_origin, 1);
	assert_int_equal(held->unknown_bytes, PAGE);
	assert_int_equal(held->closed_unseen, 1);
	assert_int_equal(held->unseen_bytes, 2 * PAGE);
	assert_int_equal(row_of(ROW)->acquired, 3);
	assert_int_equal(row_of(ROW)->unseen, 1);
	assert_int_equal(row_of(ROW)->outstanding_bytes, 4 * PAGE);
	assert_true(held->before > 5 && held->before_bytes > 5 * PAGE);
	end_with_child();
}

TEST(test_another_program)
{
	begin();
	maps(0, 2);
	call_begins(2, SYS_munmap, 0, 1);
	tell(1, SW_RECORDER_NO_ROW, &(struct sw_event){.kind = SW_EVENT_PROGRAM});
	maps(0, 1);
	finish_run();
	expect(ROW, 2, 1, 1);
	assert_true(held->before > 5 && held->before_released > 5);
	end_with_child();
}

static size_t used(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

/* Threads that unmap and end: nothing of them stays, and where the ends of their calls were lost, little does. */
TEST(test_threads_that_end)
{
	enum { BYTES_MAX = 64 << 10, LOST_MAX = 4 << 20 };
	begin();
	maps(0, 3);
	const size_t before = used();
	for (pid_t tid = 1; tid <= 50000; tid++) {
		maps(10, 1);
		call_begins(tid, SYS_munmap, 10, 11);
		call_ends(tid, SYS_munmap, 0, 0);
	}
	assert_true(used() < before + BYTES_MAX);
	for (pid_t tid = 1; tid <= 200000; tid++) {
		call_begins(tid, SYS_munmap, 20, 21);
		assert_true(used() < before + LOST_MAX);
	}
	/* Memory of a call that has not returned when there are too many calls is there as before. */
	call_begins(300000, SYS_mremap, 1, 2);
	for (pid_t tid = 1; tid <= 100000; tid++)
		call_begins(tid, SYS_brk, 20, 21);
	finish_run();
	assert_int_equal(row_of(ROW)->acquired, 50001);
	assert_int_equal(row_of(ROW)->outstanding, 1);
	assert_int_equal(row_of(ROW)->outstanding_bytes, 3 * PAGE);
	end_with_child();
}
