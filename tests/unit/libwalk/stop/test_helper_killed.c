/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process that holds the target is killed at each of its system calls in turn, as the OOM killer
 * may do: what is there afterwards is true, and what is missing is said.
 */
#include "cleanup.h"
#include "snapshot/snapshot.h"
#include "still_process.h"
#include "test.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum {
	THREADS = 4,
	CALLS_MAX = 1000,
	MAX_STOP_MS = 10000,
	FRAMES_BYTES =
		512, /* of a stack; above lies the control block, where the kernel writes CPUs */
};

static pid_t self;
static int die_at; /* the helper ends before this call of its own, counted from 1; 0: it lives */
static int calls;

static void count(void)
{
	if (getpid() != self && ++calls == die_at)
		(void) kill(getpid(), SIGKILL);
}

/* ---- these stand before those of the C library ----------------------------------------------- */

long ptrace(enum __ptrace_request request, ...)
{
	va_list list;
	va_start(list, request);
	pid_t pid = va_arg(list, pid_t);
	void *addr = va_arg(list, void *), *data = va_arg(list, void *);
	va_end(list);
	count();
	return syscall(SYS_ptrace, request, pid, addr, data);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	count();
	return (int) syscall(SYS_waitid, type, id, info, options, NULL);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
			 const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
	count();
	return syscall(SYS_process_vm_readv, pid, local, n_local, remote, n_remote, flags);
}

/* ---- what came of it ------------------------------------------------------------------------- */

static bool is_warned(const struct sw_snapshot *snap, enum sw_warning_code code, const char *words)
{
	for (size_t i = 0; i < snap->n_warnings; i++)
		if (snap->warnings[i].code == code &&
		    strstr(snap->warnings[i].message, words) != NULL)
			return true;
	return false;
}

/* How many stacks are there. Registers and stacks are those of a capture that nobody disturbed. */
static size_t same_as(const struct sw_snapshot *snap, const struct sw_snapshot *whole)
{
	size_t n = 0;
	assert_int_equal(snap->n_threads, whole->n_threads);
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		const struct sw_thread *w = &whole->threads[i];
		assert_int_equal(t->tid, w->tid);
		assert_true(t->captured || t->reason == SW_E_IO);
		if (t->captured) {
			assert_int_equal(t->regs.sp_avma, w->regs.sp_avma);
			assert_int_equal(t->regs.pc_avma, w->regs.pc_avma);
			assert_int_equal(t->fs_base, w->fs_base);
		}
		if (t->stack_bytes > 0) {
			assert_int_equal(t->stack_avma, w->stack_avma);
			assert_int_equal(t->stack_bytes, w->stack_bytes);
			assert_memory_equal(t->stack, w->stack, FRAMES_BYTES);
			n++;
		}
	}
	return n;
}

/* A stack that was not copied is read as it is now: these threads stand still. */
static void walks_the_same(const struct sw_snapshot *snap, const struct sw_snapshot *whole)
{
	struct sw_walks *walks, *wanted;
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(sw_walk_all(whole, NULL, &wanted, NULL), 0);
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_walk *got = &walks->walks[i], *w = &wanted->walks[i];
		if (!snap->threads[i].captured)
			continue;
		assert_int_equal(got->n_frames, w->n_frames);
		for (size_t k = 0; k < w->n_frames; k++)
			assert_int_equal(got->frames[k].pc_avma, w->frames[k].pc_avma);
	}
	sw_walks_destroy(walks);
	sw_walks_destroy(wanted);
}

struct fixture {
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_snapshot *whole;
	pid_t pid;
};

static int take(struct fixture *f, int at, struct sw_snapshot **ret, struct sw_error *err)
{
	const struct sw_snapshot_options options = {.stop = SW_STOP_ALWAYS,
						    .max_stop_ms = MAX_STOP_MS};
	still_process_wait(f->pid, THREADS);
	calls = 0;
	die_at = at;
	return sw_snapshot_take(f->ctx, f->target, &options, ret, err);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	self = getpid();
	f->pid = still_process_start(THREADS);
	assert_int_equal(sw_context_create(&f->ctx, NULL), 0);
	assert_int_equal(sw_target_open(f->pid, &f->target, NULL), 0);
	assert_int_equal(take(f, 0, &f->whole, NULL), 0);
	assert_int_equal(f->whole->n_threads, THREADS);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_snapshot_destroy(f->whole);
	sw_target_close(f->target);
	sw_context_destroy(f->ctx);
	still_process_end(f->pid);
	free(f);
	return 0;
}

TEST_OF(test_every_call, struct fixture *f)
{
	struct sw_snapshot *snap;
	struct sw_error err;
	size_t n_nothing = 0, n_registers = 0, n_stacks = 0;
	for (int at = 1;; at++) {
		assert_in_range(at, 1, CALLS_MAX);
		int r = take(f, at, &snap, &err);
		if (calls < at) {
			assert_int_equal(r, 0);
			assert_int_equal(same_as(snap, f->whole), THREADS);
			sw_snapshot_destroy(snap);
			break;
		}
		if (r < 0) {
			assert_int_equal(err.code, SW_E_IO);
			assert_non_null(strstr(err.message, "was killed"));
			n_nothing++;
			continue;
		}
		assert_true(is_warned(snap, SW_WARN_CAPTURE, "was killed"));
		assert_true(snap->time_ns > 0);
		assert_true(snap->times.stopped_ns > 0);
		size_t n = same_as(snap, f->whole);
		n_registers += n == 0;
		n_stacks += n > 0;
		assert_true(n == THREADS ||
			    is_warned(snap, SW_WARN_MEMORY, "stack was not copied") ||
			    is_warned(snap, SW_WARN_THREAD_MISSING, ""));
		walks_the_same(snap, f->whole);
		sw_snapshot_destroy(snap);
	}
	/* Each kind was met. */
	assert_true(n_nothing >= THREADS);
	assert_true(n_registers >= THREADS);
	assert_true(n_stacks >= THREADS);
}
