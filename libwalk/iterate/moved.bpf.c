/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_moved: which threads of a process may have run, or have another state, since
 * the last pass of this program. Shown one thread of it, any, it goes through all by itself: the
 * kernel's way from thread to thread takes four fifths of the time of a pass.
 *
 * What was seen is kept by the thread's number in the list: threads are listed by age, so that a number
 * changes only when an older thread ends. Who is behind that one is then told again.
 */
#include "iterate/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { BPF_MAP_TYPE_ARRAY = 2 }; /* include/uapi/linux/bpf.h */

/* By what it is known that a thread is the same and did not run: see iterate/proof.h. */
struct seen {
	uint64_t start_ns, n_switches, state;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries,
	       4096); /* another number is set before it is loaded: iterate/programs.c */
	__type(key, uint32_t);
	__type(value, struct seen);
} sw_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sw_iterate_moved);
} sw_moved_list SEC(".maps");

struct walk {
	const struct list_head *head, *node;
	struct sw_iterate_moved *moved;
};

/* Most of the time goes into memory that is in no cache: as few fields as will do. What is loaded through a pointer that is bad by now is 0: then the list is cut, and the next pass has all
 * of it. */
static long thread_look(uint32_t index, void *arg)
{
	struct walk *w = arg;
	if (w->node == w->head || w->node == NULL)
		return 1;
	const struct task_struct *task =
		(const void *) ((const char *) w->node -
				bpf_core_field_offset(struct task_struct, thread_node));
	struct sw_iterate_moved *moved = w->moved;
	/* Read in the order of the proof: on_cpu, then the counters. */
	uint32_t on_cpu = bpf_core_field_exists(task->on_cpu) ? number_at(&task->on_cpu) : 0;
	in_order();
	struct seen now = {
		.n_switches = word_at(&task->nvcsw) + word_at(&task->nivcsw),
		.start_ns = word_at(&task->start_boottime),
		.state = number_at(&task->__state),
	};
	if (on_cpu != 0) /* other than what it will be */
		now.n_switches = ~UINT64_C(0);
	struct seen *seen = bpf_map_lookup_elem(&sw_seen, &index);
	w->node = pointer_at(&w->node->next);
	moved->n_threads = index + 1;
	if (seen != NULL && on_cpu == 0 && seen->n_switches == now.n_switches &&
	    seen->start_ns == now.start_ns && seen->state == now.state)
		return 0;
	uint32_t n = moved->n;
	if (n >= SW_ITERATE_MOVED_MAX) { /* it stays one that is not seen */
		moved->more = 1;
		return 0;
	}
	moved->tids[n] = numbers_of(task).reader;
	moved->n = n + 1;
	if (seen != NULL)
		*seen = now;
	return 0;
}

SEC("iter/task")
int sw_moved(struct bpf_iter__task *ctx)
{
	enum { THREADS_MAX = 1 << 20 };
	struct task_struct *task = ctx->task;
	uint32_t zero = 0;
	struct sw_iterate_moved *moved = bpf_map_lookup_elem(&sw_moved_list, &zero);
	if (task == NULL || moved == NULL || ctx->meta->seq_num != 0)
		return 0;
	const struct signal_struct *signal = pointer_at(&task->signal);
	struct walk w = {
		.head = &signal->thread_head,
		.node = pointer_at(&signal->thread_head.next),
		.moved = moved,
	};
	moved->n = moved->more = moved->n_threads = 0;
	(void) bpf_loop(THREADS_MAX, thread_look, &w, 0);
	moved->n_counted = number_at(&signal->nr_threads);
	(void) bpf_seq_write(ctx->meta->seq, moved, sizeof(*moved));
	return 0;
}
