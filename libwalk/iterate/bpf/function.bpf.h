/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_FUNCTION_BPF_H
#define SW_ITERATE_FUNCTION_BPF_H

/* Parts that programs at the beginning and at the RETs of functions have in common. */
#include "iterate/bpf/called.bpf.h"

enum { CALLS_MAX = 65536 /* that have not returned yet */ };

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
	/* A function keeps it for its caller, where it is no goroutine: a RET with another value is of another call. */
	uint64_t goroutine;
	uint64_t words[SW_CALLED_ARGUMENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS_MAX);
	__type(key, struct call);
	__type(value, struct entered);
} sw_calls SEC(".maps");

/* A child of vfork(2) has the memory of the process, and is none of it. NULL: what happens is no event. */
static __always_inline struct sw_called_setup *called_here(void)
{
	uint32_t zero = 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || called->ended || !is_process(called, bpf_get_current_task_btf()))
		return NULL;
	return called;
}

/* Copies the thread at a breakpoint. Probes at a NOP of five bytes are a system call from v6.18 on: the thread is in none of
 * its own. */
static __always_inline void probed_make(struct taking *t)
{
	sample_make(t->s, t->task, t->setup, t->recipe, false);
	((struct sw_sampled_head *) t->s->out)->regs[REGS_CALL] = NO_CALL;
}

static __always_inline struct sw_sampled_counts *counts_here(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&sw_counts, &cpu);
}

/* A thread has come to a breakpoint, which is counted once, also where several functions have a probe at that instruction. Called
 * once by each program. NULL: what happens is no event. */
static __always_inline struct sw_called_setup *breakpoint_here(uint64_t cookie)
{
	struct sw_called_setup *called = called_here();
	struct sw_sampled_counts *counts = counts_here();
	if (called != NULL && counts != NULL && (cookie >> SW_CALLED_SHARED_AT & 1) == 0)
		counts->n_probed++;
	return called;
}

/* The first words of a goroutine are the bounds of its stack: runtime/runtime2.go, Go 1.17 to 1.25. */
static __always_inline struct call call_of(const struct pt_regs *user, uint64_t place)
{
	struct call call = {.sp = user->sp, .place = place};
	uint64_t bounds[2] = {0, 0};
	uint64_t goroutine = goroutine_of(user);
	if (goroutine != 0 &&
	    bpf_probe_read_user(bounds, sizeof(bounds), (const void *) goroutine) == 0 &&
	    user->sp >= bounds[0] && user->sp < bounds[1]) {
		call.sp = bounds[1] - user->sp;
		call.goroutine = goroutine;
	}
	return call;
}

/* A call begins whose return is the event. */
static __always_inline void call_note(struct sw_called_setup *called, uint64_t cookie)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_sampled_counts *counts = counts_here();
	struct call call = call_of(user, cookie & SW_CALLED_PLACE_MASK);
	struct entered entered = {.time_ns = bpf_ktime_get_ns(), .goroutine = goroutine_of(user)};
	if (counts == NULL)
		return;
	words_read(user, entered.words);
	if (bpf_map_lookup_elem(&sw_calls, &call) != NULL)
		counts->n_left_out++; /* the call before has ended without a return */
	if (bpf_map_update_elem(&sw_calls, &call, &entered, 0) != 0) { /* a gap in the numbers */
		(void) __sync_fetch_and_add(&called->n_events, 1);
		counts->n_no_space++;
	}
}

/* A RET of the function is about to be executed. False: no call of it ends here, or one that began before the probes. */
static __always_inline bool call_ends(const struct pt_regs *user, uint64_t cookie,
				      struct sw_sampled_counts *counts, struct entered *ret)
{
	struct call call = call_of(user, cookie & SW_CALLED_PLACE_MASK);
	const struct entered *entered = bpf_map_lookup_elem(&sw_calls, &call);
	if (entered == NULL)
		return false;
	*ret = *entered;
	(void) bpf_map_delete_elem(&sw_calls, &call); /* it was there */
	if (ret->goroutine == goroutine_of(user))
		return true;
	counts->n_left_out++;
	return false;
}

#endif
