/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread that enters a function, or returns from one. The kernel has put breakpoints into the code of one
 * process: near the beginning of the function and, for returns, at each RET. A program runs for the threads of that process
 * alone, and nothing on their stacks is changed.
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	/* Of struct user_regs_struct. */
	ORIG_RAX = 15,
	RIP = 16,
	RSP = 19,
	CALLS_MAX = 65536, /* that have not returned yet */
	SAME_PLACE_MAX = 4,
};

static const uint64_t NO_CALL = UINT64_MAX;

/*
 * A call has ended when the function comes to a RET with the stack pointer where it was in the beginning: at the address to
 * return to. Threads are not compared: goroutines and coroutines go from one to another. A stack of Go moves, and keeps its
 * distance from its end.
 */
struct call {
	uint64_t sp;        /* of Go: how far below the end of its stack */
	uint64_t goroutine; /* 0: not of Go */
	uint64_t place;     /* the number of the function */
};

struct entered {
	uint64_t time_ns;
	/* A function keeps it for its caller, and Go has its goroutine there: a RET with another value is of another
	 * call. */
	uint64_t r14;
	uint64_t words[SW_CALLED_ARGUMENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS_MAX);
	__type(key, struct call);
	__type(value, struct entered);
} sw_calls SEC(".maps");

/* System V AMD64 psABI 1.0, figure 3.4; of i386 arguments are on the stack. */
static __always_inline void words_read(const struct pt_regs *user,
				       uint64_t ret[SW_CALLED_ARGUMENTS])
{
	ret[0] = user->di;
	ret[1] = user->si;
	ret[2] = user->dx;
	ret[3] = user->cx;
	ret[4] = user->r8;
	ret[5] = user->r9;
}

static __always_inline void words_put(struct scratch *s, const uint64_t words[SW_CALLED_ARGUMENTS])
{
	uint64_t *to = part_begin(s, SW_CALLED_ARGUMENTS * sizeof(*to), SW_CALLED_WORDS);
	if (to == NULL)
		return;
	for (uint32_t i = 0; i < SW_CALLED_ARGUMENTS; i++)
		to[i] = words[i];
}

/* The thread as it will be when the RET is done. Where the return is probed by another tool, too, the kernel has replaced
 * the address. */
static __always_inline void caller_put(struct scratch *s, const struct task_struct *task)
{
	struct sw_sampled_head *head = (struct sw_sampled_head *) s->out;
	const struct uprobe_task *utask = probed_task(task);
	const struct return_instance *at =
		utask != NULL ? pointer_at(&utask->return_instances) : NULL;
	uint64_t sp = head->regs[RSP], pc = 0;
	if (bpf_probe_read_user(&pc, sizeof(pc), (const void *) sp) != 0)
		return; /* the RET fails, too */
	for (int i = 0; i < SAME_PLACE_MAX && at != NULL && word_at(&at->stack) == sp; i++) {
		pc = word_at(&at->orig_ret_vaddr);
		at = pointer_at(&at->next);
	}
	head->regs[RIP] = pc;
	head->regs[RSP] = sp + sizeof(pc);
}

/* The event, its words, and the thread. */
static __always_inline void function_take(struct sw_called_setup *called,
					  struct sw_called_event *event, const uint64_t *words)
{
	struct taking t;
	event->number = __sync_fetch_and_add(&called->n_events, 1);
	if (!taking_begin(&t, false))
		return;
	event_put(t.s, event);
	words_put(t.s, words);
	sample_make(t.s, t.task, t.setup, t.recipe, false);
	/* Probes at a NOP of five bytes are a system call from v6.18 on: the thread is in none of its own. */
	((struct sw_sampled_head *) t.s->out)->regs[ORIG_RAX] = NO_CALL;
	if (event->what == SW_CALLED_FUNCTION_RETURNS)
		caller_put(t.s, t.task);
	(void) taking_end(&t); /* what was lost is counted */
}

/* A child of vfork(2) has the memory of the process, and is none of it. */
static __always_inline struct sw_called_setup *called_here(void)
{
	uint32_t zero = 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || !is_process(called, bpf_get_current_task_btf()))
		return NULL;
	return called;
}

SEC("uprobe")
int sw_function_enter(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_called_setup *called = called_here();
	struct sw_called_event event = {.what = SW_CALLED_FUNCTION_BEGINS,
					.value = {0, 0, bpf_get_attach_cookie(ctx)}};
	uint64_t words[SW_CALLED_ARGUMENTS];
	if (called == NULL)
		return 0;
	words_read(user, words);
	function_take(called, &event, words);
	return 0;
}

static __always_inline struct sw_sampled_counts *counts_here(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&sw_counts, &cpu);
}

/* Go has its goroutine in r14 (ABIInternal), whose first words are the bounds of its stack: runtime/runtime2.go, Go 1.17 to
 * 1.25. Other code has something else there, which it keeps as well. */
static __always_inline struct call call_of(const struct pt_regs *user, uint64_t place)
{
	struct call call = {.sp = user->sp, .place = place};
	uint64_t bounds[2] = {0, 0};
	if (user->r14 != 0 &&
	    bpf_probe_read_user(bounds, sizeof(bounds), (const void *) user->r14) == 0 &&
	    user->sp >= bounds[0] && user->sp < bounds[1]) {
		call.sp = bounds[1] - user->sp;
		call.goroutine = user->r14;
	}
	return call;
}

/* A call begins whose return is the event. */
SEC("uprobe")
int sw_function_note(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_called_setup *called = called_here();
	struct sw_sampled_counts *counts = counts_here();
	struct call call = call_of(user, bpf_get_attach_cookie(ctx));
	struct entered entered = {.time_ns = bpf_ktime_get_ns(), .r14 = user->r14};
	if (called == NULL || counts == NULL)
		return 0;
	words_read(user, entered.words);
	if (bpf_map_lookup_elem(&sw_calls, &call) != NULL)
		counts->n_left_out++; /* the call before has ended without a return */
	if (bpf_map_update_elem(&sw_calls, &call, &entered, 0) != 0) { /* a gap in the numbers */
		(void) __sync_fetch_and_add(&called->n_events, 1);
		counts->n_no_space++;
	}
	return 0;
}

/* A RET of the function is about to be executed. A call that is not there began before the probes. */
SEC("uprobe")
int sw_function_return(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t place = bpf_get_attach_cookie(ctx), now_ns = bpf_ktime_get_ns();
	struct call call = call_of(user, place);
	struct sw_called_setup *called = called_here();
	struct sw_sampled_counts *counts = counts_here();
	if (called == NULL || counts == NULL)
		return 0;
	struct entered *entered = bpf_map_lookup_elem(&sw_calls, &call);
	if (entered == NULL)
		return 0;
	struct entered copy = *entered;
	(void) bpf_map_delete_elem(&sw_calls, &call); /* it was there */
	if (copy.r14 != user->r14) {
		counts->n_left_out++;
		return 0;
	}
	uint64_t lasted_ns = now_ns - copy.time_ns;
	if (lasted_ns < called->slower_ns)
		return 0;
	struct sw_called_event event = {.what = SW_CALLED_FUNCTION_RETURNS,
					.value = {user->ax, lasted_ns, place}};
	function_take(called, &event, copy.words);
	return 0;
}
