/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_CALLED_BPF_H
#define SW_ITERATE_CALLED_BPF_H

/* Parts that programs at system calls have in common. */
#include "iterate/called.h"
#include "iterate/bpf/called_x86_64.bpf.h"
#include "iterate/bpf/copying.bpf.h"

/* The reader sets one member of it: ended. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sw_called_setup);
} sw_called SEC(".maps");

/* The process is told apart by the kernel's own number, which is found at its first call. */
static __always_inline bool is_process(struct sw_called_setup *called,
				       const struct task_struct *task)
{
	if (called->tgid != 0 && (uint32_t) task->tgid != called->tgid)
		return false;
	const struct task_struct *leader = pointer_at(&task->group_leader);
	uint64_t start_ns = word_at(&leader->start_boottime);
	if (called->tgid != 0)
		return start_ns == called->start_ns;
	uint32_t zero = 0;
	const struct sw_sampled_setup *setup = bpf_map_lookup_elem(&sw_setup, &zero);
	if (setup == NULL)
		return false;
	uint32_t pid = number_in(leader, setup->pid_namespace);
	const uint32_t *recipe = pid != 0 ? bpf_map_lookup_elem(&sw_processes, &pid) : NULL;
	if (recipe == NULL)
		return false;
	called->start_ns = start_ns;
	called->pid = pid;
	called->recipe = *recipe;
	called->tgid = (uint32_t) task->tgid;
	return true;
}

/* As taking_begin(), of a thread of the process: what is_process() has found need not be looked for again. */
static __always_inline bool taking_known(struct taking *t, const struct sw_called_setup *called)
{
	if (!taking_maps(t))
		return false;
	uint32_t recipe = called->recipe;
	t->pid = called->pid;
	t->start_ns = called->start_ns;
	return taking_recipe(t, &recipe);
}

/* A thread ends. After the last one the places of the process's table and memory in the kernel may be another's. */
static __always_inline int thread_ends(void)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct signal_struct *signal = pointer_at(&task->signal);
	if (called != NULL && is_process(called, task) && number_at(&signal->live.counter) == 0)
		called->files = called->mm = 0;
	return 0;
}

/* The event is a part that is no memory of the process. It goes before stack and recipe, which may fill the buffer. */
static __always_inline void event_put(struct scratch *s, const struct sw_called_event *event)
{
	uint32_t at = s->at;
	if (at > SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part) - sizeof(*event))
		return;
	struct sw_sampled_part *part = (struct sw_sampled_part *) (s->out + (at & OUT_MASK));
	part->avma = 0;
	part->bytes = sizeof(*event);
	part->kind = SW_CALLED_EVENT;
	struct sw_called_event *to =
		(struct sw_called_event *) (s->out + ((at + sizeof(*part)) & OUT_MASK));
	to->number = event->number;
	to->what = event->what;
	to->value[0] = event->value[0];
	to->value[1] = event->value[1];
	to->value[2] = event->value[2];
	s->at = at + sizeof(*part) + sizeof(*event);
	s->n_parts++;
}

/* The string at an address, as far as its page goes where the next one is not there. */
static __always_inline void text_put(struct scratch *s, uint64_t from)
{
	enum { PAGE_MASK = PAGE - 1 };
	uint64_t left = PAGE - (from & PAGE_MASK);
	if (piece(s, from, SW_CALLED_TEXT_MAX, SW_CALLED_TEXT) == ABSENT &&
	    left < SW_CALLED_TEXT_MAX)
		(void) piece(s, from, (uint32_t) left, SW_CALLED_TEXT); /* then nothing */
}

/* An event of a system call or the like, and the thread. */
static __always_inline void event_take(struct taking *t, const struct sw_called_event *event)
{
	event_put(t->s, event);
	sample_make(t->s, t->task, t->setup, t->recipe, true);
	(void) taking_end(t); /* what was lost is counted */
}

/* The head of a record that has no thread, and may have parts. */
static __always_inline void head_alone(const struct taking *t)
{
	struct sw_sampled_head *head = (struct sw_sampled_head *) t->s->out;
	__builtin_memset(head, 0, sizeof(*head));
	head->time_ns = bpf_ktime_get_ns();
	head->exec_id = t->task->self_exec_id;
	t->s->flags |= SW_CALLED_ALONE;
}

struct alone {
	struct sw_sampled_head head;
	struct sw_sampled_part part;
	struct sw_called_event event;
};

/* A short record, without a thread. */
static __always_inline void alone_put(struct sw_called_setup *called,
				      const struct task_struct *task, uint64_t what, uint64_t a,
				      uint64_t b, uint64_t c)
{
	uint32_t cpu = bpf_get_smp_processor_id(), zero = 0;
	struct sw_sampled_counts *counts = bpf_map_lookup_elem(&sw_counts, &cpu);
	const struct sw_sampled_setup *setup = bpf_map_lookup_elem(&sw_setup, &zero);
	if (counts == NULL || setup == NULL)
		return;
	uint64_t number = __sync_fetch_and_add(&called->n_events, 1);
	/* On the stack of the program it would have no space on 6.1. */
	struct alone *r = bpf_ringbuf_reserve(&sw_ring, sizeof(*r), 0);
	if (r == NULL) {
		counts->n_no_space++;
		return;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = number_in(task, setup->pid_namespace);
	r->head.bytes = sizeof(*r);
	r->head.n_parts = 1;
	r->head.flags = SW_CALLED_ALONE;
	r->part.bytes = sizeof(r->event);
	r->part.kind = SW_CALLED_EVENT;
	r->event.number = number;
	r->event.what = what;
	r->event.value[0] = a;
	r->event.value[1] = b;
	r->event.value[2] = c;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	counts->n_taken++;
}

#endif
