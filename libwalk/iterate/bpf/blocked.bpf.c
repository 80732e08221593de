/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies each thread of a process when it gives its CPU up to wait, and keeps the copy until it has one again: only if that
 * lasted long it is an event. Every switch of every CPU comes here: all but those of the process are left by a comparison
 * or two. Linux 6.1 to 6.18, kernel/sched/core.c __schedule().
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	WAITING_MAX = 512, /* threads */
	KEPT_BYTES = 16 << 10,
	KEPT_MASK = KEPT_BYTES - 1,
};

/* A record as it goes into the ring, but for the number and the duration of its event. */
struct kept {
	struct sw_sampled_head head;
	struct sw_sampled_part part;
	struct sw_called_event event;
	uint8_t rest[KEPT_BYTES - sizeof(struct sw_sampled_head) - sizeof(struct sw_sampled_part) -
		     sizeof(struct sw_called_event)];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITING_MAX);
	__type(key, uint32_t);
	__type(value, struct kept);
} sw_kept SEC(".maps");

static __always_inline void waits(const struct sw_called_setup *called,
				  const struct task_struct *task)
{
	struct sw_called_event event = {.what = SW_CALLED_WAITS};
	uint32_t tid = (uint32_t) task->pid;
	struct taking t;
	if (!taking_known(&t, called))
		return;
	event_put(t.s, &event);
	sample_make(t.s, t.task, t.setup, t.recipe, true);
	taking_head(&t);
	/* Larger ones, and those of more threads, are lost. */
	if (t.s->at > KEPT_MASK || bpf_map_update_elem(&sw_kept, &tid, t.s->out, 0) != 0)
		t.counts->n_no_space++;
	taking_drop(&t);
}

static __always_inline void runs(struct sw_called_setup *called, const struct task_struct *task)
{
	uint32_t tid = number_at(&task->pid), cpu = bpf_get_smp_processor_id();
	struct kept *kept = bpf_map_lookup_elem(&sw_kept, &tid);
	struct sw_sampled_counts *counts = bpf_map_lookup_elem(&sw_counts, &cpu);
	if (kept == NULL)
		return;
	uint64_t lasted_ns = bpf_ktime_get_ns() - kept->head.time_ns;
	if (lasted_ns >= called->slower_ns && counts != NULL) {
		uint32_t bytes = kept->head.bytes;
		kept->event.number = __sync_fetch_and_add(&called->n_events, 1);
		kept->event.value[1] = lasted_ns;
		if (bpf_ringbuf_output(&sw_ring, kept, bytes & KEPT_MASK, BPF_RB_NO_WAKEUP) == 0)
			counts->n_taken++;
		else
			counts->n_no_space++;
	}
	(void) bpf_map_delete_elem(&sw_kept, &tid); /* it was there */
}

SEC("raw_tp/sched_switch")
int sw_blocked(const uint64_t *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct task_struct *next = (const struct task_struct *) ctx[2];
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL)
		return 0;
	/* Preempted, it is runnable; one that waits has another state than 0. */
	bool leaves = ctx[0] == 0 && task->__state != 0;
	if (leaves && is_process(called, task))
		waits(called, task);
	if (called->tgid != 0 && number_at(&next->tgid) == called->tgid)
		runs(called, next);
	return 0;
}
