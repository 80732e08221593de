/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of a breakpoint at each call: measured at code of our own, by a child. */
#include "bytes.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"
#include "events/uprobes.h"

#include <snapwalk/clock.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CODE_BYTES = 4096,
	EMULATED_AT = 0, /* of the code; its three functions do next to nothing */
	STEPPED_AT = 64,
	BARE_AT = 128,
	CALLS_MAX = 400, /* of each function, */
	CALLS_MIN = 8,
	CPU_MAX_NS = 4 * 1000 * 1000, /* or as many as take that long */
	WAIT_MS = 1000,
};

static const uint8_t pushes[] = {0x55, 0x5d, 0xc3}; /* push %rbp; pop %rbp; ret */
static const uint8_t moves[] = {0x89, 0xf8, 0xc3};  /* mov %edi, %eax; ret */

static int64_t cpu_ns(void)
{
	return sw_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* A file in memory, of which nobody else has a mapping, so that nobody else is touched. -1: there is none. */
static int code_file(void)
{
	sw_cleanup(sw_close_p) int fd = memfd_create("snapwalk-probe", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, CODE_BYTES) < 0 ||
	    pwrite(fd, pushes, sizeof(pushes), EMULATED_AT) != sizeof(pushes) ||
	    pwrite(fd, moves, sizeof(moves), STEPPED_AT) != sizeof(moves) ||
	    pwrite(fd, moves, sizeof(moves), BARE_AT) != sizeof(moves))
		return -1;
	return sw_take_fd(fd);
}

/* The time of one call. */
static int64_t call_ns(const uint8_t *code)
{
	void (*function)(void) = (void (*)(void))(uintptr_t) code;
	int64_t begin_ns, now_ns;
	int n = 0;
	function(); /* the first one has faults of pages */
	begin_ns = now_ns = cpu_ns();
	for (; n < CALLS_MAX && (n < CALLS_MIN || now_ns - begin_ns < CPU_MAX_NS); n += CALLS_MIN) {
		for (int i = 0; i < CALLS_MIN; i++)
			function();
		now_ns = cpu_ns();
	}
	return (now_ns - begin_ns) / n;
}

static bool measured(uint32_t type, struct sw_event_probe_cost *ret)
{
	sw_cleanup(sw_close_p) int file_fd = code_file();
	if (file_fd < 0)
		return false;
	const uint8_t *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_fd, 0);
	if (code == MAP_FAILED)
		return false;
	/* The end of this process closes both. */
	if (sw_uprobe_of_self(type, file_fd, EMULATED_AT) < 0 ||
	    sw_uprobe_of_self(type, file_fd, STEPPED_AT) < 0)
		return false;
	int64_t bare_ns = call_ns(code + BARE_AT), emulated_ns = call_ns(code + EMULATED_AT),
		stepped_ns = call_ns(code + STEPPED_AT);
	ret->emulated_ns = emulated_ns > bare_ns ? emulated_ns - bare_ns : 0;
	ret->stepped_ns = stepped_ns > bare_ns ? stepped_ns - bare_ns : 0;
	return true;
}

int sw_event_probe_cost_begin(struct sw_event_measuring *ret, struct sw_error *err)
{
	int ends[2];
	uint32_t type = 0;
	const bool has_type = sw_event_probe_type(&type);
	const pid_t parent = getpid();
	if (pipe2(ends, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		struct sw_event_probe_cost cost;
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && has_type &&
		    measured(type, &cost))
			(void) !write(ends[1], &cost, sizeof(cost)); /* else it is not known */
		_exit(0);
	}
	(void) close(ends[1]);
	if (pid < 0) {
		(void) close(ends[0]);
		return sw_fail_errno(err, SW_E_IO, "cannot make a process");
	}
	*ret = (struct sw_event_measuring){.pid = pid,
					   .fd = ends[0],
					   .pidfd = (int) syscall(SYS_pidfd_open, pid, 0)};
	if (ret->pidfd < 0) { /* no descriptor is left: it ends by itself, with its probes */
		*ret = (struct sw_event_measuring){0};
		(void) close(ends[0]);
		return sw_fail_errno(err, SW_E_IO, "cannot open a process");
	}
	return 0;
}

/*
 * The child ends with its probes, which takes the kernel a while: for ever where somebody else keeps a lock that this
 * needs. One that has not ended is reaped after us.
 */
static void child_end(struct sw_event_measuring *m)
{
	struct pollfd end = {.fd = m->pidfd, .events = POLLIN};
	sw_child_kill(m->pidfd);
	if (poll(&end, 1, WAIT_MS) > 0)
		(void) waitpid(m->pid, NULL, WNOHANG); /* has ended */
	sw_close_p(&m->pidfd);
}

bool sw_event_probe_cost_end(struct sw_event_measuring *m, struct sw_event_probe_cost *ret)
{
	struct pollfd wait = {.fd = m->fd, .events = POLLIN};
	struct sw_event_probe_cost cost;
	bool known = false;
	if (m->pid <= 0)
		return false;
	if (ret != NULL && poll(&wait, 1, WAIT_MS) == 1 &&
	    read(m->fd, &cost, sizeof(cost)) == sizeof(cost)) {
		*ret = cost;
		known = true;
	}
	child_end(m);
	sw_close_p(&m->fd);
	m->pid = 0;
	return known;
}
