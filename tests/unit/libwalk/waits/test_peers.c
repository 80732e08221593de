/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owners for whom threads wait, of a process whose files of /proc are written here, and of one
 * beside it that waits for a lock. A thread that moves while it is looked at has waited for
 * something else.
 */
#include "waits/peers.h"
#include "arch/arch.h"
#include "fake.h"
#include "fake_process.h"
#include "process/proc.h"
#include "skip.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PID = 11, N = 2, SP = 0x7000, PC = 0x401000, FD = 3, SWITCHES = 5 };

struct fixture {
	char directory[32];
	int proc_fd, lock_fd;
	pid_t peer; /* waits for the lock that we have */
	bool refused;
	struct sw_snapshot *snap;
	struct sw_thread threads[N];
};

static struct fixture *now;

static void nothing(int number)
{
}

static void file_write(const char *name, const char *text)
{
	char path[96];
	(void) snprintf(path, sizeof(path), "%s/%s", now->directory, name); /* fits */
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void status_write(int tid, int switches)
{
	char name[32], text[128];
	(void) snprintf(name, sizeof(name), "task/%d/status", tid); /* fits */
	(void) snprintf(
		text, sizeof(text),
		"Name:\ta\nState:\tS "
		"(sleeping)\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t0\n",
		switches); /* fits */
	file_write(name, text);
}

static void syscall_write(int tid, unsigned sp)
{
	char name[32], text[128];
	(void) snprintf(name, sizeof(name), "task/%d/syscall", tid); /* fits */
	(void) snprintf(text, sizeof(text), "%d 0x%x 0x2 0x0 0x0 0x0 0x0 0x%x 0x%x\n", SYS_flock,
			FD, sp, PC); /* fits */
	file_write(name, text);
}

static uint64_t peer_switches(const struct fixture *f)
{
	char name[32], text[4096];
	(void) snprintf(name, sizeof(name), "/proc/%d/status", (int) f->peer); /* fits */
	return sw_proc_read_small(AT_FDCWD, name, text, sizeof(text)) > 0 ? sw_proc_switches(text)
									  : 0;
}

static void peer_wait(struct fixture *f)
{
	char name[32], text[256];
	struct sw_proc_syscall call = {.number = -1};
	(void) snprintf(name, sizeof(name), "/proc/%d/syscall", (int) f->peer); /* fits */
	for (;;) {
		ssize_t n = sw_proc_read_small(AT_FDCWD, name, text, sizeof(text));
		f->refused = n < 0 && (errno == EACCES || errno == EPERM);
		if (f->refused ||
		    (n > 0 && sw_proc_syscall_parse(text, &call) && call.number == SYS_flock))
			return;
		sched_yield();
	}
}

static void directory_make(const struct fixture *f, const char *name)
{
	char path[96];
	(void) snprintf(path, sizeof(path), "%s/%s", f->directory, name); /* fits */
	assert_int_equal(mkdir(path, 0700), 0);
}

static void peer_start(struct fixture *f)
{
	char path[96];
	(void) snprintf(path, sizeof(path), "%s/lock", f->directory); /* fits */
	f->lock_fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(flock(f->lock_fd, LOCK_EX), 0);
	f->peer = fork();
	assert_true(f->peer >= 0);
	if (f->peer == 0) {
		(void) sigaction(SIGUSR1,
				 &(struct sigaction){.sa_handler = nothing, .sa_flags = SA_RESTART},
				 NULL);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		(void) flock(fd, LOCK_EX);
		_exit(0);
	}
	peer_wait(f);
}

static int setup(void **state)
{
	static const char *const directories[] = {"task", "task/11", "task/12", "fd", "fdinfo"};
	struct fixture *f = now = calloc(1, sizeof(*f));
	char path[96];
	assert_non_null(f);
	strcpy(f->directory, "/tmp/snapwalk-test-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		directory_make(f, directories[i]);
	(void) snprintf(path, sizeof(path), "%s/fd/%d", f->directory, FD); /* fits */
	assert_int_equal(symlink("/var/lock/a", path), 0);
	file_write("fdinfo/3", "pos:\t0\nino:\t77\n");
	f->proc_fd = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->snap = fake_snapshot_create();
	f->snap->process.pid = PID;
	f->snap->threads = f->threads;
	f->snap->n_threads = N;
	for (int i = 0; i < N; i++) {
		struct sw_thread *t = &f->threads[i];
		*t = (struct sw_thread){.tid = PID + i,
					.state = 'S',
					.captured = true,
					.syscall = SYS_flock};
		for (unsigned r = 0; r < SW_REGS_MAX; r++)
			sw_regs_set(&t->regs, r, 0);
		sw_regs_set(&t->regs, SW_X86_64_RDI, FD);
		sw_regs_set(&t->regs, SW_ARCH_SP, SP);
		sw_regs_set(&t->regs, SW_ARCH_RA, PC);
		status_write(PID + i, SWITCHES);
		syscall_write(PID + i, SP);
	}
	peer_start(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[64];
	fake_process = (struct fake_process){0};
	(void) kill(f->peer, SIGKILL);
	(void) waitpid(f->peer, NULL, 0);
	f->snap->threads = NULL;
	f->snap->n_threads = 0;
	fake_snapshot_destroy(f->snap);
	(void) close(f->proc_fd);
	(void) close(f->lock_fd);
	(void) snprintf(command, sizeof(command), "rm -r %s", f->directory); /* fits */
	free(f);
	return system(command);
}

static void fill(struct fixture *f, pid_t (*lock_owner)(pid_t self))
{
	const struct sw_snapshot_options options = {0};
	if (f->refused)
		SKIP("/proc/PID/syscall of a child is refused",
		     "root, or another kernel.yama.ptrace_scope");
	fake_process = (struct fake_process){.lock_owner = lock_owner};
	sw_peers_fill(f->snap, f->proc_fd, &options, NULL);
}

static pid_t owner(pid_t self)
{
	return self == PID ? now->peer : getpid();
}

/* An owner that was looked at through one thread is proven of that thread. */
TEST_OF(test_owner, struct fixture *f)
{
	fill(f, owner);
	for (int i = 0; i < N; i++) {
		const struct sw_wait_for *wait = f->threads[i].wait_for;
		assert_non_null(wait);
		assert_string_equal(wait->kind, "file_lock");
		assert_string_equal(wait->target, "/var/lock/a");
		assert_int_equal(wait->owner_pid, f->peer);
		assert_int_equal(wait->proven, i == 0);
	}
	assert_int_equal(f->snap->n_peers, 2); /* we have the lock */
	assert_int_equal(f->snap->peers[0].pid, f->peer);
	assert_int_equal(f->snap->peers[0].wait_for.owner_pid, getpid());
}

/* The thread is in the same call, of another function: it returned meanwhile. */
TEST_OF(test_another_call, struct fixture *f)
{
	syscall_write(PID, SP + 16);
	fill(f, owner);
	assert_null(f->threads[0].wait_for);
	assert_int_equal(f->snap->n_peers, 0);
}

static pid_t owner_and_thread_runs(pid_t self)
{
	status_write(PID, SWITCHES + 1);
	return owner(self);
}

TEST_OF(test_thread_ran, struct fixture *f)
{
	fill(f, owner_and_thread_runs);
	assert_null(f->threads[0].wait_for);
	assert_null(f->threads[1].wait_for);
}

static pid_t owner_and_peer_runs(pid_t self)
{
	uint64_t before = peer_switches(now);
	if (self == now->peer && kill(now->peer, SIGUSR1) == 0)
		while (peer_switches(now) == before)
			sched_yield();
	return owner(self);
}

/* The other process is named nevertheless, and what it waited for is not. */
TEST_OF(test_peer_ran, struct fixture *f)
{
	fill(f, owner_and_peer_runs);
	assert_non_null(f->threads[0].wait_for);
	assert_int_equal(f->snap->n_peers, 2); /* we have the lock */
	assert_int_equal(f->snap->peers[0].pid, f->peer);
	assert_int_equal(f->snap->peers[0].wait_for.owner_pid, 0);
}
