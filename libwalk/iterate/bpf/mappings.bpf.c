/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each way in which a process maps and unmaps memory by its system calls: mmap, munmap, mremap, brk, and execve, which
 * begins anew.
 *
 * Memory that a call gives up is in a record before the kernel frees the addresses, that is when the call begins: whoever gets them
 * next writes its own record later. What it gets is in a record with a copy of the thread when the call returns. A call
 * that gives up says how it has ended, so that nobody has to remember a thread longer than its call lasts. What the calls
 * mean is known by who reads the records.
 *
 * Not seen here: shmat and shmdt, map_shadow_stack, calls of 32-bit code, what the kernel maps by itself (the stack as it grows,
 * io_setup(2), uretprobes).
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
	NR_mmap = 9,
	NR_munmap = 11,
	NR_brk = 12,
	NR_mremap = 25,
	NR_execve = 59,
	NR_execveat = 322
};

/* include/uapi/linux/mman.h, asm-generic/hugetlb_encode.h, mman-common.h */
enum {
	MREMAP_DONTUNMAP = 4,
	MAP_HUGETLB = 0x40000,
	HUGE_SHIFT = 26,
	HUGE_MASK = 0x3f,
	HUGE_DEFAULT = 21
};

static __always_inline uint64_t rounded(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) & -unit;
}

/* The process itself, or another one that has its memory (vfork(2), CLONE_VM): *foreign. */
static __always_inline bool has_memory(struct sw_called_setup *called,
				       const struct task_struct *task, bool *foreign)
{
	uint64_t mm = word_at(&task->mm);
	bool ours = is_process(called, task);
	*foreign = !ours;
	if (ours)
		called->mm = mm;
	return ours || (mm != 0 && called->mm == mm);
}

/* Before: what may be given up. Of brk(2): where the heap ends now, and is to end. */
SEC("raw_tp/sys_enter")
int sw_mapping_enter(const uint64_t *ctx)
{
	uint32_t zero = 0;
	uint64_t number = ctx[1];
	bool foreign;
	if (number != NR_munmap && number != NR_brk && number != NR_mremap)
		return 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	if (called == NULL || (user->cs & SELECTOR) == USER32_CS ||
	    !has_memory(called, task, &foreign))
		return 0;
	if (number == NR_mremap && (user->r10 & MREMAP_DONTUNMAP) != 0)
		return 0; /* nothing is given up */
	uint64_t begin = user->di, end = user->di + rounded(user->si, PAGE);
	if (number == NR_brk) {
		const struct mm_struct *mm = pointer_at(&task->mm);
		end = rounded(user->di, PAGE);
		begin = rounded(word_at(&mm->brk), PAGE);
		if (begin == end || user->di < word_at(&mm->start_brk))
			return 0; /* nothing changes */
	}
	alone_put(called, task, SW_CALLED_MAPS_BEGIN, number, begin, end);
	return 0;
}

/* How many bytes a call has mapped that succeeded. */
static __always_inline uint64_t mapped_bytes(uint64_t number, const struct pt_regs *user)
{
	if (number == NR_mremap)
		return rounded(user->dx, PAGE);
	if ((user->r10 & MAP_HUGETLB) == 0)
		return rounded(user->si, PAGE);
	uint64_t shift = user->r10 >> HUGE_SHIFT & HUGE_MASK;
	return rounded(user->si, UINT64_C(1) << (shift != 0 ? shift : HUGE_DEFAULT));
}

SEC("raw_tp/sys_exit")
int sw_mapping_exit(const uint64_t *ctx)
{
	enum { ERROR_MAX = 4095 }; /* include/linux/err.h */
	uint32_t zero = 0;
	bool foreign, failed = ctx[1] >= (uint64_t) -ERROR_MAX;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax, result = ctx[1];
	bool program = number == NR_execve || number == NR_execveat;
	if (number != NR_mmap && number != NR_munmap && number != NR_brk && number != NR_mremap &&
	    !program)
		return 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || (user->cs & SELECTOR) == USER32_CS)
		return 0;
	if ((program || number == NR_mmap) && failed)
		return 0;
	if (!has_memory(called, task, &foreign) || (program && foreign))
		return 0;
	struct sw_called_event event = {
		.what = program ? SW_CALLED_PROGRAM : SW_CALLED_MAPS_END,
		.value = {number, result, mapped_bytes(number, user)},
	};
	if (program || failed || foreign || number == NR_munmap) {
		alone_put(called, task, event.what, number, result, event.value[2]);
		return 0;
	}
	struct taking t;
	event.number = __sync_fetch_and_add(&called->n_events, 1);
	if (!taking_known(&t, called))
		return 0;
	event_take(&t, &event);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sw_mapping_ends(const uint64_t *ctx)
{
	(void) ctx;
	return thread_ends();
}
