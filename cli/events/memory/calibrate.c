/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/calibrate.h"
#include "cleanup.h"
#include "errors.h"
#include "events/memory/calibrated_code.h"
#include "events/memory/watched.h"

#include <snapwalk/clock.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

enum {
	CALLS = 50, /* in a row */
	ROUNDS = 6, /* of which the fastest counts: other processes only make it slower */
	WAIT_MS = 10000,
	DEPTH_BYTES = 16 << 10, /* of stack above the calls, as a copy takes as much as there is */
};

struct times {
	int64_t handing_ns, taking_ns, unknown_ns, stepped_ns; /* of CALLS calls */
};

/* ---- the child -------------------------------------------------------------------------------- */

static int64_t spent(void)
{
	return sw_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t handed(uint64_t first)
{
	int64_t begin_ns = spent();
	for (uint64_t i = 0; i < CALLS; i++)
		(void) sw_calibrated_hand(first + i);
	return spent() - begin_ns;
}

static int64_t taken(uint64_t first)
{
	int64_t begin_ns = spent();
	for (uint64_t i = 0; i < CALLS; i++)
		sw_calibrated_take(first + i);
	return spent() - begin_ns;
}

static void measure(uint64_t first, struct times *ret)
{
	ret->handing_ns = handed(first);
	ret->taking_ns = taken(first);
	ret->unknown_ns = taken(first);
	(void) handed(first + CALLS);
	int64_t begin_ns = spent();
	for (uint64_t i = 0; i < CALLS; i++)
		(void) sw_calibrated_step(first + CALLS + i);
	ret->stepped_ns = spent() - begin_ns;
}

/* A byte from in_fd is answered by times. */
__attribute__((noreturn)) static void child(int in_fd, int out_fd)
{
	char depth[DEPTH_BYTES], byte;
	uint64_t first = 1;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it ends when the pipe does */
	(void) prctl(PR_SET_DUMPABLE, 1);        /* the parent looks at it */
	memset(depth, 1, sizeof(depth));
	__asm__ volatile("" : : "r"(depth) : "memory");
	while (read(in_fd, &byte, 1) == 1) {
		struct times times;
		measure(first, &times);
		first += UINT64_C(2) * CALLS;
		if (write(out_fd, &times, sizeof(times)) != sizeof(times))
			break;
	}
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------- */

struct calibration {
	pid_t pid;
	int go_fd, times_fd;
	struct sw_event_place places[3];
	struct sw_watched watched;
};

static void calibration_deinit(struct calibration *c)
{
	sw_watched_close(&c->watched);
	sw_close_p(&c->go_fd);
	sw_close_p(&c->times_fd);
	for (size_t i = 0; i < SW_ARRAY_SIZE(c->places); i++)
		sw_close_p(&c->places[i].file_fd);
	if (c->pid > 0) {
		(void) kill(c->pid, SIGKILL);
		(void) waitpid(c->pid, NULL, 0);
	}
}

static int child_start(struct calibration *c, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int in_fd = -EBADF;
	sw_cleanup(sw_close_p) int out_fd = -EBADF;
	int go[2], times[2];
	if (pipe2(go, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "a pipe");
	in_fd = go[0];
	c->go_fd = go[1];
	if (pipe2(times, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "a pipe");
	c->times_fd = times[0];
	out_fd = times[1];
	c->pid = fork();
	if (c->pid < 0)
		return sw_fail_errno(err, SW_E_IO, "a process to measure with cannot be made");
	if (c->pid == 0) {
		(void) close(go[1]); /* so that the end of the parent is seen */
		child(in_fd, out_fd);
	}
	return 0;
}

static int times_get(struct calibration *c, struct times *ret, struct sw_error *err)
{
	struct pollfd one = {.fd = c->times_fd, .events = POLLIN};
	if (write(c->go_fd, "", 1) != 1 || poll(&one, 1, WAIT_MS) != 1 ||
	    read(c->times_fd, ret, sizeof(*ret)) != sizeof(*ret))
		return sw_fail(err, SW_E_TIMEOUT, "what a call costs could not be measured");
	return 0;
}

static void least(struct times *a, const struct times *b)
{
	if (b->handing_ns < a->handing_ns)
		a->handing_ns = b->handing_ns;
	if (b->taking_ns < a->taking_ns)
		a->taking_ns = b->taking_ns;
	if (b->unknown_ns < a->unknown_ns)
		a->unknown_ns = b->unknown_ns;
	if (b->stepped_ns < a->stepped_ns)
		a->stepped_ns = b->stepped_ns;
}

static int rounds(struct calibration *c, struct times *ret, struct sw_error *err)
{
	struct times times;
	*ret = (struct times){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	for (int i = 0; i < ROUNDS; i++) {
		int r = times_get(c, &times, err);
		if (r < 0)
			return r;
		least(ret, &times);
	}
	return 0;
}

struct code {
	uintptr_t address;
	uint64_t file_off;
	bool found;
};

/* The program's own file is the first one that is told. */
static int code_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct code *code = arg;
	(void) size;
	for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || code->address - start >= p->p_filesz)
			continue;
		code->file_off = p->p_offset + (code->address - start);
		code->found = true;
	}
	return 1;
}

static bool off_of(uintptr_t address, uint64_t *ret)
{
	struct code code = {.address = address};
	(void) dl_iterate_phdr(code_look, &code);
	*ret = code.file_off;
	return code.found;
}

static int places_set(struct calibration *c, struct sw_error *err)
{
	struct sw_event_place *hand = &c->places[0], *take = &c->places[1], *step = &c->places[2];
	bool found = off_of((uintptr_t) sw_calibrated_hand, &hand->file_off) &&
		     off_of((uintptr_t) sw_calibrated_hand_ret, &hand->returns_off[0]) &&
		     off_of((uintptr_t) sw_calibrated_take, &take->file_off) &&
		     off_of((uintptr_t) sw_calibrated_step, &step->file_off);
	if (!found)
		return sw_fail(err, SW_E_UNSUPPORTED, "the code to measure with is not found");
	hand->n_returns = 1;
	hand->emulated = take->emulated = true;
	take->releases = step->releases = true;
	take->handle.argument = step->handle.argument = 1;
	for (size_t i = 0; i < SW_ARRAY_SIZE(c->places); i++) {
		c->places[i].file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		if (c->places[i].file_fd < 0)
			return sw_fail_errno(err, SW_E_IO, "/proc/self/exe");
	}
	return 0;
}

static int probes_open(struct calibration *c, size_t stack_bytes, struct sw_error *err)
{
	const struct sw_event_options wanted = {.what = SW_EVENT_PAIRS,
						.stack_bytes = stack_bytes,
						.places = c->places,
						.n_places = SW_ARRAY_SIZE(c->places)};
	int r = places_set(c, err);
	return r < 0 ? r : sw_watched_open(&c->watched, c->pid, 0, &wanted, err);
}

static double each(int64_t with_ns, int64_t without_ns)
{
	return with_ns > without_ns ? (double) (with_ns - without_ns) / CALLS : 0;
}

int sw_call_calibrate(size_t stack_bytes, struct sw_call_cost *ret, struct sw_error *err)
{
	sw_cleanup(calibration_deinit) struct calibration c = {.go_fd = -EBADF,
							       .times_fd = -EBADF,
							       .places = {{.file_fd = -EBADF},
									  {.file_fd = -EBADF},
									  {.file_fd = -EBADF}}};
	struct times without, with;
	int r = child_start(&c, err);
	if (r == 0)
		r = rounds(&c, &without, err);
	if (r == 0)
		r = probes_open(&c, stack_bytes, err);
	if (r == 0)
		r = rounds(&c, &with, err);
	if (r < 0)
		return r;
	const struct sw_event_cost cost = sw_event_sampler_cost(c.watched.sampler);
	if (cost.n_copied == 0)
		return sw_fail(err, SW_E_UNSUPPORTED, "the kernel has not copied what was called");
	double taking = each(with.taking_ns, without.taking_ns);
	double stepped = each(with.stepped_ns, without.stepped_ns);
	*ret = (struct sw_call_cost){.handing = each(with.handing_ns, without.handing_ns),
				     .copy = (double) cost.ns / (double) cost.n_copied,
				     .taking = taking,
				     .unknown = each(with.unknown_ns, without.unknown_ns),
				     .stepped_more = stepped > taking ? stepped - taking : 0};
	return 0;
}

#else

int sw_call_calibrate(size_t stack_bytes, struct sw_call_cost *ret, struct sw_error *err)
{
	(void) stack_bytes;
	(void) ret;
	return sw_fail(err, SW_E_UNSUPPORTED, "functions of this machine's code are not followed");
}

#endif
