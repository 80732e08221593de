/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread that gets something from a function, and tells when another function is given it back. What is
 * outstanding is a table in the kernel: a release of what is not there was acquired before, and needs no record. The kernel
 * has put breakpoints into the code of one process, as for functions.bpf.c; the cookie of each says what its function does.
 */
#include "iterate/bpf/function.bpf.h"
#include "iterate/bpf/held.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	MAP_LRU_HASH = 9,    /* BPF_MAP_TYPE_LRU_HASH */
	THREADS_MAX = 16384, /* whose last release is known */
};

/* The last thing that a thread has taken back by a function that may call another one with it. */
struct given {
	uint64_t handle, sp;
	uint64_t was_there; /* it was outstanding: held */
	struct sw_called_held held;
};

struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, uint64_t); /* the thread, as the kernel has it */
	__type(value, struct given);
} sw_given SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SW_CALLED_HELD_DEFAULT);
	__type(key, struct sw_called_handle);
	__type(value, struct sw_called_held);
} sw_held SEC(".maps");

/* *ret: the value that a byte of a cookie names. False: it cannot be read. */
static __always_inline bool value_get(uint32_t what, const uint64_t words[SW_CALLED_ARGUMENTS],
				      uint64_t result, uint64_t *ret)
{
	uint32_t argument = what & SW_CALLED_VALUE_ARGUMENT;
	uint64_t value = result;
	if (argument == 1)
		value = words[0];
	else if (argument == 2)
		value = words[1];
	else if (argument == 3)
		value = words[2];
	else if (argument == 4)
		value = words[3];
	else if (argument == 5)
		value = words[4];
	else if (argument == 6)
		value = words[5];
	if ((what & SW_CALLED_VALUE_POINTED) &&
	    bpf_probe_read_user(&value, sizeof(value), (const void *) value) != 0)
		return false;
	*ret = value;
	return true;
}

static __always_inline void acquired_take(const struct sw_called_setup *called,
					  const struct sw_called_event *event)
{
	struct taking t;
	if (!taking_known(&t, called))
		return;
	event_put(t.s, event);
	probed_make(&t);
	(void) taking_end(&t); /* what was lost is counted */
}

/* A call has begun. */
static __always_inline void begun_count(uint64_t cookie, uint32_t what)
{
	struct sw_sampled_counts *counts = counts_here();
	uint32_t stepped = (cookie >> SW_CALLED_STEPPED_AT & 1) != 0 ? SW_SAMPLED_STEPPED : 0;
	if (counts != NULL)
		counts->n_begun[(what | stepped) & 3]++;
}

SEC("uprobe")
int sw_pair_note(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct sw_called_setup *called = breakpoint_here(cookie);
	if (called == NULL)
		return 0;
	begun_count(cookie, 0);
	call_note(called, cookie);
	return 0;
}

/* Where calls are counted alone. */
SEC("uprobe")
int sw_pair_begun(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	if (breakpoint_here(cookie) != NULL)
		begun_count(cookie, 0);
	return 0;
}

SEC("uprobe")
int sw_pair_taken(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	if (breakpoint_here(cookie) != NULL)
		begun_count(cookie, SW_SAMPLED_RELEASES);
	return 0;
}

/* Whether another function of the pair, which this one has called, has acquired it: that is counted already. */
static __always_inline bool is_inner(const struct sw_called_handle *key,
				     const struct task_struct *task, uint64_t begin_ns)
{
	struct sw_called_held *held = bpf_map_lookup_elem(&sw_held, key);
	return held != NULL && held_is_by(held, (uint32_t) task->pid, begin_ns);
}

/* Whether the function returns to code from which calls do not count. */
static __always_inline bool is_inside(const struct sw_called_setup *called, uint32_t place,
				      uint64_t sp)
{
	uint64_t pc = 0;
	/* There are no more places: for the verifier. */
	const struct sw_called_range *range = &called->inside[place & (SW_CALLED_PLACES_MAX - 1)];
	if (range->end == 0 || bpf_probe_read_user(&pc, sizeof(pc), (const void *) sp) != 0)
		return false;
	return pc >= range->start && pc < range->end;
}

/*
 * A function that takes one back and hands another out, as realloc(3), has ended with nothing: what was taken back in its
 * beginning is there still.
 */
static __always_inline void given_put_back(struct sw_called_setup *called,
					   struct sw_sampled_counts *counts,
					   const struct task_struct *task, uint64_t cookie,
					   const struct given *given)
{
	struct sw_called_handle key = {.handle = given->handle,
				       .pair = cookie >> SW_CALLED_PAIR_AT & UINT16_MAX};
	if (given->was_there == 0) {
		counts->n_unknown--;
		return;
	}
	struct sw_called_held *held = held_add(&sw_held, &key, called, counts);
	if (held == NULL)
		return;
	held_note(held, given->held.number, given->held.time_ns, 0); /* no call of now */
	alone_put(called, task, SW_CALLED_PAIR_KEPT, key.handle, 1, cookie & SW_CALLED_PLACE_MASK);
}

/* size: that is asked for. */
static __always_inline void moved_end(struct sw_called_setup *called,
				      struct sw_sampled_counts *counts,
				      const struct task_struct *task, uint64_t cookie,
				      const struct entered *entered, uint64_t result, uint64_t size)
{
	uint64_t thread = (uint32_t) task->pid;
	const struct given *given = bpf_map_lookup_elem(&sw_given, &thread);
	if (given == NULL || given->handle != entered->words[0])
		return;
	if (result == 0 && size != 0)
		given_put_back(called, counts, task, cookie, given);
	(void) bpf_map_delete_elem(&sw_given, &thread); /* it was there */
}

SEC("uprobe")
int sw_pair_acquired(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct sw_called_setup *called = breakpoint_here(cookie);
	struct sw_sampled_counts *counts = counts_here();
	struct entered entered;
	struct sw_called_handle key = {.pair = cookie >> SW_CALLED_PAIR_AT & UINT16_MAX};
	uint64_t size = 0;
	if (called == NULL || counts == NULL || !call_ends(user, cookie, counts, &entered))
		return 0;
	uint32_t bytes = cookie >> SW_CALLED_SIZE_AT & UINT8_MAX;
	uint32_t times = cookie >> SW_CALLED_TIMES_AT & SW_CALLED_VALUE_ARGUMENT;
	uint64_t factor = 1, result = result_of(user, cookie);
	bool known = (bytes == 0 || value_get(bytes, entered.words, result, &size)) &&
		     (times == 0 || value_get(times, entered.words, result, &factor));
	if ((cookie >> SW_CALLED_MOVES_AT & 1) != 0)
		moved_end(called, counts, task, cookie, &entered, result, size * factor);
	if (((cookie >> SW_CALLED_ONLY_ZERO_AT & 1) != 0 && (uint32_t) result != 0) || !known ||
	    !value_get(cookie >> SW_CALLED_HANDLE_AT & UINT8_MAX, entered.words, result,
		       &key.handle) ||
	    key.handle == 0) {
		counts->n_none++;
		return 0;
	}
	if (is_inside(called, cookie & SW_CALLED_PLACE_MASK, user->sp) ||
	    is_inner(&key, task, entered.time_ns))
		return 0;
	struct sw_called_held *held = held_add(&sw_held, &key, called, counts);
	if (held == NULL)
		return 0;
	uint64_t number = __sync_fetch_and_add(&called->n_events, 1);
	held_note(held, number, bpf_ktime_get_ns(), (uint32_t) task->pid);
	struct sw_called_event event = {.number = number,
					.what = SW_CALLED_PAIR_ACQUIRED,
					.value = {key.handle, size * factor,
						  cookie & SW_CALLED_PLACE_MASK}};
	acquired_take(called, &event);
	return 0;
}

SEC("uprobe")
int sw_pair_released(void *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	uint64_t words[SW_CALLED_ARGUMENTS];
	struct sw_called_setup *called = breakpoint_here(cookie);
	struct sw_sampled_counts *counts = counts_here();
	struct sw_called_handle key = {.pair = cookie >> SW_CALLED_PAIR_AT & UINT16_MAX};
	uint64_t thread = (uint32_t) task->pid;
	if (called == NULL || counts == NULL)
		return 0;
	begun_count(cookie, SW_SAMPLED_RELEASES);
	words_read(user, words);
	if (!value_get(cookie >> SW_CALLED_HANDLE_AT & UINT8_MAX, words, 0, &key.handle) ||
	    key.handle == 0)
		return 0; /* nothing is released */
	struct sw_called_held was = {0};
	const enum taken_off taken = held_take(&sw_held, &key, &was);
	if (taken == UNSURE) {
		counts->n_unsure++;
		return 0;
	}
	if (taken == NOT_THERE) {
		const struct given *outer = bpf_map_lookup_elem(&sw_given, &thread);
		if (outer != NULL && outer->handle == key.handle && user->sp <= outer->sp)
			return 0; /* the function that took it back has called this one */
		counts->n_unknown++;
	}
	if ((cookie >> SW_CALLED_NESTS_AT & 1) != 0) {
		struct given given = {.handle = key.handle, .sp = user->sp};
		if (taken == TAKEN_OFF) {
			given.was_there = 1;
			given.held = was;
		}
		(void) bpf_map_update_elem(&sw_given, &thread, &given, 0); /* LRU: there is space */
	}
	if (taken == NOT_THERE)
		return 0;
	alone_put(called, task, SW_CALLED_PAIR_RELEASED, key.handle, 1,
		  cookie & SW_CALLED_PLACE_MASK);
	return 0;
}

static long held_drop(void *map, const void *key, void *value, void *unused)
{
	(void) value;
	(void) unused;
	(void) bpf_map_delete_elem(map, key); /* it was there */
	return 0;
}

/* The process is another program: its memory is gone. It has one thread by now. */
SEC("raw_tp/sched_process_exec")
int sw_pair_program(void *ctx)
{
	struct sw_called_setup *called = called_here();
	(void) ctx;
	if (called == NULL)
		return 0;
	(void) bpf_for_each_map_elem(&sw_held, held_drop, NULL, 0);  /* cannot fail */
	(void) bpf_for_each_map_elem(&sw_calls, held_drop, NULL, 0); /* likewise */
	alone_put(called, bpf_get_current_task_btf(), SW_CALLED_PROGRAM, 0, 0, 0);
	return 0;
}
