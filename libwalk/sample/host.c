/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The samples of all processes: one ring of copies, and the records that say which process has other maps. Each is handed
 * to the sampler of its process, if there is one.
 */
#include "cleanup.h"
#include "errors.h"
#include "events/events.h"
#include "process/target.h"
#include "sample/cpu_fed.h"

#include <snapwalk/clock.h>
#include <snapwalk/host.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_RATE_HZ = 19,
	DEFAULT_STACK_BYTES = 16 << 10,
	RING_BYTES = 8 << 20,
	/* Records in one call: processes make them as fast as they like. */
	RECORDS_MAX = 1 << 18,
	ENDS_MAX = 4096,
};

struct sw_host_sampler {
	struct sw_copies *copies; /* owned */
	struct sw_events *events; /* owned */
	size_t stack_bytes;
	pid_t pids[SW_HOST_PROCESSES_MAX]; /* of the samplers; 0: there is none */
	struct sw_cpu_sampler *samplers[SW_HOST_PROCESSES_MAX]; /* borrowed */
	uint64_t starts_ns[SW_HOST_PROCESSES_MAX]; /* of their processes; 0: not known */
	size_t n_samplers;                         /* places that were ever used */
	struct sw_copy copy;
	bool has_copy; /* it is handed to the sampler that is made next */
	struct sw_sampled_head peeked;
	bool has_peeked; /* its process is looked at by the sampler that is made next */
	struct {
		pid_t pid;
		uint64_t start_ns; /* 0: there was no sampler */
	} ends[ENDS_MAX];          /* processes that are not told yet */
	size_t n_ends;
	uint64_t events_lost;
	int64_t begin_ns, end_ns; /* samples of before and later are left out */
	struct sw_rests_all rests;
};

int sw_host_sampler_open(const struct sw_host_options *options, struct sw_host_sampler **ret,
			 struct sw_error *err)
{
	struct sw_host_sampler *h = calloc(1, sizeof(*h));
	if (h == NULL)
		return sw_fail_nomem(err);
	h->end_ns = INT64_MAX;
	h->rests.begin_ns = sw_clock_ns();
	h->stack_bytes = options->stack_bytes == 0                     ? DEFAULT_STACK_BYTES
			 : options->stack_bytes < SW_SAMPLED_STACK_MAX ? options->stack_bytes
								       : SW_SAMPLED_STACK_MAX;
	const struct sw_copies_options copies = {.stack_bytes = h->stack_bytes,
						 .n_processes = SW_HOST_PROCESSES_MAX,
						 .ring_bytes = RING_BYTES,
						 .all = true};
	int r = sw_copies_open(&copies, &h->copies, err);
	if (r == 0) {
		const struct sw_events_options events = {.rate_hz = options->rate_hz != 0
									    ? options->rate_hz
									    : DEFAULT_RATE_HZ,
							 .copies = h->copies};
		r = sw_events_open_all(&events, &h->events, err);
	}
	if (r < 0) {
		sw_host_sampler_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

void sw_host_sampler_close(struct sw_host_sampler *h)
{
	if (h == NULL)
		return;
	sw_events_close(h->events);
	sw_copies_close(h->copies);
	free(h);
}

/* n_samplers: there is none. */
static size_t place_of(const struct sw_host_sampler *h, pid_t pid)
{
	size_t place = 0;
	while (place < h->n_samplers && h->pids[place] != pid)
		place++;
	return place;
}

/* Nobody knows whose maps are old: all are. */
static void all_note(struct sw_host_sampler *h)
{
	for (size_t i = 0; i < h->n_samplers; i++)
		if (h->samplers[i] != NULL)
			sw_cpu_sampler_note_code(h->samplers[i], true);
}

static void record_take(struct sw_host_sampler *h, enum sw_events_kind kind,
			const struct sw_events_sample *record)
{
	size_t place = record->pid > 0 ? place_of(h, record->pid) : h->n_samplers;
	if (kind == SW_EVENTS_END && h->n_ends < ENDS_MAX) {
		h->ends[h->n_ends].start_ns = place < h->n_samplers ? h->starts_ns[place] : 0;
		h->ends[h->n_ends++].pid = record->pid;
	}
	if (place == h->n_samplers)
		return;
	if (kind == SW_EVENTS_CODE || kind == SW_EVENTS_PROGRAM)
		sw_cpu_sampler_note_code(h->samplers[place], kind == SW_EVENTS_PROGRAM);
}

static void drain(void *arg)
{
	struct sw_host_sampler *h = arg;
	struct sw_events_sample record;
	for (int i = 0; i < RECORDS_MAX; i++) {
		enum sw_events_kind kind = sw_events_next(h->events, &record);
		if (kind == SW_EVENTS_NONE)
			break;
		record_take(h, kind, &record);
	}
	uint64_t lost = sw_events_lost(h->events);
	if (lost != h->events_lost)
		all_note(h);
	h->events_lost = lost;
}

static bool is_within(const struct sw_host_sampler *h, const struct sw_sampled_head *head)
{
	return (int64_t) head->time_ns >= h->begin_ns && (int64_t) head->time_ns <= h->end_ns;
}

/* The copies of several CPUs are not in the order of their times. False: there is none that counts. */
static bool copy_next(struct sw_host_sampler *h)
{
	enum { COPIES_MAX = 1 << 16 }; /* of a ring, which goes on being filled */
	for (int i = 0; i < COPIES_MAX && sw_copies_next(h->copies, &h->copy); i++)
		if (is_within(h, &h->copy.head))
			return true;
	return false;
}

/* The number of a process that ended may be used again by now: by one with a sampler, which goes on. False: that is so. */
static bool end_tell(struct sw_host_sampler *h, struct sw_host_event *ret)
{
	const pid_t pid = h->ends[--h->n_ends].pid;
	const uint64_t start_ns = h->ends[h->n_ends].start_ns;
	size_t place = place_of(h, pid);
	if (place < h->n_samplers && h->starts_ns[place] != start_ns)
		return false;
	if (place == h->n_samplers)
		sw_copies_forget(h->copies, pid);
	*ret = (struct sw_host_event){.kind = SW_HOST_END, .pid = pid};
	return true;
}

static struct sw_host_event event_of(const struct sw_sampled_head *head)
{
	struct sw_host_event event = {.kind = SW_HOST_SAMPLE,
				      .pid = (pid_t) head->pid,
				      .tid = (pid_t) head->tid,
				      .time_ns = (int64_t) head->time_ns,
				      .start_ns = head->start_ns};
	memcpy(event.comm, head->comm, sizeof(head->comm) - 1);
	return event;
}

bool sw_host_sampler_peek(struct sw_host_sampler *h, uint64_t *at, struct sw_host_event *ret)
{
	do {
		h->has_peeked = sw_copies_peek(h->copies, at, &h->peeked);
	} while (h->has_peeked && !is_within(h, &h->peeked));
	if (h->has_peeked)
		*ret = event_of(&h->peeked);
	return h->has_peeked;
}

/* Ends come after the copies: those of a process that has ended are walked by the maps that are known. */
void sw_host_sampler_next(struct sw_host_sampler *h, struct sw_host_event *ret)
{
	*ret = (struct sw_host_event){.kind = SW_HOST_NONE};
	h->has_copy = h->has_peeked = false;
	drain(h); /* what a copy is of may be told by a record that came before it */
	if (!copy_next(h)) {
		while (h->n_ends > 0 && !end_tell(h, ret)) {
		}
		return;
	}
	const struct sw_sampled_head *head = &h->copy.head;
	*ret = event_of(head);
	size_t place = place_of(h, ret->pid);
	h->has_copy = place == h->n_samplers ||
		      (h->starts_ns[place] != 0 && h->starts_ns[place] != head->start_ns);
	if (!h->has_copy)
		sw_cpu_sampler_feed(h->samplers[place], &h->copy);
}

void sw_host_sampler_limit(struct sw_host_sampler *h, int64_t begin_ns, int64_t end_ns)
{
	h->begin_ns = begin_ns;
	h->end_ns = end_ns;
}

int sw_host_sampler_fd(const struct sw_host_sampler *h)
{
	return sw_copies_fd(h->copies);
}

void sw_host_sampler_leave_out(struct sw_host_sampler *h, pid_t pid)
{
	(void) sw_copies_leave_out(h->copies, pid); /* else each sample of it is left out */
}

void sw_host_sampler_drop(struct sw_host_sampler *h, struct sw_cpu_sampler *sampler)
{
	for (size_t i = 0; i < h->n_samplers; i++) {
		if (h->samplers[i] != sampler)
			continue;
		h->samplers[i] = NULL;
		h->pids[i] = 0;
	}
}

int sw_cpu_sampler_create_of(struct sw_host_sampler *h, struct sw_context *ctx,
			     struct sw_target *target, struct sw_cpu_sampler **ret,
			     struct sw_error *err)
{
	const struct sw_cpu_feed feed = {.copies = h->copies,
					 .drain = drain,
					 .arg = h,
					 .stack_bytes = h->stack_bytes,
					 .rests = &h->rests};
	size_t place = place_of(h, 0);
	if (place == h->n_samplers && h->n_samplers == SW_HOST_PROCESSES_MAX)
		return sw_fail(err, SW_E_LIMIT, "more than %d processes", SW_HOST_PROCESSES_MAX);
	int r = sw_cpu_sampler_create_fed(ctx, target, &feed, ret, err);
	if (r < 0)
		return r;
	h->n_samplers += place == h->n_samplers;
	h->pids[place] = target->pid;
	h->samplers[place] = *ret;
	h->starts_ns[place] = 0;
	if (h->has_copy && (pid_t) h->copy.head.pid == target->pid) {
		sw_cpu_sampler_feed(*ret, &h->copy);
		h->starts_ns[place] = h->copy.head.start_ns;
		h->has_copy = false;
	} else if (h->has_peeked && (pid_t) h->peeked.pid == target->pid) {
		h->starts_ns[place] = h->peeked.start_ns;
		r = sw_cpu_sampler_look(*ret, h->peeked.exec_id, err);
	}
	h->has_peeked = false;
	if (r < 0) {
		sw_host_sampler_drop(h, *ret);
		sw_cpu_sampler_destroy(*ret);
		*ret = NULL;
	}
	return r;
}

uint64_t sw_host_sampler_lost(const struct sw_host_sampler *h)
{
	struct sw_copies_counts counts = sw_copies_counts(h->copies);
	return counts.n_no_space + counts.n_nested;
}

bool sw_host_sampler_with_kernel(const struct sw_host_sampler *h)
{
	return sw_events_with_kernel(h->events);
}

int64_t sw_host_sampler_cost_ns(const struct sw_host_sampler *h)
{
	return (int64_t) sw_copies_counts(h->copies).ns;
}
