/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_moved: which threads of a process may have run, or have another state, since
 * the last pass of this program. Shown one thread of it, any, it goes through all by itself: the
 * kernel's way from thread to thread takes four fifths of the time of a pass.
 *
 * Counters that were seen are kept by the thread's number in the list: threads are listed by age, so that a number
 * changes only when an older thread ends. Who is behind that one is then told again.
 */
#include "iterate/bpf/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { BPF_MAP_TYPE_ARRAY = 2 }; /* include/uapi/linux/bpf.h */

/* By what it is known that a thread is the same and did not run: see iterate/proof.h. */
struct seen {
	uint64_t start_ns, n_switches, state;
	uint64_t node; /* its place in the list: an address */
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
	uint64_t head, node; /* addresses of struct list_head */
	struct sw_iterate_moved *moved;
};

/* A look at a thread, read in the order of the proof: on_cpu, then the counters. */
struct look {
	uint32_t on_cpu;
	struct seen now;
	uint64_t next;
};

/*
 * Most of the time goes into memory that is in no cache: as few fields as will do. What is loaded
 * through a pointer that is bad by now is 0: then the list is cut, and the next pass has all of it.
 *
 * By bpf_rdonly_cast() (Linux 6.2) they are loads of the program's own, without a call each, so that
 * the CPU waits for several at once: 1,001 threads take half as long.
 */
extern void *bpf_rdonly_cast(const void *address, uint32_t btf_id) __ksym __weak;

/* Came with it in 6.2: whether a function of the kernel is there cannot be asked by itself. */
enum bpf_type_flag { MEM_RCU = 1 };

static __always_inline struct look look_by_loads(uint64_t node, uint64_t address)
{
	const struct task_struct *task =
		bpf_rdonly_cast((const void *) address,
				bpf_core_type_id_kernel(struct task_struct));
	struct look look = {.on_cpu = task_on_cpu(task)};
	in_order();
	look.now = (struct seen){.n_switches = task->nvcsw + task->nivcsw,
				 .start_ns = task->start_boottime,
				 .state = task->__state};
	const struct list_head *list =
		bpf_rdonly_cast((const void *) node, bpf_core_type_id_kernel(struct list_head));
	look.next = (uint64_t) list->next;
	return look;
}

static __always_inline struct look look_by_calls(uint64_t node, uint64_t address)
{
	const struct task_struct *task = (const void *) address;
	struct look look = {.on_cpu = bpf_core_field_exists(task->on_cpu) ? number_at(&task->on_cpu)
									  : 0};
	in_order();
	look.now = (struct seen){.n_switches = word_at(&task->nvcsw) + word_at(&task->nivcsw),
				 .start_ns = word_at(&task->start_boottime),
				 .state = number_at(&task->__state)};
	look.next = word_at(&((const struct list_head *) node)->next);
	return look;
}

/*
 * The node that has come is nearly always the one that was there in the last pass. By the address that was kept
 * the CPU can be at the next threads before it has loaded the pointer to this one: without, each waits for
 * the one before it.
 */
static __always_inline uint64_t node_predicted(const struct seen *seen, uint64_t node)
{
	uint64_t kept = seen->node, same = kept;
	asm volatile("" : "+r"(same)); /* else node itself is taken where they are equal */
	return kept == node ? same : node;
}

static long thread_look(uint32_t index, void *arg)
{
	struct walk *w = arg;
	struct seen *seen = bpf_map_lookup_elem(&sw_seen, &index);
	uint64_t node = w->node;
	if (node == w->head || node == 0)
		return 1;
	if (seen != NULL)
		node = node_predicted(seen, node);
	uint64_t address = node - bpf_core_field_offset(struct task_struct, thread_node);
	struct look look = bpf_core_enum_value_exists(enum bpf_type_flag, MEM_RCU)
				   ? look_by_loads(node, address)
				   : look_by_calls(node, address);
	look.now.node = node;
	if (look.on_cpu != 0) /* other than what it will be */
		look.now.n_switches = ~UINT64_C(0);
	struct sw_iterate_moved *moved = w->moved;
	w->node = look.next;
	moved->n_threads = index + 1;
	if (seen != NULL && look.on_cpu == 0 && seen->n_switches == look.now.n_switches &&
	    seen->start_ns == look.now.start_ns && seen->state == look.now.state)
		return 0;
	uint32_t n = moved->n;
	if (n >= SW_ITERATE_MOVED_MAX) { /* it stays one that is not seen */
		moved->more = 1;
		return 0;
	}
	moved->tids[n] = numbers_of((const struct task_struct *) address).reader;
	moved->n = n + 1;
	if (seen != NULL)
		*seen = look.now;
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
		.head = (uint64_t) &signal->thread_head,
		.node = word_at(&signal->thread_head.next),
		.moved = moved,
	};
	moved->n = moved->more = moved->n_threads = 0;
	(void) bpf_loop(THREADS_MAX, thread_look, &w, 0);
	moved->n_counted = number_at(&signal->nr_threads);
	(void) bpf_seq_write(ctx->meta->seq, moved, sizeof(*moved));
	return 0;
}
