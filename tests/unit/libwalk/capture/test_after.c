/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The results of a stop: of a child with two threads, which are described as they are, and then
 * taken for stopped. Nobody stops them: registers are what each test says.
 */
#include "arch/arch.h"
#include "capture/before.h"
#include "capture/stacks.h"
#include "capture/take.h"
#include "capture/unfinished.h"
#include "cleanup.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PAGE = 4096 };

struct fixture {
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_take take;
	struct sw_error err;
	pid_t child;
	int to, from;
	uint64_t stack_avma; /* in the child's stack */
};

static const struct sw_tables no_tables;

static void *wait_for_ever(void *arg)
{
	while (pause() < 0) /* always */
		;
	return arg;
}

/* Tells where its stack is, then maps a page of code whenever a byte comes, and tells where. */
static void child_main(int from, int to)
{
	pthread_t other;
	char byte;
	void *avma = __builtin_frame_address(0);
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&other, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
	while (write(to, &avma, sizeof(avma)) == sizeof(avma) && read(from, &byte, 1) == 1)
		avma = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_exit(0);
}

static uint64_t child_says(const struct fixture *f)
{
	uint64_t avma = 0;
	assert_int_equal(read(f->from, &avma, sizeof(avma)), sizeof(avma));
	return avma;
}

static uint64_t child_maps_code(const struct fixture *f)
{
	assert_int_equal(write(f->to, "", 1), 1);
	return child_says(f);
}

static void child_start(struct fixture *f)
{
	int to[2], from[2];
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	f->child = fork();
	assert_true(f->child >= 0);
	if (f->child == 0)
		child_main(to[0], from[1]);
	(void) close(to[0]);
	(void) close(from[1]);
	f->to = to[1];
	f->from = from[0];
	f->stack_avma = child_says(f);
}

/* As if both threads had been stopped here and let go, and their stacks not copied. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	child_start(f);
	assert_int_equal(sw_context_create(&f->ctx, NULL), 0);
	assert_int_equal(sw_target_open(f->child, &f->target, NULL), 0);
	f->take = (struct sw_take){.target = f->target,
				   .options = {.stop = SW_STOP_ALWAYS,
					       .max_stop_ms = 100,
					       .max_threads = 64,
					       .stack_bytes = 64 << 10,
					       .total_bytes = 1 << 20},
				   .live_fd = -EBADF,
				   .link_fd = -EBADF,
				   .tables = &no_tables,
				   .err = &f->err};
	f->take.stop.task_fd = f->target->task_fd;
	assert_int_equal(sw_snapshot_create(f->ctx, &f->take.snap, NULL), 0);
	assert_int_equal(sw_take_before(&f->take), 0);
	assert_int_equal(f->take.stop.n, 2);
	struct sw_stop *s = &f->take.stop;
	for (size_t i = 0; i < s->n; i++) {
		s->tracees[i].phase = SW_TRACEE_RELEASED;
		s->tracees[i].has_regs = true;
		s->tracees[i].interrupt_ns = 1000000;
		s->tracees[i].release_ns = 3000000;
		s->tracees[i].regs.rip = (uintptr_t) wait_for_ever;
		s->tracees[i].regs.rsp = f->stack_avma;
		s->tracees[i].regs.orig_rax = (unsigned long long) -1;
	}
	s->finished = true;
	s->max_stop_ns = 100000000;
	s->time_ns = 5;
	s->deadline_ns = s->copy_end_ns = INT64_MAX;
	(void) snprintf(s->statm, sizeof(s->statm), "%llu ",
			(unsigned long long) f->take.maps_pages);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_snapshot_destroy(f->take.snap);
	sw_close_p(&f->take.stop.statm_fd);
	sw_close_p(&f->take.live_fd);
	sw_target_close(f->target);
	sw_context_destroy(f->ctx);
	(void) kill(f->child, SIGKILL);
	(void) waitpid(f->child, NULL, 0);
	(void) close(f->to);
	(void) close(f->from);
	free(f);
	return 0;
}

static void copy(struct fixture *f)
{
	sw_capture_space_fill(f->take.space, &f->take.stop);
}

static size_t n_warnings(const struct fixture *f, enum sw_warning_code code, pid_t tid)
{
	const struct sw_snapshot *snap = f->take.snap;
	size_t n = 0;
	for (size_t i = 0; i < snap->n_warnings; i++)
		n += snap->warnings[i].code == code && snap->warnings[i].tid == tid;
	return n;
}

TEST_OF(test_plain, struct fixture *f)
{
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	const struct sw_snapshot *snap = f->take.snap;
	assert_int_equal(snap->n_threads, 2);
	assert_int_equal(snap->n_stopped, 2);
	assert_int_equal(snap->interrupted_calls, 0);
	assert_int_equal(snap->time_ns, 5);
	for (size_t i = 0; i < 2; i++) {
		const struct sw_thread *t = &snap->threads[i];
		assert_true(t->captured);
		assert_int_equal(t->captured_by, SW_CAPTURED_PTRACE);
		assert_int_equal(t->stop_ns, 2000000);
		assert_true(t->stack_bytes > 0);
		assert_int_equal(n_warnings(f, SW_WARN_MEMORY, t->tid), 0);
	}
}

/* Code that is newer than the maps: they are read again, and what was there before stays. */
TEST_OF(test_new_code, struct fixture *f)
{
	uint64_t code_avma = child_maps_code(f);
	assert_null(sw_snapshot_map(f->take.snap, code_avma));
	f->take.stop.tracees[1].regs.rip = code_avma + 8;
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	const struct sw_map *map = sw_snapshot_map(f->take.snap, code_avma);
	assert_non_null(map);
	assert_int_equal(map->prot & SW_MAP_EXEC, SW_MAP_EXEC);
	assert_non_null(sw_snapshot_map(f->take.snap, (uintptr_t) wait_for_ever));
}

/* The memory had another size in the stop than when the maps were read. */
TEST_OF(test_other_size, struct fixture *f)
{
	uint64_t page_avma = child_maps_code(f);
	(void) snprintf(f->take.stop.statm, sizeof(f->take.stop.statm), "%llu ",
			(unsigned long long) f->take.maps_pages + 1);
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_non_null(sw_snapshot_map(f->take.snap, page_avma));
}

TEST_OF(test_not_copied, struct fixture *f)
{
	assert_int_equal(sw_take_after(&f->take), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_true(f->take.snap->threads[i].captured);
		assert_int_equal(n_warnings(f, SW_WARN_MEMORY, f->take.snap->threads[i].tid), 1);
	}
}

/* Without a reason of its own: it is missing, not gone. */
TEST_OF(test_not_stopped, struct fixture *f)
{
	f->take.stop.tracees[1].has_regs = false;
	f->take.stop.tracees[1].release_ns = 0;
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	const struct sw_thread *t = &f->take.snap->threads[1];
	assert_false(t->captured);
	assert_int_equal(t->reason, SW_E_STOP_TIMEOUT);
	assert_int_equal(t->stop_ns, -1);
	assert_int_equal(n_warnings(f, SW_WARN_THREAD_MISSING, t->tid), 1);
}

/* The same where our process that held it was killed. */
TEST_OF(test_died, struct fixture *f)
{
	f->take.stop.tracees[1].has_regs = false;
	f->take.stop.finished = false;
	f->take.stop.died = true;
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_int_equal(f->take.snap->threads[1].reason, SW_E_IO);
	assert_int_equal(n_warnings(f, SW_WARN_CAPTURE, 0), 1);
}

static const char *message_of(const struct fixture *f, enum sw_warning_code code)
{
	for (size_t i = 0; i < f->take.snap->n_warnings; i++)
		if (f->take.snap->warnings[i].code == code)
			return f->take.snap->warnings[i].message;
	return "";
}

/* The warnings after a stop that there was, and after none. */
TEST_OF(test_limits, struct fixture *f)
{
	copy(f);
	f->take.stop.timed_out = true;
	f->take.n_undescribed = 1;
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_string_equal(
		message_of(f, SW_WARN_STOP_TIMEOUT),
		"the limit of 100 ms for the stop was reached: everything was released");
	assert_string_equal(
		message_of(f, SW_WARN_TIMEOUT),
		"what 1 thread waits for in the kernel was not read: there was no time left "
		"for it");
}

TEST_OF(test_limit_of_copy, struct fixture *f)
{
	copy(f);
	f->take.stop.timed_out = true;
	for (size_t i = 0; i < 2; i++)
		f->take.stop.tracees[i].interrupt_ns = 0;
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_string_equal(message_of(f, SW_WARN_STOP_TIMEOUT),
			    "the limit of 100 ms for the copy was reached: the rest was not copied "
			    "(nothing was stopped)");
}

TEST_OF(test_interrupted, struct fixture *f)
{
	f->take.stop.tracees[1].visible = true;
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_int_equal(f->take.snap->interrupted_calls, 1);
	assert_true(f->take.snap->threads[1].interrupted);
	assert_false(f->take.snap->threads[0].interrupted);
	assert_int_equal(n_warnings(f, SW_WARN_INTERRUPTED, f->take.snap->threads[1].tid), 1);
}

/* A thread that was found in the stop is described after it. */
TEST_WITH(test_fresh, setup, teardown)
{
	struct fixture *f = *state;
	struct sw_thread *t = &f->take.snap->threads[1];
	f->take.stop.tracees[1].fresh = true;
	t->comm[0] = '\0';
	t->state = '?';
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_string_not_equal(t->comm, "");
	assert_int_not_equal(t->state, '?');
}

/* The process became another program: none of it is given. */
TEST_OF(test_changed, struct fixture *f)
{
	f->take.stop.changed = true;
	for (size_t i = 0; i < 2; i++)
		f->take.stop.tracees[i].has_regs = false;
	assert_int_equal(sw_take_after(&f->take), -SW_E_CHANGED);
}

/* Pages did not come, or the helper was killed, before there was time for registers: they are the
 * stop's. Corrected registers are not written over, and neither are those of an earlier window. */
TEST_OF(test_registers, struct fixture *f)
{
	enum { BACK = 0x1234 };
	bool chosen[] = {true, false};
	struct sw_thread *threads = f->take.snap->threads;
	f->take.space->chosen = chosen;
	f->take.stop.stalled = f->take.stop.timed_out = true;
	sw_regs_set(&threads[1].regs, SW_ARCH_RA, BACK + 1);
	sw_take_registers(&f->take);
	assert_int_equal(threads[0].regs.pc_avma, (uintptr_t) wait_for_ever);
	assert_int_equal(threads[0].regs.sp_avma, f->stack_avma);
	assert_int_equal(threads[1].regs.pc_avma, BACK + 1);
	sw_regs_set(&threads[0].regs, SW_ARCH_RA, BACK);
	f->take.space->chosen = NULL; /* as no windows are made */
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_true(threads[0].captured && threads[1].captured);
	assert_int_equal(threads[0].regs.pc_avma, BACK);
	assert_int_equal(threads[1].regs.pc_avma, BACK + 1);
}

/* A stop that came to its end has filled the registers itself. */
TEST_OF(test_registers_are_there, struct fixture *f)
{
	struct sw_thread *threads = f->take.snap->threads;
	copy(f);
	sw_regs_set(&threads[0].regs, SW_ARCH_RA, 0x1234);
	sw_take_registers(&f->take);
	assert_int_equal(threads[0].regs.pc_avma, 0x1234);
}

/* A thread that was stopped twice was held as long as both times together. */
TEST_OF(test_stopped_twice, struct fixture *f)
{
	f->take.stop.tracees[0].held_ns = 5000000;
	f->take.stop.tracees[1].held_ns = 7000000;
	f->take.stop.tracees[1].interrupt_ns = f->take.stop.tracees[1].release_ns = 0;
	copy(f);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_int_equal(f->take.snap->threads[0].stop_ns, 7000000);
	assert_int_equal(f->take.snap->threads[1].stop_ns, 7000000);
	assert_int_equal(f->take.snap->n_stopped, 2);
}

/* Another program began after the copy: its maps are not those of the stacks. */
TEST_OF(test_other_program_later, struct fixture *f)
{
	const struct sw_map *maps = f->take.snap->maps;
	size_t n_maps = f->take.snap->n_maps;
	copy(f);
	(void) child_maps_code(f);
	f->take.maps_pages++; /* as if it had grown */
	int pagemap_fd = f->take.stop.pagemap_fd;
	f->take.stop.pagemap_fd = memfd_create("pagemap", MFD_CLOEXEC); /* its space has ended */
	assert_true(f->take.stop.pagemap_fd >= 0);
	assert_int_equal(sw_take_after(&f->take), 0);
	assert_ptr_equal(f->take.snap->maps, maps);
	assert_int_equal(f->take.snap->n_maps, n_maps);
	assert_int_equal(close(f->take.stop.pagemap_fd), 0);
	f->take.stop.pagemap_fd = pagemap_fd;
}
