/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/events.h"
#include "arch/perf_regs.h"
#include "arena.h"
#include "cpus.h"
#include "errors.h"
#include "events/rings.h"
#include "process/proc.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	RINGS_BYTES = 64 << 20, /* of all rings together */
	RING_MAX_BYTES = 4 << 20,
	RING_MIN_BYTES = 128 << 10,
	CPUS_MAX = 4096,
};

struct sw_events {
	struct sw_events_rings rings; /* its rings and their mappings are owned */
	int *fds;                     /* owned, each */
	size_t n_fds, fds_max;
	bool kernel;
	const struct sw_copies *copies; /* borrowed; NULL: none */
};

/* ---- open ------------------------------------------------------------------------------------ */

static void close_fds(struct sw_events *e)
{
	for (size_t i = 0; i < e->n_fds; i++)
		(void) close(e->fds[i]); /* of an event: nothing is lost */
	e->n_fds = 0;
}

static void rings_unmap(struct sw_events *e)
{
	for (size_t i = 0; i < e->rings.n; i++) {
		struct sw_events_ring *ring = &e->rings.all[i];
		if (ring->page != NULL)
			(void) munmap(ring->page, e->rings.bytes + (size_t) sysconf(_SC_PAGESIZE));
		ring->page = NULL;
	}
}

void sw_events_close(struct sw_events *e)
{
	if (e == NULL)
		return;
	rings_unmap(e);
	close_fds(e);
	free(e->rings.all);
	free(e->fds);
	free(e);
}

/* The CPUs that are online. */
static int cpus_find(struct sw_events *e, struct sw_error *err)
{
	enum { TEXT_MAX = 4096 };
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = sw_text_read_at(&text, AT_FDCWD, "/sys/devices/system/cpu/online", TEXT_MAX);
	if (r < 0)
		return sw_fail(err, SW_E_UNSUPPORTED, "the CPUs cannot be listed");
	e->rings.all = calloc(CPUS_MAX, sizeof(*e->rings.all));
	if (e->rings.all == NULL)
		return sw_fail_nomem(err);
	const char *at = text.data;
	unsigned long first, last;
	while (sw_cpus_next(&at, &first, &last))
		for (; first <= last && e->rings.n < CPUS_MAX; first++)
			e->rings.all[e->rings.n++] = (struct sw_events_ring){.cpu = (int) first};
	return e->rings.n > 0 ? 0 : sw_fail(err, SW_E_UNSUPPORTED, "no CPU is listed");
}

static int refused(int error, struct sw_error *err)
{
	if (error == EACCES || error == EPERM)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "perf events are refused (/proc/sys/kernel/perf_event_paranoid, "
			       "CAP_PERFMON, a system call filter)");
	if (error == EMFILE || error == ENFILE)
		return sw_fail(err, SW_E_LIMIT,
			       "perf events of all threads on all CPUs are more files than may be "
			       "open");
	if (error == ENOMEM)
		return sw_fail_nomem(err);
	return sw_fail(err, SW_E_UNSUPPORTED, "perf events cannot be had: %s", strerror(error));
}

static int event_open(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	struct perf_event_attr copy = *attr; /* the kernel writes its size there */
	return (int) syscall(SYS_perf_event_open, &copy, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Records of mappings, names and programs, which each event has. */
static const struct perf_event_attr no_samples = {
	.size = sizeof(no_samples),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.sample_type = PERF_SAMPLE_TID,
	.inherit = 1,
	.inherit_thread = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
	.exclude_guest = 1,
	.mmap = 1,
	.comm = 1,
	.comm_exec = 1,
	.task = 1,
	/* Nobody is woken: the reader comes by itself. */
	.watermark = 1,
	.wakeup_watermark = RINGS_BYTES,
};

/* Cycles where the machine counts them, else the clock; with the kernel's time where that is permitted. -errno:
 * neither. */
static int attr_choose(struct perf_event_attr *attr, pid_t tid, const struct sw_events_options *o,
		       int cpu)
{
	int error = 0;
	*attr = no_samples;
	if (o->rate_hz == 0)
		return 0;
	for (int i = o->clock_only ? 1 : 0; i < 4; i += o->clock_only ? 2 : 1) {
		bool cycles = i % 2 == 0;
		*attr = no_samples;
		attr->type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
		attr->config = cycles ? (uint64_t) PERF_COUNT_HW_CPU_CYCLES
				      : (uint64_t) PERF_COUNT_SW_CPU_CLOCK;
		attr->sample_period = cycles ? o->rate_hz : NS_PER_S / o->rate_hz;
		attr->freq = cycles;
		attr->exclude_kernel = i >= 2;
		if (o->copies == NULL) {
			attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
			attr->sample_regs_user = SW_ARCH_PERF_REGS;
			attr->sample_stack_user = (uint32_t) o->stack_bytes;
		}
		int fd = event_open(attr, tid, cpu);
		if (fd >= 0) {
			(void) close(fd); /* of an event: nothing is lost */
			return 0;
		}
		error = errno;
		if (error == ESRCH)
			break;
	}
	return -error;
}

/* Halved until it is permitted: /proc/sys/kernel/perf_event_mlock_kb. */
static int ring_map(struct sw_events *e, struct sw_events_ring *ring, int fd, bool first)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	for (;;) {
		void *mapping = mmap(NULL, e->rings.bytes + page, PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0);
		if (mapping != MAP_FAILED) {
			ring->page = mapping;
			return 0;
		}
		/* All have the same size. */
		if (!first || e->rings.bytes <= RING_MIN_BYTES)
			return -errno;
		e->rings.bytes /= 2;
	}
}

static int thread_open(struct sw_events *e, const struct perf_event_attr *attr, pid_t tid)
{
	for (size_t i = 0; i < e->rings.n; i++) {
		struct sw_events_ring *ring = &e->rings.all[i];
		int fd = event_open(attr, tid, ring->cpu), r = 0;
		if (fd < 0 && (errno == ESRCH || errno == ENODEV))
			continue; /* it has ended; the CPU is not there any more */
		if (fd < 0)
			return -errno;
		int *grown = sw_grow(e->fds, e->n_fds, &e->fds_max, 64, sizeof(*grown));
		if (grown == NULL) {
			(void) close(fd); /* of an event: nothing is lost */
			return -ENOMEM;
		}
		e->fds = grown;
		e->fds[e->n_fds++] = fd;
		r = e->copies != NULL && attr->config != PERF_COUNT_SW_DUMMY
			    ? sw_copies_attach(e->copies, fd)
			    : 0;
		if (r < 0)
			return r;
		if (ring->page == NULL)
			r = ring_map(e, ring, fd, i == 0);
		else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->fds[i]) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

struct tids {
	pid_t *all; /* owned */
	size_t n;
};

static void tids_free(struct tids *tids)
{
	free(tids->all);
}

static int tids_list(const struct sw_target *target, struct tids *ret)
{
	enum { TIDS_FIRST = 256 };
	/* Again when there are more than there was space for. */
	for (size_t max = 0, n = TIDS_FIRST; n > max;) {
		max = n + n / 4;
		pid_t *grown = reallocarray(ret->all, max, sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		ret->all = grown;
		if (!sw_proc_tids(target->task_fd, grown, max, &n))
			return -ESRCH;
		ret->n = n;
	}
	return 0;
}

/* The events of the first thread come first: fds[i] is that of ring i. A thread that one of those makes which have
 * no event yet has none: it is a matter of microseconds. */
static int threads_open(struct sw_events *e, const struct perf_event_attr *attr, const pid_t *tids,
			size_t n)
{
	int r = thread_open(e, attr, tids[0]);
	if (r == 0 && e->n_fds < e->rings.n)
		return -ESRCH;
	for (size_t i = 1; r == 0 && i < n; i++)
		r = thread_open(e, attr, tids[i]);
	return r;
}

/* The thread that all began with may have ended before the others. */
static int events_open(struct sw_events *e, const struct tids *tids,
		       const struct sw_events_options *how)
{
	struct perf_event_attr attr;
	int r = -ESRCH;
	for (size_t first = 0; r == -ESRCH && first < tids->n; first++) {
		r = attr_choose(&attr, tids->all[first], how, e->rings.all[0].cpu);
		e->kernel = !attr.exclude_kernel;
		if (r == 0)
			r = threads_open(e, &attr, tids->all + first, tids->n - first);
		if (r == -ESRCH)
			close_fds(e);
	}
	return r;
}

int sw_events_open_all(const struct sw_events_options *options, struct sw_events **ret,
		       struct sw_error *err)
{
	enum { ALL = -1, RING_BYTES = 512 << 10 };
	struct perf_event_attr attr;
	struct sw_events *e = calloc(1, sizeof(*e));
	if (e == NULL)
		return sw_fail_nomem(err);
	e->copies = options->copies;
	e->rings.bytes = RING_BYTES;
	e->rings.of_all = true;
	int r = cpus_find(e, err);
	if (r < 0) {
		sw_events_close(e);
		return r;
	}
	const struct sw_events_options how = {.rate_hz = options->rate_hz,
					      .copies = options->copies,
					      .clock_only = true};
	int error = attr_choose(&attr, ALL, &how, e->rings.all[0].cpu);
	attr.inherit = attr.inherit_thread = 0;
	attr.exclude_idle = 1;
	e->kernel = !attr.exclude_kernel;
	if (error == 0)
		error = thread_open(e, &attr, ALL);
	if (error == 0 && e->n_fds == 0)
		error = -ENODEV;
	if (error < 0) {
		sw_events_close(e);
		return refused(-error, err);
	}
	*ret = e;
	return 0;
}

int sw_events_open(const struct sw_target *target, const struct sw_events_options *options,
		   struct sw_events **ret, struct sw_error *err)
{
	sw_cleanup(tids_free) struct tids tids = {0};
	struct sw_events_options how = *options;
	struct sw_events *e = calloc(1, sizeof(*e));
	if (e == NULL)
		return sw_fail_nomem(err);
	if (how.stack_bytes > SW_EVENTS_STACK_MAX)
		how.stack_bytes = SW_EVENTS_STACK_MAX;
	how.stack_bytes &= ~(size_t) 7;
	int r = cpus_find(e, err), error = 0;
	if (r < 0) {
		sw_events_close(e);
		return r;
	}
	e->copies = how.copies;
	e->rings.bytes = e->copies != NULL ? RING_MIN_BYTES : RING_MAX_BYTES;
	while (e->rings.bytes > RING_MIN_BYTES && e->rings.bytes * e->rings.n > RINGS_BYTES)
		e->rings.bytes /= 2;
	for (; e->rings.bytes >= RING_MIN_BYTES; e->rings.bytes /= 2) {
		error = tids_list(target, &tids);
		if (error == 0)
			error = events_open(e, &tids, &how);
		if (error != -EPERM || e->n_fds == 0)
			break;
		/* Memory for a later ring was not permitted. */
		rings_unmap(e);
		close_fds(e);
	}
	if (error < 0) {
		sw_events_close(e);
		return error == -ESRCH
			       ? sw_fail(err, SW_E_EXITED, "process %d exited", (int) target->pid)
			       : refused(-error, err);
	}
	*ret = e;
	return 0;
}

/* ---- read ------------------------------------------------------------------------------------ */

enum sw_events_kind sw_events_next(struct sw_events *e, struct sw_events_sample *ret)
{
	return sw_events_rings_next(&e->rings, ret);
}

uint64_t sw_events_lost(const struct sw_events *e)
{
	return e->rings.lost;
}

bool sw_events_with_kernel(const struct sw_events *e)
{
	return e->kernel;
}
