/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_KERNEL_BPF_H
#define SW_ITERATE_KERNEL_BPF_H

/*
 * The kernel's types, as little of them as the programs use. Their layout here means nothing: each
 * access is relocated by name against the running kernel's BTF when the program is loaded. All
 * members are in Linux 6.1 to 6.18, where nothing else is said.
 */
#include <stdbool.h>
#include <stdint.h>

/* Types that <bpf/bpf_helpers.h> expects of <linux/types.h>, which needs the machine's asm/. */
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint64_t __be64;
typedef uint32_t __wsum;

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "iterate/record.h"

#include "iterate/bpf/kernel_x86_64.bpf.h"

#define SW_KERNEL __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} SW_KERNEL;

struct pid_namespace {
	struct ns_common ns;
} SW_KERNEL;

struct rw_semaphore {
	struct {
		long counter;
	} count; /* 0: nobody has it */
	struct {
		long counter;
	} owner;
} SW_KERNEL;

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_stack;
	unsigned long start_brk, brk;
} SW_KERNEL;

struct super_block {
	unsigned long s_magic;
} SW_KERNEL;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
} SW_KERNEL;

struct file {
	unsigned int f_flags;
	unsigned int f_mode;
	struct inode *f_inode;
} SW_KERNEL;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *open_fds; /* a bit for each */
} SW_KERNEL;

struct files_struct {
	struct fdtable *fdt;
} SW_KERNEL;

struct seq_file {
	const struct file *file;
} SW_KERNEL;

struct upid {
	int nr;
	struct pid_namespace *ns;
} SW_KERNEL;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} SW_KERNEL;

struct list_head {
	struct list_head *next;
} SW_KERNEL;

struct signal_struct {
	struct {
		int counter;
	} live; /* threads that have not begun to end */
	int nr_threads;
	struct list_head thread_head; /* of the threads' thread_node */
} SW_KERNEL;

struct sched_info {
	unsigned long long run_delay, last_arrival, last_queued;
} SW_KERNEL;

struct sched_entity {
	uint64_t sum_exec_runtime, prev_sum_exec_runtime;
} SW_KERNEL;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	unsigned int ptrace;
	int on_cpu; /* only with CONFIG_SMP */
	int prio;
	unsigned int rt_priority;
	struct sched_entity se;
	struct sched_info sched_info;
	int exit_state;
	unsigned int in_execve : 1;
	int pid, tgid;
	struct task_struct *parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	unsigned long nvcsw, nivcsw;
	uint64_t start_boottime;
	uint64_t self_exec_id;
	char comm[SW_ITERATE_COMM];
	struct files_struct *files;
	struct signal_struct *signal;
	struct list_head thread_node;
	struct thread_struct thread;
} SW_KERNEL;

struct bpf_iter_meta {
	struct seq_file *seq;
	uint64_t session_id, seq_num;
} SW_KERNEL;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} SW_KERNEL;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	uint32_t fd;
	struct file *file;
} SW_KERNEL;

/* Nothing is read before what stands above it. x86-64 keeps loads in order by itself. */
static __always_inline void in_order(void)
{
	asm volatile("" ::: "memory");
}

/* A kernel for one CPU has no such member: who reads is on that CPU, so nobody else is. */
static __always_inline uint32_t task_on_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) ? task->on_cpu : 0;
}

/*
 * Pointers are followed by address. A load of one through a type costs the verifier of newer kernels
 * four walks over all types of the kernel each time (btf_nested_type_is_trusted(), v6.4 on): loading
 * the program took 22 ms instead of 2.
 */
static __always_inline const void *pointer_at(const void *address)
{
	const void *pointer = NULL;
	(void) bpf_probe_read_kernel(&pointer, sizeof(pointer), address);
	return pointer;
}

static __always_inline uint64_t word_at(const void *address)
{
	return (uint64_t) pointer_at(address);
}

static __always_inline uint32_t number_at(const void *address)
{
	uint32_t number = 0;
	(void) bpf_probe_read_kernel(&number, sizeof(number), address);
	return number;
}

/* The numbers of one thread in two pid namespaces: that of the process which reads, and its own. */
struct numbers {
	uint32_t reader, inner; /* 0: not there */
};

enum { PID_LEVEL_MASK = 0x3f }; /* MAX_PID_NS_LEVEL is 32, include/linux/pid_namespace.h */

static __always_inline struct numbers numbers_of(const struct task_struct *task)
{
	const struct pid *pid = pointer_at(&task->thread_pid);
	uint32_t inner = number_at(&pid->level);
	if (inner == 0) { /* only those at level 0 can see level 0 */
		uint32_t number = number_at(&task->pid);
		return (struct numbers){number, number};
	}
	const struct task_struct *me = (const struct task_struct *) bpf_get_current_task();
	const struct pid *reader_pid = pointer_at(&me->thread_pid);
	uint32_t reader = number_at(&reader_pid->level);
	return (struct numbers){
		.reader = reader > inner ? 0 : number_at(&pid->numbers[reader & PID_LEVEL_MASK].nr),
		.inner = number_at(&pid->numbers[inner & PID_LEVEL_MASK].nr),
	};
}

#endif
