/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory of a process that stays when nobody uses it, and places where it is attached: segments of System V (shmget,
 * IPC_RMID), their attachments (shmat, shmdt), and objects of POSIX, which are files below /dev/shm (shm_open, shm_unlink).
 * A copy of the thread that gets one, a short record of one that is given up, and of execve(2), which detaches all.
 *
 * An attachment is given up in the record before the kernel frees its addresses, that is when shmdt(2) begins. Segments and
 * objects are given up when the call has returned, as only then it is known that there was such a one.
 *
 * Not seen here: calls of 32-bit code, objects below another directory or by a relative path, munmap(2) of an attachment.
 */
#include "iterate/bpf/descriptors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
	NR_open = 2,
	NR_shmget = 29,
	NR_shmat = 30,
	NR_shmctl = 31,
	NR_shmdt = 67,
	NR_creat = 85,
	NR_unlink = 87,
	NR_openat = 257,
	NR_unlinkat = 263,
	NR_openat2 = 437,
};

/* include/uapi/linux/ipc.h, fcntl.h; include/linux/fs.h, err.h */
enum {
	IPC_CREAT = 01000,
	IPC_EXCL = 02000,
	IPC_RMID = 0,
	IPC_64 = 0x100,
	AT_REMOVEDIR = 0x200,
	FMODE_CREATED = 1 << 20, /* by the call that has opened it */
	ERROR_MAX = 4095,
};

enum { PREFIX_BYTES = 9 };

/* Whether a path begins with "/dev/shm/": shm_overview(7). */
static __always_inline bool is_below_shm(uint64_t path)
{
	char begin[16] = {0};
	uint64_t first, wanted;
	if (bpf_probe_read_user(begin, PREFIX_BYTES, (const void *) path) != 0)
		return false;
	__builtin_memcpy(&first, begin, sizeof(first));
	__builtin_memcpy(&wanted, "/dev/shm", sizeof(wanted));
	return first == wanted && begin[8] == '/';
}

SEC("raw_tp/sys_enter")
int sw_shm_enter(const uint64_t *ctx)
{
	uint32_t zero = 0;
	if (ctx[1] != NR_shmdt)
		return 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || (user->cs & SELECTOR) == USER32_CS || !is_process(called, task))
		return 0;
	alone_put(called, task, SW_CALLED_RELEASED, 0, user->di, SW_CALLED_SHM_ATTACHMENT);
	return 0;
}

static __always_inline void acquired_take(struct sw_called_setup *called, uint64_t number,
					  uint64_t what, uint64_t kind, uint64_t path)
{
	struct taking t;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_ACQUIRED,
		.value = {number, what, kind},
	};
	if (!taking_known(&t, called))
		return;
	event_put(t.s, &event);
	if (path != 0)
		text_put(t.s, path);
	sample_make(t.s, t.task, t.setup, t.recipe, true);
	(void) taking_end(&t); /* what was lost is counted */
}

/* The name of an object is gone. */
static __always_inline void removed_put(struct sw_called_setup *called, uint64_t path)
{
	struct taking t;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_RELEASED,
		.value = {0, 0, SW_CALLED_SHM_OBJECT},
	};
	if (!taking_known(&t, called))
		return;
	head_alone(&t);
	event_put(t.s, &event);
	text_put(t.s, path);
	(void) taking_end(&t); /* what was lost is counted */
}

/* The path that a call is about, of an object that it may have created; 0: it is no such call. */
static __always_inline uint64_t opened_path(uint64_t number, const struct pt_regs *user)
{
	if (number == NR_open || number == NR_creat)
		return user->di;
	return number == NR_openat || number == NR_openat2 ? user->si : 0;
}

/* The same of an object whose name it has removed. */
static __always_inline uint64_t removed_path(uint64_t number, const struct pt_regs *user)
{
	if (number == NR_unlink)
		return user->di;
	return number == NR_unlinkat && (user->dx & AT_REMOVEDIR) == 0 ? user->si : 0;
}

/* Calls of System V. A segment that is not surely new may have been found by its key: value[1] says which. */
static __always_inline void segment_look(struct sw_called_setup *called,
					 const struct task_struct *task, uint64_t number,
					 const struct pt_regs *user, uint64_t result)
{
	uint32_t first = (uint32_t) user->di, flags = (uint32_t) user->dx;
	if (number == NR_shmat)
		acquired_take(called, first, result, SW_CALLED_SHM_ATTACHMENT, 0);
	else if (number == NR_shmget && (first == 0 || (flags & IPC_CREAT) != 0))
		acquired_take(called, (uint32_t) result, first == 0 || (flags & IPC_EXCL) != 0,
			      SW_CALLED_SHM_SEGMENT, 0);
	else if (number == NR_shmctl && ((uint32_t) user->si & ~(uint32_t) IPC_64) == IPC_RMID)
		alone_put(called, task, SW_CALLED_RELEASED, first, 0, SW_CALLED_SHM_SEGMENT);
}

SEC("raw_tp/sys_exit")
int sw_shm_exit(const uint64_t *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax, result = ctx[1];
	uint64_t opened = opened_path(number, user), removed = removed_path(number, user);
	bool of_segments = number == NR_shmget || number == NR_shmat || number == NR_shmctl;
	if ((opened == 0 && removed == 0 && !of_segments) || result >= (uint64_t) -ERROR_MAX ||
	    (user->cs & SELECTOR) == USER32_CS)
		return 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || !is_process(called, task))
		return 0;
	if (of_segments) {
		segment_look(called, task, number, user, result);
		return 0;
	}
	if (removed != 0) {
		if (is_below_shm(removed))
			removed_put(called, removed);
		return 0;
	}
	uint64_t file = file_of(pointer_at(&task->files), result);
	if (file == 0 || (number_at(&((const struct file *) file)->f_mode) & FMODE_CREATED) == 0 ||
	    !is_below_shm(opened))
		return 0;
	acquired_take(called, 0, inode_of(file), SW_CALLED_SHM_OBJECT, opened);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int sw_shm_program(const uint64_t *ctx)
{
	uint32_t zero = 0;
	(void) ctx;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called != NULL && is_process(called, task))
		alone_put(called, task, SW_CALLED_PROGRAM, 0, 0, 0);
	return 0;
}
