/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread that enters a function, or returns from one. The kernel has put breakpoints into the code of one
 * process: near the beginning of the function and, for returns, at each RET. A program runs for the threads of that process
 * alone, and nothing on their stacks is changed.
 */
#include "iterate/bpf/function.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { SAME_PLACE_MAX = 4 };

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
	uint64_t sp = head->regs[REGS_SP], pc = 0;
	if (bpf_probe_read_user(&pc, sizeof(pc), (const void *) sp) != 0)
		return; /* the RET fails, too */
	for (int i = 0; i < SAME_PLACE_MAX && at != NULL && word_at(&at->stack) == sp; i++) {
		pc = word_at(&at->orig_ret_vaddr);
		at = pointer_at(&at->next);
	}
	head->regs[REGS_PC] = pc;
	head->regs[REGS_SP] = sp + sizeof(pc);
}

/* The event, its words, and the thread. */
static __always_inline void function_take(struct sw_called_setup *called,
					  struct sw_called_event *event, const uint64_t *words)
{
	struct taking t;
	event->number = __sync_fetch_and_add(&called->n_events, 1);
	if (!taking_known(&t, called))
		return;
	event_put(t.s, event);
	words_put(t.s, words);
	probed_make(&t);
	if (event->what == SW_CALLED_FUNCTION_RETURNS)
		caller_put(t.s, t.task);
	(void) taking_end(&t); /* what was lost is counted */
}

SEC("uprobe")
int sw_function_enter(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct sw_called_setup *called = breakpoint_here(cookie);
	struct sw_called_event event = {.what = SW_CALLED_FUNCTION_BEGINS,
					.value = {0, 0, cookie & SW_CALLED_PLACE_MASK}};
	uint64_t words[SW_CALLED_ARGUMENTS];
	if (called == NULL)
		return 0;
	words_read(user, words);
	function_take(called, &event, words);
	return 0;
}

/* A call begins whose return is the event. */
SEC("uprobe")
int sw_function_note(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct sw_called_setup *called = breakpoint_here(cookie);
	if (called != NULL)
		call_note(called, cookie);
	return 0;
}

SEC("uprobe")
int sw_function_return(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t cookie = bpf_get_attach_cookie(ctx), now_ns = bpf_ktime_get_ns();
	struct sw_called_setup *called = breakpoint_here(cookie);
	struct sw_sampled_counts *counts = counts_here();
	struct entered entered;
	if (called == NULL || counts == NULL || !call_ends(user, cookie, counts, &entered))
		return 0;
	uint64_t lasted_ns = now_ns - entered.time_ns;
	if (lasted_ns < called->slower_ns)
		return 0;
	struct sw_called_event event = {.what = SW_CALLED_FUNCTION_RETURNS,
					.value = {result_of(user, cookie), lasted_ns,
						  cookie & SW_CALLED_PLACE_MASK}};
	function_take(called, &event, entered.words);
	return 0;
}
