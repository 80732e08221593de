/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that a process has its epoll sets watch: a copy of the thread that adds a file by epoll_ctl(2), a short record where it takes one
 * out, and where the last descriptor of a watched file, or of a set, is closed, by which the kernel takes it out. A set knows a
 * file by the file and the number of the descriptor.
 *
 * A file that is closed is in a record before the kernel frees it, that is when the call begins: another file may be at its
 * address after that. It is surely the last descriptor if nothing else refers to the file at that instant: neither one of
 * another process, nor a call of another thread, nor somebody who looks at /proc. Else the record says so.
 *
 * Not seen here: calls of 32-bit code, io_uring, files whose last descriptor another process closes.
 */
#include "iterate/bpf/descriptors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
	NR_close = 3,
	NR_dup2 = 33,
	NR_execve = 59,
	NR_epoll_ctl = 233,
	NR_dup3 = 292,
	NR_execveat = 322,
	NR_close_range = 436,
};

enum {
	/* include/uapi/linux/: eventpoll.h, close_range.h, magic.h */
	EPOLL_CTL_ADD = 1,
	EPOLL_CTL_DEL = 2,
	CLOSE_RANGE_UNSHARE = 2,
	CLOSE_RANGE_CLOEXEC = 4,
	ANON_INODE_FS_MAGIC = 0x09041934,
	RANGE_MAX = 1 << 20, /* descriptors of one close_range(2) */
	SET_AT = 32,         /* the bit from which on a value has the number of the set */
};

/* Linux 5.11 on: the sets that watch a file. */
struct file___watched {
	const void *f_ep;
} SW_KERNEL;

/* How many refer to a file: up to v6.12 so many, from v6.13 on one less. */
struct file___counted {
	struct {
		long counter;
	} f_count;
} SW_KERNEL;
struct file___ref {
	struct {
		struct {
			long counter;
		} refcnt;
	} f_ref;
} SW_KERNEL;

static __always_inline bool is_last(uint64_t file)
{
	const struct file___counted *counted = (const struct file___counted *) file;
	const struct file___ref *ref = (const struct file___ref *) file;
	if (bpf_core_field_exists(counted->f_count))
		return word_at(&counted->f_count) == 1;
	return bpf_core_field_exists(ref->f_ref) && word_at(&ref->f_ref) == 0;
}

static __always_inline bool is_watched(uint64_t file)
{
	return pointer_at(&((const struct file___watched *) file)->f_ep) != NULL;
}

/* A set is a file of a file system that others are of, too. */
static __always_inline bool may_be_set(uint64_t file)
{
	const struct inode *inode = pointer_at(&((const struct file *) file)->f_inode);
	const struct super_block *super = pointer_at(&inode->i_sb);
	return word_at(&super->s_magic) == ANON_INODE_FS_MAGIC;
}

/* A descriptor is about to be closed. */
static __always_inline void closing(struct sw_called_setup *called, const struct task_struct *task,
				    const struct files_struct *files, uint32_t fd)
{
	uint64_t file = file_of(files, fd);
	if (file == 0 || (!is_watched(file) && !may_be_set(file)))
		return;
	uint64_t shared = is_last(file) ? 0 : UINT64_C(1) << SET_AT;
	alone_put(called, task, SW_CALLED_RELEASED, shared | fd, 0, file);
}

struct range {
	struct sw_called_setup *called;
	const struct task_struct *task;
	const struct files_struct *files;
	uint32_t first, last;
};

static long range_look(uint32_t index, void *arg)
{
	const struct range *range = arg;
	uint32_t fd = range->first + index;
	if (fd > range->last)
		return 1;
	closing(range->called, range->task, range->files, fd);
	return 0;
}

static __always_inline bool call_closes(uint64_t number)
{
	return number == NR_close || number == NR_dup2 || number == NR_dup3 ||
	       number == NR_close_range;
}

SEC("raw_tp/sys_enter")
int sw_epoll_enter(const uint64_t *ctx)
{
	uint32_t zero = 0;
	uint64_t number = ctx[1];
	if (!call_closes(number))
		return 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || (user->cs & SELECTOR) == USER32_CS || !is_process(called, task))
		return 0;
	const struct files_struct *files = pointer_at(&task->files);
	uint32_t first = (uint32_t) user->di, second = (uint32_t) user->si;
	if (number == NR_close) {
		closing(called, task, files, first);
	} else if (number == NR_dup2 || number == NR_dup3) {
		if (first != second && file_of(files, first) != 0)
			closing(called, task, files, second);
	} else if (first <= second &&
		   ((uint32_t) user->dx & (CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) == 0) {
		const struct fdtable *table = pointer_at(&files->fdt);
		uint32_t n = number_at(&table->max_fds);
		struct range range = {called, task, files, first, second};
		if (first >= n)
			return 0;
		n -= first;
		(void) bpf_loop(n < RANGE_MAX ? n : RANGE_MAX, range_look, &range, 0);
	}
	return 0;
}

SEC("raw_tp/sys_exit")
int sw_epoll_exit(const uint64_t *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax;
	bool program = number == NR_execve || number == NR_execveat;
	if ((number != NR_epoll_ctl && !program) || ctx[1] != 0 ||
	    (user->cs & SELECTOR) == USER32_CS)
		return 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || !is_process(called, task))
		return 0;
	const struct files_struct *files = pointer_at(&task->files);
	if (program) {
		table_put(called, files);
		return 0;
	}
	uint32_t set = (uint32_t) user->di, fd = (uint32_t) user->dx, what = (uint32_t) user->si;
	uint64_t set_file = file_of(files, set), file = file_of(files, fd);
	if (what == EPOLL_CTL_DEL)
		alone_put(called, task, SW_CALLED_RELEASED, (uint64_t) set << SET_AT | fd, set_file,
			  file);
	if (what != EPOLL_CTL_ADD)
		return 0;
	struct taking t;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_ACQUIRED,
		.value = {(uint64_t) set << SET_AT | fd, set_file, file},
	};
	if (!taking_known(&t, called))
		return 0;
	event_take(&t, &event);
	return 0;
}

/* The file of each descriptor that may be a set, or that a set watches. */
SEC("iter/task_file")
int sw_epoll_list(struct bpf_iter__task_file *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = ctx->task;
	uint64_t file = (uint64_t) ctx->file;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (task == NULL || file == 0 || called == NULL) /* behind the last one */
		return 0;
	if (!is_process(called, task) || (!is_watched(file) && !may_be_set(file)))
		return 0;
	struct sw_called_outstanding one = {
		.key = {.handle = file, .pair = ctx->fd},
		.held = {.number = inode_of(file), .count = 1},
	};
	(void) bpf_seq_write(ctx->meta->seq, &one, sizeof(one)); /* else it is shown again */
	return 0;
}
