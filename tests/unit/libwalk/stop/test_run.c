/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stop against a kernel whose answers are a table: what is asked of it, when and in which order. */
#include "stop/stop.h"
#include "arch/user_regs.h"
#include "fake_kernel.h"
#include "test.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { MS = 1000000, MAX_STOP_MS = 8000 };

struct fixture {
	struct sw_stop stop;
	struct sw_tracee tracees[FAKE_THREADS_MAX];
	pid_t tids[FAKE_THREADS_MAX];
	uint32_t pending[FAKE_THREADS_MAX];
	int n_copied, n_asked;
	bool answer;
	size_t n_with_regs; /* when it was copied */
	int death_signal;   /* likewise: what the helper gets when who started it ends */
	char before[FAKE_LOG_MAX];
};

static void stopped(void *arg, struct sw_stop *stop)
{
	struct fixture *f = arg;
	f->n_copied++;
	for (size_t i = 0; i < stop->n; i++)
		f->n_with_regs += stop->tracees[i].has_regs;
	(void) prctl(PR_GET_PDEATHSIG, &f->death_signal);
	memcpy(f->before, fake_kernel.log, sizeof(f->before));
}

static bool permit(void *arg, int task_fd)
{
	struct fixture *f = arg;
	f->n_asked += task_fd >= 0;
	return f->answer;
}

/* n threads 11, 12 ..., which are known before and stop at once; to be changed by the test. */
static struct fixture *start(size_t n)
{
	static struct fixture f;
	f = (struct fixture){.answer = true};
	fake_kernel = (struct fake_kernel){.n = n};
	for (size_t i = 0; i < n; i++) {
		fake_kernel.threads[i].tid = f.tracees[i].tid = (pid_t) (11 + i);
		fake_kernel.threads[i].regs.orig_rax = (unsigned long long) -1; /* in no call */
	}
	f.stop = (struct sw_stop){.task_fd = FAKE_TASK_FD,
				  .mem_fd = -EBADF,
				  .pagemap_fd = -EBADF,
				  .statm_fd = -EBADF,
				  .new_threads = true,
				  .max_stop_ns = MAX_STOP_MS * (int64_t) MS,
				  .tracees = f.tracees,
				  .n = n,
				  .capacity = FAKE_THREADS_MAX,
				  .tids = f.tids,
				  .pending = f.pending,
				  .stopped = stopped,
				  .arg = &f};
	return &f;
}

static void run(struct fixture *f)
{
	assert_int_equal(sw_stop_run(&f->stop, NULL), 0);
	assert_true(f->stop.finished);
	assert_false(fake_kernel.hangs);
	assert_false(fake_kernel.after_detach);
	for (size_t i = 0; i < fake_kernel.n; i++) {
		const struct fake_thread *t = &fake_kernel.threads[i];
		assert_int_equal(t->seize_options, 0); /* EXITKILL would kill the target */
		assert_false(t->consumed);             /* a signal would be lost if we died */
	}
}

TEST(test_order)
{
	struct fixture *f = start(3);
	run(f);
	assert_string_equal(f->before, "sssiiirrr");
	assert_string_equal(fake_kernel.log, "sssiiirrrddd");
	assert_int_equal(f->n_copied, 1);
	assert_int_equal(f->n_with_regs, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f->tracees[i].phase, SW_TRACEE_RELEASED);
		assert_int_equal(f->tracees[i].reason, 0);
		assert_true(f->tracees[i].release_ns > f->tracees[i].interrupt_ns);
		assert_int_equal(fake_kernel.threads[i].detach_signal, 0);
	}
	assert_false(f->stop.timed_out);
	assert_int_equal(fake_kernel.alarm_ns, 0);
}

/* A thread that comes before the first INTERRUPT is seized while everything runs. */
TEST(test_new_before)
{
	struct fixture *f = start(2);
	fake_kernel.n = 3;
	fake_kernel.threads[2] = (struct fake_thread){.tid = 13, .born = 2};
	run(f);
	assert_string_equal(fake_kernel.log, "sssiiirrrddd");
	assert_int_equal(f->stop.n, 3);
	assert_true(f->tracees[2].fresh);
	assert_false(f->tracees[0].fresh);
}

/* A thread that was made by one that was not stopped yet is found by the number of links. */
TEST(test_new_meanwhile)
{
	struct fixture *f = start(2);
	fake_kernel.n = 4;
	fake_kernel.threads[2] = (struct fake_thread){.tid = 13, .born_held = 1};
	fake_kernel.threads[3] = (struct fake_thread){.tid = 14, .born_held = 3};
	run(f);
	assert_string_equal(fake_kernel.log, "ssiirrsirsirdddd");
	assert_int_equal(f->n_with_regs, 4);
	assert_int_equal(f->tracees[3].tid, 14);
	/* Nobody asked for others. */
	f = start(2);
	f->stop.new_threads = false;
	fake_kernel.n = 3;
	fake_kernel.threads[2] = (struct fake_thread){.tid = 13, .born_held = 1};
	run(f);
	assert_string_equal(fake_kernel.log, "ssiirrdd");
}

/* The dead are not in the directory: one that came in the place of another is missed by no count. */
TEST(test_new_for_dead)
{
	struct fixture *f = start(2);
	fake_kernel.threads[0].dies = true;
	fake_kernel.n = 3;
	fake_kernel.threads[2] = (struct fake_thread){.tid = 13, .born_held = 1};
	run(f);
	assert_int_equal(f->stop.n, 3);
	assert_int_equal(f->n_with_regs, 2);
	assert_true(f->tracees[2].has_regs);
}

/* More than there is space for: said, and the others are there. */
TEST(test_overflow)
{
	struct fixture *f = start(2);
	f->stop.capacity = 3;
	fake_kernel.n = 5;
	for (size_t i = 2; i < 5; i++)
		fake_kernel.threads[i] =
			(struct fake_thread){.tid = (pid_t) (11 + i), .born_held = 1};
	run(f);
	assert_true(f->stop.overflow);
	assert_int_equal(f->stop.n, 3);
	assert_int_equal(f->n_with_regs, 3);
}

/* The thread's id was given to a thread of another process, which gets its signal and goes on. */
TEST(test_foreign)
{
	struct fixture *f = start(3);
	fake_kernel.threads[1].foreign = true;
	fake_kernel.threads[1].signal = SIGUSR1;
	run(f);
	assert_true(fake_kernel.threads[1].detached);
	assert_int_equal(fake_kernel.threads[1].detach_signal, SIGUSR1);
	assert_string_equal(f->before, "sssiiirrrd");
	assert_int_equal(f->n_with_regs, 2);
	assert_int_equal(f->tracees[1].phase, SW_TRACEE_LOST);
	assert_int_equal(f->tracees[1].reason, SW_E_EXITED);
	assert_false(f->tracees[1].has_regs);
}

TEST(test_signals)
{
	struct fixture *f = start(3);
	fake_kernel.threads[0].signal = SIGTERM;
	fake_kernel.threads[2].signal = SIGTRAP;
	run(f);
	assert_int_equal(fake_kernel.threads[0].detach_signal, SIGTERM);
	assert_int_equal(fake_kernel.threads[1].detach_signal, 0);
	assert_int_equal(fake_kernel.threads[2].detach_signal, SIGTRAP);
	assert_int_equal(f->n_with_regs, 3);
}

/* An execve() of another thread waits until the dead are reaped. */
TEST(test_dead)
{
	struct fixture *f = start(3);
	fake_kernel.threads[0].dies = true;
	fake_kernel.threads[2].dies_held = true;
	run(f);
	assert_true(fake_kernel.threads[0].reaped);
	assert_int_equal(f->tracees[0].phase, SW_TRACEE_LOST);
	assert_int_equal(f->tracees[0].reason, SW_E_EXITED);
	assert_int_equal(f->tracees[2].phase, SW_TRACEE_LOST);
	assert_int_equal(f->tracees[2].reason, SW_E_EXITED);
	assert_int_equal(f->n_with_regs, 1);
	assert_false(f->stop.timed_out);
}

TEST(test_refused_to_seize)
{
	struct fixture *f = start(3);
	fake_kernel.threads[0].seize_errno = EPERM;
	fake_kernel.threads[1].seize_errno = ESRCH;
	run(f);
	assert_int_equal(f->tracees[0].reason, SW_E_NOT_PERMITTED);
	assert_int_equal(f->tracees[1].reason, SW_E_EXITED);
	assert_true(f->tracees[2].phase == SW_TRACEE_RELEASED);
}

/* Half of the time is for letting go: no thread is interrupted after that. */
TEST(test_half_time)
{
	struct fixture *f = start(6);
	fake_kernel.interrupt_ns = MAX_STOP_MS / 5 * (int64_t) MS;
	run(f);
	assert_int_equal(fake_kernel.n_interrupted, 3);
	assert_true(f->stop.timed_out);
	assert_int_equal(f->n_with_regs, 3);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(fake_kernel.threads[i].interrupted, i < 3);
		assert_int_equal(f->tracees[i].reason, i < 3 ? 0 : SW_E_STOP_TIMEOUT);
	}
	/* SEIZE does not stop: it may take as long as it does. */
	f = start(6);
	fake_kernel.seize_ns = MAX_STOP_MS * (int64_t) MS;
	run(f);
	assert_int_equal(f->n_with_regs, 6);
	assert_false(f->stop.timed_out);
}

/* The stop of a crowd, of which not all fit into the time: threads that were interrupted are copied
 * and let go within it, the others are left alone. */
static void run_crowd(struct fixture *f, int max_stop_ms)
{
	f->stop.max_stop_ns = max_stop_ms * (int64_t) MS;
	fake_kernel.interrupt_ns = 10000;
	fake_kernel.registers_ns = 5000;
	fake_kernel.detach_ns = 12000;
	for (size_t i = 0; i < fake_kernel.n; i++)
		if (fake_kernel.threads[i].stops_after_ns == 0)
			fake_kernel.threads[i].stops_after_ns = 5 * MS;
	run(f);
	const struct fake_thread *first = &fake_kernel.threads[0];
	for (size_t i = 0; i < fake_kernel.n; i++) {
		const struct fake_thread *t = &fake_kernel.threads[i];
		assert_int_equal(t->detached, t->interrupted && t->stops_after_ns != FAKE_NEVER);
		assert_in_range(t->detach_ns, 0, first->interrupt_ns + f->stop.max_stop_ns);
		if (!t->interrupted)
			assert_int_equal(f->tracees[i].reason, SW_E_STOP_TIMEOUT);
	}
	assert_in_range(f->stop.stopped_ns, 0, f->stop.max_stop_ns);
}

TEST(test_crowd)
{
	struct fixture *f = start(FAKE_THREADS_MAX);
	run_crowd(f, 50);
	assert_true(f->stop.timed_out);
	assert_int_equal(f->n_with_regs, fake_kernel.n_interrupted);
	assert_in_range(f->n_with_regs, 600, 700);
	f = start(FAKE_THREADS_MAX);
	run_crowd(f, 100);
	assert_false(f->stop.timed_out);
	assert_int_equal(f->n_with_regs, FAKE_THREADS_MAX);
}

/* The time that letting them go takes is kept when they are waited for, too, and when they are copied. */
TEST(test_crowd_late)
{
	struct fixture *f = start(FAKE_THREADS_MAX);
	fake_kernel.threads[300].stops_after_ns = FAKE_NEVER;
	run_crowd(f, 40);
	size_t n = (size_t) fake_kernel.n_interrupted;
	assert_in_range(n, 500, 600);
	assert_int_equal(f->n_with_regs, n - 1);
	assert_in_range(f->stop.deadline_ns - f->stop.copy_end_ns, n * 12000, n * 15000);
}

/* A quarter of the time is for the copy. A thread that stops after the copy is let go, and is not
 * in it. */
TEST(test_late)
{
	struct fixture *f = start(3);
	fake_kernel.threads[0].stops_after_ns = FAKE_NEVER;
	fake_kernel.threads[1].stops_after_ns = MAX_STOP_MS / 8 * INT64_C(7) * MS;
	run(f);
	assert_true(f->stop.timed_out);
	assert_int_equal(f->n_with_regs, 1);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(f->tracees[i].reason, SW_E_STOP_TIMEOUT);
		assert_false(f->tracees[i].has_regs);
	}
	int64_t held_ns = fake_kernel.threads[2].detach_ns - fake_kernel.threads[2].interrupt_ns;
	assert_in_range(held_ns, MAX_STOP_MS / 4 * INT64_C(3) * MS - MS,
			MAX_STOP_MS / 4 * INT64_C(3) * MS + 5 * MS);
	assert_true(f->stop.stopped_ns < MAX_STOP_MS * INT64_C(1) * MS);
	assert_false(fake_kernel.hangs);
}

static void copy_long(void *arg, struct sw_stop *stop)
{
	stopped(arg, stop);
	fake_kernel.now_ns += MAX_STOP_MS / 4 * (int64_t) MS;
}

static void set_epoll_wait(struct user_regs_struct *regs)
{
	regs->orig_rax = SYS_epoll_wait;
	regs->rax = (unsigned long long) -EINTR;
	regs->r10 = (unsigned) -1; /* no time limit */
}

/* The same while it was copied: its call begins again. */
TEST(test_late_in_copy)
{
	struct fixture *f = start(2);
	f->stop.stopped = copy_long;
	fake_kernel.threads[1].stops_after_ns = MAX_STOP_MS / 8 * INT64_C(7) * MS;
	set_epoll_wait(&fake_kernel.threads[1].regs);
	run(f);
	assert_int_equal(f->n_with_regs, 1);
	assert_true(fake_kernel.threads[1].detached);
	assert_true(fake_kernel.threads[1].poked);
	assert_false(f->tracees[1].has_regs);
	assert_int_equal(f->tracees[1].reason, SW_E_STOP_TIMEOUT);
}

/* A thread that was in state D and stops while it is copied is let go with the others. */
TEST(test_uninterruptible_late)
{
	struct fixture *f = start(2);
	f->stop.stopped = copy_long;
	f->tracees[0].uninterruptible = true;
	fake_kernel.threads[0].stops_after_ns = MAX_STOP_MS / 8 * (int64_t) MS;
	set_epoll_wait(&fake_kernel.threads[0].regs);
	run(f);
	assert_int_equal(f->n_with_regs, 1);
	assert_true(fake_kernel.threads[0].poked);
	assert_true(fake_kernel.threads[0].detached);
}

/* When all others run again: the helper waits, and lives on without who started it. Two of them: who stops
 * second is not held until the first one does. */
TEST(test_late_for_all)
{
	struct fixture *f = start(3);
	for (size_t i = 0; i < 2; i++) {
		fake_kernel.threads[i].stops_after_ns =
			(MAX_STOP_MS / 4 * 3 + 100 - 50 * (int) i) * (int64_t) MS;
		set_epoll_wait(&fake_kernel.threads[i].regs);
	}
	run(f);
	assert_int_equal(f->death_signal, SIGALRM);
	assert_int_equal(f->n_with_regs, 1);
	for (size_t i = 0; i < 2; i++) {
		const struct fake_thread *t = &fake_kernel.threads[i];
		assert_true(t->poked && t->detached);
		assert_true(t->detach_ns - t->interrupt_ns - t->stops_after_ns < 3 * MS);
		assert_true(f->tracees[i].release_ns - f->tracees[i].interrupt_ns < 3 * MS);
		assert_int_equal(f->tracees[i].reason, SW_E_STOP_TIMEOUT);
		assert_true(t->detach_ns > fake_kernel.threads[2].detach_ns);
	}
}

TEST(test_death_signal)
{
	struct fixture *f = start(1);
	run(f);
	assert_int_equal(f->death_signal, SIGKILL);
}

/* In state D before: it is waited for shortly, once all others have stopped. */
TEST(test_uninterruptible)
{
	struct fixture *f = start(2);
	f->tracees[0].uninterruptible = true;
	fake_kernel.threads[0].stops_after_ns = FAKE_NEVER;
	fake_kernel.threads[1].stops_after_ns = 3 * MS;
	run(f);
	assert_int_equal(f->tracees[0].reason, SW_E_STOP_TIMEOUT);
	assert_false(f->stop.timed_out); /* the limit was not reached */
	int64_t held_ns = fake_kernel.threads[1].detach_ns - fake_kernel.threads[1].interrupt_ns;
	assert_in_range(held_ns, (3 + SW_STOP_D_GRACE_MS) * MS, (3 + SW_STOP_D_GRACE_MS + 3) * MS);
	/* When it is alone nobody is held meanwhile. */
	f = start(1);
	f->tracees[0].uninterruptible = true;
	fake_kernel.threads[0].stops_after_ns = MAX_STOP_MS / 2 * (int64_t) MS;
	run(f);
	assert_int_equal(f->n_with_regs, 1);
}

/* A call that ends with EINTR because of us begins again; the register is written at once. */
TEST(test_restart)
{
	struct fixture *f = start(3);
	set_epoll_wait(&fake_kernel.threads[1].regs);
	set_epoll_wait(&fake_kernel.threads[2].regs);
	fake_kernel.threads[2].regs.r10 = 5000; /* a time limit: it would begin anew */
	run(f);
	assert_string_equal(fake_kernel.log, "sssiiirrprddd");
	assert_true(fake_kernel.threads[1].poked);
	assert_int_equal(fake_kernel.threads[1].poked_value, -514);
	assert_int_equal(fake_kernel.threads[1].poked_offset, sw_arch_result_offset());
	assert_false(f->tracees[1].visible);
	assert_true(f->tracees[2].visible);
	/* With a signal on its way that ends the call anyway, it is not our doing. */
	f = start(1);
	set_epoll_wait(&fake_kernel.threads[0].regs);
	fake_kernel.threads[0].regs.r10 = 5000;
	fake_kernel.threads[0].signal = SIGUSR1;
	run(f);
	assert_false(f->tracees[0].visible);
}

TEST(test_32_bit)
{
	struct fixture *f = start(2);
	fake_kernel.threads[0].regs_bytes = 68;
	fake_kernel.threads[0].regs.cs = 0x23;
	run(f);
	assert_false(f->tracees[0].has_regs);
	assert_int_equal(f->tracees[0].reason, SW_E_ARCH);
	assert_true(fake_kernel.threads[0].detached);
	assert_int_equal(f->n_with_regs, 1);
	/* The first thread is of a 32-bit program; its epoll_wait() begins again, too. The other
	 * runs 64-bit code. */
	f = start(2);
	f->stop.is_32bit = true;
	fake_kernel.threads[0].regs_bytes = 68;
	fake_kernel.threads[0].regs = (struct user_regs_struct){.cs = 0x23,
								.orig_rax = 256,
								.rax = 0xfffffffc,
								.rsi = 0xffffffff,
								.rip = 0xf7f00123};
	run(f);
	assert_true(f->tracees[0].has_regs);
	assert_int_equal(f->tracees[0].regs.rip, 0xf7f00123);
	assert_int_equal(fake_kernel.threads[0].poked_value, -514);
	assert_false(f->tracees[0].visible);
	assert_int_equal(f->tracees[1].reason, SW_E_ARCH);
}

/* The permission is asked with a directory that can be opened; otherwise nothing is copied. */
TEST(test_permit)
{
	struct fixture *f = start(2);
	f->stop.permit = permit;
	f->stop.permit_arg = f;
	run(f);
	assert_int_equal(f->n_asked, 1);
	assert_int_equal(f->n_copied, 1);
	f = start(2);
	f->stop.permit = permit;
	f->stop.permit_arg = f;
	f->answer = false;
	run(f);
	assert_true(f->stop.refused);
	assert_int_equal(f->n_copied, 0);
	assert_string_equal(fake_kernel.log, "ssiirrdd");
	f = start(2);
	f->stop.permit = permit;
	f->stop.permit_arg = f;
	fake_kernel.openat_errno = EMFILE;
	run(f);
	assert_int_equal(f->n_asked, 0);
	assert_true(f->stop.refused);
	assert_int_equal(f->n_copied, 0);
	assert_true(fake_kernel.threads[0].detached && fake_kernel.threads[1].detached);
}

/* An address space that has ended reads as an empty file: the threads run another program. */
TEST(test_another_program)
{
	struct fixture *f = start(2);
	f->stop.pagemap_fd = memfd_create("pagemap", MFD_CLOEXEC);
	assert_true(f->stop.pagemap_fd >= 0);
	run(f);
	assert_true(f->stop.changed);
	assert_int_equal(f->n_copied, 0);
	assert_true(fake_kernel.threads[0].detached && fake_kernel.threads[1].detached);
	int fd = f->stop.pagemap_fd;
	assert_int_equal(write(fd, "12345678", 8), 8);
	f = start(2);
	f->stop.pagemap_fd = fd;
	run(f);
	assert_false(f->stop.changed);
	assert_int_equal(f->n_copied, 1);
	assert_int_equal(close(fd), 0);
}

/* Nobody waits for the copy any more: it is not made, and all are let go. */
TEST(test_orphaned)
{
	struct fixture *f = start(2);
	fake_kernel.orphaned = true;
	run(f);
	assert_int_equal(f->n_copied, 0);
	assert_string_equal(fake_kernel.log, "ssiirrdd");
	assert_true(fake_kernel.threads[0].detached && fake_kernel.threads[1].detached);
}
