/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples of CPU time: each is a thread with registers and stack, as the kernel copied them. The maps and
 * modules are of a look at the process that touches no thread; it is taken anew when code was mapped, and
 * when a sample is in code that it does not know.
 */
#include "arena.h"
#include "capture/maps.h"
#include "capture/returns.h"
#include "arch/user_regs.h"
#include "cleanup.h"
#include "errors.h"
#include "events/events.h"
#include "process/proc.h"
#include "sample/borrowed.h"
#include "sample/light.h"
#include "snapshot/snapshot.h"
#include "walk/tables.h"

#include <snapwalk/clock.h>
#include <snapwalk/sampler.h>
#include <string.h>

enum {
	BATCH = 64, /* threads of one snapshot */
	DEFAULT_STACK_BYTES = 16 << 10,
	NAMES_NS = 1000000000,   /* for so long a name of a thread is believed */
	UNKNOWN_NS = 1000000000, /* maps are read again for unknown code once in so long, */
	CODE_NS = 20000000,      /* and so often when code was mapped */
};

struct sw_cpu_sampler {
	struct sw_context *ctx;         /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_events *events;       /* owned */
	struct sw_snapshot *base;       /* owned: maps and modules */
	struct sw_snapshot *snap;       /* owned; borrows from it */
	struct sw_thread threads[BATCH];
	struct sw_sample_change changes[BATCH];
	size_t n;
	uint8_t *stacks; /* owned: of them */
	size_t stack_bytes;
	struct sw_events_sample kept; /* is the first of the next batch */
	bool has_kept;
	bool fixed; /* maps and names are not read again */
	bool base_old;
	bool code_came; /* since it was made */
	int64_t base_ns;
	uint64_t generation, number;
	uint64_t n_left;       /* samples that came after what is known was old */
	struct sw_map64 names; /* tid -> index + 1 */
	struct name {
		int64_t read_ns;
		char comm[SW_COMM_MAX];
	} * all_names; /* owned */
	size_t n_names, names_max;
};

/* ---- maps and modules ------------------------------------------------------------------------ */

static void snapshot_drop(struct sw_cpu_sampler *s)
{
	sw_borrowed_destroy(s->snap, false);
	s->snap = NULL;
	sw_snapshot_destroy(s->base);
	s->base = NULL;
	s->generation++;
}

static int base_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	snapshot_drop(s);
	int r = sw_capture_maps(s->ctx, s->target, &s->base, err);
	if (r < 0)
		return r;
	/* Which ones a thread had at the instant of a sample nobody can tell afterwards. */
	if (sw_returns_page(s->base) != NULL)
		return sw_fail(err, SW_E_INVALID,
			       "a tool probes or has probed functions of process %d (uprobes), and "
			       "perf events do not "
			       "tell the return addresses that the kernel has replaced for it",
			       (int) s->target->pid);
	if (!sw_light_is_possible(s->base, &sw_tables))
		return sw_fail(err, SW_E_INVALID,
			       "perf events give stacks of native code only, and process %d has "
			       "other",
			       (int) s->target->pid);
	r = sw_borrowed_create(s->base, &s->snap, err);
	if (r < 0)
		return r;
	s->snap->priv->native_only = true;
	s->snap->threads = s->threads;
	s->base_old = s->code_came = false;
	s->base_ns = sw_clock_ns();
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name that cannot be kept is read again, or unknown. */
static void name_keep(struct sw_cpu_sampler *s, pid_t tid, const char comm[static SW_COMM_MAX])
{
	enum { NAMES_MAX = 4096 };
	uint64_t index = 0;
	bool known = sw_map64_get(&s->names, (uint64_t) tid, &index);
	if (!known && s->fixed && s->n_names >= NAMES_MAX)
		return; /* those that are there could not be read again */
	if (!known && s->n_names >= NAMES_MAX) {
		sw_map64_deinit(&s->names);
		s->n_names = 0;
	}
	if (!known) {
		struct name *grown =
			sw_grow(s->all_names, s->n_names, &s->names_max, BATCH, sizeof(*grown));
		if (grown == NULL)
			return;
		s->all_names = grown;
		if (sw_map64_put(&s->names, (uint64_t) tid, s->n_names + 1) < 0)
			return;
		index = ++s->n_names;
	}
	s->all_names[index - 1].read_ns = sw_clock_ns();
	memcpy(s->all_names[index - 1].comm, comm, SW_COMM_MAX);
}

/* False: it is not there, or the thread is gone. */
static bool name_read(const struct sw_cpu_sampler *s, pid_t tid, char comm[static SW_COMM_MAX])
{
	char path[32], text[SW_COMM_MAX + 1] = "";
	(void) snprintf(path, sizeof(path), "%d/comm", (int) tid); /* fits */
	if (sw_proc_read_small(s->target->task_fd, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	memset(comm, 0, SW_COMM_MAX);
	(void) snprintf(comm, SW_COMM_MAX, "%.*s", SW_COMM_MAX - 1, text);
	return true;
}

static void name_find(struct sw_cpu_sampler *s, pid_t tid, char comm[static SW_COMM_MAX])
{
	uint64_t index = 0;
	const struct name *known =
		sw_map64_get(&s->names, (uint64_t) tid, &index) ? &s->all_names[index - 1] : NULL;
	bool old = known == NULL || sw_clock_ns() - known->read_ns >= NAMES_NS;
	if (old && !s->fixed && name_read(s, tid, comm))
		name_keep(s, tid, comm);
	else if (known != NULL) /* fresh; or it has ended: as it was */
		memcpy(comm, known->comm, SW_COMM_MAX);
	else
		memset(comm, 0, SW_COMM_MAX);
}

/* A record of the kernel says it. */
static void name_note(struct sw_cpu_sampler *s, const struct sw_events_sample *named)
{
	uint64_t index = 0;
	if (named->named_as == 0)
		name_keep(s, named->tid, named->comm);
	else if (sw_map64_get(&s->names, (uint64_t) named->named_as, &index)) {
		char comm[SW_COMM_MAX];
		memcpy(comm, s->all_names[index - 1].comm, SW_COMM_MAX);
		name_keep(s, named->tid, comm);
	}
}

/* Those of all threads, as long as they can be read. */
static void names_read(struct sw_cpu_sampler *s)
{
	enum { THREADS_MAX = 4096 };
	char comm[SW_COMM_MAX];
	size_t n = 0;
	sw_cleanup(sw_free_p) pid_t *tids = calloc(THREADS_MAX, sizeof(*tids));
	if (tids == NULL || !sw_proc_tids(s->target->task_fd, tids, THREADS_MAX, &n))
		return;
	for (size_t i = 0; i < n && i < THREADS_MAX; i++)
		if (name_read(s, tids[i], comm))
			name_keep(s, tids[i], comm);
}

/* ---- create, destroy ------------------------------------------------------------------------- */

int sw_cpu_sampler_create(struct sw_context *ctx, struct sw_target *target, uint32_t rate_hz,
			  size_t stack_bytes, unsigned flags, struct sw_cpu_sampler **ret,
			  struct sw_error *err)
{
	struct sw_cpu_sampler *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	s->target = target;
	s->fixed = (flags & SW_CPU_SAMPLER_FIXED) != 0;
	s->stack_bytes = stack_bytes == 0                    ? DEFAULT_STACK_BYTES
			 : stack_bytes < SW_EVENTS_STACK_MAX ? stack_bytes
							     : SW_EVENTS_STACK_MAX;
	s->stacks = malloc(BATCH * s->stack_bytes);
	int r = s->stacks == NULL ? sw_fail_nomem(err) : base_take(s, err);
	if (r == 0)
		r = sw_events_open(target,
				   &(struct sw_events_options){
					   .rate_hz = rate_hz,
					   .stack_bytes = s->stack_bytes,
					   .clock_only = (flags & SW_CPU_SAMPLER_CLOCK) != 0},
				   &s->events, err);
	if (r < 0) {
		sw_cpu_sampler_destroy(s);
		return r;
	}
	if (s->fixed) /* after the events: of those that begin now there is a record */
		names_read(s);
	*ret = s;
	return 0;
}

void sw_cpu_sampler_destroy(struct sw_cpu_sampler *s)
{
	if (s == NULL)
		return;
	sw_events_close(s->events);
	snapshot_drop(s);
	sw_map64_deinit(&s->names);
	free(s->all_names);
	free(s->stacks);
	free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool has_thread(const struct sw_cpu_sampler *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->threads[i].tid == tid)
			return true;
	return false;
}

static void thread_add(struct sw_cpu_sampler *s, const struct sw_events_sample *sample)
{
	uint8_t *stack = s->stacks + s->n * s->stack_bytes;
	struct sw_thread *t = &s->threads[s->n];
	size_t bytes = sample->stack_bytes < s->stack_bytes ? sample->stack_bytes : s->stack_bytes;
	memcpy(stack, sample->stack, bytes);
	*t = (struct sw_thread){.tid = sample->tid,
				.state = 'R',
				.captured = true,
				.captured_by = SW_CAPTURED_EVENT,
				.cpu_ns = -1,
				.stop_ns = -1,
				.stack = stack};
	sw_arch_thread_fill(t, &sample->regs);
	const struct sw_map *map = sw_snapshot_map(s->snap, t->regs.sp_avma);
	t->stack_avma = t->regs.sp_avma;
	t->stack_bytes = bytes;
	t->stack_end_avma = map != NULL ? map->end_avma : t->stack_avma + bytes;
	name_find(s, t->tid, t->comm);
	s->n++;
}

static bool is_known_code(const struct sw_cpu_sampler *s, uint64_t pc)
{
	const struct sw_map *map = sw_snapshot_map(s->snap, pc);
	return map != NULL && (map->prot & SW_MAP_EXEC);
}

/* Until there is nothing more, or the next one is not for this batch: that one is kept. */
static void batch_fill(struct sw_cpu_sampler *s, bool *new_program)
{
	enum { NAMES_MAX = 65536 }; /* a process names its threads as fast as it likes */
	size_t n_names = 0;
	s->n = 0;
	while (s->n < BATCH && !s->base_old && n_names < NAMES_MAX) {
		enum sw_events_kind kind = SW_EVENTS_SAMPLE;
		if (!s->has_kept)
			kind = sw_events_next(s->events, &s->kept);
		s->has_kept = false;
		if (kind == SW_EVENTS_NONE)
			return;
		if (kind == SW_EVENTS_NAME) {
			name_note(s, &s->kept);
			n_names++;
			continue;
		}
		if (kind != SW_EVENTS_SAMPLE) {
			s->code_came = true;
			s->base_old = kind == SW_EVENTS_PROGRAM;
			*new_program |= kind == SW_EVENTS_PROGRAM;
			continue;
		}
		s->has_kept = has_thread(s, s->kept.tid);
		if (s->has_kept)
			return;
		if (sw_arch_is_32bit(&s->kept.regs) != (s->snap->process.elf_class == 32))
			continue; /* code of the other kind: Wine's new WoW64 */
		/* Code that came may be where other was: no sample is walked by old maps for long. */
		bool unknown = !is_known_code(s, s->kept.regs.rip);
		if ((s->code_came || unknown) &&
		    sw_clock_ns() - s->base_ns >
			    (unknown && !s->code_came ? UNKNOWN_NS : CODE_NS)) {
			s->has_kept = s->base_old = true;
			return;
		}
		thread_add(s, &s->kept);
	}
}

/* Those that are left are counted. */
static int fail_old(struct sw_cpu_sampler *s, struct sw_error *err)
{
	enum { RECORDS_MAX = 1 << 20 };
	enum sw_events_kind kind = SW_EVENTS_NONE;
	s->n_left += s->has_kept;
	s->has_kept = false;
	for (int i = 0; i < RECORDS_MAX; i++) {
		kind = sw_events_next(s->events, &s->kept);
		if (kind == SW_EVENTS_NONE)
			break;
		s->n_left += kind == SW_EVENTS_SAMPLE;
	}
	return sw_fail(err, SW_E_CHANGED, "process %d has other code now", (int) s->target->pid);
}

int sw_cpu_sampler_next(struct sw_cpu_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_sample sample = {.number = ++s->number, .time_ns = sw_realtime_ns()};
	if (s->fixed && s->base_old)
		return fail_old(s, err);
	if (s->base_old || s->base == NULL) {
		int r = base_take(s, err);
		if (r < 0)
			return sw_target_lives(s->target)
				       ? r
				       : sw_fail(err, SW_E_EXITED, "process %d exited",
						 (int) s->target->pid);
	}
	bool lived = sw_target_lives(s->target); /* what it wrote before its end is there by now */
	batch_fill(s, &sample.new_program);
	if (s->n == 0 && !s->base_old && !lived)
		return sw_fail(err, SW_E_EXITED, "process %d exited", (int) s->target->pid);
	struct sw_snapshot *snap = s->snap;
	snap->n_threads = s->n;
	snap->n_ranges = 0;
	snap->time_ns = sample.time_ns;
	sw_snapshot_index_threads(snap);
	for (size_t i = 0; i < s->n; i++) {
		const struct sw_thread *t = &snap->threads[i];
		s->changes[i] = (struct sw_sample_change){.slot = (uint32_t) i,
							  .tid = t->tid,
							  .kind = SW_CHANGE_READ,
							  .activity = SW_ACTIVITY_ON_CPU};
		memcpy(s->changes[i].comm, t->comm, sizeof(t->comm));
	}
	sample.snap = s->n > 0 ? snap : NULL;
	sample.changes = s->changes;
	sample.n_changes = sample.n_threads = s->n;
	sample.generation = s->generation;
	sample.light = true;
	sample.more = s->n > 0 || s->base_old;
	*ret = sample;
	return 0;
}

uint64_t sw_cpu_sampler_lost(const struct sw_cpu_sampler *s)
{
	return sw_events_lost(s->events) + s->n_left;
}

bool sw_cpu_sampler_with_kernel(const struct sw_cpu_sampler *s)
{
	return sw_events_with_kernel(s->events);
}
